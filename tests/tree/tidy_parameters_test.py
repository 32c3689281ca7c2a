#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/tidy counts the parameters of functions, and knows the exceptions."""
import sys
import unittest

from tidy_rig import TidyTest

# Joined here: tidy takes the path of a file for one that is in the tree.
CODE, RIG = "/".join(("src", "base", "some.c")), "/".join(("tests", "unit", "some", "some_rig.h"))
SIX, SEVEN, NINE = (", ".join(f"int p{i}" for i in range(n)) for n in (6, 7, 9))


class TidyParameters(TidyTest):
    def breaches(self, code, path=CODE):
        self.tidy.check_parameters(path, code)
        return len(self.tidy.breaches)

    def test_within_the_bound(self):
        self.assertEqual(self.breaches(f"static int f({SIX})\n{{\n    call({SEVEN});\n}}\nint g(void);\n"), 0)
        self.assertEqual(self.breaches("int f(int (*call)(int, int, int, int, int, int, int), int a);\n"), 0)
        self.assertEqual(self.breaches(f"void say({SIX}, ...);\n"), 0)

    def test_above_it(self):
        self.assertEqual(self.breaches(f"static inline struct x *f({SEVEN})\n{{\n}}\n"), 1)

    def test_what_the_standard_says(self):
        self.assertEqual(self.breaches(f"int MPI_Some({NINE});\nint rzm_some({NINE});\nint rz_coll_some({NINE});\n"), 0)

    def test_tests_may_have_more(self):
        self.assertEqual(self.breaches(f"void receive({SEVEN});\n", RIG), 0)
        self.assertEqual(self.breaches(f"void receive({NINE});\n", RIG), 1)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
