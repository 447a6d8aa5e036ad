"""What `gossamer doctor` looks at, one small question after the other. Nothing is left behind and nothing changed."""
