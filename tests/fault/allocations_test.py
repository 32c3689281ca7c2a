#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Allocations fail, one in each run: of the library in a process, of a daemon or its keeper, of rzrun, in jobs of nine kinds.
The job comes to the right answer, or ends with a status that is not 0 and a sentence: MPI_ERR_NO_MEM from a call, or what there was
no memory for. No process ends by a signal without such a sentence, none waits for ever, nothing is left.

    allocations_test.py [--build build] [--budget S] [--seeds 1] [--only WORD] [--every K] [--case SCENE:KIND:RANK:N] [--bound S]

A run without failures says which places of the source allocate, and when. Then one allocation of each place fails, in an order that
the seed draws, and again others of the same places, until the budget is used up; without a budget, one of each. --every K: instead
each K-th allocation of each process. --only: only places with this word in KIND:RANK:SCENE or in the source line. --case repeats one.
"""
import argparse
import contextlib
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import time

SOURCE = os.path.abspath(os.environ.get("RZ_TEST_SOURCE", os.path.dirname(os.path.abspath(__file__)) + "/../.."))
OPTIONS = argparse.ArgumentParser()
OPTIONS.add_argument("--build", default=os.environ.get("RZ_TEST_BUILD", "build"))
OPTIONS.add_argument("--budget", type=float)
OPTIONS.add_argument("--seeds", type=int, default=1)
OPTIONS.add_argument("--only", default="")
OPTIONS.add_argument("--every", type=int)
OPTIONS.add_argument("--case")
OPTIONS.add_argument("--bound", type=float)
OPTIONS.add_argument("--verbose", action="store_true")
options = OPTIONS.parse_args()
os.environ["RZ_TEST_BUILD"] = os.path.abspath(options.build)
sys.path.insert(0, SOURCE + "/tests/launch")
import launch_rig as rig  # noqa: E402

JOB, PRELOAD = rig.program("allocations_job"), rig.program("liballocations_fail.so")
SCENES = ["start", "p2p", "coll", "comm", "spawn", "repair", "reinit", "group", "files"]
ANSWER = "allocations: correct\n"
# Of several processes that must come to the same outcome those that have memory get MPI_ERR_OTHER, or MPI_ERR_SPAWN of spawned ones.
REASON = re.compile(r"no memory|out of memory|MPI_ERR_NO_MEM|[Cc]annot allocate memory|another process could not|could not continue|did not reach MPI_Init")
BAD = re.compile(r"assertion failed|WRONG|another class|MPI_ERR_OTHER(?!.*another process could not)|[Ss]egmentation|signal 11|signal 6|Aborted|malformed")
BOUND_S = options.bound or rig.HANG_S


def line(scene):
    return [rig.RZRUN, "--oversubscribe", "-n", "4", "--nodes", "2", JOB, scene]


class Case:
    def __init__(self, scene, kind, rank, number, place=None):
        self.scene, self.kind, self.rank, self.number, self.place = scene, kind, rank, number, place

    def name(self):
        return f"{self.scene}:{self.kind}:{self.rank}:{self.number}"

    def variables(self, log):
        return {"LD_PRELOAD": PRELOAD, "RZ_TEST_ALLOC_IN": self.kind, "RZ_TEST_ALLOC_RANK": self.rank,
                "RZ_TEST_ALLOC_FAIL": str(self.number), "RZ_TEST_ALLOC_LOG": log}


class Rig(rig.LaunchTest):
    def runTest(self):
        pass

    def left_behind(self):
        """Sockets end with their processes, and none of its jobs writes to /tmp: what appears there is others'."""
        return [name for name in super().left_behind() if not name.startswith(("socket ", "/tmp/"))]

    def job(self, scene, variables):
        run = self.start(*line(scene)[1:], environment=variables)
        try:
            out, err = run.communicate(timeout=BOUND_S)
        except subprocess.TimeoutExpired:
            self.fail(f"it hangs: {[(p.name, p.command) for p in rig.marked(self.mark)]}")
        return run.returncode, out.decode(errors="replace"), err.decode(errors="replace")

    def allocations(self, scene):
        """Each allocation of a run without failures: kind, rank, number, and place in an object."""
        path = f"{self.folder}/list"
        status, out, err = self.job(scene, {"LD_PRELOAD": PRELOAD, "RZ_TEST_ALLOC_LIST": path})
        self.assertEqual((status, out), (0, ANSWER), f"{scene}, and no allocation fails:\n{err}")
        with open(path, encoding="utf-8") as file:
            for words in map(str.split, file):
                yield Case(scene, words[0], words[1], int(words[2]), (words[3], words[4]))

    def run_case(self, case):
        """Whether it came so far."""
        log = f"{self.folder}/log"
        status, out, err = self.job(case.scene, case.variables(log))
        if options.verbose:
            print(f"{case.name()}: status {status}\n{out}{err}", end="")
        if not os.path.exists(log):
            return False
        with open(log, encoding="utf-8") as file:
            case.place = tuple(file.read().split()[3:5])
        said = f"status {status}\n{out}{err}"
        self.assertGreaterEqual(status, 0, f"a signal: {said}")
        self.assertNotRegex(err, BAD, said)
        if status == 0:
            self.assertEqual(out, ANSWER, said)
        else:
            self.assertRegex(err, REASON, f"no reason: {said}")
        left = rig.lasting(self.left_behind, BOUND_S)
        self.assertFalse(left, f"left behind: {said}")
        return True


