#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""SIGKILL of any member of a job, at any moment, leaves nothing behind: no process, socket, shared memory or file.

    leftover_test.py [SEED [RUNS]]     RZ_TEST_BUILD names the build tree
"""
import os
import random
import signal
import sys
import time

import launch_rig as rig

SEED = int(sys.argv[1]) if len(sys.argv) > 1 else 1
RUNS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
del sys.argv[1:]

WAITS = rig.program("launch_waits")
PROGRAMS = {"a program without MPI": ["/bin/sh", "-c", "setsid sleep 100 & sleep 100"],
            "an MPI program": [WAITS, "receive"], "an MPI program on its way": [WAITS, "traffic"]}


class Leftover(rig.LaunchTest):
    def kill_one(self, victim, name, draw):
        """Kills one member of this kind after a random time; the job may end as it likes, but it must end."""
        process = self.start("-n", "4", "--nodes", "2", "--timeout", rig.HANG, *PROGRAMS[name])
        delay_s = draw.choice((0, draw.uniform(0, 0.05), draw.uniform(0, 0.4)))
        candidates = rig.await_true(lambda: self.members()[victim])
        time.sleep(delay_s)  # the moment of the kill is random on purpose
        candidates = self.members()[victim] or candidates
        chosen = draw.choice(candidates)
        try:
            os.kill(chosen.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        if victim == "process" or victim == "rzd":
            # Survivors of a program that does not wait for the failed one may continue: end them as a user would.
            rig.await_true(lambda: process.poll() is not None, 1)
            process.send_signal(signal.SIGINT)
        self.finish(process)
        left = rig.lasting(self.left_behind)
        self.assertFalse(left, f"{name}: {victim} killed {delay_s * 1000:.0f} ms after its start (seed {SEED})")

    def kill_all_kinds(self, victim):
        draw = random.Random(f"{SEED} {victim}")
        for turn in range(RUNS):
            name = list(PROGRAMS)[turn % len(PROGRAMS)]
            with self.subTest(seed=SEED, turn=turn, program=name):
                self.kill_one(victim, name, draw)

    def test_rzrun(self):
        self.kill_all_kinds("rzrun")

    def test_keeper(self):
        self.kill_all_kinds("rzd-keeper")

    def test_daemon(self):
        self.kill_all_kinds("rzd")

    def test_process(self):
        self.kill_all_kinds("process")

    def test_rzrun_and_a_daemon_at_once(self):
        process = self.start("-n", "4", "--nodes", "2", *PROGRAMS["an MPI program"])
        kinds = self.await_members(4, 2)
        os.kill(kinds["rzd"][0].pid, signal.SIGKILL)
        process.kill()
        self.finish(process)

    def test_rzrun_while_a_daemon_is_stopped(self):
        process = self.start("-n", "4", "--nodes", "2", *PROGRAMS["an MPI program"])
        kinds = self.await_members(4, 2)
        os.kill(kinds["rzd"][0].pid, signal.SIGSTOP)
        process.kill()
        self.finish(process)


rig.main()
