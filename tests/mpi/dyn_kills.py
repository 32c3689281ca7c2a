#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kills processes of dyn_failure at places inside the library, by chance; a job that does not end well is shown, with the
command that runs it again.

    dyn_kills.py RZRUN PROGRAM [--kills 60 | --seconds 60] [--seed 1]
"""
import argparse
import os
import random
import re
import shlex
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/..")
from patience import HANG_S  # noqa: E402
import kill_job  # noqa: E402

PLACES = {
    "one node": (4, ["-n", "4"]),
    "two nodes": (4, ["-n", "4", "--nodes", "2"]),
    "a node for each": (5, ["-n", "5", "--nodes", "5"]),
    "copies through the ring": (4, ["-n", "4", "-x", "RZ_SHM_CMA=0"]),
}
# Place -> the highest number of times that it is passed before.
POINTS = {
    "spawn": {"spawn": 1, "spawned": 1, "go": 2, "ready": 1, "comm": 3, "send": 12, "sent": 12, "arrived": 30, "protocol-message": 12,
              "read": 12, "step": 12, "decided": 4, "revoked": 1},
    "connect": {"connect": 1, "accept": 1, "last-word": 1, "comm": 4, "send": 20, "sent": 20, "arrived": 30, "protocol-message": 12,
                "read": 12, "step": 12, "decided": 4, "revoked": 1},
}
BAD = r"not so|assert|Sanitizer|signal (?!9)\d|no answer within"
REPAIRED = re.compile(r"repaired [1-9]|was killed by signal 9")


def draw(chance):
    scene = chance.choice(sorted(POINTS))
    place = chance.choice(sorted(PLACES))
    n, words = PLACES[place]
    point = chance.choice(sorted(POINTS[scene]))
    nth = chance.randint(1, POINTS[scene][point])
    victim = chance.randrange(n + (2 if scene == "spawn" else 0))  # the slots of the first children are behind the ranks
    if point in ("spawn", "spawned", "go"):
        victim = 1
    elif point == "ready":
        victim = n + chance.randrange(2)
    elif point in ("connect", "accept", "last-word"):
        victim = 0 if point == "accept" else n // 2
    return place, [*words, "-x", f"RZ_KILL_AT={point}:{nth}@{victim}"], scene


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("rzrun")
    options.add_argument("program")
    options.add_argument("--kills", type=int, default=0)
    options.add_argument("--seconds", type=float, default=0)
    options.add_argument("--seed", type=int, default=1)
    options = options.parse_args()
    chance, kills, jobs, failures, began = random.Random(options.seed), {}, 0, 0, time.monotonic()
    while sum(kills.values()) < options.kills if options.kills else time.monotonic() - began < options.seconds:
        place, words, scene = draw(chance)
        command = [options.rzrun, "--oversubscribe", "--on-failure", "continue", *words, options.program, scene]
        why, output = kill_job.run(command, BAD, ": correct", HANG_S)
        jobs += 1
        point = words[-1].split("=")[1].split(":")[0]
        kills[point] = kills.get(point, 0) + (REPAIRED.search(output) is not None)
        if why is not None:
            failures += 1
            print(f"{place}: {why}; again:\n    {shlex.join(command)}\n{output}", flush=True)
        if failures == 5:
            break
    print(", ".join(f"{point} {n}" for point, n in sorted(kills.items())))
    print(f"{sum(kills.values())} kills in {jobs} jobs, {time.monotonic() - began:.0f} s: {failures} jobs did not end as they should")
    return 1 if failures > 0 or sum(kills.values()) == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
