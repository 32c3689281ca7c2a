#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Seeded runs under rzrun --rewind of programs that know nothing of failures: each ends with the output, to the byte, of a run without
faults, and leaves nothing behind.

Each seed draws a program, its nodes, a place for the images, the time between snapshots, and failures: of ranks and of nodes at random
moments, several in a row, or at a kill point of the snapshot, of the image or of the restoration, in a rank or in a daemon. A run that
hangs, says anything else, has another exit status or leaves something behind is a violation: it is shown with the command that replays it.

    rewind_campaign.py --build build [--seeds 1..100] [--only PROGRAM] [--budget S] [--matrix [POINTS]] [--report FILE]

--matrix: instead of drawn failures, each kill point at each of 4 ranks or nodes, in the torture. POINTS: a regular expression of points,
with the rank or node: 'restore|image-.*@1'.
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


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", help="build tree (build)")
    parser.add_argument("--seeds", default="1..20", help="first..last (1..20)")
    parser.add_argument("--only", default="", help="one program")
    parser.add_argument("--budget", type=float, default=0, help="seconds after which no further run is begun; 0: no bound")
    parser.add_argument("--matrix", nargs="?", const="", metavar="POINTS", help="each kill point at each of 4 ranks or nodes, or these")
    parser.add_argument("--report", help="write a table of the runs to this file")
    return parser.parse_args()


options = parse()
os.environ["RZ_TEST_BUILD"] = options.build
import rewind_programs as programs  # noqa: E402  # pylint: disable=wrong-import-position
rig = programs.rig
from record import struck_after_the_end  # noqa: E402  # pylint: disable=wrong-import-position

HB_TIMEOUT = "3s"  # failures come with proof here; with more patience a loaded machine does not add some that only seem to be
KILLED = 128 + 9
# Places for images, the nodes that they need, and how many of these may crash.
SCHEMES = {"memory": (1, 0), "buddy": (2, 1), "xor:4": (4, 1), "rs:2+2": (4, 2), "file": (1, 4)}
# Of a rank: on the way to a snapshot. Of a daemon: on the way to a commit, and to a new epoch.
RANK_POINTS = ["snapshot-stops", "snapshot-quiet", "image-save", "image-saved", "image-copy", "store", "stored"]
# In the first MPI_Init.
BEGIN_POINTS = ["joined", "entering", "entered", "at-start", "start-told"]
# Of a process that takes the place of a failed one: from its start to its image, within the image, and back into the job.
RESTORE_POINTS = ["restore-join", "restore-joined", "restore-asked", "restore-fetched", "restore-files", "image-checked", "image-unmapped",
                  "image-half", "image-pages", "image-files", "image-threads", "restore-woken", "restore-opened", "at-start:2", "start-told:2",
                  "restore-over"]
DAEMON_POINTS = ["piece-came", "piece-part", "piece-kept", "piece-ack"]
RECOVERY_POINTS = ["epoch", "epoch-begun", "run", "piece-back"]

# least: how often all go back at least; 0: the moments are random.
Fault = collections.namedtuple("Fault", "options environment nodes words least", defaults=[0])
Run = collections.namedtuple("Run", "status out err seconds events left")


# ---- a run

def command(program, size, nodes, more, folder):
    # Its priority is below that of what else runs.
    return ["nice", "-n", "5", rig.RZRUN, "--oversubscribe", "-n", str(program.ranks), "--nodes", str(nodes), "--hb-timeout", HB_TIMEOUT,
            "--timeout", rig.HANG, *more, *program.words(size, folder)]


def run(line, mark, environment=None):
    """mark stands in the environment of everything that is started."""
    before = rig.names()
    with tempfile.NamedTemporaryFile("r", prefix="rewind-events-") as events:
        at = line.index("--timeout")
        line = [*line[:at], "--report", events.name, *line[at:]]
        start = time.monotonic()
        try:
            done = subprocess.run(line, capture_output=True, timeout=rig.HANG_S + 60, check=False, stdin=subprocess.DEVNULL,
                                  env=dict(os.environ, RZ_TEST_MARK=mark, OMP_WAIT_POLICY="passive", **(environment or {})))
            status, out, err = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired as late:
            status, out, err = 124, late.stdout or b"", late.stderr or b""
        took = time.monotonic() - start
        return Run(status, out.decode(errors="replace"), err.decode(errors="replace"), took, events.read(), rig.left_behind(mark, before))


calms = {}


def calm(name, size):
    """What the program says without faults and without snapshots, and how long that takes."""
    if (name, size) not in calms:
        program = programs.PROGRAMS[name]
        with tempfile.TemporaryDirectory(prefix="rewind-files-") as folder:
            done = run(command(program, size, program.nodes[-1], [], folder), f"calm-{os.getpid()}-{name}")
        if done.status != 0 or re.search(r"[1-9]\d* wrong", done.out):
            sys.exit(f"{name} without faults did not succeed (exit status {done.status}):\n{done.out}{done.err}")
        calms[name, size] = done
    return calms[name, size]


