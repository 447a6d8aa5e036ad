"""The pages of one visit: which may be asked for, which come next, when the walk is over."""
