#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ends of rzrun, a keeper or a daemon at named points of its life, from the first fork to the last message: each is killed,
stopped and continued, or stopped permanently there, with 1 and 2 nodes, attached, detached and with a spawn. Then the job
ends with a status that is not 0 and a line, or continues with the right answer; each wait ends, nothing is left.

    ends_test.py [--build build] [--sample N | --slice K/N] [--budget S] [--seeds 1] [--only WORD] [--random N]

Without --sample: the whole list, or as much of it as the budget allows, in an order that the seed draws. --slice: the
K-th of N parts of it. --random: N kills and stops of a process at a random time in the first 60 ms instead. RZ_KILL_AT=POINT@NODE[+stop] repeats one.
"""
import argparse
import contextlib
import os
import random
import re
import signal
import sys
import threading
import time

SOURCE = os.path.abspath(os.environ.get("RZ_TEST_SOURCE", os.path.dirname(os.path.abspath(__file__)) + "/../.."))
OPTIONS = argparse.ArgumentParser()
OPTIONS.add_argument("--build", default=os.environ.get("RZ_TEST_BUILD", "build"))
OPTIONS.add_argument("--sample", type=int)
OPTIONS.add_argument("--slice", default="1/1")
OPTIONS.add_argument("--budget", type=float)
OPTIONS.add_argument("--seeds", type=int, default=1)
OPTIONS.add_argument("--only", default="")
OPTIONS.add_argument("--random", type=int)
options = OPTIONS.parse_args()
os.environ["RZ_TEST_BUILD"] = os.path.abspath(options.build)
sys.path.insert(0, SOURCE + "/tests/launch")
import launch_rig as rig  # noqa: E402

RING, SPAWN = f"{rig.BUILD}/apps/ring", rig.program("fault_ends_spawn")
MODES = {"one node": ["-n", "2", RING], "two nodes": ["-n", "2", "--nodes", "2", RING],
         "spawn": ["-n", "2", "--nodes", "2", "--oversubscribe", SPAWN],
         "detached": ["--detach", "-n", "2", RING], "detached, two nodes": ["--detach", "-n", "2", "--nodes", "2", RING]}
ANSWERS = {RING: r"\Aring of 2: token 20 after 10 rounds, .*\n\Z", SPAWN: r"\Asum 6\n\Z"}
SILENCE_S = 2
NO_JOB = 7
STOPPED = "T"


def points():
    """(point, kind of process) as the lists of rzrun and of the daemon name them."""
    names = []
    for component in ("launch", "daemon"):
        with open(f"{SOURCE}/src/{component}/kill_points.def", encoding="utf-8") as file:
            names += re.findall(r'"((?!launch-files)(?:launch|keeper|daemon)-[a-z-]+)"', file.read())
    kinds = {"launch": "rzrun", "keeper": "rzd-keeper", "daemon": "rzd"}
    return [(name, kinds[name.split("-")[0]]) for name in names]


def cases():
    for point, kind in points():
        of_detached = re.search("detach|let-go|number", point)
        for mode, words in MODES.items():
            if of_detached and "--detach" not in words:
                continue
            for action in ("kill", "pause", "stop"):
                if action == "stop" and (kind == "rzrun" or "--detach" in words):
                    continue  # a user that stops rzrun, or attaches to a stopped job, continues it later
                for node in range(2 if "--nodes" in words and kind != "rzrun" else 1):
                    yield point, kind, action, mode, node


class Rig(rig.LaunchTest):
    def runTest(self):
        pass

    def right(self, result, words, what):
        """The answer, or a status that is not 0 and a line that says why."""
        if result.status == 0 and "nodes have ended; their last output may be missing" not in result.err:
            self.assertRegex(result.out, ANSWERS[words[-1]], f"{what}: status 0\n{result.err}")
        elif result.status != 0:
            self.assertRegex(result.err, r"(?m)^(rzrun|rhizome): .", f"{what}: status {result.status} without a word\n{result.out}")

    def left_behind(self):
        """Sockets are others': each name is of one job, and those of its own jobs end with their processes."""
        return [name for name in super().left_behind() if not name.startswith("socket ")]

    def stopped(self):
        return [process for process in rig.marked(self.mark) if process.state == STOPPED]

    def continue_all(self, over):
        """Continues whatever has stopped, again and again."""
        while not over.wait(0.1):
            stopped = self.stopped()
            time.sleep(0.2 if stopped else 0)  # it sends nothing for this time
            for process in stopped:
                try:
                    os.kill(process.pid, signal.SIGCONT)
                except ProcessLookupError:
                    pass

    @contextlib.contextmanager
    def continuing(self, wanted):
        over = threading.Event()
        thread = threading.Thread(target=self.continue_all, args=(over,))
        if wanted:
            thread.start()
        try:
            yield
        finally:
            over.set()
            if wanted:
                thread.join()

    def outcome(self, run, words, what, killed):
        self.members()
        result = self.finish(run)
        if "--detach" not in words:
            if not killed or result.status != -signal.SIGKILL:
                self.right(result, words, what)
            return
        number = result.out.strip()
        if result.status == 0:
            self.assertRegex(number, r"\A[0-9a-f]{16}\Z", what)
        elif result.status != -signal.SIGKILL:
            self.assertRegex(result.err, r"(?m)^rzrun: .", f"{what}: status {result.status} without a word")
        if number:
            attached = self.run_it("--attach", number)
            if not (result.status and attached.status == NO_JOB):  # it ended with rzrun
                self.right(attached, words, what + ", attached")

    def nothing_left(self, what):
        left = rig.lasting(self.left_behind)
        self.assertFalse(left, f"{what}: left behind")

    def run_case(self, point, kind, action, mode, node):
        words = MODES[mode]
        plan = f"{point}@{node}" + ("" if action == "kill" else "+stop")
        what = f"RZ_KILL_AT={plan} rzrun {' '.join(words)} ({action})"
        bound = ["--silence-timeout", f"{SILENCE_S}s"] if action == "stop" else []
        run = self.start(*bound, *words, environment={"RZ_KILL_AT": plan})
        with self.continuing(action == "pause"):
            self.outcome(run, words, what, kind == "rzrun")
            self.nothing_left(what)

    def run_random(self, draw):
        mode, kind = draw.choice(list(MODES)), draw.choice(("rzrun", "rzd-keeper", "rzd"))
        number, delay = draw.choice((signal.SIGKILL, signal.SIGSTOP)), draw.uniform(0, 0.06)
        words = MODES[mode]
        what = f"{kind} gets signal {int(number)} {1000 * delay:.1f} ms after the start of rzrun {' '.join(words)}"
        run = self.start(*words)
        while delay > 0 and not run.poll():
            time.sleep(min(delay, 0.001))
            delay -= 0.001
        victims = self.members()[kind]
        if victims:
            try:
                os.kill(draw.choice(victims).pid, number)
            except ProcessLookupError:
                pass
        with self.continuing(number == signal.SIGSTOP):
            self.outcome(run, words, what, kind == "rzrun")
            self.nothing_left(what)
        return bool(victims)


