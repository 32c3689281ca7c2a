#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The timeline of a recovery, on the terminal, in the report and in case files: they agree, and the phases add up."""
import fcntl
import glob
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios

import launch_rig as rig

HPCCG = [f"{rig.BUILD}/apps/hpccg", "8", "8", "8", "--iterations", "300", "--checkpoint-every", "5"]  # the last kill comes long before the end
BESIDE = ("roll_back", "protect")  # the phases that others run beside
CHAIN = ("detect", "spread", "agree", "stop", "place", "start", "barrier")


class Timeline(rig.LaunchTest):
    def run_told(self, *arguments, **options):
        """The recoveries of the report, as dictionaries, and what was said."""
        report = f"{self.folder}/report"
        result = self.runs("--oversubscribe", "--story", "--report", report, "--cases", f"{self.folder}/cases", *arguments, **options)
        with open(report, encoding="utf-8") as file:
            lines = [line for line in file if line.startswith("event=recovery ")]
        return [dict(word.split("=") for word in line.split()[1:]) for line in lines], result.err

    def adds_up(self, told):
        ms = {name: float(told.get(f"{name}_ms", 0)) for name in CHAIN + BESIDE}
        for name, value in ms.items():
            self.assertGreaterEqual(value, 0, name)
        side_by_side = max(ms["place"] + ms["start"], ms["roll_back"], ms["protect"])
        whole = sum(ms[name] for name in CHAIN) - ms["place"] - ms["start"] + side_by_side
        self.assertAlmostEqual(float(told["whole_ms"]), whole, delta=0.02)  # rounded to a microsecond each

    def loses(self, told, at):
        """Killed in iteration `at`: it continues from a checkpoint, and reports how much is repeated."""
        newest, again = int(told["newest_iteration"]), int(told["again_iteration"])
        self.assertGreaterEqual(newest, at)
        self.assertEqual((again % 5, int(told["lost_iterations"])), (0, newest - again))
        self.assertLessEqual(again, newest)
        self.assertGreaterEqual(float(told["lost_s"]), 0)
        self.assertTrue(again == newest or float(told["lost_s"]) > 0, told)

    def test_a_process_and_a_node(self):
        long = [HPCCG[0], "24", "24", "24", *HPCCG[4:]]  # a kill takes some time, in which the program continues
        told, said = self.run_told("-n", "6", "--nodes", "3", "--inject", "kill rank 3 at iteration 17",
                                   "--inject", "kill node 2 at iteration 33", *long)
        self.assertEqual([(t["way"], t["epoch"], t["failures"]) for t in told], [("reinit", "2", "1"), ("reinit", "3", "1")])
        for recovery, at in zip(told, (17, 33)):
            for phase in ("detect", "spread", "agree", "place", "start", "roll_back", "protect", "barrier", "restore"):
                self.assertIn(f"{phase}_ms", recovery)
            self.adds_up(recovery)
            self.loses(recovery, at)
        self.assertEqual(len(re.findall(r"detect [0-9.]+, spread [0-9.]+, agree .* barrier [0-9.]+, restore [0-9.]+ ms", said)), 2, said)
        for recovery in told:
            self.assertIn(f"continues with iteration {recovery['again_iteration']} of {recovery['newest_iteration']}: ", said)
        cases = []
        for path in sorted(glob.glob(f"{self.folder}/cases/*")):
            with open(path, encoding="utf-8") as file:
                cases.append(json.load(file)["timeline"])
        self.assertEqual(len(cases), 2)
        for case, recovery in zip(cases, told):
            self.assertEqual((case["way"], case["lost"]["iterations"]), ("reinit", int(recovery["lost_iterations"])))
            self.assertAlmostEqual(case["whole_seconds"] * 1000, float(recovery["whole_ms"]), delta=0.001)

    def test_an_rzrun_that_reads_late(self):
        """It is stopped while a node fails, and until all ranks have ended: then it reads what the others said before the last words of that node."""
        report = f"{self.folder}/report"
        process = self.start("--oversubscribe", "-n", "6", "--nodes", "3", "--report", report, "--inject", "kill node 2 at iteration 17", *HPCCG,
                             environment={"RZ_KILL_AT": "launch-fault+stop"})
        self.assertTrue(rig.await_true(lambda: any(member.state == "T" for member in self.members()["rzrun"])), "it does not stop")
        self.assertTrue(rig.await_true(lambda: not self.members()["process"]), "the job does not end by itself")
        process.send_signal(signal.SIGCONT)
        result = self.finish(process)
        self.assertEqual(result.status, 0, result.err)
        with open(report, encoding="utf-8") as file:
            recoveries = [line for line in file if line.startswith("event=recovery ")]
        self.assertEqual(len(recoveries), 1)
        self.assertIn(" detect_ms=", recoveries[0])

    def test_the_job_restarted(self):
        told, said = self.run_told("-n", "4", "--nodes", "2", "--on-failure", "restart", "--inject", "kill rank 3 at iteration 17", *HPCCG)
        self.assertEqual([(t["way"], t["again_iteration"]) for t in told], [("restart", "0")])
        self.assertNotIn("agree_ms", told[0])
        self.adds_up(told[0])
        self.loses(told[0], 17)
        self.assertRegex(said, r"rank 3 on node 1 failed; noticed by .*\n(.*\n)*            restarted after [0-9.]+ ms")

    def test_a_replacement(self):
        helper = rig.program("daemon_test_helper")
        told, _ = self.run_told("-n", "2", "--nodes", "2", "sh", "-c",
                                f"test $RZ_INCARNATION = 1 || exec {helper} join enter leave bye; test $RZ_RANK = 0 || "
                                f"exec {helper} join enter kill; exec {helper} join enter failed:1 replace:1,2 leave bye")
        self.assertEqual([(t["way"], t["failures"]) for t in told], [("replace", "1")])
        self.adds_up(told[0])
        for phase in "agree_ms", "place_ms", "start_ms":
            self.assertIn(phase, told[0])
        self.assertNotIn("lost_iterations", told[0])  # this program marks no iterations

    def in_terminal(self, columns, *arguments):
        """What rzrun writes on standard error, which is a terminal of so many columns."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        run = self.start(*arguments, stderr=theirs, stdout=subprocess.DEVNULL)
        os.close(theirs)
        said = b""
        try:
            while part := os.read(ours, 65536):
                said += part
        except OSError:
            pass  # all processes have closed it
        os.close(ours)
        self.assertEqual(self.finish(run).status, 0)
        return said.decode()

    def test_progress_on_a_terminal(self):
        job = lambda end: ["--oversubscribe", "-n", "4", "--nodes", "2", "--iterations", end, "--inject", "kill rank 3 at iteration 50",
                           f"{rig.BUILD}/apps/hpccg", "16", "16", "16", "--iterations", end, "--checkpoint-every", "5"]
        for columns, end in ((200, "400"), (80, "400"), (40, "100")):
            said = self.in_terminal(columns, *job(end))
            lines = said.split("\r\033[K")
            self.assertRegex(lines[-1], r"^(hpccg:.*\s*)?$", "the line is not erased at the end")
            self.assertLess(max(len(line) for line in lines), columns)
            self.assertTrue(all(line.startswith("hpccg:") for line in lines if line.endswith("\n")), said)  # not behind the line
            if columns == 200:
                self.assertRegex(said, r"iteration \d+ of 400(, [\d.]+ per second, ends in .+)?; 1 failure; checkpoint \d+ .+ ago")
            elif columns == 80:  # what does not fit is said in fewer words, and is not cut
                self.assertRegex(said, r"\d+ of 400(, [\d.]+(/s| per second), ends in .+)?; 1 failure; (saved|checkpoint \d+) [^\r]+ ago\r")
            else:
                self.assertIn(" of 100", said)

    def test_progress_without_a_terminal(self):
        told = self.runs("--oversubscribe", "-n", "2", "--progress", f"{rig.BUILD}/apps/hpccg", "8", "8", "8", "--iterations", "50")
        self.assertRegex(told.err, r"(?m)^ +[\d.]+ s  iteration \d+")
        self.assertNotIn("\033", told.err)


if __name__ == "__main__":
    rig.main()
