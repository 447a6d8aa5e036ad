"""Getting bytes safely: one attempt on one rung, from an address to a Response or a FetchError."""
