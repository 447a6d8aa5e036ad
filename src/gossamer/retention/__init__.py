"""How long things are kept, and their deletion."""
