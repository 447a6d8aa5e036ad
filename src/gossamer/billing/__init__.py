"""Prices, caps, and money that is reserved before it is spent."""
