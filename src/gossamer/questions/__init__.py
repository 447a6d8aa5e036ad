"""Questions of commands: each a function of a `View` and plain arguments, answered locally or by a server."""
