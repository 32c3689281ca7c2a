#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Daemons that are stopped: each wait of rzrun for a daemon is bounded, and it ends no job that only pauses."""
import contextlib
import os
import signal
import time

import launch_rig as rig

WAITS = rig.program("launch_waits")
GATE = "while [ ! -e {} ]; do sleep 0.05; done; echo through"


def node_of(daemon):
    """By its command line: process numbers are given in any order."""
    with open(f"/proc/{daemon.pid}/cmdline", encoding="utf-8") as file:
        words = file.read().split("\0")
    return int(words[words.index("--node") + 1])


class Silence(rig.LaunchTest):
    def signal(self, processes, number):
        """Without those that have ended since: a shell starts and awaits short ones."""
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, number)

    def stop(self, daemons):
        self.signal(daemons, signal.SIGSTOP)

    def given_up(self, nodes, which, *arguments):
        """These daemons are stopped: the job ends with a message, and leaves nothing."""
        run = self.start("-n", "4", "--nodes", str(nodes), "--silence-timeout", "2s", *arguments, WAITS, "traffic")
        daemons = sorted(self.await_members(4, nodes)["rzd"], key=node_of)
        self.stop([daemons[node] for node in which])
        result = self.finish(run)
        self.assertEqual(result.status, rig.LOST, result.err)
        self.assertRegex(result.err, r"the job was ended: (no daemon has said anything|a daemon has said nothing) for .* "
                                     r"the daemon of node \d, process \d+: it is stopped \(SIGSTOP")

    def test_the_only_daemon(self):
        self.given_up(1, [0], "--hang-report", "300ms")

    def test_all_daemons(self):
        self.given_up(3, [0, 1, 2])

    def test_the_daemon_that_breaks_the_tie(self):
        """The other daemon stops without a quorum, and this one is silent: then no daemon is left to wait for."""
        self.given_up(2, [0])

    def test_one_daemon_without_fault_tolerance(self):
        self.given_up(2, [1], "--no-ft")

    def gated(self, *arguments):
        gate = f"{self.folder}/gate"
        run = self.start("-n", "2", "--silence-timeout", "2s", *arguments, "/bin/sh", "-c", GATE.format(gate))
        return run, self.await_members(2, 1)

    def goes_on(self, run):
        self.file("gate", "")
        result = self.finish(run)
        self.assertEqual((result.status, result.out, result.err), (0, "through\nthrough\n", ""))

    def test_a_daemon_that_is_continued(self):
        run, members = self.gated("--silence-timeout", "60s")
        self.stop(members["rzd"])
        time.sleep(1)  # a silence that is none yet
        os.kill(members["rzd"][0].pid, signal.SIGCONT)
        self.goes_on(run)

    def test_a_job_that_is_stopped_as_a_whole(self):
        """For longer than --silence-timeout: rzrun did not run either, and so it was no silence."""
        run, members = self.gated()
        everything = [process for kind in ("rzrun", "rzd-keeper", "rzd", "process") for process in members[kind]]
        self.signal(everything, signal.SIGSTOP)
        time.sleep(3)  # longer
        self.signal(everything, signal.SIGCONT)
        self.goes_on(run)

    def test_a_keeper_that_is_stopped(self):
        run, members = self.gated()
        self.stop(members["rzd-keeper"])
        self.goes_on(run)

    def test_a_keeper_that_is_stopped_when_rzrun_fails(self):
        run, members = self.gated()
        self.stop(members["rzd-keeper"])
        run.kill()
        self.finish(run)  # and nothing is left behind


if __name__ == "__main__":
    rig.main()
