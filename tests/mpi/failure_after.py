#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs failure_after again and again, each time with another seed. A job that does not end well is shown, with the command that
runs it again.

    failure_after.py RZRUN PROGRAM [--jobs 12 | --seconds 60] [--seed 1] -- RZRUN-OPTIONS
"""
import argparse
import os
import shlex
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/..")
from patience import HANG_S  # noqa: E402
import kill_job  # noqa: E402


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("rzrun")
    options.add_argument("program")
    options.add_argument("--jobs", type=int, default=0)
    options.add_argument("--seconds", type=float, default=0)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("where", nargs="+", help="options of rzrun: how many ranks, and where")
    options = options.parse_args()
    lossy = ["lossy"] if "--nodes" in options.where else []
    jobs, failures, began = 0, 0, time.monotonic()
    while jobs < options.jobs if options.jobs else time.monotonic() - began < options.seconds:
        command = [options.rzrun, "--oversubscribe", "--on-failure", "continue", *options.where, options.program,
                   str(options.seed + jobs), *lossy]
        why, output = kill_job.run(command, "not so|Sanitizer", "3 are left", HANG_S)
        jobs += 1
        if why is not None:
            failures += 1
            print(f"{why}; again:\n    {shlex.join(command)}\n{output}", flush=True)
        if failures == 5:
            break
    print(f"{jobs} jobs, {time.monotonic() - began:.0f} s: {failures} did not end as they should")
    return 1 if failures > 0 or jobs == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
