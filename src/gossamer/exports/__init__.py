"""Records become files people can use, read from the database a site at a time."""
