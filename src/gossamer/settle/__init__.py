"""From outcomes to rows: a batch of steps of many visits is written in one transaction."""
