"""`python -m instar`: the same as the command `instar`."""

import sys

from instar.app.cli.main import command

if __name__ == "__main__":
    sys.exit(command())
