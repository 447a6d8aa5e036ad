"""The peers: other crawlers, each a program of its own in a virtual environment of its own, doing the same work.

They follow the links of every host, and of every page take the links, the title, the visible text, and how often each
keyword is in it. They know nothing of gossamer, and gossamer is not installed where they run.
"""
