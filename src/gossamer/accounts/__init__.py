"""Accounts: API keys, passwords, logins. Nothing here is kept in the clear."""
