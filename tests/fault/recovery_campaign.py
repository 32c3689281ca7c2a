#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Seeded runs of the three proxies under failures: every one must end with the answer of a run without faults, or report,
with a status that is not 0, that more was lost than is tolerated; never with another answer.

Each seed and proxy draws a way to survive (MPIX_Reinit, ULFM by RZ_Comm_replace or by spawning, restart), a place for
the checkpoints where there is a choice (memory, parities, files), and up to five failures at random times or iterations, ranks and nodes mixed; some
occur during the recovery from another. A run has a bound; one that exceeds it, ends with another answer or another
status than it should, or leaves anything behind, is a violation: its story and the commands that replay it are printed.

    recovery_campaign.py --build build [--seeds 1..500] [--only hpccg] [--method ulfm] [--budget S] [--report FILE]
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
from record import struck_after_the_end  # noqa: E402

# Failures come with proof here; with more patience a loaded machine does not add some that only seem to be.
HB_TIMEOUT = "3s"
RANKS, NODES, NODES_FAILED_MAX = 8, 5, 2
KILLED = 128 + 9

# last: the lines of the result; the others show the progress, and may occur twice.
Proxy = collections.namedtuple("Proxy", "program arguments iterations last")
COMD = "-x", "8", "-y", "8", "-z", "8", "--temperature", "20000"  # so hot that atoms change ranks all the time
PROXIES = {
    "hpccg": [Proxy("hpccg", ("16", "16", "16"), 120, 2)],
    "comd": [Proxy("comd", COMD, 50, 3), Proxy("comd", (*COMD, "--eam"), 20, 3)],
    "lulesh": [Proxy("lulesh", ("-s", "4", "--print-every", "20"), 100, 8)],
}
FILES = "--checkpoint-files"  # checkpoints of the ULFM way; else they are in the memory of two processes
WAYS = {"reinit": [[]], "ulfm": [[*repair, *files] for repair in (["--repair", "replace"], ["--repair", "spawn"]) for files in ([], [FILES])], "restart": [[]]}
# Places for checkpoints, and how many nodes may crash without one being lost.
SCHEMES = {"memory": 0, "buddy": 1, "xor:3": 1, "rs:3+2": 2, "file": NODES}
NO_CHECKPOINT = 8  # rzrun's status when one that the job must go back to is lost


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", help="build tree (build)")
    parser.add_argument("--seeds", default="1..20", help="first..last, each for every proxy (1..20)")
    parser.add_argument("--only", default="", help="one proxy: " + ", ".join(PROXIES))
    parser.add_argument("--method", default="", help="one way: " + ", ".join(WAYS))
    parser.add_argument("--checkpoint", default="", help="with reinit: one place for checkpoints, as for rzrun --checkpoint")
    parser.add_argument("--budget", type=float, default=0, help="seconds after which no further run is begun; 0: no bound")
    parser.add_argument("--alone", action="store_true", help="no other job runs here: look for files left in /tmp and /dev/shm, too")
    parser.add_argument("--report", help="write a table of the runs to this file")
    options = parser.parse_args()
    if options.only and options.only not in PROXIES or options.method and options.method not in WAYS:
        parser.error("--only or --method: there is no such thing")
    return options


class Launcher:
    """What this rzrun can do, and how it is called."""

    def __init__(self, build):
        self.rzrun, self.apps = f"{build}/bin/rzrun", f"{build}/apps"
        self.help = subprocess.run([self.rzrun, "--help"], capture_output=True, text=True, check=True).stdout

    def schemes(self):
        there = re.search(r"--checkpoint SCHEME", self.help)
        return [scheme for scheme in SCHEMES if scheme != "file" or self.has_files()] if there else []

    def has_files(self):
        return "--checkpoint-dir" in self.help

    def command(self, proxy, options, method):
        return ["nice", "-n", "5", self.rzrun, "--oversubscribe", "-n", str(RANKS), "--nodes", str(NODES), "--hb-timeout", HB_TIMEOUT,
                "--timeout", HANG, *options, f"{self.apps}/{proxy.program}", *proxy.arguments,
                "--iterations", str(proxy.iterations), *method]


# ---- what is left behind

def processes_left(mark):
    """Processes that still carry the mark of a run that is over."""
    needle, found = f"RZ_TEST_MARK={mark}".encode(), []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as environ:
                if needle in environ.read().split(b"\0"):
                    with open(f"/proc/{pid}/cmdline", "rb") as cmdline:
                        found.append(f"process {pid}: {cmdline.read().replace(bytes(1), b' ').decode(errors='replace')}")
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return found


def names():
    return {name for folder in ("/dev/shm", "/tmp") for name in os.listdir(folder) if re.match(r"(rz_|rhizome|ucx)", name)}


