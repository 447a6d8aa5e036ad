"""What `gossamer doctor` looks at, one small question after the other. Nothing is created and nothing changed."""
