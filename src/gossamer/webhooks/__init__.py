"""Webhooks: endpoints of accounts, and the messages that are sent to them."""
