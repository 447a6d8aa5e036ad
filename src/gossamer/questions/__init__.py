"""What commands want to know: each a function of a `View` and plain arguments, answered here or on a server alike."""
