"""A visit's own pages: which may be asked for, which come next, when the walk is over."""
