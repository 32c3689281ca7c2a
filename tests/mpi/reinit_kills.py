#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Failures at each named point of a global restart, of a process or of a whole node, beside the failure that began it, and before
all have entered it: the program ends as it should, all the same.

    reinit_kills.py RZRUN REINIT_ROUNDS [--only POINT]
"""
import argparse
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/..")
from patience import HANG_S  # noqa: E402

RZRUN = ["--oversubscribe", "-n", "6", "--nodes", "3", "--hang-report", "5s"]
# POINT[:NTH]@RANK. The first of each is before MPIX_Reinit, the second in the recovery from the failure of rank 1.
PROCESS = ["joined@2", "at-start@0", "start-told@4", "entering@3", "entered@5", "point-over@2",
           "at-start:2@0", "start-told:2@2", "gave-up@3", "went-back@4", "point-over@5"]
# POINT@NODE; node 0 has lost rank 1.
DAEMON = ["epoch@1", "epoch@0", "epoch-begun@2", "epoch-begun@0", "run@1", "run@0"]


def run(options, where, daemon):
    environment = dict(os.environ)
    words = [options.rzrun, *RZRUN]
    if daemon:
        environment["RZ_KILL_AT"] = where
    else:
        words += ["-x", f"RZ_KILL_AT={where}"]
    try:
        job = subprocess.run([*words, "--story", options.program, "1"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             errors="replace", timeout=HANG_S, check=False, env=environment)
    except subprocess.TimeoutExpired as late:
        return f"did not end within {HANG_S} s", (late.stdout or b"").decode(errors="replace")
    if job.returncode != 0:
        return f"ended with status {job.returncode}", job.stdout
    failed = job.stdout.count(" failed; noticed") + job.stdout.count(" failed with ") + job.stdout.count(" was lost")
    return None if failed >= 2 else "one failure was not enough: no process came to the point", job.stdout


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("rzrun")
    options.add_argument("program")
    options.add_argument("--only", help="this point alone")
    options = options.parse_args()
    bad = 0
    for where, daemon in [(w, False) for w in PROCESS] + [(w, True) for w in DAEMON]:
        if options.only and not where.startswith(options.only):
            continue
        why, output = run(options, where, daemon)
        if why:
            bad += 1
            prefix = f"RZ_KILL_AT={where} " if daemon else ""
            print(f"not so: {where}: {why}\n{output}\nagain: {prefix}{options.rzrun} {' '.join(RZRUN)} "
                  f"{'' if daemon else '-x RZ_KILL_AT=' + where} {options.program} 1")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
