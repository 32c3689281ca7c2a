#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Plays programs at random (README.md) until so many are right or the time is over; makes the first one that is wrong small.

    random_campaign.py [--programs N] [--seconds N] [--seed N] [--faults] [--each N] [--peers]
                       [--rzrun PATH] [--program PATH]
    random_campaign.py --ulfm ...     programs in which processes fail and the others go on (random_failures)
"""
import argparse
import glob
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from patience import HANG_S  # noqa: E402

BUILD = os.environ.get("RZ_TEST_BUILD", "build")
SOURCES = os.path.dirname(os.path.abspath(__file__))
SHRINK_S = 600  # to make a program small
KILLED = 137  # as shells say it
ROUND = 40  # numbers of operations and failures in a round of random_failures
PEERS = {"Open MPI": ("mpicc.openmpi", ["mpiexec.openmpi", "--allow-run-as-root", "--oversubscribe"]),
         "MPICH": ("mpicc.mpich", ["mpiexec.mpich"])}


class Setting:
    """How a job is run: drawn from its first seed."""
    def __init__(self, options, seed):
        rng = random.Random(seed)
        self.seed, self.ranks = seed, rng.choice((1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9))
        self.nodes = rng.randint(1, min(3, self.ranks))
        self.threads = rng.choice((1, 1, 1, 2, 3))
        self.operations = {1: 150, 2: 80, 3: 60}[self.threads]
        self.bounds = rng.choice((None, None, "least", "odd"))
        self.faults, self.spoil, self.small = [], options.spoil, False
        if options.faults:
            victim = rng.choice(("rank", "node") if self.nodes > 1 else ("rank",))
            number = rng.randrange(self.ranks if victim == "rank" else self.nodes)
            self.faults = ["--rewind", f"{rng.choice((20, 50, 200))}ms", "--inject", f"kill {victim} {number} at {rng.randint(50, 3000)}ms"]

    def timeout_s(self):
        return HANG_S

    def program(self, programs, only=None, spawns=True):
        line = ["--seed", str(self.seed), "--programs", str(programs), "--operations", str(self.operations), "--threads", str(self.threads)]
        line += [] if spawns else ["--without", "spawn"]
        line += ["--spoil", str(self.spoil)] if self.spoil is not None else []
        return line + (["--only", only] if only else [])

    def line(self, options, folder, programs, only=None):
        line = [options.rzrun, "--oversubscribe", "--timeout", f"{self.timeout_s()}s", "-n", str(self.ranks), "--nodes", str(self.nodes), *self.faults]
        spawns = not self.faults  # docs/dynamic.md: nothing can be spawned with --rewind
        return line + [options.program, *self.program(programs, only, spawns), "--folder", folder]

    def shell(self, options, programs, only=None):
        begin = f"RZ_BOUNDS={self.bounds} " if self.bounds else ""
        return begin + shlex.join(self.line(options, "FOLDER", programs, only))


class Failing(Setting):
    """The same for a program in which processes fail: one of each job, because it has fewer processes in the end."""
    def __init__(self, options, seed):
        rng = random.Random(seed)
        self.seed, self.ranks = seed, rng.randint(3, 9)
        self.nodes = rng.randint(1, min(3, self.ranks))
        self.rounds = rng.choice((2, 3, 5, 8))
        self.operations = self.rounds * ROUND
        self.bounds = rng.choice((None, None, "least", "odd"))
        self.faults, self.more, self.spoil, self.small = [], [], options.spoil, False
        if self.nodes > 1 and rng.random() < 0.25:
            node = rng.randrange(self.nodes)
            self.faults = ["--inject", f"kill node {node} at {rng.randint(1, 400)}ms"]
            self.more = ["--outside", ranges(self.ranks_of(node))]
        engine = rng.choice((None, None, None, "twophase", "gossip1", "gossip2", "gossip3", "era"))
        self.faults += ["--agree", engine] if engine else []
        self.more += ["--thread"] if rng.random() < 0.2 else []

    def ranks_of(self, node):
        """The ranks of a node: as many on each, the first nodes have one more."""
        each, more = divmod(self.ranks, self.nodes)
        first = node * each + min(node, more)
        return list(range(first, first + each + (node < more)))

    def timeout_s(self):
        return 60 if self.small else HANG_S  # a program is tried many times while it is made small

    def program(self, programs, only=None, spawns=True):
        line = ["--seed", str(self.seed), "--rounds", str(self.rounds), *self.more]
        line += ["--spoil", str(self.spoil)] if self.spoil is not None else []
        return line + (["--only", only] if only else [])


def left_behind(mark, text):
    """What is still there of a job that has ended: its processes, by a mark in their environment, and its files."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if f"RZ_TEST_MARK={mark}".encode() in file.read().split(b"\0"):
                    found.append(f"process {pid}")
        except OSError:
            pass
    job = re.search(r"^job (\d+)$", text, re.MULTILINE)
    return found + (glob.glob(f"/dev/shm/rhizome-{job.group(1)}-*") if job else [])


def await_end(mark, text):
    """What is left behind, and does not go soon."""
    end = time.monotonic() + 30
    while left_behind(mark, text) and time.monotonic() < end:
        time.sleep(0.05)
    return left_behind(mark, text)


