"""`python -m tests.chaos --seeds 20`: the long form, with a table of what happened."""

import sys

from tests.chaos.driver import main

if __name__ == "__main__":
    sys.exit(main())
