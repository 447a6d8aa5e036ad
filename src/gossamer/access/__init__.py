"""Who may ask: keys, passwords and logins. Nothing here is kept in the clear."""
