"""The past of a job, told from its rows."""
