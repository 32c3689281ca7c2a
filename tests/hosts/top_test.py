#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rztop and rzps on hosts that are real as far as one machine allows (hosts.py): a job is seen from a host that has no daemon of it; a
host that does not answer is named, and delays nothing; a view that is killed leaves nothing on any host. Skipped (77) without root or
sshd."""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import jobs  # noqa: E402
from jobs import BUILD, HANG_S, HPCCG, RZRUN, SIZE, await_true  # noqa: E402

RZPS, RZTOP = f"{BUILD}/bin/rzps", f"{BUILD}/bin/rztop"
RANKS = 4


class TopTest(jobs.JobsTest):
    N, RANKS = 3, RANKS

    def setUp(self):
        """A job on h1 and h2 that runs until the end of the test."""
        words = ["--host", "h1:2,h2:2", "-n", str(RANKS), "--oversubscribe", HPCCG, *SIZE, "--iterations", "100000000"]
        self.job = self.rig.start(0, [RZRUN, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end_job)

    def tearDown(self):
        self.end_job()
        super().tearDown()

    def end_job(self):
        if self.job.poll() is None:
            self.rig.run(0, ["pkill", "-TERM", "-x", "rzrun"], timeout=HANG_S)
        self.job.communicate(timeout=HANG_S)

    def ask(self, *words, k=0):
        return self.rig.run(k, list(words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=HANG_S)

    def documents(self, *words, k=0):
        return json.loads(self.ask(RZPS, "--json", *words, k=k).stdout)

    def iterating(self, *words, k=0):
        """The document of the job, once all its ranks have marked an iteration."""
        def look():
            found = self.documents(*words, k=k)
            processes = found[0]["processes"] if found else []
            return len(processes) == RANKS and all("iteration" in process for process in processes) and found[0]
        document = await_true(look)
        self.assertTrue(document, self.documents(*words, k=k))
        return document

    def test_from_a_host_without_a_daemon(self):
        job = self.iterating("--host", "h1,h2")["job"]
        self.assertEqual(self.documents(), [])
        self.assertEqual(self.ask(RZTOP, "--once", job).returncode, 1)
        done = self.ask(RZTOP, "--once", "--page", "ranks", "--host", "h1,h2", job[:8])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        shown = re.findall(r"^.\s+(\d+)\s+(\d+)\s+\d+ \S+\s+(\d+)", done.stdout, re.MULTILINE)
        self.assertEqual([(int(rank), int(node), int(iteration) > 0) for rank, node, iteration in shown],
                         [(rank, rank // 2, True) for rank in range(RANKS)], done.stdout)
        done = self.ask(RZPS, "--waits", "--host", "h1,h2", job)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(re.findall(r"^ +\d+ +\d+  joined", done.stdout, re.MULTILINE)), RANKS, done.stdout)

    def test_from_a_host_of_the_job(self):
        self.iterating("--host", "h1,h2", k=1)
        only_here = await_true(lambda: self.documents(k=1)) or self.documents(k=1)
        self.assertEqual(len(only_here[0]["processes"]), 2)
        self.iterating("--hostfile", self.hostfile("h1 slots=2\nh2 slots=2\nh3\n"), k=1)

    def hostfile(self, text):
        path = "/run/rig/home/view-hosts"
        self.rig.run(0, ["sh", "-c", f"printf '%s' '{text}' > {path}"], check=True, timeout=HANG_S)
        self.addCleanup(self.rig.run, 0, ["rm", path], timeout=HANG_S)
        return path

    def test_a_host_that_does_not_answer(self):
        job = self.iterating("--host", "h1,h2")["job"]
        hosts = ["--host", "nosuch,h1,h3,h2", "--start-timeout", "20s"]
        self.rig.cable(3, False)
        try:
            done = self.ask(RZPS, "--waits", *hosts, job)
            screen = self.ask(RZTOP, "--once", *hosts, job)
        finally:
            self.rig.cable(3, True)
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, r"(?m)^rzps: nosuch does not answer: ssh: Could not resolve hostname nosuch.*\(ssh ended with status 255\)")
        self.assertRegex(done.stderr, r"(?m)^rzps: h3 does not answer")
        self.assertEqual(len(re.findall(r"^ +\d+ +\d+  joined", done.stdout, re.MULTILINE)), RANKS, done.stdout)
        self.assertEqual(screen.returncode, 0)
        self.assertIn("\n nosuch, h3 do not answer\n", screen.stdout)
        self.assertEqual(len(re.findall(r"^ node \d .* iteration \d+( .*)?$", screen.stdout, re.MULTILINE)), 2, screen.stdout)

    # ---- a view on a terminal ----

    def tmux(self, *words):
        return subprocess.run(["tmux", "-S", f"{self.folder}/tmux", "-f", "/dev/null", *words], capture_output=True, text=True,
                              timeout=HANG_S, env=dict(os.environ, TMUX="", TERM="xterm")).stdout

    def open(self, *words):
        folder = tempfile.TemporaryDirectory(prefix="hosts-top-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.addCleanup(self.tmux, "kill-server")
        line = shlex.join(self.rig.command(0, [RZTOP, "--every", "200ms", *words]))
        self.tmux("new-session", "-d", "-x", "80", "-y", "24", f"{line}; echo \"ended with $?\"; exec sleep {HANG_S}")

    def await_screen(self, good):
        screen = lambda: self.tmux("capture-pane", "-p")
        self.assertTrue(await_true(lambda: good(screen())), screen())

    def runs(self, k, pattern):
        return self.rig.run(k, ["pgrep", "-f", pattern], stdout=subprocess.DEVNULL, timeout=HANG_S).returncode == 0

    @unittest.skipUnless(shutil.which("tmux"), "there is no tmux")
    def test_a_view_whose_host_is_silent_for_a_while(self):
        job = self.iterating("--host", "h1,h2")["job"]
        least = lambda screen: min([int(n) for n in re.findall(r"^ node .* iteration (\d+)$", screen, re.MULTILINE)] or [0])
        self.open("--host", "h1,h2,h3", job)
        self.await_screen(lambda screen: least(screen) > 0 and "not answer" not in screen)
        self.rig.stop(3)
        try:
            self.await_screen(lambda screen: "\n h3 does not answer" in screen)
            before = least(self.tmux("capture-pane", "-p"))
            self.await_screen(lambda screen: least(screen) > before)
            self.tmux("send-keys", "r")
            self.await_screen(lambda screen: "[r ranks]" in screen)
            self.tmux("send-keys", "m")
        finally:
            self.rig.cont(3)
        self.await_screen(lambda screen: "[m map]" in screen and "not answer" not in screen)
        self.tmux("send-keys", "q")
        self.await_screen(lambda screen: "ended with 0" in screen)
        self.assertFalse(self.runs(0, "ssh.*serve"))  # it has waited for them

    @unittest.skipUnless(shutil.which("tmux"), "there is no tmux")
    def test_a_view_that_is_killed(self):
        job = self.iterating("--host", "h1,h2")["job"]
        self.open("--host", "h1,h2,h3", job)
        self.await_screen(lambda screen: " node 1    up " in screen)
        for k in (1, 2, 3):
            self.assertTrue(self.runs(k, "rzps serve"))
        self.rig.run(0, ["pkill", "-KILL", "-x", "rztop"], timeout=HANG_S)
        self.assertTrue(await_true(lambda: not self.runs(0, "ssh.*serve")), "an ssh is left")
        for k in (1, 2, 3):
            self.assertTrue(await_true(lambda k=k: not self.runs(k, "rzps serve")), f"left on h{k}")

    @unittest.skipUnless(shutil.which("tmux"), "there is no tmux")
    def test_an_ssh_of_a_view_that_is_killed(self):
        """It is started again."""
        job = self.iterating("--host", "h1,h2")["job"]
        self.open("--host", "h1,h2,h3", job)
        self.await_screen(lambda screen: " node 1    up " in screen and "not answer" not in screen)
        self.rig.run(0, ["pkill", "-KILL", "-f", "ssh.* h3 .*serve"], timeout=HANG_S)
        self.await_screen(lambda screen: "\n h3 does not answer" in screen)
        self.await_screen(lambda screen: " node 1    up " in screen and "not answer" not in screen)
        self.tmux("send-keys", "q")
        self.await_screen(lambda screen: "ended with 0" in screen)


if __name__ == "__main__":
    jobs.main()
