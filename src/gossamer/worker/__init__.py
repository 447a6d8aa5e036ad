"""The door for working processes: started by a runner, or as a runner of its own in the background."""
