"""The recipes: what each kind of job is given, where it starts, how far it goes, and what a page yields."""
