"""Queries and orders of commands: functions of a `View` and plain arguments, run locally or by a server."""
