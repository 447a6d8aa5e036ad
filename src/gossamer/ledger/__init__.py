"""Money before it is spent: prices, caps, and the one who reserves for all visits of a process."""
