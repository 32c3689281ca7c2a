#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs without any fault beside processes that use all processors: none may declare a node or a rank failed, and each must end with status 0.

Each run draws a kind of job and a number of nodes (1, 2, 4, 16); beside them --spinners processes compute, each in a session
of its own, so that Linux's autogroup shares the processors with each of them as with a whole job. --jobs this number of jobs run at once, each in a session of
its own, too, as if at a terminal each. After them, without the spinners and one after the other, run --large jobs of 1,024 ranks on 32 nodes.
Any failure report (record failure_seen), any node that stops, any status but 0 is a violation: its story and its command are printed.

    false_failures.py --build build [--seeds 1..100] [--spinners 60] [--jobs 1] [--large 0] [--nodes 4] [--only comd] [--budget S] [--report FILE]
"""
import argparse
import collections
import ctypes
import datetime
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
BAD = ("failure_seen", "stopping", "excluded")  # records that a job without faults has no reason for

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
    parser.add_argument("--jobs", type=int, default=1, help="jobs that run at once (1)")
    parser.add_argument("--large", type=int, default=0, help="runs of 1,024 ranks on 32 nodes, without busy processes, behind the others (0)")
    parser.add_argument("--budget", type=float, default=0, help="seconds after which no further run is begun; 0: no bound")
    parser.add_argument("--report", help="write date, commit, command, a table of the runs and each violation to this file")
    return parser.parse_args()


class Spinners:
    """Processes that compute until the end of this block, and crash with this one."""

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


def fail_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


class Run:
    """A job in a session of its own."""

    def __init__(self, name, line):
        self.name, self.line, self.folder = name, line, tempfile.TemporaryDirectory(prefix="false-failures-")
        self.out = open(f"{self.folder.name}/out", "w+", encoding="utf-8", errors="replace")
        self.bound, self.hung = time.monotonic() + 2 * HANG_S, False
        self.process = subprocess.Popen([line[0], "--report", f"{self.folder.name}/report", *line[1:]], stdin=subprocess.DEVNULL, stdout=self.out,
                                        stderr=subprocess.STDOUT, cwd=self.folder.name, start_new_session=True, preexec_fn=fail_with_parent)

    def over(self):
        if time.monotonic() > self.bound and not self.hung:
            self.hung = True
            self.process.terminate()
        return self.process.poll() is not None

    def result(self):
        """The status, what it printed, and the records that a job without faults has no reason for."""
        self.out.seek(0)
        out = self.out.read()
        try:
            with open(f"{self.folder.name}/report", encoding="utf-8") as report:
                bad = [text for text in report if any(f"event={kind} " in text for kind in BAD)]
        except FileNotFoundError:
            bad = []
        self.close()
        return "hung" if self.hung else self.process.returncode, out, bad

    def close(self):
        """Also of one that still runs."""
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait()
        self.out.close()
        self.folder.cleanup()


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
        self.runs, self.violations, self.load, self.running = collections.Counter(), [], 0.0, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for run in self.running:
            run.close()

    def assess(self, run):
        status, out, bad = run.result()
        self.runs[run.name] += 1
        self.load = max(self.load, os.getloadavg()[0])
        if status != 0 or bad:
            self.violations.append((run.name, f"{run.name}: status {status}\n$ {shlex.join(run.line)}\n{''.join(bad)}{out}"))
            print(f"VIOLATION: {self.violations[-1][1]}", flush=True)

    def run_all(self, plan, jobs):
        for name, line in plan:
            if time.monotonic() > self.end:
                break
            self.running.append(Run(name, line))
            self.await_fewer_than(jobs)
        self.await_fewer_than(1)

    def await_fewer_than(self, jobs):
        while len(self.running) >= jobs:
            for run in [run for run in self.running if run.over()]:
                self.running.remove(run)
                self.assess(run)
            time.sleep(0.01)

    def violations_of(self, name):
        return sum(violated == name for violated, _ in self.violations)


def of_git(*words):
    result = subprocess.run(["git", "-C", os.path.dirname(os.path.abspath(__file__)), *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return result.stdout.strip() if result.returncode == 0 else "unknown"


def table_of(campaign):
    """Rows of Markdown: the runs of each job over its nodes, with the violations where there are some."""
    cells = {}
    for name, runs in campaign.runs.items():
        job, nodes = name.removesuffix(" nodes").rsplit(", ", 1)
        violations = campaign.violations_of(name)
        cells.setdefault(job, {})[int(nodes)] = f"{runs} ({violations})" if violations else str(runs)
    columns = sorted({nodes for row in cells.values() for nodes in row})
    yield "| job | " + " | ".join(f"{nodes} nodes" for nodes in columns) + " |"
    yield "|---|" + "---|" * len(columns)
    for job, row in sorted(cells.items()):
        yield f"| {job} | " + " | ".join(row.get(nodes, "-") for nodes in columns) + " |"


def write_report(path, campaign, last, begun):
    words = [os.path.relpath(word) if os.path.isabs(word) else word for word in sys.argv]
    with open(path, "w", encoding="utf-8") as report:
        print("# False failures: jobs without faults on a loaded machine\n", file=report)
        print(f"{begun:%Y-%m-%d %H:%M} UTC, commit {of_git('rev-parse', '--short=12', 'HEAD')}, {os.cpu_count()} processors.\n", file=report)
        print(f"    python3 {shlex.join(words)}\n", file=report)
        print("Runs; in brackets, violations.\n", *table_of(campaign), sep="\n", file=report)
        print(f"\n{last}.", file=report)
        for _, told in campaign.violations:
            print("\n    " + told.strip().replace("\n", "\n    "), file=report)


def main():
    options = parse()
    options.build = os.path.abspath(options.build)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what runs is ended on the way out
    begun, started = datetime.datetime.now(datetime.timezone.utc), time.monotonic()
    with Campaign(options.budget) as campaign:
        with Spinners(options.spinners):
            campaign.run_all(small(options), options.jobs)
        campaign.run_all(large(options), 1)
    last = (f"{sum(campaign.runs.values())} runs, {options.jobs} at once beside {options.spinners} busy processes, load up to {campaign.load:.0f}, "
            f"{time.monotonic() - started:.0f} s: {len(campaign.violations)} with a false failure or another end than it should")
    if options.report:
        write_report(options.report, campaign, last, begun)
    print(last)
    sys.exit(1 if campaign.violations else 0)


if __name__ == "__main__":
    main()