def left_behind(mark, before, alone):
    """What is left; processes in the middle of their end get a while. Names carry no mark: they are looked at where no
    other job may be at work."""
    bound = time.monotonic() + HANG_S
    while (left := processes_left(mark)) and time.monotonic() < bound:
        time.sleep(0.02)
    return left + (sorted(names() - before) if alone else [])


# ---- a run

Run = collections.namedtuple("Run", "status out err seconds events")


def run(line, mark):
    """mark stands in the environment of everything that is started."""
    environment = dict(os.environ, RZ_TEST_MARK=mark)
    with tempfile.NamedTemporaryFile("r", prefix="recovery-events-") as events:
        at = line.index("--timeout")
        start = time.monotonic()
        done = subprocess.run([*line[:at], "--report", events.name, *line[at:]], capture_output=True, text=True,
                              timeout=HANG_S + 60, env=environment)
        return Run(done.returncode, done.stdout.splitlines(), done.stderr, time.monotonic() - start, events.read())


Calm = collections.namedtuple("Calm", "lines loop_ms")


def calm_run(launcher, proxy):
    """What it says without faults, and how long its loop takes."""
    done = run(launcher.command(proxy, [], ["--method", "ulfm"]), f"calm-{os.getpid()}")
    found = re.search(r"times total (\S+)", done.err)
    if done.status != 0 or not found:
        sys.exit(f"{proxy.program} without faults did not succeed (exit status {done.status}):\n{done.err}")
    return Calm(done.out, float(found.group(1)) * 1000)


# ---- failures

def draw_faults(draw, proxy, calm):
    """Up to five failures; enough nodes survive to run all ranks. Returns rzrun's options."""
    faults, at, nodes = [], draw.uniform(0, 0.9 * calm.loop_ms), draw.sample(range(NODES), NODES_FAILED_MAX)
    for _ in range(draw.randint(1, 5)):
        victim = f"node {nodes.pop()}" if nodes and draw.random() < 0.3 else f"rank {draw.randrange(RANKS)}"
        if draw.random() < 0.3:
            faults += ["--inject", f"kill {victim} at iteration {draw.randint(1, proxy.iterations - 1)}"]
        else:
            faults += ["--inject", f"kill {victim} at {at:.1f}ms"]
        # The next one: soon, in the middle of the recovery, or anywhere.
        at = at + draw.uniform(0, 40) if draw.random() < 0.5 else draw.uniform(0, 1.5 * calm.loop_ms)
    return faults


Plan = collections.namedtuple("Plan", "name options method bears")  # tolerates this number of failed nodes


def draw_plan(draw, options, launcher, folder):
    """How a run survives, and where its checkpoints are."""
    method = options.method or draw.choice(list(WAYS))
    way, rzrun, scheme = draw.choice(WAYS[method]), [], "buddy"
    name = " ".join([method, *way[1:2], *["file" for option in way if option == FILES]])
    every = ["--checkpoint-every", str(draw.choice([1, 1, 3, 10]))]
    schemes = [options.checkpoint] if options.checkpoint else launcher.schemes()
    if method == "reinit" and schemes:
        scheme = draw.choice(schemes)
        rzrun, name = ["--checkpoint", scheme], f"{name} {scheme}"
    if method == "restart":
        rzrun = ["--on-failure", "restart"]
    if launcher.has_files() and (method == "restart" or "file" in rzrun):
        rzrun += ["--checkpoint-dir", folder]
    way = [*way, folder] if FILES in way else way
    return Plan(name, rzrun, ["--method", method, *way, *every], SCHEMES[scheme] if method == "reinit" else NODES)


# ---- the results

def nodes_silent(events):
    """Live nodes that were reported: those that are killed break connections."""
    return set(re.findall(r"event=failure_seen \S+ rank=-1 (node=\d+) .* note=silence", events))


def nodes_lost(done, faults):
    """One that was reported of silence is excluded, and its checkpoints with it."""
    return sum("kill node" in fault for fault in faults) + len(nodes_silent(done.events))


def forgot(events):
    """Whether an epoch began at an older generation than it had to: that of the epoch before, or the last one that was
    committed there; the one before it if the commit coincided with the failure."""
    told = re.findall(r"event=(epoch|committed) epoch=(\d+) \S+ \S+ \S+ value=(\d+) ", events)
    base, newest = {}, collections.Counter()
    for what, epoch, generation in told:
        if what == "epoch":
            base[int(epoch)] = int(generation)
        else:
            newest[int(epoch)] = max(newest[int(epoch)], int(generation))
    return any(base[epoch] < max(base[epoch - 1], newest[epoch - 1] - 1) for epoch in base if epoch - 1 in base)


def result_is_there(done, calm, proxy, plan):
    """The result stands at the end, once; a job that is restarted after its last line prints it again. Of a node that fails
    a line may be cut or missing on the way there."""
    once = done.out.count(calm.lines[-1]) == 1 or plan.method[1] == "restart"
    return done.out[-proxy.last:] == calm.lines[-proxy.last:] and once