def attempt(run):
    """What `run` returns, and what was wrong or None."""
    test = Rig()
    test.setUp()
    try:
        return run(test), None
    except AssertionError as error:
        for process in rig.marked(test.mark):  # what hangs or is left is reported already
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        return True, str(error)
    finally:
        try:
            test.tearDown()
        except AssertionError:
            pass
        test.doCleanups()


def source_of(place):
    """The source line of the caller, if the object has it; else the offset."""
    try:
        words = ["addr2line", "-i", "-f", "-e", place[0], hex(int(place[1], 16) - 1)]
        lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
        return " < ".join(f"{name} {re.sub('.*/src/', 'src/', at)}" for name, at in zip(lines[::2], lines[1::2]))
    except (OSError, subprocess.CalledProcessError):
        return f"{os.path.basename(place[0])}+{place[1]}"


def listed():
    """All allocations of all scenes."""
    found = []
    for scene in SCENES:
        cases, problem = attempt(lambda test, scene=scene: list(test.allocations(scene)))
        if problem:
            sys.exit(f"WRONG: {problem}")
        found += cases
    return found


def drawn(cases, draw):
    """Of each place one, in any order; then others of the same places. Without a budget one of each."""
    places = {}
    for case in cases:
        places.setdefault((case.kind, case.place), []).append(case)
    for one in places.values():
        draw.shuffle(one)
    while places:
        order = sorted(places, key=str)
        draw.shuffle(order)
        for place in order:
            yield places[place].pop()
        if not options.budget:
            return
        places = {place: rest for place, rest in places.items() if rest}


def chosen(draw):
    if options.case:
        scene, kind, rank, number = options.case.split(":")
        return [Case(scene, kind, rank, int(number))]
    cases = listed()
    if options.only:
        lines = {case.place: None for case in cases}
        lines = {place: source_of(place) for place in lines}
        cases = [case for case in cases if options.only in f"{case.kind}:{case.rank}:{case.scene}" or options.only in lines[case.place]]
    if options.every:
        cases = [case for case in cases if case.number % options.every == options.seeds % options.every]
        draw.shuffle(cases)
        return cases
    return drawn(cases, draw)


def main():
    draw, begun, done, missed, wrong = random.Random(options.seeds), time.monotonic(), 0, 0, []
    for case in chosen(draw):
        if options.budget and time.monotonic() - begun > options.budget:
            break
        reached, problem = attempt(lambda test, case=case: test.run_case(case))
        done += reached
        missed += not reached
        if problem:
            wrong.append(case)
            again = [sys.executable, "-B", os.path.relpath(__file__), "--build", options.build, "--case", case.name()]
            print(f"WRONG: {case.name()}: {source_of(case.place) if case.place else ''}\n{problem}\n  again: {shlex.join(again)}", flush=True)
    print(f"{done} allocations failed, {missed} not reached, {len(wrong)} wrong (seed {options.seeds}, {time.monotonic() - begun:.0f} s)")
    return 1 if wrong else 0


sys.exit(main())
