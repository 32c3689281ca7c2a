#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A signal ends a job with --checkpoint-dir: its newest checkpoint is written first, the status is 75, and --restart continues it."""
import os
import re
import signal

import checkpoint_rig
from checkpoint_rig import rig

SAVED = 75
# Rank 1 is stopped in the middle, so that the job is not over before the signal.
HELD = ["--inject", "stop rank 1 at iteration 100 for 60s"]


class Saved(checkpoint_rig.CheckpointTest):
    calm_long = None

    def program(self, iterations=200, every=4):
        return super().program(iterations, every)

    def setUp(self):
        super().setUp()
        if Saved.calm_long is None:
            Saved.calm_long = self.runs("-n", "4", *self.program()).out

    def begin(self, *options, scheme="buddy", program=None, until=None):
        job = self.start(*self.line(*HELD, *options, scheme=scheme), *(program or self.program()))
        there = rig.await_true(until or self.committed)
        self.assertTrue(there and job.poll() is None, "the job has no checkpoint")
        return job

    def ends(self, job, number=signal.SIGTERM, status=SAVED):
        job.send_signal(number)
        result = self.finish(job)
        self.assertEqual(result.status, status, result.err)
        self.assertNotIn("residual", result.out)
        return result

    def rests(self):
        """A rank is stopped, and every checkpoint that was committed has its mark: no newer one comes."""
        stopped = any(member.state == "T" for member in self.members()["process"])
        newest = max((int(event["value"]) for event in self.events("committed")), default=0) if stopped else 0
        return newest > 0 and max(self.committed(), default=0) == newest

    def goes_on(self, nodes=1):
        result = self.runs(*self.line("--restart", nodes=nodes), *self.program())
        self.assertEqual(result.out, self.calm_long, result.err)
        self.assertEqual(os.listdir(self.directory), [])

    def test_each_scheme_and_signal(self):
        for scheme, name in (("buddy", "SIGTERM"), ("file", "SIGUSR1"), ("memory", "SIGHUP"), ("xor:3", "SIGINT")):
            with self.subTest(scheme, signal=name):
                result = self.ends(self.begin("--signal-checkpoint", name, scheme=scheme, until=self.rests), getattr(signal, name))
                written = re.search(rf"{name} ended the job after checkpoint (\d+) was written", result.err)
                self.assertTrue(written, result.err)
                self.assertEqual(int(written[1]), max(self.committed()))
                self.assertIn(f"checkpoints are in {self.job}: --restart continues from them", result.err)
                self.goes_on()
                self.assertEqual(self.restored(), {int(written[1])})

    def test_names_without_sig(self):
        self.ends(self.begin("--signal-checkpoint", "USR2"), signal.SIGUSR2)
        self.goes_on(nodes=5)

    def test_a_job_that_has_none_yet(self):
        job = self.begin(program=self.program(every=1000), until=lambda: self.members()["rzd"])
        self.ends(job)
        self.goes_on()

    def daemons(self):
        return {int(re.search(r"127\.0\.1\.(\d+)", daemon.command)[1]) - 1: daemon.pid for daemon in self.members()["rzd"]}

    def test_the_node_that_writes_the_marks_fails(self):
        job = self.begin()
        daemon = self.daemons()[0]
        os.kill(daemon, signal.SIGSTOP)
        job.send_signal(signal.SIGTERM)
        os.kill(daemon, signal.SIGKILL)
        self.ends(job, number=0)
        self.goes_on()

    def test_daemons_that_do_not_answer(self):
        job = self.begin()
        daemons = list(self.daemons().values())
        for daemon in daemons:
            os.kill(daemon, signal.SIGSTOP)
        result = self.ends(job)
        self.assertIn("its newest checkpoint could not be written within 20 s", result.err)
        self.goes_on()

    def test_a_second_signal_does_not_wait(self):
        job = self.begin()
        for daemon in self.daemons().values():
            os.kill(daemon, signal.SIGSTOP)
        job.send_signal(signal.SIGTERM)
        rig.await_true(lambda: rig.read(job.pid, "status").split(b"ShdPnd:")[1].split()[0].strip(b"0") == b"")
        result = self.ends(job)
        self.assertNotIn("within 20 s", result.err)
        self.goes_on()

    def test_refused(self):
        for line, words in ((["--signal-checkpoint", "USR1"], "--signal-checkpoint needs a directory"),
                            (["--checkpoint-dir", self.directory, "--signal-checkpoint", "KILL"], "it is `USR1`, `USR2`, `HUP`, `INT`"),
                            (["--checkpoint-dir", self.directory, "true", ":", "--checkpoint-dir"], "concerns the whole job")):
            result = self.runs("-n", "1", *line, *self.program(), status=rig.BAD_LINE)
            self.assertIn(words, result.err)


if __name__ == "__main__":
    rig.main()
