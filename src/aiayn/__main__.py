"""`aiayn`, and `python -m aiayn`."""

import sys


def main() -> int:
    """Run the command line; a Ctrl-C while it is still being imported is answered like any other."""
    try:
        from aiayn.commands import front_end

        return front_end.main()
    except KeyboardInterrupt:
        print("aiayn: interrupted", file=sys.stderr)  # noqa: T201
        return 1


if __name__ == "__main__":
    sys.exit(main())
