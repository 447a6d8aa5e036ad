"""Declarations of all commands: `table` lists them, the other modules have their options and help."""
