"""The command line. Importing it loads nothing that a help text does not need."""
