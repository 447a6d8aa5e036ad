"""What can be typed: `table` lists every command, the other modules declare their options and help."""
