#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""profile_test.py RZRUN PLAIN LIBRARY_LINKED TOOL_INSIDE TOOL: a tool that wraps calls sees those of the program, and only those.

Three ways to put it there: linked into the program, as a library linked before MPI's, loaded before everything.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/..")
from patience import HANG_S  # noqa: E402

ROUNDS, RANKS = 5, 4


def lines(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S)
    if done.returncode != 0 or done.stderr:
        sys.exit(f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return sorted(done.stdout.splitlines())


def main():
    rzrun, plain, library_linked, tool_inside, tool = sys.argv[1:]
    start = [rzrun, "-n", str(RANKS), "--oversubscribe"]
    seen = sorted(f"tool: rank {r} sends {0 if r % 2 else ROUNDS} barriers 1" for r in range(RANKS))
    for wanted, command in (([], [*start, plain]), (seen, [*start, library_linked]), (seen, [*start, tool_inside]),
                            (seen, [*start, "-x", f"LD_PRELOAD={tool}", plain])):
        found = lines(*command, str(ROUNDS))
        if found != wanted:
            sys.exit(f"{command}: {found}, and not {wanted}")


main()
