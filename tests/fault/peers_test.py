#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs of kinds in which other systems hang or do not end cleanly (docs/reports has both), each under many seeds.

    peers_test.py --build build [--only MODE,...] [--count N] [--seeds FIRST] [--sample] [--budget SECONDS] [--report FILE]

Each run must end by itself, with the right exit status, the expected output of all survivors, and nothing left behind. One that
does not is shown with the command that repeats it. Modes and seeds: peers.c.
"""
import argparse
import collections
import os
import shlex
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../launch")
import launch_rig as rig  # noqa: E402

BOUND_S = int(os.environ.get("PEERS_BOUND_S", rig.HANG_S))  # against hangs
KILLED = 128 + 9
FOUR_NODES = ["--nodes", "4"]
PATIENT = ["--hb-timeout", "5s"]  # failures are proved here: a loaded machine must not add false ones

# ranks; options, one of each list in turn; survivors; how many runs, and how many of them in a sample
Mode = collections.namedtuple("Mode", "ranks options survivors count sample")
ONE_OR_FOUR = [PATIENT, PATIENT + FOUR_NODES]
MODES = {
    "finalize": Mode(8, ONE_OR_FOUR, None, 1000, 30),
    "shrink": Mode(8, ONE_OR_FOUR, 6, 200, 12),
    "replace": Mode(8, ONE_OR_FOUR, 8, 200, 12),
    "spawn": Mode(8, ONE_OR_FOUR, 8, 200, 12),
    "storm": Mode(32, ONE_OR_FOUR, 24, 500, 10),
    "refill": Mode(16, ONE_OR_FOUR, 16, 200, 10),
    # What notices a stopped process: the watchdog, or the detector with the processes as members.
    "stopped": Mode(6, [["--hang-timeout", "1s"], ["--hang-timeout", "1s", "--nodes", "3"],
                        ["--detector", "flat", "--nodes", "3"]], 5, 60, 3),
    # No process must be reported. `fastest` has the shortest heartbeats that docs/reports allows 64 ranks on an idle machine: for
    # daemons that share it with something else they are too short, whatever the ranks do, so it is no part of a sample.
    "compute": Mode(8, [["--hb-period", "250ms", "--hb-timeout", "1s", "--detector", detector] + FOUR_NODES
                        for detector in ("ring", "swim", "flat")], 8, 40, 3),
    "fastest": Mode(8, [["--hb-period", "20ms", "--hb-timeout", "40ms"] + FOUR_NODES], 8, 20, 0),
}
PROGRAM_MODE = {"fastest": "compute"}


def command(build, mode, seed):
    options = MODES[mode].options
    return [f"{build}/bin/rzrun", "-n", str(MODES[mode].ranks), "--oversubscribe", "--timeout", f"{BOUND_S}s",
            *options[seed % len(options)], f"{build}/tests/peers",
            PROGRAM_MODE.get(mode, mode), str(seed)]


def truth(mode, lines):
    """The exit status that a job must have: what was acknowledged, or repaired, is none of it."""
    if mode != "finalize" or "acknowledged" in lines:
        return 0
    return 0 if lines.count("finalize: correct") == MODES[mode].ranks else KILLED


def assess(mode, done, left):
    """What is wrong with a run; None: nothing."""
    lines = done.stdout.splitlines()
    content = lines.count(f"{PROGRAM_MODE.get(mode, mode)}: correct")
    wanted = MODES[mode].survivors
    if done.returncode == 124:
        return "it hung"
    if "not so" in done.stderr:
        return "a check was not so"
    if content != wanted and not (wanted is None and content >= MODES[mode].ranks - 1):
        return f"{content} survivors are content"
    if done.returncode != truth(mode, lines):
        return f"exit status {done.returncode}, and not {truth(mode, lines)}"
    return f"left behind: {left}" if left else None


def run_seed(build, mode, seed):
    """Seconds, and what was wrong."""
    line, before, mark = command(build, mode, seed), rig.names(), f"peers-{os.getpid()}-{mode}-{seed}"
    start = time.monotonic()
    done = subprocess.run(line, capture_output=True, text=True, errors="replace", timeout=2 * BOUND_S,
                          env=dict(os.environ, RZ_TEST_MARK=mark))
    took = time.monotonic() - start
    wrong = assess(mode, done, rig.left_behind(mark, before))
    if wrong:
        print(f"{mode}, seed {seed}: {wrong}\n{done.stdout[-1500:]}{done.stderr[-3000:]}\nagain: {shlex.join(line)}\n"
              f"or: {sys.argv[0]} --build {build} --only {mode} --seeds {seed} --count 1", flush=True)
    return took, wrong


def campaign(options, mode, count, end):
    """A row of the report."""
    times, violations = [], 0
    for seed in range(options.seeds, options.seeds + count):
        if end and time.monotonic() > end and times:
            break
        took, wrong = run_seed(options.build, mode, seed)
        times.append(took)
        violations += wrong is not None
    times.sort()
    if not times:
        return f"{mode:9} none", 0
    return (f"{mode:9} {len(times):5} runs, {violations:3} violations; seconds: median {times[len(times) // 2]:.2f}, "
            f"longest {times[-1]:.2f}"), violations


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", help="build tree (build)")
    parser.add_argument("--only", default=",".join(MODES), help=f"some of {','.join(MODES)} (all)")
    parser.add_argument("--count", type=int, default=0, help="runs of each mode (as many as its table says)")
    parser.add_argument("--seeds", type=int, default=1, help="first seed (1)")
    parser.add_argument("--sample", action="store_true", help="few of each")
    parser.add_argument("--budget", type=float, default=0, help="seconds for all, shared evenly; 0: no bound")
    parser.add_argument("--report", help="write the table to this file, too")
    options = parser.parse_args()
    modes, rows, violations, began = options.only.split(","), [], 0, time.monotonic()
    for number, mode in enumerate(modes, 1):
        count = options.count or (MODES[mode].sample if options.sample else MODES[mode].count)
        end = options.budget and began + options.budget * number / len(modes)
        row, wrong = campaign(options, mode, count, end)
        print(row, flush=True)
        rows.append(row)
        violations += wrong
    if options.report:
        with open(options.report, "w") as report:
            report.write("\n".join(rows) + "\n")
    print(f"{violations} violations")
    sys.exit(1 if violations else 0)


main()
