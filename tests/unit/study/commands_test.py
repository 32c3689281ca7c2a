#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rzsim's commands: every study in small with every kind of file it writes; and what a wrong command line is told."""
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../..")
from patience import HANG_S  # noqa: E402

RZSIM = os.environ["RZ_TEST_BUILD"] + "/bin/rzsim"
NOT_REPEATED = ("seconds", "event_ns")  # what depends on the machine, not on the seed

REFUSALS = [  # command line, what the line on standard error must say
    ("", "say what to do"),
    ("no-such-study", "no command or study 'no-such-study'"),
    ("chek", "did you mean check?"),
    ("--no-such-option", "unknown option"),
    ("list plants", "scenarios, studies and figures, but no 'plants'"),
    ("check", "name a protocol"),
    ("check no-such-protocol", "no protocol 'no-such-protocol'"),
    ("check spread --scenario none-such", "no scenario 'none-such'"),
    ("check spread one", "one word too many"),
    ("check spread --seeds 7", "two numbers, A..B"),
    ("check spread --seeds 9..7", "two numbers, A..B"),
    ("check spread --members 0", "whole number"),
    ("check spread --exhaustive --members 33", "at most"),
    ("check spread --sedes 1..2", "did you mean '--seeds'?"),
    ("replay spread", "--seed or --path"),
    ("replay spread --seed 1 --plan soon", "no plan"),
    ("replay spread --members 4 --seed 1 --plan 1@0:0:0,4@3:0:0", "--plan names a member that is not there: the run has 4"),
    ("replay swim --members 4 --seed 1 --plan pause:9@0-5", "--plan names a member that is not there: the run has 4"),
    ("replay spread --seed 1 --plan 4000000@d9:0:0", "--plan names a member that is not there"),
    ("figure", "name a figure"),
    ("figure no-such-figure", "no figure 'no-such-figure'"),
    ("figure all --effort 0", "above 0"),
    ("figure all --effort 2", "at most 1"),
    ("figure all --budget 5", "300s or 10m"),
    ("compare --max-members 7", "from 16"),
    ("compare --plot x.gif", ".svg, .png or .pdf"),
]


def run(*words, status=0):
    done = subprocess.run([RZSIM, *words], capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode == status, f"rzsim {' '.join(words)}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done


def names(what):
    return [line.split()[0] for line in run("list", what).stdout.splitlines()]


class Commands(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def test_refusals(self):
        for line, what in REFUSALS:
            with self.subTest(line=line):
                done = run(*line.split(), status=2)
                self.assertIn(what, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1)
                self.assertEqual(done.stdout, "")

    def test_check_and_replay(self):
        done = run("check", "spread", "--seeds", "1..20")
        self.assertRegex(done.stdout, r"spread/\w+: 20 runs, \d+ steps, \d+ messages, \d+ crashes: holds\n")
        run("replay", "spread", "--seed", "1")
        mutants = [line.split()[:2] for line in run("list", "scenarios").stdout.splitlines() if "(mutant" in line]
        protocol, scenario = mutants[0]
        done = run("check", protocol, "--scenario", scenario, "--seeds", "1..100000")
        self.assertIn("violated, as expected", done.stdout)
        replay = next(line for line in done.stderr.splitlines() if "rzsim replay" in line)
        words = replay[replay.index("rzsim replay"):].split()
        self.assertEqual(subprocess.run([RZSIM, *words[1:]], capture_output=True).returncode, 1)

    def test_help(self):
        for words in ([], ["check"], ["replay"], ["figure"], ["compare"], ["list"], *([name] for name in names("studies"))):
            with self.subTest(words=words):
                done = run(*words, "--help")
                self.assertIn("usage: rzsim", done.stdout)
                for line in done.stdout.splitlines():
                    self.assertLessEqual(len(line), 100, line)

    def test_manual_page(self):
        page = run("--man").stdout
        with open(os.environ["RZ_TEST_BUILD"] + "/share/man/man1/rzsim.1", encoding="utf-8") as installed:
            self.assertEqual(installed.read(), page)
        if shutil.which("groff"):
            shown = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=page, text=True, capture_output=True)
            self.assertEqual((shown.returncode, shown.stderr), (0, ""))

    def table(self, path):
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        return [{key: value for key, value in row.items() if key not in NOT_REPEATED} for row in rows]

    def test_every_study(self):
        for study in names("studies"):
            with self.subTest(study=study):
                table, plot, trace = (f"{self.folder}/{study}.{ending}" for ending in ("csv", "svg", "json"))
                line = [study, "--members", "16", "--trials", "3", "--seed", "5"]
                traced = "--trace FILE" in run(study, "--help").stdout
                first = run(*line, "--csv", table, "--plot", plot, *(["--trace", trace] if traced else []))
                self.assertIn("Over 3 trials", first.stdout)
                rows = self.table(table)
                self.assertEqual(len(rows), 3)
                self.assertGreaterEqual(len(rows[0]), 3)
                self.assertTrue(all(None not in row and None not in row.values() for row in rows))
                self.assertIn("svg", xml.etree.ElementTree.parse(plot).getroot().tag)
                if traced:
                    with open(trace, encoding="utf-8") as file:
                        self.assertTrue(json.load(file))
                again = f"{self.folder}/again.csv"
                run(*line, "--csv", again)
                self.assertEqual(self.table(again), rows, "the same seeds, other numbers")
                self.assertEqual(sorted(name for name in os.listdir(self.folder) if "part" in name), [])

    def test_compare(self):
        table, plot, report = (f"{self.folder}/compare.{ending}" for ending in ("csv", "svg", "md"))
        run("compare", "--max-members", "16", "--trials", "1", "--csv", table, "--plot", plot, "--report", report)
        self.assertGreaterEqual(len(self.table(table)), 5)
        self.assertIn("svg", xml.etree.ElementTree.parse(plot).getroot().tag)
        with open(report, encoding="utf-8") as file:
            self.assertIn("![Failure detectors](compare.svg)", file.read())

    def test_refusals_of_studies(self):
        for study in names("studies"):
            with self.subTest(study=study):
                options = run(study, "--help").stdout
                cases = [(["--members", "1"], "whole number"), (["--members", "2^33"], "whole number"),
                         (["--trials", "0"], "whole number"), (["--latency", "5"], "20us"),
                         (["--plot", "x.gif"], ".svg, .png or .pdf"), (["extra"], "one word too many")]
                if "--kill K" in options:
                    cases.append((["--members", "16", "--kill", "16"], "a member alive"))
                for option, value in (("--tree", "binary"), ("--tolerance", "1%"), ("--hb-period", "1s"), ("--loss", "1%")):
                    if f"{option} " not in options:
                        cases.append(([option, value], f"{study} has no '{option}'; it takes"))
                for words, what in cases:
                    self.assertIn(what, run(study, *words, status=2).stderr)
                missing = run(study, "--members", "16", "--csv", f"{self.folder}/none/x.csv", status=1)
                self.assertIn("cannot write", missing.stderr)


unittest.main()
