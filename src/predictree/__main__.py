"""``python -m predictree``: the command line."""

import sys

from predictree.cli import main

if __name__ == "__main__":
    sys.exit(main())
