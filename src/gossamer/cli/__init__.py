"""The command line. `commands` declares what can be typed, the other modules do the work."""
