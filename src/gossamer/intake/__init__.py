"""From what a person asked to a job: lists are read, what it takes is estimated, the rows are written."""
