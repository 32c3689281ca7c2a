#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rztop in a terminal of 80 columns and 24 lines, which tmux holds: what is on its screen, and what its keys do."""
import glob
import os
import pty
import re
import signal
import subprocess

import launch_rig as rig
import owners_test

RZTOP = f"{rig.BUILD}/bin/rztop"


class Top(rig.LaunchTest):
    def tmux(self, *words):
        done = subprocess.run(["tmux", "-S", f"{self.folder}/tmux", "-f", "/dev/null", *words], capture_output=True, text=True,
                              timeout=rig.HANG_S, env=dict(os.environ, TMUX="", TERM="xterm"))
        return done.stdout

    def begin(self, *arguments, processes, nodes):
        run = self.start("--oversubscribe", "-n", str(processes), "--nodes", str(nodes), *arguments)
        self.await_members(processes, nodes)
        return run

    def job(self):
        """The number of the job, once rztop can show it."""
        pages = rig.await_true(self.pages)
        self.assertTrue(pages, "no daemon shows the job")
        return pages[0]["job"]

    def open(self, job, *options, columns=80, lines=24, folder=None):
        words = " ".join([os.path.abspath(RZTOP), *options, job])
        self.tmux("new-session", "-d", "-x", str(columns), "-y", str(lines), "-c", folder or self.folder,
                  f"{words}; echo \"ended with $?\"; exec sleep {rig.HANG_S}")
        self.addCleanup(self.tmux, "kill-server")

    def screen(self):
        return self.tmux("capture-pane", "-p").rstrip("\n").split("\n")

    def await_screen(self, *texts):
        """The lines of the screen, once all of these are on it; several ask for the same moment."""
        there = lambda: (lines := self.screen()) and all(text in "\n".join(lines) for text in texts) and lines
        lines = rig.await_true(there)
        self.assertTrue(lines, f"{texts} are not shown, but\n" + "\n".join(self.screen()))
        return lines

    def end(self, run):
        run.send_signal(signal.SIGTERM)
        self.finish(run)

    def test_pages_and_keys(self):
        run = self.begin(rig.program("launch_waits"), "receive", processes=6, nodes=3)
        job = self.job()
        self.open(job, "--every", "200ms")
        lines = self.await_screen("ranks 6: 6 waits", "nodes 3")
        self.assertEqual(len(lines), 24)
        self.assertTrue(lines[0].startswith(f" rztop  launch_waits  job {job[:8]}"), lines[0])
        self.assertEqual([line.rstrip() for line in lines[6:9]],
                         [f" node {i}    up   ww   ranks {2 * i}-{2 * i + 1}" for i in range(3)])
        self.assertIn("[m map]", lines[23])
        self.tmux("send-keys", "r")
        lines = self.await_screen("RANK    NODE", "[r ranks]")
        self.assertRegex(lines[7], r"^>    0 +0 +\d+ waits +- +- MPI_Recv for [\d.:]+ s \(rank 1\)$")
        self.tmux("send-keys", "Down", "Enter")
        self.await_screen("rank 1, incarnation 1, on node 0", "for rank 2 on node 1, which waits")
        self.tmux("send-keys", "4", "Enter")
        self.await_screen("rank 4, incarnation 1, on node 2")
        self.tmux("send-keys", "7", "7", "Enter")
        self.await_screen("there is no rank 77")
        self.tmux("send-keys", "w")
        self.await_screen("cycle of waits: rank 0 -> 1 -> 2 -> 3 -> 4 -> 5 -> 0")
        self.tmux("send-keys", "h")
        self.await_screen("hang report: hang-")
        (report,) = glob.glob(f"{self.folder}/hang-*.txt")
        with open(report, encoding="utf-8") as file:
            text = file.read()
        self.assertIn(f"hang report of job {job} (launch_waits)", text)
        self.assertIn("rank 0 -> 1 -> 2 -> 3 -> 4 -> 5 -> 0", text)
        self.tmux("send-keys", "?")
        self.await_screen("write a hang report")
        self.tmux("send-keys", "q")
        self.await_screen("ended with 0")
        self.end(run)

    def test_a_failure_as_it_happens_and_the_end(self):
        run = self.begin("--on-failure", "continue", rig.program("launch_waits"), "compute", processes=4, nodes=2)
        self.open(self.job(), "--every", "200ms", "--no-color")
        self.await_screen("ranks 4: 1 runs 3 waits")
        colors = re.compile("\033\\[[0-9;]*(3[0-7]|9[0-7])m")
        self.assertIsNone(colors.search(self.tmux("capture-pane", "-p", "-e")))
        victim = next(p for p in self.members()["process"] if b"RZ_RANK=3" in rig.read(p.pid, "environ").split(b"\0"))
        os.kill(victim.pid, signal.SIGKILL)
        lines = self.await_screen("1 runs 2 waits 1 failed", "rank 3 failed on node 1", "failed processes 1")
        self.assertTrue(lines[7].startswith(" node 1    up   wX"), lines[7])
        self.end(run)
        self.await_screen("OVER", "no daemon answers any more")
        self.tmux("send-keys", "q")
        self.await_screen("ended with 0")

    def test_a_hang_report_that_cannot_be_written(self):
        run = self.begin(rig.program("launch_waits"), "receive", processes=2, nodes=1)
        self.open(self.job(), folder="/proc")
        self.await_screen("ranks 2: 2 waits")
        self.tmux("send-keys", "h")
        self.await_screen("cannot write hang-")
        self.end(run)

    def test_a_detached_job(self):
        """A job that rzrun has left loses a rank, and is ended."""
        begun = self.run_it("--oversubscribe", "-n", "4", "--nodes", "2", "--on-failure", "continue", "--detach", "--timeout", str(rig.HANG_S),
                            rig.program("launch_waits"), "compute")
        self.assertEqual(begun.status, 0, begun.err)
        self.addCleanup(self.run_it, "--end", begun.out.strip())
        self.open(begun.out.strip(), "--every", "200ms", "--no-color")
        lines = self.await_screen("detached", "ranks 4: 1 runs 3 waits")
        self.assertTrue(lines[0].startswith(f" rztop  launch_waits  job {begun.out[:8]}"), lines[0])
        victim = next(p for p in self.members()["process"] if b"RZ_RANK=1" in rig.read(p.pid, "environ").split(b"\0"))
        os.kill(victim.pid, signal.SIGKILL)
        self.await_screen("1 runs 2 waits 1 failed", "rank 1 failed on node 0")
        self.assertEqual(self.run_it("--end", begun.out.strip()).status, 0)
        self.await_screen("OVER", "no daemon answers any more")
        self.tmux("send-keys", "q")
        self.await_screen("ended with 0")

    def test_another_user_takes_the_number(self):
        """The view stays with the job of its user."""
        if os.geteuid() != 0:
            self.skipTest("needs root, to be another user")
        run = self.begin(rig.program("launch_waits"), "receive", processes=2, nodes=1)
        job = self.job()
        self.open(job, "--all", "--every", "200ms")
        self.await_screen("rztop  launch_waits", "ranks 2: 2 waits")
        page = owners_test.page(job, epoch=9, seconds=0.0, detached="over", result={"status": 0, "cause": "all is well", "age_seconds": 1.0})
        stranger = owners_test.Stranger(self, owners_test.answers(f"rhizome/{owners_test.OTHER_UID}/{job}/0", page))
        self.addCleanup(stranger.end)
        seen = set()  # the first lines, which have the age: so many looks have passed
        self.assertTrue(rig.await_true(lambda: seen.add(self.screen()[0]) or len(seen) > 5), "the age does not grow")
        self.assertEqual([line for line in seen if not line.startswith(f" rztop  launch_waits  job {job[:8]} ")], [])
        self.assertNotIn("all is well", "\n".join(self.screen()))
        self.end(run)
        lines = self.await_screen("OVER", "no daemon answers any more")
        self.assertIn("launch_waits", lines[0])

    def test_without_a_terminal(self):
        run = self.begin(rig.program("launch_waits"), "receive", processes=2, nodes=1)
        job = self.job()
        ask = lambda *words: subprocess.run([RZTOP, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                                            timeout=rig.HANG_S)
        both = lambda: "ranks 2: 2 waits" in ask("--once", job).stdout
        self.assertTrue(rig.await_true(both), "--once does not show the job")
        self.assertEqual(len(ask("--once", job).stdout.split("\n")), 25)
        refused = ask(job)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--once", refused.stderr)
        ours, theirs = pty.openpty()
        for terminal, what in (("", "TERM is not set"), ("no-such", "'no-such' is not known here"), ("dumb", "'dumb' cannot place text")):
            refused = subprocess.run([RZTOP, job], stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, text=True, timeout=rig.HANG_S,
                                     env=dict(os.environ, TERM=terminal))
            self.assertEqual(refused.returncode, 2, terminal)
            self.assertIn(what, refused.stderr)
        os.close(ours)
        os.close(theirs)
        self.end(run)
        gone = ask("--once", job)
        self.assertEqual((gone.returncode, gone.stdout), (1, ""))
        self.assertIn("no job here begins with", gone.stderr)
        for words in (["--every", "1us"], ["--page", "x"], ["a", "b"]):
            self.assertEqual(ask(*words).returncode, 2)


if __name__ == "__main__":
    rig.main()