# ---- failures

def at_moments(draw, program, nodes, bears, seconds):
    """Up to five: ranks and nodes, some of them in the middle of the recovery from another."""
    words, at, doomed = [], draw.uniform(0, 1.2) * seconds, draw.sample(range(nodes), min(bears, nodes - 1))
    killed = 0
    for _ in range(draw.randint(1, 5)):
        if doomed and draw.random() < 0.35:
            victim, killed = f"node {doomed.pop()}", killed + 1
        else:
            victim = f"rank {draw.randrange(program.ranks)}"
        words += ["--inject", f"kill {victim} at {at * 1000:.0f}ms"]
        at += draw.uniform(0, 0.1) if draw.random() < 0.5 else draw.uniform(0, 1.2) * seconds
    return Fault(words, {}, killed, "; ".join(words[1::2]))


def at_a_point(draw, program, nodes, bears):
    if bears > 0 and nodes > 1 and draw.random() < 0.3:
        point = f"{draw.choice(DAEMON_POINTS)}:{draw.randint(1, 12)}@{draw.randrange(nodes)}"
        return Fault([], {"RZ_KILL_AT": point}, 1, point)
    point = f"{draw.choice(RANK_POINTS)}:{draw.randint(1, 4)}@{draw.randrange(program.ranks)}"
    return Fault([], {"RZ_KILL_AT": point}, 0, point)


def in_the_recovery(draw, program, nodes, seconds):
    """A daemon fails while all go back because of a rank."""
    victim = draw.randrange(program.ranks)
    point = f"{draw.choice(RECOVERY_POINTS)}:{draw.choice([1, 2])}@{draw.randrange(nodes)}"
    words = ["--inject", f"kill rank {victim} at {draw.uniform(0.3, 1) * seconds * 1000:.0f}ms"]
    return Fault(words, {"RZ_KILL_AT": point}, 1, f"{words[1]}; {point}")


def in_a_restoration(draw, program, seconds):
    """A rank fails while it takes the place of a process that failed, or in MPI_Init."""
    if draw.random() < 0.2:
        point = f"{draw.choice(BEGIN_POINTS)}@{draw.randrange(program.ranks)}"
        return Fault([], {"RZ_KILL_AT": point}, 0, point)
    point = f"{draw.choice(RESTORE_POINTS)}@{draw.randrange(program.ranks)}"
    words = []
    for _ in range(draw.randint(1, 2)):
        words += ["--inject", f"kill rank {draw.randrange(program.ranks)} at {draw.uniform(0.3, 1) * seconds * 1000:.0f}ms"]
    return Fault(words, {"RZ_KILL_AT": point}, 0, "; ".join([*words[1::2], point]))


def draw_fault(draw, program, nodes, bears, seconds):
    kind = draw.random()
    if kind < 0.55:
        return at_moments(draw, program, nodes, bears, seconds)
    if kind < 0.75:
        return at_a_point(draw, program, nodes, bears)
    if kind < 0.9 or bears == 0 or nodes == 1:
        return in_a_restoration(draw, program, seconds)
    return in_the_recovery(draw, program, nodes, seconds)


# ---- the results

def assess(done, want):
    """What is wrong with a run, and how it ended in a word."""
    if done.left:
        return "left behind: " + "; ".join(done.left), "wrong"
    if done.status == 124:
        return "it hung", "wrong"
    if done.status == KILLED and struck_after_the_end(done.events) and want.startswith(done.out):
        return None, "late"
    if done.status != 0:
        return f"exit status {done.status}", "wrong"
    if done.out != want:
        return "other output", "wrong"
    unknown = [line for line in done.err.splitlines() if re.match(r"rhizome: |rank \d+: ", line)
               and not re.match(r"rhizome: rank \d+ begins again from its start, and .*/(lines|log|unit)", line)]
    return (f"it says: {unknown[0]}", "wrong") if unknown else (None, "exact")


def counts(events):
    restored = re.findall(r"event=restored epoch=(\d+)", events)
    committed = set(re.findall(r"event=committed epoch=(\d+) \S+ \S+ \S+ value=(\d+)", events))
    epochs = set(re.findall(r"event=epoch epoch=(\d+)", events)) - {"1"}
    return len(committed), len(epochs), len(set(restored))


def later(fault, times):
    """The same failures, so many times as late."""
    return fault._replace(options=[re.sub(r"at (\d+)ms$", lambda at: f"at {int(at.group(1)) * times}ms", word) for word in fault.options])


def one(label, name, scheme, nodes, every_ms, fault, size=None):
    """On a busy machine the first failure may come before the first images, and then nothing is restored that could come to the kill point:
    a longer program is tried, with later failures."""
    size = size or programs.PROGRAMS[name].usual
    for times in (1, 4, 16):
        row = one_of_size(label, name, scheme, nodes, every_ms, later(fault, times), size * times)
        if row[8] not in ("exact", "late") or row[6] >= fault.least:
            return row
    print(f"run {label}, {name}, {scheme}, {nodes} nodes: all went back {row[6]} times, not {fault.least}: {fault.words} was not reached")
    return (*row[:8], "the kill point was not reached", row[9])


