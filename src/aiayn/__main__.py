"""`python -m aiayn`."""

import sys

from aiayn.commands.front_end import main

if __name__ == "__main__":
    sys.exit(main())
