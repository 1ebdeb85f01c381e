"""`python -m instar`: the same as the command `instar`; and the command from Python.

``main(["run", "argon.yaml"])`` returns the exit code. ``set_up()`` comes before it, and before JAX
is used: a device for each core, and a compilation cache that lasts.
"""

import sys

from instar.app.cli.main import command, main, set_up

__all__ = ["main", "set_up"]

if __name__ == "__main__":
    sys.exit(command())