def other_lines(done, calm, faults):
    if nodes_lost(done, faults):
        return []
    return [line for line in done.out if line not in calm.lines]


def assess(done, calm, proxy, plan, faults, left):
    """What is wrong with a run, and how it ended in a word."""
    words = re.search(r"^(rzrun|rhizome|recovery|hpccg|comd|lulesh): .+", done.err, re.MULTILINE)
    said = [line for line in done.out if re.match(r"(residual|state|origin energy) ", line) and line not in calm.lines]
    if said or other_lines(done, calm, faults):
        return f"another answer: {said or other_lines(done, calm, faults)}", "wrong"
    if left:
        return "left behind: " + "; ".join(left), "wrong"
    if done.status == 124:
        return "it hung", "wrong"
    if nodes_lost(done, faults) <= plan.bears and forgot(done.events):
        return "a committed checkpoint was lost", "wrong"
    if done.status == NO_CHECKPOINT and words and nodes_lost(done, faults) > plan.bears:
        return None, "lost"
    if done.status == 0:
        return (None, "exact") if result_is_there(done, calm, proxy, plan) else ("exit status 0 without the result", "wrong")
    # A process that fails when the others have agreed that all is done is not replaced; if it is rank 0 the result is lost, too.
    zero_failed = re.search(r"event=(failure_seen|injected|failure_news) \S+ (rank=0|rank=-1 node=0) ", done.events)
    if done.status == KILLED and words and (result_is_there(done, calm, proxy, plan) or (struck_after_the_end(done.events) and zero_failed)):
        return None, "late"
    return f"exit status {done.status}", "wrong"


def one(seed, name, options, launcher, calms):
    draw = random.Random(f"{seed} {name}")
    proxy = draw.choice(PROXIES[name])
    if proxy not in calms:
        calms[proxy] = calm_run(launcher, proxy)
    calm, mark, before = calms[proxy], f"{os.getpid()}-{seed}-{name}", names()
    with tempfile.TemporaryDirectory(prefix="recovery-checkpoints-") as folder:
        plan = draw_plan(draw, options, launcher, folder)
        faults = draw_faults(draw, proxy, calm)
        line = launcher.command(proxy, [*plan.options, *faults], plan.method)
        done = run(line, mark)
    wrong, ended = assess(done, calm, proxy, plan, faults, left_behind(mark, before, options.alone))
    if wrong:
        again = f"{sys.argv[0]} --build {options.build} --seeds {seed}..{seed} --only {name}"
        again += f" --method {options.method}" if options.method else ""
        again += f" --checkpoint {options.checkpoint}" if options.checkpoint else ""
        print(f"seed {seed}, {name}: {wrong}\n" + "\n".join(done.out[-12:]) + f"\n{done.err[-3000:]}\nreplay: mkdir -p {folder}; "
              f"{shlex.join(line)}\nor: {again}", flush=True)
    failures = len(set(re.findall(r"event=failure_news \S+ (\S+ \S+ \S+) ", done.events)))
    zero = plan.method[1] == "ulfm" and "begin again at the beginning" in done.err
    zero |= bool(re.search(r"event=epoch epoch=((?!1 )\d+) \S+ \S+ \S+ value=0 ", done.events))
    return (seed, name, plan.name, done.seconds, failures, zero, wrong or ended, "; ".join(faults[1::2]), len(nodes_silent(done.events)))


def main():
    options = parse()
    first, last = (int(word) for word in options.seeds.split(".."))
    launcher, calms, rows = Launcher(options.build), {}, []
    began = time.monotonic()
    for seed in range(first, last + 1):
        for name in [options.only] if options.only else PROXIES:
            if not options.budget or time.monotonic() - began < options.budget:
                rows.append(one(seed, name, options, launcher, calms))
    count = collections.Counter(row[6] if row[6] in ("exact", "late", "lost") else "violation" for row in rows)
    ways = collections.Counter(row[2] for row in rows)
    summary = (f"{len(rows)} runs, {sum(row[4] for row in rows)} failures, {count['exact']} with the exact result, "
               f"{sum(row[5] for row in rows)} runs began again at iteration 0, in {count['late']} a failure came after the end, "
               f"{count['lost']} ended as more was lost than their checkpoints bear, "
               f"{sum(row[8] for row in rows)} living nodes were reported of silence, "
               f"{count['violation']} violations; " + ", ".join(f"{way} {n}" for way, n in sorted(ways.items())))
    print(summary)
    if options.report:
        with open(options.report, "w") as report:
            report.write(summary + "\n\nseed  proxy   way                seconds  failures  from 0  outcome    faults\n")
            for row in rows:
                report.write(f"{row[0]:4}  {row[1]:6}  {row[2]:17}  {row[3]:7.2f}  {row[4]:6}  {row[5]:6}  {row[6].splitlines()[0]:9}  {row[7]}\n")
    sys.exit(1 if count["violation"] or not rows else 0)


main()
