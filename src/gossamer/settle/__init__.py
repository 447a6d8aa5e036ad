"""From what happened to rows: a batch of steps of many visits becomes one transaction."""
