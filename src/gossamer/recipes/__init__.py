"""What kinds of jobs there are: each says where to start, how far to go, and what a page yields."""
