"""The conductor: takes visits, walks them, and keeps the promises of the rows. Read `visit.py` first."""
