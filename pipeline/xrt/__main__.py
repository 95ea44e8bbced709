"""`python -m aiepipe.xrt script.py [args]`: the same as `aiepipe emulate`."""

import sys

from ..cli import run_command

if __name__ == "__main__":
    sys.exit(run_command(["emulate", *sys.argv[1:]]))
