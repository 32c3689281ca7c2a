#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs kill_matrix repeatedly, until every row had its failures or the time is over; counts the results of the survivors.
A job that does not end well is shown, with the command that runs it again.

    kill_matrix.py RZRUN PROGRAM [--kills 300 | --seconds 60] [--seed 1] [--row NAME] [--table] [--agree ENGINE] [--uniform HOW] [--wait HOW]
"""
import argparse
import os
import re
import shlex
import subprocess
import sys
import time

import kill_job

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/..")
from patience import HANG_S  # noqa: E402

# Where the ranks are, and how long messages go between those of a node.
PLACES = {
    "one node": ["-n", "9"],
    "three nodes": ["-n", "9", "--nodes", "3"],
    "copies through the ring": ["-n", "7", "-x", "RZ_SHM_CMA=0"],
    "a node for each": ["-n", "6", "--nodes", "6"],
}
ENGINES = ["twophase", "gossip1", "gossip2", "gossip3", "era"]
# A sanitizer that is killed while it looks for leaks at the end complains of that.
ENVIRONMENT = dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")
NEVER_BEGAN = "without MPI_Init, while other ranks wait for it"  # a process that exits before it joins ends the job, by rule
BAD = "not so|assert|Sanitizer"
GOOD = f"two are left|{re.escape(NEVER_BEGAN)}"
LINE = re.compile(r"^killed (\S+) (\S+): (\d+) (\d+) (\d+)$", re.MULTILINE)


class Counts:
    def __init__(self):
        self.kills, self.moments, self.told, self.places = {}, {}, {}, {}

    def add(self, place, output):
        if NEVER_BEGAN in output:
            output = "killed init before: 0 0 0"
        for row, moment, *told in LINE.findall(output):
            self.kills[row] = self.kills.get(row, 0) + 1
            self.moments[moment] = self.moments.get(moment, 0) + 1
            self.places[place] = self.places.get(place, 0) + 1
            before = self.told.get(row, (0, 0, 0))
            self.told[row] = tuple(a + int(b) for a, b in zip(before, told))

    def total(self):
        return sum(self.kills.values())

    def table(self):
        print(f"{'row':28} kills  success  proc_failed  revoked")
        for row, kills in self.kills.items():
            print("{:28} {:5} {:8} {:12} {:8}".format(row, kills, *self.told[row]))
        for title, counts in (("moment", self.moments), ("place", self.places)):
            print(f"{title}: " + ", ".join(f"{name} {n}" for name, n in sorted(counts.items())))


def chosen(options, job):
    """What rzrun is told besides the place."""
    words = []
    if options.agree:
        words += ["--agree", ENGINES[job // len(PLACES) % len(ENGINES)] if options.agree == "each" else options.agree]
    if options.wait:
        words += ["--wait", options.wait]
    if options.uniform:
        words += ["-x", f"KILL_MATRIX_UNIFORM={options.uniform}"]
    return words


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("rzrun")
    options.add_argument("program")
    options.add_argument("--kills", type=int, default=0)
    options.add_argument("--seconds", type=float, default=0)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--row")
    options.add_argument("--table", action="store_true")
    options.add_argument("--wait", help="how calls wait: rzrun --wait")
    options.add_argument("--agree", help="the engine of agreement: rzrun --agree; `each`: another one in each job")
    options.add_argument("--uniform", help="the communicators' mpi_error_uniform: construct or coll")
    options = options.parse_args()
    n_rows = int(subprocess.run([options.program, "rows"], stdout=subprocess.PIPE, text=True, check=True).stdout)
    counts, failures, jobs, first, began = Counts(), 0, 0, options.seed * 31 % n_rows, time.monotonic()
    while (counts.total() < options.kills if options.kills else time.monotonic() - began < options.seconds):
        place, words = list(PLACES.items())[jobs % len(PLACES)]
        words = words + chosen(options, jobs)
        command = [options.rzrun, "--oversubscribe", "--on-failure", "replace", *words, options.program,
                   str(options.seed + jobs), options.row or str(first)]
        why, output = kill_job.run(command, BAD, GOOD, HANG_S, ENVIRONMENT)
        before = counts.total()
        counts.add(place, output)
        first = (first + max(1, counts.total() - before)) % n_rows
        jobs += 1
        if why is not None:
            failures += 1
            print(f"{place}: {why}; again:\n    {shlex.join(command)}\n{output}", flush=True)
        if failures == 5:
            break
    if options.table:
        counts.table()
    print(f"{counts.total()} kills in {jobs} jobs, {len(counts.kills)} of {n_rows + 2} rows, {time.monotonic() - began:.0f} s: "
          f"{failures} jobs did not end as they should")
    return 1 if failures > 0 or counts.total() == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
