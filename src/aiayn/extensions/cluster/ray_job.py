"""One process of a job of Ray: `python -m aiayn.extensions.cluster.ray_job`, with the pickled job on standard input."""

import sys

from ray import cloudpickle

from aiayn.system.orphans import end_with_parent


def main() -> None:
    """Compose and run the job."""
    end_with_parent()
    starter, words, index = cloudpickle.load(sys.stdin.buffer)
    starter(words, index)


if __name__ == "__main__":
    main()
