#!/usr/bin/env python3
"""Seeded runs of the conjugate gradient under deaths: every one must end with the answer of a run without faults.

Each seed draws up to three deaths at random times and places, ranks and nodes mixed; some strike during the recovery from
another, some at a checkpoint. A run has a bound; one that exceeds it, ends otherwise than with the exact answer, or leaves
anything behind, is a violation: its dump, faults and replay command are printed.

    survive.py --build build --seeds 1..200 [--size NX NY NZ] [--iterations N] [--report FILE]
"""
import argparse
import os
import random
import re
import subprocess
import sys
import time

BOUND_S = 60  # against hangs; a run takes a few seconds
LEFT_S = 6  # so long after rzrun's end, however it ended, nothing may be left
# Deaths come with proof here; with more patience a loaded machine does not add some that only seem to be.
HB_TIMEOUT = "3s"
RANKS, NODES = 8, 4


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", help="build tree (build)")
    parser.add_argument("--seeds", default="1..40", help="first..last (1..40)")
    parser.add_argument("--size", nargs=3, default=["24", "24", "24"], help="block of each rank")
    parser.add_argument("--iterations", type=int, default=150)
    parser.add_argument("--every", type=int, default=10, help="iterations between checkpoints")
    parser.add_argument("--budget", type=float, default=0, help="seconds after which no further seed is begun; 0: no bound")
    parser.add_argument("--report", help="write a table of the runs to this file")
    return parser.parse_args()


def command(options, faults=()):
    line = [f"{options.build}/bin/rzrun", "-n", str(RANKS), "--nodes", str(NODES), "--hb-timeout", HB_TIMEOUT,
            "--timeout", f"{BOUND_S}s"]
    for fault in faults:
        line += ["--inject", fault]
    return line + [f"{options.build}/apps/hpccg", *options.size, "--iterations", str(options.iterations),
                   "--checkpoint-every", str(options.every)]


def run(line, mark, report=None):
    """Exit status, standard output, standard error, seconds. mark stands in the environment of everything started."""
    environment = dict(os.environ, RZ_TEST_MARK=mark)
    if report:
        line = line[:1] + ["--report", report] + line[1:]
    start = time.monotonic()
    done = subprocess.run(line, capture_output=True, text=True, timeout=BOUND_S + 60, env=environment)
    return done.returncode, done.stdout, done.stderr, time.monotonic() - start


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


def names_left(before):
    """Names in /dev/shm and /tmp that were not there before and speak of us."""
    return [name for name in names() - before if re.search(r"rhizome|ucx", name)]


def names():
    return {f"{folder}/{name}" for folder in ("/dev/shm", "/tmp") for name in os.listdir(folder)}


def left_behind(mark, before):
    """What is left; processes in the middle of their end get a while, on a loaded machine a longer one."""
    bound = time.monotonic() + LEFT_S
    while (left := processes_left(mark)) and time.monotonic() < bound:
        time.sleep(0.02)
    return left + names_left(before)


def draw_faults(seed, calm_ms, options):
    """Up to three deaths. At most two nodes die, so that ranks have somewhere to live."""
    draw = random.Random(seed)
    faults, at = [], draw.uniform(0, 0.9 * calm_ms)
    nodes = draw.sample(range(NODES), 2)
    for _ in range(draw.randint(1, 3)):
        victim = f"node {nodes.pop()}" if nodes and draw.random() < 0.4 else f"rank {draw.randrange(RANKS)}"
        if draw.random() < 0.25:
            k = options.every * draw.randint(1, max(1, options.iterations // options.every - 1))
            faults.append(f"kill {victim} at iteration {k}")
        else:
            faults.append(f"kill {victim} at {at:.1f}ms")
        # The next one: soon, in the middle of the recovery, or anywhere.
        at = at + draw.uniform(0, 80) if draw.random() < 0.5 else draw.uniform(0, 1.2 * calm_ms)
    return faults


def struck_after_the_end(events):
    """Whether a death came when every process had left MPIX_Reinit: nothing was left to repair, its exit status stands."""
    left = re.findall(r"event=left .* at_ns=(\d+)", events)
    seen = re.findall(r"event=(?:death_seen|injected) .* at_ns=(\d+)", events)
    return bool(left and seen) and max(map(int, seen)) >= min(map(int, left))


def judge(status, out, reference, left, late):
    if status == 124:
        return "it hung"
    if status != 0 and not (status == 137 and late):
        return f"exit status {status}"
    if out != reference:
        return f"another answer:\n{out}"
    if left:
        return "left behind: " + "; ".join(left)
    return None


def main():
    options = parse()
    first, last = (int(word) for word in options.seeds.split(".."))
    before = names()
    calm_ms = float("inf")
    for _ in range(3):  # the shortest counts: deaths shall strike while the program runs
        status, reference, err, seconds = run(command(options), f"calm-{os.getpid()}")
        if status != 0 or "residual" not in reference:
            sys.exit(f"the run without faults did not succeed (exit status {status}):\n{err}")
        calm_ms = min(calm_ms, seconds * 1000)
    report_file = f"/tmp/survive-{os.getpid()}.events"
    rows, violations, from_zero, recoveries, after_end, silent = [], 0, 0, 0, 0, 0
    began = time.monotonic()
    for seed in range(first, last + 1):
        if options.budget and time.monotonic() - began > options.budget:
            break
        faults, mark = draw_faults(seed, calm_ms, options), f"{os.getpid()}-{seed}"
        status, out, err, seconds = run(command(options, faults), mark, report_file)
        with open(report_file) as events:
            text = events.read()
        os.unlink(report_file)
        zero = len(set(re.findall(r"event=epoch epoch=((?!1 )\d+) \S+ \S+ \S+ value=0 ", text)))
        count = int((re.findall(r"recoveries=(\d+)", text) or ["0"])[-1])
        late = struck_after_the_end(text)
        silent += len(re.findall(r"event=death_seen .* note=silence", text))
        wrong = judge(status, out, reference, left_behind(mark, before), late)
        rows.append((seed, seconds, count, zero, wrong or "exact", "; ".join(faults)))
        from_zero, recoveries, after_end = from_zero + (zero > 0), recoveries + count, after_end + late
        if wrong:
            violations += 1
            replay = " ".join(f"'{word}'" if " " in word else word for word in command(options, faults))
            print(f"seed {seed}: {wrong}\n{err}\nreplay: {replay}\n"
                  f"or: {sys.argv[0]} --build {options.build} --seeds {seed}..{seed}", flush=True)
    summary = (f"{len(rows)} runs, {recoveries} recoveries, {from_zero} runs began again at iteration 0, "
               f"in {after_end} a death came after the end, {silent} living nodes were accused of silence, "
               f"{violations} violations; a run without faults takes {calm_ms:.0f} ms")
    print(summary)
    if options.report:
        with open(options.report, "w") as report:
            report.write(summary + "\n\nseed  seconds  recoveries  restarts-at-0  outcome  faults\n")
            for row in rows:
                report.write(f"{row[0]:4}  {row[1]:7.2f}  {row[2]:10}  {row[3]:13}  {row[4].splitlines()[0]:7}  {row[5]}\n")
    sys.exit(1 if violations else 0)


main()
