#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What is wrong in a program at random is found, named and made small.

    random_test.py RZRUN PROGRAM FAILURES
"""
import os
import re
import subprocess
import sys
import unittest

RZRUN, PROGRAM, FAILURES = sys.argv[1:4]
CAMPAIGN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "random_campaign.py")


class Found(unittest.TestCase):
    def campaign(self, *words):
        line = [sys.executable, "-B", CAMPAIGN, "--rzrun", RZRUN, "--program", PROGRAM, *words]
        return subprocess.run(line, capture_output=True, text=True, check=False)

    def test_all_right(self):
        result = self.campaign("--programs", "10", "--each", "5", "--seed", "1")
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        self.assertIn("10 programs are right, of 2 jobs", result.stdout)

    def test_one_operation_is_wrong(self):
        for spoiled in range(40, 60):  # the first one that leaves a buffer of rank 0 pending
            result = self.campaign("--programs", "1", "--each", "1", "--seed", "3", "--spoil", str(spoiled))
            if result.returncode != 0:
                break
        self.assertEqual((result.returncode, result.stderr), (1, ""), result.stdout)
        self.assertRegex(result.stdout, f"WRONG seed 3 operation {spoiled} rank 0: buffer 0: ")
        least = result.stdout[result.stdout.index("the least that fails"):]
        self.assertRegex(least, rf"--only [\d,-]*\b{spoiled} ")
        self.assertLessEqual(len(re.findall(r"\d+", re.search(r"--only (\S+)", least).group(1))), 4)

    def ulfm(self, *words):
        line = [sys.executable, "-B", CAMPAIGN, "--ulfm", "--rzrun", RZRUN, "--program", FAILURES, *words]
        return subprocess.run(line, capture_output=True, text=True, check=False)

    def test_all_right_although_processes_fail(self):
        result = self.ulfm("--programs", "3", "--seed", "1")
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        self.assertIn("3 programs are right, of 3 jobs", result.stdout)

    def test_one_operation_is_wrong_while_processes_fail(self):
        for spoiled in range(42, 60):  # the first one of the second round that is played
            result = self.ulfm("--programs", "1", "--seed", "4", "--spoil", str(spoiled))
            if result.returncode != 0:
                break
        self.assertEqual((result.returncode, result.stderr), (1, ""), result.stdout)
        self.assertRegex(result.stdout, rf"WRONG seed 4 operation {spoiled} rank \d+: damaged")
        least = result.stdout[result.stdout.index("the least that fails"):]
        self.assertRegex(least, rf"--only {spoiled} ")

    def test_a_job_that_cannot_run(self):
        line = [sys.executable, "-B", CAMPAIGN, "--rzrun", RZRUN, "--program", "/no/such/program", "--programs", "1"]
        result = subprocess.run(line, capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 2)
        self.assertIn("/no/such/program", result.stderr)


unittest.main(argv=sys.argv[:1], verbosity=2)
