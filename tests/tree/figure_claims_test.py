#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/figure-index: no claim that cannot fail, none that cannot hold, and none that an edit of a number or a word leaves as it was.

    figure_claims_test.py SOURCE
"""
import importlib.machinery
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import unittest

SOURCE = sys.argv.pop()
FIGURES = f"{SOURCE}/docs/figures"
sys.path.insert(0, f"{SOURCE}/tools")
import measured_claims  # noqa: E402


def index_tool():
    loader = importlib.machinery.SourceFileLoader("figure_index", f"{SOURCE}/tools/figure-index")
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("figure_index", loader))
    loader.exec_module(module)
    return module


INDEX = index_tool()


def pages(figures):
    return {"index.md": INDEX.page(INDEX.Evidence(figures)), "measured.md": measured_claims.page(figures, INDEX.SOURCES)}


class Claims(unittest.TestCase):
    def test_each_can_fail_and_can_hold(self):
        for claim in measured_claims.CLAIMS:
            with self.subTest(claim.figure, states=claim.states):
                if not claim.criterion:
                    self.assertTrue(claim.why_not)
                    continue
                table = claim.table(FIGURES)
                self.assertEqual(claim.says(table.changed(**claim.refuting)), measured_claims.DIFFERS)
                self.assertEqual(claim.says(table.changed(**claim.confirming)), measured_claims.AGREES)

    def test_the_pages_are_what_the_reports_say(self):
        for name, text in pages(FIGURES).items():
            with open(f"{FIGURES}/{name}", encoding="utf-8") as file:
                self.assertEqual(file.read(), text, name)


class Edits(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.root)
        self.figures = f"{self.root}/figures"
        shutil.copytree(FIGURES, self.figures)
        shutil.copytree(f"{SOURCE}/docs/reports", f"{self.root}/reports")
        shutil.copy(f"{SOURCE}/docs/agreement-engines.md", self.root)
        self.said = pages(self.figures)

    def test_what_the_pages_said_before_counts_for_nothing(self):
        for name in self.said:
            with open(f"{self.figures}/{name}", "w", encoding="utf-8") as file:
                file.write("| figure 7 | overhead of heartbeats on messages | measured: 99 of 99 agree |\n")
        self.assertEqual(pages(self.figures), self.said)

    @staticmethod
    def tables(text, title):
        """Where the rows are of each table below a heading that ends so."""
        found = []
        for heading in re.finditer(rf"^##+ .*{re.escape(title)}(?: \(n = \d+\))?\n", text, re.M):
            behind = re.compile(r"^##+ ", re.M).search(text, heading.end())
            rows = re.compile(r"^\|(?:.*\n){2}((?:\|.*\n)+)", re.M).finditer(text, heading.end(), behind.start() if behind else len(text))
            found += [table.span(1) for table in rows]
        return found

    def test_each_number_of_a_table_counts(self):
        for report, title, which in sorted({(c.report, c.title, c.which) for c in measured_claims.CLAIMS}):
            path = os.path.join(self.figures, report)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            start, end = self.tables(text, title)[which]
            digits = [m.start() for m in re.finditer(r"\d", text[start:end])]
            self.assertGreater(len(digits), 3)
            for at in digits[:: max(1, len(digits) // 12)]:
                edited = text[:start + at] + str((int(text[start + at]) + 1) % 10) + text[start + at + 1:]
                with open(path, "w", encoding="utf-8") as file:
                    file.write(edited)
                with self.subTest(report, title=title, at=at):
                    try:
                        self.assertNotEqual(pages(self.figures)["measured.md"], self.said["measured.md"])
                    except KeyError:
                        pass  # the name of a row: nothing is written at all
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)


unittest.main(verbosity=2)