def run(line, bounds=None, patience=HANG_S + 100):
    """What the job printed, and whether all of its programs are right."""
    mark = f"{os.getpid()}.{time.monotonic_ns()}"
    environment = dict(os.environ, RZ_TEST_MARK=mark, **({"RZ_BOUNDS": bounds} if bounds else {}))
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=environment)
        try:
            status = process.wait(patience)
        except subprocess.TimeoutExpired:
            process.terminate()
            status = f"a hang: {process.wait()}"
        except BaseException:
            process.terminate()
            process.wait()
            raise
        out.seek(0)
        text = out.read()
    left = await_end(mark, text)
    if left:
        return False, f"{text}left behind: {', '.join(left)}\n"
    late = status == KILLED and "--rewind" in line  # the fault came when all had left MPI
    right = (status == 0 or late) and re.search(r"programs from seed \d+ are right", text) is not None
    return right, f"{text}status {status}\n"


def ranges(numbers):
    """1,2,3,7 as 1-3,7."""
    words, at = [], 0
    while at < len(numbers):
        end = at
        while end + 1 < len(numbers) and numbers[end + 1] == numbers[end] + 1:
            end += 1
        words.append(str(numbers[at]) if at == end else f"{numbers[at]}-{numbers[end]}")
        at = end + 1
    return ",".join(words)


def shrink(options, setting, folder):
    """As few operations of the program as fail still."""
    end = time.monotonic() + SHRINK_S

    def fails(kept):
        return not run(setting.line(options, folder, 1, ranges(kept)), setting.bounds)[0]
    kept, part = list(range(setting.operations)), setting.operations
    while part > 1 and time.monotonic() < end:
        part = (part + 1) // 2
        at = 0
        while at < len(kept) and time.monotonic() < end:
            fewer = kept[:at] + kept[at + part:]
            if fewer and fails(fewer):
                kept = fewer
            else:
                at += part
    return kept


def first_wrong(options, setting, folder, programs, text):
    """The seed that the job named, or the first one that fails alone; None: none does."""
    named = re.search(r"WRONG seed (\d+)", text)
    seeds = [int(named.group(1))] if named else range(setting.seed, setting.seed + programs)
    for seed in seeds:
        setting.seed = seed
        if not run(setting.line(options, folder, 1), setting.bounds)[0]:
            return seed
    return None


def ask_peers(setting, folder, only):
    """The same program, built for the MPIs of this machine, less what is spawned: not all of them are set up for it."""
    sources = [os.path.join(SOURCES, name) for name in os.listdir(SOURCES) if name.endswith(".c") and "failure" not in name]
    for name, (compiler, launcher) in PEERS.items():
        if not shutil.which(compiler):
            continue
        binary = f"{folder}/{compiler}"
        subprocess.run([compiler, "-O1", "-w", *sources, "-o", binary, "-lpthread"], check=True)
        right, text = run([*launcher, "-n", str(setting.ranks), binary, *setting.program(1, only, False), "--folder", folder], patience=HANG_S)
        said = re.findall(r"^WRONG.*", text, re.MULTILINE) or text.strip().splitlines()[-1:]
        print(f"{name}: {'right' if right else said[0]}", flush=True)


def explain(options, setting, folder, programs, text):
    print(f"{setting.shell(options, programs)}\n{text[-3000:]}", flush=True)
    setting.small = True
    if first_wrong(options, setting, folder, programs, text) is None:
        print("no program of it fails alone", flush=True)
        return
    kept = ranges(shrink(options, setting, folder))
    _, text = run([*setting.line(options, folder, 1, kept), "--list"], setting.bounds)
    print(f"\nthe least that fails:\n{setting.shell(options, 1, kept)}\n{text[-3000:]}", flush=True)
    if options.peers and not options.ulfm:
        ask_peers(setting, folder, kept)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED", random.randrange(1 << 40))))
    parser.add_argument("--each", type=int, default=50, help="programs of one job")
    parser.add_argument("--faults", action="store_true", help="with --rewind, and a rank or a node that fails")
    parser.add_argument("--ulfm", action="store_true", help="processes fail, and the program goes on")
    parser.add_argument("--peers", action="store_true", help="ask other MPIs about what is wrong")
    parser.add_argument("--spoil", type=int, help="let this operation be wrong in each program")
    parser.add_argument("--rzrun", default=f"{BUILD}/bin/rzrun")
    parser.add_argument("--program")
    options = parser.parse_args()
    options.program = options.program or f"{BUILD}/tests/random_{'failures' if options.ulfm else 'program'}"
    options.each = 1 if options.ulfm else options.each
    for path in (options.rzrun, options.program):
        if not os.access(path, os.X_OK):
            parser.error(f"{path} cannot be run: build it (make build), or name the build folder (RZ_TEST_BUILD)")
    print(f"again: SEED={options.seed} {shlex.join(sys.argv)}", flush=True)
    begun, right, number = time.monotonic(), 0, 0
    with tempfile.TemporaryDirectory(prefix="random-") as folder:
        while right < options.programs and time.monotonic() - begun < options.seconds:
            setting = (Failing if options.ulfm else Setting)(options, options.seed + 1000 * number)
            programs = min(options.each, options.programs - right)
            ok, text = run(setting.line(options, folder, programs), setting.bounds)
            if not ok:
                explain(options, setting, folder, programs, text)
                return 1
            right, number = right + programs, number + 1
            if sys.stdout.isatty():
                print(f"\r{right} programs are right", end="", flush=True)
    print(f"{right} programs are right, of {number} jobs", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
