"""Worker processes: started by a runner, or in the background as a runner of their own."""
