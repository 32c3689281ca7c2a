#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/tidy measures the lines of programs, and sees a table that the formatter has flowed into text."""
import sys
import unittest

from tidy_rig import TidyTest

# Joined here: tidy takes the path of a file for one that is in the tree.
PART = "/".join(("src", "part", "some.c"))


class TidyColumns(TidyTest):
    def breaches(self, text, path=PART):
        self.tidy.check_columns(path, text.split("\n"))
        return len(self.tidy.breaches)

    def test_the_bound_of_a_line(self):
        self.assertEqual(self.breaches("x" * 120), 0)
        self.assertEqual(self.breaches("x" * 121), 1)

    def test_a_table_is_a_table(self):
        self.assertEqual(self.breaches(" *   name       what it is, and where\n *   other      the same\n"), 0)

    def test_a_table_that_was_flowed_into_text(self):
        self.assertEqual(self.breaches(" *   name       what it is, and\n * where other      the same\n"), 1)

    def test_elsewhere_gaps_are_gaps(self):
        self.assertEqual(self.breaches(" * one      two", "/".join(("tools", "some.py"))), 0)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
