#!/usr/bin/env python3
"""Jobs without any fault beside processes that want all processors: none may hold a node or a rank for dead, and each must end with status 0.

Each run draws a kind of job and a number of nodes (1, 2, 4, 16); beside them --spinners processes compute, each in a session
of its own, so that Linux's autogroup shares the processors with each of them as with a whole job. Behind them, without the spinners, come --large jobs of
1,024 ranks on 32 nodes. Any accusation (record death_seen), any node that stops, any status but 0 is a violation: its story and its command are printed.

    false_deaths.py --build build [--seeds 1..100] [--spinners 60] [--large 0] [--nodes 4] [--only comd] [--budget S] [--report FILE]
"""
import argparse
import collections
import os
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/..")
from patience import HANG_S  # noqa: E402

NODES = (1, 2, 4, 16)
BAD = ("death_seen", "stopping", "out")  # records that a job without faults has no reason for

# Eight kinds of job: programs and their arguments, small; options of rzrun; ranks.
Kind = collections.namedtuple("Kind", "program arguments options ranks")
KINDS = {
    "ring": Kind("ring", (), (), 8),
    "hpccg": Kind("hpccg", ("12", "12", "12", "--iterations", "60"), (), 8),
    "checkpoints": Kind("hpccg", ("12", "12", "12", "--iterations", "60", "--checkpoint-every", "5"), (), 8),
    "comd": Kind("comd", ("-x", "8", "-y", "8", "-z", "8"), (), 8),
    "lulesh": Kind("lulesh", ("-s", "4", "--print-every", "50"), (), 8),
    "sort": Kind("hyperquicksort", ("400000",), (), 8),
    "swim": Kind("hpccg", ("12", "12", "12", "--iterations", "60"), ("--detector", "swim"), 8),
    "yield": Kind("hpccg", ("12", "12", "12", "--iterations", "60"), ("--wait", "yield"), 8),
}
LARGE = Kind("ring", (), (), 1024)
LARGE_NODES = 32


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", help="build tree (build)")
    parser.add_argument("--seeds", default="1..20", help="first..last, a run each (1..20)")
    parser.add_argument("--only", choices=sorted(KINDS), help="one kind of job")
    parser.add_argument("--nodes", type=int, help="always so many nodes")
    parser.add_argument("--spinners", type=int, default=60, help="busy processes beside the jobs (60)")
    parser.add_argument("--large", type=int, default=0, help="runs of 1,024 ranks on 32 nodes, without busy processes, behind the others (0)")
    parser.add_argument("--budget", type=float, default=0, help="seconds after which no further run is begun; 0: no bound")
    parser.add_argument("--report", help="write a table of the runs to this file")
    return parser.parse_args()


class Spinners:
    """Processes that compute until the end of this block, and die with this one."""

    def __init__(self, n):
        self.n, self.processes = n, []

    def __enter__(self):
        line = [sys.executable, "-c", "import ctypes, signal\nctypes.CDLL(None).prctl(1, signal.SIGKILL)\nwhile True: pass"]
        self.processes = [subprocess.Popen(line, start_new_session=True) for _ in range(self.n)]
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()


def run(line):
    """The status, what it printed, and the records that a job without faults has no reason for."""
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen([line[0], "--report", f"{folder}/report", *line[1:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   cwd=folder, text=True)
        try:
            out, _ = process.communicate(timeout=2 * HANG_S)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)
            out, status = process.communicate()[0], "hung"
        else:
            status = process.returncode
        try:
            with open(f"{folder}/report") as report:
                bad = [text for text in report if any(f"event={kind} " in text for kind in BAD)]
        except FileNotFoundError:
            bad = []
    return status, out, bad


def line_of(build, kind, nodes):
    return [f"{build}/bin/rzrun", "-n", str(kind.ranks), "--nodes", str(nodes), "--oversubscribe", "--timeout", f"{HANG_S}s", "--story",
            *kind.options, f"{build}/apps/{kind.program}", *kind.arguments]


def small(options):
    """(name, command) of each run beside the spinners."""
    first, _, last = options.seeds.partition("..")
    for seed in range(int(first), int(last or first) + 1):
        draw = random.Random(seed)
        name = options.only or draw.choice(sorted(KINDS))
        nodes = options.nodes or draw.choice(NODES)
        yield f"{name}, {nodes} nodes", line_of(options.build, KINDS[name], nodes)


def large(options):
    """The same of those that are load enough themselves."""
    for _ in range(options.large):
        yield f"{LARGE.ranks} ranks, {LARGE_NODES} nodes", line_of(options.build, LARGE, LARGE_NODES)


class Campaign:
    def __init__(self, budget):
        self.end = time.monotonic() + budget if budget else float("inf")
        self.runs, self.violations, self.load = collections.Counter(), [], 0.0

    def run_all(self, plan):
        for name, line in plan:
            if time.monotonic() > self.end:
                break
            status, out, bad = run(line)
            self.runs[name] += 1
            self.load = max(self.load, os.getloadavg()[0])
            if status != 0 or bad:
                self.violations.append(name)
                print(f"VIOLATION: {name}: status {status}\n$ {shlex.join(line)}\n{''.join(bad)}{out}", flush=True)


def main():
    options = parse()
    options.build = os.path.abspath(options.build)
    begun, campaign = time.monotonic(), Campaign(options.budget)
    with Spinners(options.spinners):
        campaign.run_all(small(options))
    campaign.run_all(large(options))
    last = (f"{sum(campaign.runs.values())} runs beside {options.spinners} busy processes, load up to {campaign.load:.0f}, "
            f"{time.monotonic() - begun:.0f} s: {len(campaign.violations)} with a false death or another end than it should")
    if options.report:
        with open(options.report, "w") as report:
            print("| job | runs | violations |\n|---|---|---|", file=report)
            for name in sorted(campaign.runs):
                print(f"| {name} | {campaign.runs[name]} | {campaign.violations.count(name)} |", file=report)
            print(f"\n{last}", file=report)
    print(last)
    sys.exit(1 if campaign.violations else 0)


if __name__ == "__main__":
    main()
