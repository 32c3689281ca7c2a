#!/usr/bin/env python3
"""The end of a job that does not end by itself: --timeout with its report, Ctrl-C, signals that are passed on."""
import re
import signal
import subprocess

import launch_rig as rig

WAITS = rig.program("launch_waits")
SH = "/bin/sh"


class Ending(rig.LaunchTest):
    def test_timeout_of_a_program_without_mpi(self):
        result = self.runs("-n", "2", "--timeout", "500ms", SH, "-c", "sleep 100", status=rig.TIMED_OUT)
        self.assertIn("--timeout", result.err)
        for rank in (0, 1):
            self.assertRegex(result.err, rf"rank {rank} \(node 0, pid \d+\) has not called MPI_Init")

    def test_timeout_tells_who_waits_for_whom(self):
        for nodes in ("1", "2"):
            result = self.runs("-n", "2", "--nodes", nodes, "--timeout", "2s", WAITS, "receive", status=rig.TIMED_OUT)
            lines = [line for line in result.err.splitlines() if re.match(r"\s+rank \d", line)]
            self.assertEqual(len(lines), 2, result.err)
            for rank, line in enumerate(sorted(lines)):
                self.assertRegex(line, rf"rank {rank} .*MPI_Recv.*\b(rank )?{1 - rank}\b.*tag 77", result.err)

    def test_timeout_tells_who_computes(self):
        result = self.runs("-n", "2", "--timeout", "2s", WAITS, "compute", status=rig.TIMED_OUT)
        self.assertRegex(result.err, r"rank 1 .*MPI_Recv")
        self.assertRegex(result.err, r"rank 0 ")

    def test_timeout_that_is_not_needed(self):
        self.assertEqual(self.runs("--timeout", "30s", "/bin/true").err, "")

    def test_timeout_of_a_process_that_ignores_signals(self):
        self.runs("--timeout", "500ms", SH, "-c", "trap '' TERM INT HUP; while :; do sleep 1; done", status=rig.TIMED_OUT)

    def interrupted(self, number, *arguments):
        process = self.start("-n", "4", "--nodes", "2", *arguments)
        self.await_members(4, 2)
        process.send_signal(number)
        result = self.finish(process)
        self.assertEqual(result.status, 128 + number, result.err)

    def test_interrupt(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self.interrupted(number, "/bin/sleep", "100")
            self.interrupted(number, WAITS, "receive")

    def test_interrupt_of_a_process_that_ignores_signals(self):
        self.interrupted(signal.SIGINT, SH, "-c", "trap '' TERM INT HUP; while :; do sleep 1; done")

    def test_interrupt_while_everything_starts(self):
        for turn in range(8):
            process = self.start("-n", "4", "--nodes", "4", "/bin/sleep", "100")
            rig.await_true(lambda: len(self.members()["rzd"]) >= turn // 2)
            process.send_signal(signal.SIGINT)
            self.assertIn(self.finish(process).status, (130, -signal.SIGINT))

    def test_second_interrupt_does_not_wait(self):
        process = self.start(SH, "-c", "trap '' TERM INT HUP; while :; do sleep 1; done")
        self.await_members(1, 1)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process).status, 130)

    def test_grandchildren_end_too(self):
        process = self.start("-n", "2", SH, "-c", "setsid sleep 100 & sleep 100 & wait")
        self.await_members(6, 1)
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process).status, 130)

    def test_what_a_process_leaves_running_ends_with_the_job(self):
        self.runs(SH, "-c", "setsid sleep 100 >/dev/null 2>&1 & exit 0")

    def test_user_signals_are_passed_on(self):
        process = self.start("-n", "2", SH, "-c", "trap 'echo got; exit 0' USR1; echo ready; while :; do sleep 0.1; done")
        for _ in range(2):
            self.assertEqual(process.stdout.readline(), b"ready\n")
        process.send_signal(signal.SIGUSR1)
        result = self.finish(process)
        self.assertEqual((result.status, result.out), (0, "got\n" * 2), result.err)


rig.main()
