"""From a user's request to a job: lists are read, limits are checked, and the rows are written."""
