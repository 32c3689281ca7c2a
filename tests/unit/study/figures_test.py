#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The cheapest figures, with little effort: each leaves a drawing and its data, and the report names it."""
import csv
import os
import re
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

RZSIM = os.environ["RZ_TEST_BUILD"] + "/bin/rzsim"
HOW_MANY = 4


def cheapest():
    lines = subprocess.run([RZSIM, "list", "figures"], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.split()[0] for line in sorted(lines, key=lambda line: int(re.search(r"\((\d+) s\)$", line).group(1)))][:HOW_MANY]


class Figures(unittest.TestCase):
    def setUp(self):
        if not shutil.which("gnuplot"):
            self.skipTest("gnuplot is not installed")
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def drawn(self, name):
        self.assertIn("svg", xml.etree.ElementTree.parse(f"{self.folder}/{name}.svg").getroot().tag)
        with open(f"{self.folder}/{name}.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertGreaterEqual(len(rows), 1)
        self.assertTrue(all(None not in row and None not in row.values() for row in rows))

    def test_single_figures(self):
        for name in cheapest():
            with self.subTest(figure=name):
                done = subprocess.run([RZSIM, "figure", name, "--out", self.folder, "--effort", "0.1"], capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertRegex(done.stdout, rf"(?m)^{re.escape(name)} .*(agrees|\*\*differs\*\*|holds|not comparable)")
                self.drawn(name)

    def test_budget(self):
        """Hardly any time: what does not fit is left out, and the report says so."""
        names = [line.split()[0] for line in
                 subprocess.run([RZSIM, "list", "figures"], capture_output=True, text=True, check=True).stdout.splitlines()]
        if not names:
            self.skipTest("no figures")
        done = subprocess.run([RZSIM, "figure", "all", "--out", self.folder, "--budget", "1us", "--note", "a note"],
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(f"{self.folder}/README.md", encoding="utf-8") as file:
            text = file.read()
        for name in names:
            self.assertIn(f"| {name}: left out, no time was left |", text)
        self.assertIn("* a note\n", text)


unittest.main()