def one_of_size(label, name, scheme, nodes, every_ms, fault, size):
    program = programs.PROGRAMS[name]
    want = calm(name, size)
    with tempfile.TemporaryDirectory(prefix="rewind-files-") as folder, tempfile.TemporaryDirectory(prefix="rewind-images-") as images:
        more = ["--rewind", f"{every_ms}ms", "--checkpoint", scheme, "--max-restarts", "100", *fault.options]
        more += ["--checkpoint-dir", images] if scheme == "file" else []
        line = command(program, size, nodes, more, folder)
        done = run(line, f"{os.getpid()}-{label}", fault.environment)
    wrong, ended = assess(done, want.out)
    n_committed, n_epochs, n_restored = counts(done.events)
    if wrong:
        variables = " ".join(f"{key}={value}" for key, value in fault.environment.items())
        again = f"{sys.argv[0]} --build {options.build} --seeds {label}..{label}"
        again += f" --only {options.only}" if options.only else ""
        print(f"run {label}, {name}, {scheme}, {nodes} nodes: {wrong}\n{done.out[-600:]}\n{done.err[-3000:]}\n"
              f"replay: mkdir -p {folder} {images}; {variables} {shlex.join(line)}\nor: {again}", flush=True)
    return (label, name, scheme, nodes, done.seconds, n_committed, n_epochs, n_restored, wrong or ended, fault.words)


def drawn(seed, names):
    draw = random.Random(f"{seed} {options.only}")
    name = "torture" if "torture" in names and draw.random() < 0.5 else draw.choice(names)
    program = programs.PROGRAMS[name]
    nodes = draw.choice(program.nodes)
    scheme = draw.choice([scheme for scheme, (least, _) in SCHEMES.items() if least <= nodes])
    bears = min(SCHEMES[scheme][1], nodes - 1)
    every = draw.choice([10, 20, 50, 100])
    return name, scheme, nodes, every, draw_fault(draw, program, nodes, bears, calm(name, program.usual).seconds)


def in_turn():
    for point in [*(f"{point}:2" for point in RANK_POINTS), *BEGIN_POINTS]:
        for rank in range(4):
            words = f"{point}@{rank}"
            yield "torture", "buddy", 4, 20, Fault([], {"RZ_KILL_AT": words}, 0, words, 1)
    for point in RESTORE_POINTS:
        for rank in range(4):
            words, inject = f"{point}@{rank}", f"kill rank {(rank + 1) % 4} at 600ms"
            yield "torture", "buddy", 4, 20, Fault(["--inject", inject], {"RZ_KILL_AT": words}, 0, f"{words}; {inject}", 2), 120
    for point in DAEMON_POINTS + RECOVERY_POINTS:
        for node in range(4):
            words = f"{point}:2@{node}"
            inject = ["--inject", f"kill rank {(node + 1) % 4} at 400ms"] if point in RECOVERY_POINTS else []
            yield "torture", "rs:2+2", 4, 20, Fault(inject, {"RZ_KILL_AT": words}, 1, "; ".join([words, *inject[1:]]))


def matrix():
    return [plan for plan in in_turn() if re.search(options.matrix, plan[4].environment["RZ_KILL_AT"])]


def main():
    first, last = (int(word) for word in options.seeds.split(".."))
    names = [options.only] if options.only else list(programs.there())
    if options.only and options.only not in programs.there():
        sys.exit(f"--only: this build has {', '.join(programs.there())}")
    began, rows = time.monotonic(), []
    plans = enumerate(matrix(), 1) if options.matrix is not None else ((seed, None) for seed in range(first, last + 1))
    for label, plan in plans:
        if options.budget and time.monotonic() - began >= options.budget:
            break
        rows.append(one(label, *(plan or drawn(label, names))))
    count = collections.Counter(row[8] if row[8] in ("exact", "late") else "violation" for row in rows)
    by_name = collections.Counter(row[1] for row in rows)
    summary = (f"{len(rows)} runs, {sum(row[5] for row in rows)} snapshots, {sum(row[6] for row in rows)} times all went back "
               f"({sum(row[7] for row in rows)} to an image), {count['exact']} with the exact output, in {count['late']} a failure came when "
               f"a rank had left, {count['violation']} violations; " + ", ".join(f"{name} {n}" for name, n in sorted(by_name.items())))
    if options.report:
        with open(options.report, "w", encoding="utf-8") as report:
            report.write(summary + "\n\nrun   program  scheme  nodes  seconds  snapshots  back  to image  outcome    faults\n")
            for row in rows:
                report.write(f"{row[0]:4}  {row[1]:7}  {row[2]:6}  {row[3]:5}  {row[4]:7.2f}  {row[5]:9}  {row[6]:4}  {row[7]:8}  "
                             f"{row[8].splitlines()[0]:9}  {row[9]}\n")
    print(summary)
    return 1 if count["violation"] else 0


sys.exit(main())
