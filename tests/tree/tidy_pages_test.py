#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/tidy measures the lines of pages, and knows what cannot be broken."""
import sys
import unittest

from tidy_rig import TidyTest

# Joined here: tidy takes the path of a file for one that is in the tree.
PAGE, REPORT = "/".join(("docs", "some.md")), "/".join(("docs", "reports", "some.md"))


class TidyPages(TidyTest):
    def breaches(self, text, path=PAGE):
        self.tidy.check_pages(path, text.split("\n"))
        return len(self.tidy.breaches)

    def test_a_line_of_a_page(self):
        self.assertEqual(self.breaches("word " * 24), 0)
        self.assertEqual(self.breaches("word " * 25), 1)

    def test_what_cannot_be_broken(self):
        wide = "word " * 40
        self.assertEqual(self.breaches(f"| {wide} |\n```\n{wide}\n```\n    {wide}\n" + "x" * 200), 0)

    def test_reports_are_written_by_programs(self):
        self.assertEqual(self.breaches("word " * 40, REPORT), 0)

    def test_the_index_of_decisions(self):
        row = "| [{0}]({0}-it.md) | It | {1} |\n"
        self.tidy.text_of = lambda path: row.format("0001", "valid, amended by [0002] (in part)") + row.format("0002", "maybe") + "[0002]: 0002-it.md\n"
        folder = "/".join(("docs", "decisions", ""))
        self.tidy.check_decisions([f"{folder}{number}-it.md" for number in ("0001", "0002", "0003")])
        self.assertEqual([breach.split(":")[0] for breach in self.tidy.breaches], [f"{folder}0002-it.md", f"{folder}0003-it.md"])
        self.tidy.breaches.clear()
        self.tidy.check_decisions([f"{folder}0002-it.md"])
        self.assertIn("0001-it.md is not in the tree", self.tidy.breaches[-1])


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
