"""The rows. Everything that speaks SQL is in this folder, in functions of an open transaction, one module per noun."""
