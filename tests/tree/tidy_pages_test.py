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


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