def attempt(run):
    """One case in a folder of its own; what was wrong with it, or None."""
    test = Rig()
    test.setUp()
    try:
        run(test)
        return None
    except AssertionError as error:
        return str(error)
    finally:
        try:
            test.tearDown()
        except AssertionError:
            pass  # reported already
        test.doCleanups()


def chosen(draw):
    every = [case for case in cases() if options.only in " ".join(map(str, case))]
    draw.shuffle(every)
    part, parts = map(int, options.slice.split("/"))
    every = every[part - 1::parts]
    if options.sample:  # few that wait for the end of a silence
        slow = [case for case in every if case[2] == "stop"][:2]
        every = slow + [case for case in every if case[2] != "stop"][:options.sample - len(slow)]
    return every


def main():
    draw, begun, done, wrong = random.Random(options.seeds), time.monotonic(), 0, []
    if options.random:
        runs = [lambda test: test.run_random(draw)] * options.random
    else:
        runs = [lambda test, case=case: test.run_case(*case) for case in chosen(draw)]
    for run in runs:
        if options.budget and time.monotonic() - begun > options.budget:
            break
        problem = attempt(run)
        done += 1
        if problem:
            wrong.append(problem)
            print(f"WRONG: {problem}", flush=True)
    print(f"{done} of {len(runs)} ends, {len(wrong)} wrong (seed {options.seeds}, {time.monotonic() - begun:.0f} s)")
    return 1 if wrong else 0


sys.exit(main())
