#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A rank that speaks PMI-1 and asks for more than one process may have is refused, or waits alone: the gateway lives, and serves the others
of its node."""
import os
import sys

import foreign_rig
from foreign_rig import rig

ROGUE = f"{os.path.dirname(os.path.abspath(__file__))}/pmi1_rogue.py"
RANKS = 4


class Rogues(foreign_rig.ForeignTest):
    def says(self, what, *options, status):
        result = self.job("-n", str(RANKS), "--nodes", "2", "--mpi", "pmi1", *options, sys.executable, "-B", ROGUE, what, status=status)
        self.assertNotIn("the gateway", result.err)
        return sorted(result.out.splitlines())

    def test_names_and_look_ups_that_are_not_awaited(self):
        self.assertEqual(self.says("names", "--on-failure", "continue", status=1), ["names: 76 refused", *["right"] * (RANKS - 1)])

    def test_puts_before_a_barrier(self):
        said = self.says("put", status=0)
        self.assertRegex(said[0], r"put: [1-9]\d* refused")
        self.assertEqual(said[1:], [*["right"] * RANKS, "then: 0 refused"])


if __name__ == "__main__":
    rig.main()
