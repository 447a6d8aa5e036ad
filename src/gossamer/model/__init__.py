"""The vocabulary: frozen values that travel between the stages. Nothing here does I/O."""
