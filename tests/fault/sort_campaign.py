#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Seeded runs of the sort on a dynamic group: whichever processes leave, by failure, by a stop, by doing nothing or by starving (a tenth of the time, in
turns of 20 to 400 ms), at random places of the sort or at random times, the result is right.

Each seed draws a way (dgrp, no-rejoin, ulfm), a number of processes up to 16, how many of them leave and how, how many come back, nodes,
lists, elements, and where the checkpoints are. Every second seed has 16 processes; every sixth has 16 of which 15 leave: by each kind in
turn, by all kinds in one run, and by SIGKILL from outside at random times. A run has a bound; one that exceeds it, ends with another status than 0, without the
result, or with processes or files left behind is a violation: the command that replays it is printed.

    sort_campaign.py --build build [--seeds 1..500] [--method dgrp] [--budget S] [--report FILE]
"""
import argparse
import collections
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/..")
from patience import HANG, HANG_S  # noqa: E402

HB_TIMEOUT = "3s"  # failures come with proof here; patience keeps a loaded machine from adding some that only seem to be
KILLED = 128 + 9
START_US = 30000  # from the end of MPI_Init on: the group stands by then, unless the machine is loaded
METHODS = ("dgrp", "dgrp", "no-rejoin", "ulfm")
MIXED, OUTSIDE = "kill,stop,slow,starve", "outside"
KINDS = ("kill", "stop", "slow", "starve", MIXED, OUTSIDE)
MOST, EACH_MOST, EACH_ALL_BUT_ONE = 16, 2, 6
COUNTS = (0, 1, 7, 1000, 100000, 100000, 1000000, 1000000, 4000000)
OUTSIDE_US, OUTSIDE_US_EACH = 40000, 0.05  # kills from outside occur after this time, and later by this time for each element: about the time of a run
GROUP = ("interval=30ms", "first_threshold=400ms", "least_threshold=100ms", "zeta=3")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", help="build tree (build)")
    parser.add_argument("--seeds", default="1..20", help="first..last (1..20)")
    parser.add_argument("--method", default="", choices=("", *sorted(set(METHODS))), help="one way")
    parser.add_argument("--budget", type=float, default=0, help="seconds after which no further run is begun; 0: no bound")
    parser.add_argument("--report", help="write a table of the runs to this file")
    return parser.parse_args()


def processes_left(mark):
    """Processes that still carry the mark of a run that is over, and their scratch folders."""
    needle, found = f"RZ_TEST_MARK={mark}".encode(), []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as environ:
                if needle in environ.read().split(b"\0"):
                    found.append(f"process {pid}")
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return found


def left_behind(mark, folder):
    """Processes that are ending get some time. The folder is empty: the last process removes the checkpoints."""
    bound = time.monotonic() + HANG_S
    while (left := processes_left(mark)) and time.monotonic() < bound:
        time.sleep(0.02)
    return left + os.listdir(folder)


Plan = collections.namedtuple("Plan", "method how leave ranks count launch program")


def draw_leaving(draw, seed):
    """Processes, how many leave, and how."""
    if seed % EACH_ALL_BUT_ONE == 0:
        return MOST, MOST - 1, KINDS[seed // EACH_ALL_BUT_ONE % len(KINDS)]
    ranks = MOST if seed % EACH_MOST == 0 else draw.choice([2, 3, 5, 8, 13, 16])
    return ranks, draw.randint(1, ranks - 1), draw.choice(KINDS)


def draw_method(draw, seed):
    """For the hardest runs in turn, too: each kind with each way."""
    drawn = draw.choice(METHODS)
    return METHODS[seed // (EACH_ALL_BUT_ONE * len(KINDS)) % len(METHODS)] if seed % EACH_ALL_BUT_ONE == 0 else drawn


def kills(draw, ranks, leave, count):
    within = OUTSIDE_US + int(OUTSIDE_US_EACH * count)
    return [f"kill rank {rank} at {draw.randrange(within)}us" for rank in draw.sample(range(ranks), leave)]


def one_more(draw, ranks, leave, how):
    """From outside: in the start, or behind a step. One remains that no one kills."""
    when = draw.choice([f"{draw.randrange(START_US)}us", f"iteration {draw.randint(1, 3)}"])
    fault = f"{'kill' if leave < ranks - 1 else 'stop'} rank {draw.randrange(ranks)} at {when}"
    fault += "" if "kill" in fault else f" for {draw.randint(50, 600)}ms"
    return [fault] if how not in ("kill", OUTSIDE) and draw.random() < 0.4 else []


def draw_plan(draw, seed, options, folder):
    method = draw_method(draw, seed)
    method = options.method or method
    ranks, leave, how = draw_leaving(draw, seed)
    count = draw.choice(COUNTS)
    nodes = draw.choice([1, 1, 2, 4]) if ranks >= 4 else 1
    program = [str(count), "--method", method, "--seed", str(draw.randrange(1000)),
               "--distribution", draw.choice(["uniform", "few", "sorted", "equal"])]
    if how != OUTSIDE:
        program += ["--fail", how, "--fail-count", str(leave), "--fail-seed", str(draw.randrange(10**9)), "--return", f"{draw.choice([0, 50, 100])}%"]
    if draw.random() < 0.3:
        program += ["--virtual", str(2 ** draw.randrange(7))]
    if draw.random() < 0.5:
        program += ["--store", "file", "--dir", folder]
    if method != "ulfm":
        program += [word for key in GROUP for word in ("--group", key)]
    faults = kills(draw, ranks, leave, count) if how == OUTSIDE else one_more(draw, ranks, leave, how)
    launch = ["--story", "-n", str(ranks), "--nodes", str(nodes), *(word for fault in faults for word in ("--inject", fault))]
    return Plan(method, how, leave, ranks, count, launch, program)


Run = collections.namedtuple("Run", "status out err seconds line")


def run(plan, options, mark):
    line = ["nice", "-n", "5", f"{options.build}/bin/rzrun", "--oversubscribe", "--hb-timeout", HB_TIMEOUT, "--timeout", HANG,
            *plan.launch, f"{options.build}/apps/hyperquicksort", *plan.program]
    start = time.monotonic()
    done = subprocess.run(line, capture_output=True, text=True, timeout=HANG_S + 60, env=dict(os.environ, RZ_TEST_MARK=mark))
    return Run(done.returncode, done.stdout.splitlines(), done.stderr, time.monotonic() - start, line)


def assess(done, plan, left):
    """What is wrong with a run. The result is printed once; again only by another process, if the one that printed it left at that moment."""
    told = [line for line in done.out if re.fullmatch(rf"sorted {plan.count} in \d+\.\d+ s", line)]
    if done.status == 124:
        return "it hung"
    # If a failure from outside occurs when the others have all done their last round, no process is left to acknowledge it.
    late = done.status == KILLED and "kill rank" in " ".join(plan.launch)
    if done.status != 0 and not late:
        return f"exit status {done.status}"
    if not told or done.out[-1] != told[-1] or len(told) != len(done.out) or len(told) > 2:
        return f"exit status {done.status}, and on standard output {done.out}"
    return "left behind: " + "; ".join(left) if left else None


def one(seed, options):
    draw, mark = random.Random(f"{seed} sort"), f"{os.getpid()}-{seed}-sort"
    with tempfile.TemporaryDirectory(prefix="sort-checkpoints-") as folder:
        plan = draw_plan(draw, seed, options, folder)
        done = run(plan, options, mark)
        wrong = assess(done, plan, left_behind(mark, folder))
    if wrong:
        again = f"{sys.argv[0]} --build {options.build} --seeds {seed}..{seed}" + (f" --method {options.method}" if options.method else "")
        print(f"seed {seed}: {wrong}\n" + "\n".join(done.out[-5:]) + f"\n{done.err[-3000:]}\nreplay: mkdir -p {folder}; {shlex.join(done.line)}\n"
              f"or: {again}", flush=True)
    return seed, plan, done.seconds, wrong or "right", left_in(done, plan)


def left_in(done, plan):
    """How many left. Kills from outside may come when the sort is over."""
    told = r"^ *[\d.]+ s  rank \d+ on node \d+ failed" if plan.how == OUTSIDE else r"^hyperquicksort: rank \d+ leaves"
    return len(re.findall(told, done.err, re.MULTILINE))


def summary_of(rows):
    bad, full = sum(row[3] != "right" for row in rows), [row for row in rows if row[1].ranks == MOST]
    sharp = [row for row in full if row[1].leave == MOST - 1]
    ways = collections.Counter(f"{row[1].method} {named(row[1].how)}" for row in rows)
    return (f"{len(rows)} runs, {sum(row[4] for row in rows)} of {sum(row[1].ranks for row in rows)} processes left, {bad} violations; "
            f"{len(full)} with {MOST} processes, in {len(sharp)} of them {MOST - 1} were to leave, and did in "
            f"{sum(row[4] >= MOST - 1 for row in sharp)}; " + ", ".join(f"{way} {n}" for way, n in sorted(ways.items())))


def named(how):
    return "mixed" if how == MIXED else how


def main():
    options = parse()
    first, last = (int(word) for word in options.seeds.split(".."))
    rows, began = [], time.monotonic()
    for seed in range(first, last + 1):
        if not options.budget or time.monotonic() - began < options.budget:
            rows.append(one(seed, options))
    summary = summary_of(rows)
    print(summary)
    if options.report:
        with open(options.report, "w", encoding="utf-8") as report:
            report.write(summary + "\n\nseed  method     how      left  planned  of  elements  seconds  outcome\n")
            for seed, plan, seconds, outcome, left in rows:
                report.write(f"{seed:4}  {plan.method:9}  {named(plan.how):7}  {left:4}  {plan.leave:7}  {plan.ranks:2}  {plan.count:8}  "
                             f"{seconds:7.2f}  {outcome}\n")
    sys.exit(1 if not rows or any(row[3] != "right" for row in rows) else 0)


main()
