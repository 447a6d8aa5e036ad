"""The door for other programs: HTTP in, the same requests, rows and sentences as everywhere else."""
