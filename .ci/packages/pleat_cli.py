"""Lets the package's own name run pleat, as in uvx pleat-cli and pipx run pleat-cli."""

import os
import subprocess
import sys


def main():
    # argv[0] is this command, perhaps a link to it; pleat is installed next to it.
    program = os.path.join(os.path.dirname(os.path.realpath(sys.argv[0])), "pleat")
    if os.name == "nt":
        sys.exit(subprocess.call([program + ".exe", *sys.argv[1:]]))
    os.execv(program, [program, *sys.argv[1:]])
