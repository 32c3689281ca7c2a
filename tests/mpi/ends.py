#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a job of which processes crash, and checks both its output and its exit status; CTest ignores the status when it searches
the output. (The status is 0 where all failures were acknowledged or repaired: docs/exit-status.md.)

    ends.py [--says REGEX] STATUS RZRUN ...
"""
import argparse
import re
import subprocess
import sys


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--says", help="what is to be found in the output")
    options.add_argument("status", type=int)
    options.add_argument("command", nargs=argparse.REMAINDER)
    options = options.parse_args()
    job = subprocess.run(options.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    sys.stdout.write(job.stdout)
    if options.says and not re.search(options.says, job.stdout):
        print(f"not so: nothing in the output is '{options.says}'")
        return 1
    if job.returncode != options.status:
        print(f"not so: the exit status is {job.returncode}, not {options.status}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
