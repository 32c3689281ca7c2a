#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Recoveries on hosts (hosts.py): jobs over ssh lose random ranks again and again, and one host each: its daemon is killed, its power goes, its
cable is pulled, or all of it is stopped. Each job must end with the right result, and no other host may be taken for failed, also under load.

  tests/hosts/recovery_campaign.py [--recoveries N] [--seed S] [--spinners N] [--budget SECONDS] [--report FILE]
"""
import argparse
import collections
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import time

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.dirname(os.path.abspath(__file__)) + "/.."]
import hosts  # noqa: E402
import jobs  # noqa: E402
from hosts_files import HANG_S, ahead_s  # noqa: E402
from record import struck_after_the_end  # noqa: E402

HOSTS, RANKS = 4, 8
REPORT = "/run/rig/home/report"
SIZE = ["24", "24", "24", "--iterations", "120", "--checkpoint-every", "5"]
KILLED = 128 + signal.SIGKILL
FAULTS = ("daemon", "power", "cable", "stop")
SPINNER = "import os\nwhile os.getppid() == {}: pass"


class Found:
    """What was seen in all jobs."""

    def __init__(self):
        self.jobs = self.wrong = self.late = 0
        self.whole_ms = collections.defaultdict(list)  # of each recovery: by what failed
        self.noticed_ms = collections.defaultdict(list)  # of each lost host: by fault
        self.wrongs = []

    def recoveries(self):
        return sum(map(len, self.whole_ms.values()))


def fields(line):
    return dict(re.findall(r"(\w+)=(\S*)", line))


def lose(rig, fault, k):
    """When, by the clock of rzrun's host."""
    at = time.monotonic() + ahead_s(0)
    {"power": lambda: rig.power_off(k), "cable": lambda: rig.cable(k, False), "stop": lambda: rig.stop(k),
     "daemon": lambda: rig.run(k, ["pkill", "-KILL", "-x", "rzd"], timeout=HANG_S)}[fault]()
    return time.monotonic() + ahead_s(0) if fault == "daemon" else at  # a command was started on the host


def restore(rig, fault, k):
    """All of the job on the host ends, for it is alone."""
    {"power": lambda: rig.boot(k), "cable": lambda: rig.cable(k, True), "stop": lambda: rig.cont(k), "daemon": lambda: None}[fault]()


def run_job(rig, seed, found, expected):
    dice = random.Random(seed)
    fault, k = FAULTS[seed % len(FAULTS)], dice.randint(1, HOSTS)
    line = [jobs.RZRUN, "--host", ",".join(f"h{host}:4" for host in range(1, HOSTS + 1)), "-n", str(RANKS), "--map-by", "node", "--seed", str(seed),
            "--report", REPORT, "--max-restarts", "0", "--inject", f"every {dice.randint(600, 1500)}ms kill random rank", jobs.HPCCG, *SIZE]
    process = rig.start(0, line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    runs = ["pgrep", "-x", "hpccg"]
    there = jobs.await_true(lambda: rig.run(k, runs, stdout=subprocess.DEVNULL, timeout=HANG_S).returncode == 0 or process.poll() is not None)
    time.sleep(dice.uniform(0.2, 1.2))  # anywhere in the job
    lost_at = lose(rig, fault, k)
    try:
        out, err = process.communicate(timeout=HANG_S)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        err += "\nit hangs"
    restore(rig, fault, k)
    report = rig.run(0, ["sh", "-c", f"cat {REPORT}; rm -f {REPORT}"], stdout=subprocess.PIPE, text=True, timeout=HANG_S).stdout
    late = process.returncode == KILLED and struck_after_the_end(report)
    report = report.splitlines()
    left = [line for host in range(HOSTS + 1) if not jobs.await_true(lambda host=host: not rig.free_check(host)) for line in rig.free_check(host)]
    seen = [fields(line) for line in report if line.startswith("event=failure_seen ") and " rank=-1 " in line]
    excluded = {int(fields(line)["node"]) for line in report if line.startswith("event=excluded ") or line.startswith("event=out ")}
    wrong = [f"node {node} was taken for failed" for node in excluded - {k - 1}]
    found.late += late
    wrong += [] if there and (process.returncode == 0 or late) and jobs.result_of(out) == expected else [f"status {process.returncode}: {out}"]
    wrong += left
    found.jobs += 1
    if wrong:
        found.wrong += 1
        found.wrongs.append(f"seed {seed}, {fault} of h{k}: {'; '.join(wrong)}\n{err[-2000:]}")
    for one in [fields(line) for line in report if line.startswith("event=recovery ")]:
        if "whole_ms" in one:
            found.whole_ms["ranks"].append(float(one["whole_ms"]))
    times = [int(one["at_ns"]) / 1e6 - lost_at * 1e3 for one in seen if int(one["node"]) == k - 1]
    if times:
        found.noticed_ms[fault].append(max(0, min(times)))


def summary(values):
    return f"{statistics.median(values):.1f} [{min(values):.1f}..{max(values):.1f}], n = {len(values)}" if values else "none"


def page(found, options, seconds):
    lines = ["# Recoveries on hosts\n", f"Written by `{' '.join(['tests/hosts/recovery_campaign.py', *sys.argv[1:]])}` on "
             f"{time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}, {seconds:.0f} s, {options.spinners} spinning processes beside it.\n",
             f"* {found.jobs} jobs of {RANKS} ranks on {HOSTS} hosts, {found.recoveries()} recoveries, {found.wrong} jobs wrong",
             f"* {found.late} of them had the right result and status {KILLED}: a rank or host failed when others were done",
             f"* from the notice of a failure until all are at the start again, ms: {summary(found.whole_ms['ranks'])}"]
    lines += [f"* {text}, until another host has noticed it, ms: {summary(found.noticed_ms[fault])}" for fault, text in
              (("daemon", "a daemon was killed"), ("power", "a host lost its power"), ("cable", "its cable was pulled"), ("stop", "all of it was stopped"))]
    return "\n".join([*lines, *(f"\nWrong: {wrong}" for wrong in found.wrongs)]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, kind, default in (("recoveries", int, 500), ("seed", int, 1), ("spinners", int, 0), ("budget", float, 3600), ("report", str, None)):
        parser.add_argument(f"--{name}", type=kind, default=default)
    options = parser.parse_args()
    if why := hosts.lacking(slurm=False):
        print(why)
        sys.exit(jobs.SKIPPED)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    expected = jobs.result_of(jobs.JobsTest.undisturbed([jobs.HPCCG, *SIZE], RANKS))
    spinners = [subprocess.Popen([sys.executable, "-c", SPINNER.format(os.getpid())]) for _ in range(options.spinners)]
    found, begun, seed = Found(), time.monotonic(), options.seed
    try:
        with hosts.Hosts(HOSTS, share=[jobs.SOURCE, jobs.BUILD]) as rig:
            while (found.recoveries() < options.recoveries or found.jobs < len(FAULTS)) and time.monotonic() - begun < options.budget:
                run_job(rig, seed, found, expected)
                seed += 1
                if sys.stderr.isatty():
                    print(end=f"\r{found.jobs} jobs, {found.recoveries()} recoveries, {found.wrong} wrong", file=sys.stderr, flush=True)
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()
    text = page(found, options, time.monotonic() - begun)
    print(text, end="")
    if options.report:
        with open(options.report, "w", encoding="utf-8") as file:
            file.write(text)
    sys.exit(1 if found.wrong or found.recoveries() == 0 else 0)


if __name__ == "__main__":
    main()
