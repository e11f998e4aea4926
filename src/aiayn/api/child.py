"""A command line in a process of its own, started by `aiayn.api.processes`; it stops with the process that started it.

`python -m aiayn.api.child <verb> <words>`.
"""

import logging
import sys

from aiayn.commands.front_end import main
from aiayn.system.orphans import end_with_parent

if __name__ == "__main__":
    end_with_parent()
    logging.getLogger("hydra").setLevel(logging.WARNING)  # its launcher logs all words of every job
    sys.exit(main())
