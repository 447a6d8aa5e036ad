"""Number of sockets this process may open, and so of visits it can crawl at the same time."""

import resource

_OUR_OWN = 200  # database, logs, pipes, the event loop, name look-ups
_PER_VISIT = 5  # a connection to each of the four hosts a session keeps, and one closing


def raise_open_files() -> int:
    """Raise the soft limit on open files to the hard one; returns the limit now in force."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == hard:
        return soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError):
        # macOS names a hard limit it does not grant; what is in force stays.
        return soft
    return hard


def capacity(limit: int) -> int:
    """Visits that fit under a limit on open files."""
    return max(1, (limit - _OUR_OWN) // _PER_VISIT)
