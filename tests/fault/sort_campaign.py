#!/usr/bin/env python3
"""Seeded runs of the sort on a dynamic group: whoever leaves, by death, by a stop or by being slow, at random places of the sort or at
random times, the result is right.

Each seed draws a way (dgrp, no-rejoin, ulfm), a number of processes up to 16, how many of them leave and how, how many come back, nodes,
lists, elements, and where the checkpoints are. A run has a bound; one that exceeds it, ends with another status than 0, without the
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

BOUND_S = 60  # against hangs; a run takes some seconds at most
LEFT_S = 6  # so long after rzrun's end, however it ended, nothing may be left
HB_TIMEOUT = "3s"  # deaths come with proof here; patience keeps a loaded machine from adding some that only seem to be
KILLED = 128 + 9
START_US = 30000  # from the end of MPI_Init on: the group stands by then, unless the machine is loaded
METHODS = ("dgrp", "dgrp", "no-rejoin", "ulfm")
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
    """Processes in the middle of their end get a while. The folder is empty: who is last removes the checkpoints."""
    bound = time.monotonic() + LEFT_S
    while (left := processes_left(mark)) and time.monotonic() < bound:
        time.sleep(0.02)
    return left + os.listdir(folder)


Plan = collections.namedtuple("Plan", "method how leave ranks count launch program")


def draw_plan(draw, options, folder):
    method = options.method or draw.choice(METHODS)
    ranks = draw.choice([2, 3, 5, 8, 13, 16])
    how, leave = draw.choice(["kill", "stop", "slow"]), draw.randint(1, ranks - 1)
    count = draw.choice([0, 1, 7, 1000, 100000, 1000000])
    nodes = draw.choice([1, 1, 2, 4]) if ranks >= 4 else 1
    program = [str(count), "--method", method, "--seed", str(draw.randrange(1000)),
               "--distribution", draw.choice(["uniform", "few", "sorted", "equal"]),
               "--fail", how, "--fail-count", str(leave), "--fail-seed", str(draw.randrange(10**9)), "--return", f"{draw.choice([0, 50, 100])}%"]
    if draw.random() < 0.3:
        program += ["--virtual", str(2 ** draw.randrange(7))]
    if draw.random() < 0.5:
        program += ["--store", "file", "--dir", folder]
    if method != "ulfm":
        program += [word for key in GROUP for word in ("--group", key)]
    launch = ["-n", str(ranks), "--nodes", str(nodes)]
    if how != "kill" and draw.random() < 0.4:  # and one more, from outside: in the start, or behind a step
        when = draw.choice([f"{draw.randrange(START_US)}us", f"iteration {draw.randint(1, 3)}"])
        launch += ["--inject", f"{'kill' if leave < ranks - 1 else 'stop'} rank {draw.randrange(ranks)} at {when}"]
        launch[-1] += "" if "kill" in launch[-1] else f" for {draw.randint(50, 600)}ms"
    return Plan(method, how, leave, ranks, count, launch, program)


Run = collections.namedtuple("Run", "status out err seconds line")


def run(plan, options, mark):
    line = ["nice", "-n", "5", f"{options.build}/bin/rzrun", "--oversubscribe", "--hb-timeout", HB_TIMEOUT, "--timeout", f"{BOUND_S}s",
            *plan.launch, f"{options.build}/apps/hyperquicksort", *plan.program]
    start = time.monotonic()
    done = subprocess.run(line, capture_output=True, text=True, timeout=BOUND_S + 60, env=dict(os.environ, RZ_TEST_MARK=mark))
    return Run(done.returncode, done.stdout.splitlines(), done.stderr, time.monotonic() - start, line)


def judge(done, plan, left):
    """What is wrong with a run. The result comes once; again only from another process, when who printed it left in that moment."""
    told = [line for line in done.out if re.fullmatch(rf"sorted {plan.count} in \d+\.\d+ s", line)]
    if done.status == 124:
        return "it hung"
    # Of a death from outside that comes when the others have all done their last round nobody is left to take notice.
    late = done.status == KILLED and "kill rank" in " ".join(plan.launch)
    if done.status != 0 and not late:
        return f"exit status {done.status}"
    if not told or done.out[-1] != told[-1] or len(told) != len(done.out) or len(told) > 2:
        return f"exit status {done.status}, and on standard output {done.out}"
    return "left behind: " + "; ".join(left) if left else None


def one(seed, options):
    draw, mark = random.Random(f"{seed} sort"), f"{os.getpid()}-{seed}-sort"
    with tempfile.TemporaryDirectory(prefix="sort-checkpoints-") as folder:
        plan = draw_plan(draw, options, folder)
        done = run(plan, options, mark)
        wrong = judge(done, plan, left_behind(mark, folder))
    if wrong:
        again = f"{sys.argv[0]} --build {options.build} --seeds {seed}..{seed}" + (f" --method {options.method}" if options.method else "")
        print(f"seed {seed}: {wrong}\n" + "\n".join(done.out[-5:]) + f"\n{done.err[-3000:]}\nreplay: mkdir -p {folder}; {shlex.join(done.line)}\n"
              f"or: {again}", flush=True)
    return seed, plan, done.seconds, wrong or "right", len(re.findall(r"(?m)^hyperquicksort: rank \d+ leaves", done.err))


def main():
    options = parse()
    first, last = (int(word) for word in options.seeds.split(".."))
    rows, began = [], time.monotonic()
    for seed in range(first, last + 1):
        if not options.budget or time.monotonic() - began < options.budget:
            rows.append(one(seed, options))
    bad = sum(row[3] != "right" for row in rows)
    ways = collections.Counter(f"{row[1].method} {row[1].how}" for row in rows)
    summary = (f"{len(rows)} runs, {sum(row[4] for row in rows)} of {sum(row[1].ranks for row in rows)} processes left, {bad} violations; "
               + ", ".join(f"{way} {n}" for way, n in sorted(ways.items())))
    print(summary)
    if options.report:
        with open(options.report, "w", encoding="utf-8") as report:
            report.write(summary + "\n\nseed  method     how   leave  of  elements  seconds  outcome\n")
            for seed, plan, seconds, outcome, left in rows:
                report.write(f"{seed:4}  {plan.method:9}  {plan.how:4}  {left:5}  {plan.ranks:2}  {plan.count:8}  {seconds:7.2f}  {outcome}\n")
    sys.exit(1 if bad or not rows else 0)


main()
