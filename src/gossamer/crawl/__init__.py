"""The crawl: leased visits, the path of every URL, guards, completion and audit of jobs. Read `visit.py` first."""
