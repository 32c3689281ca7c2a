#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/sample: what it takes next, and what it builds for that; no build and no ctest are run."""
import importlib.util
import os
import sys
import tempfile
import types
import unittest
from importlib.machinery import SourceFileLoader

TOOL = os.path.abspath(os.path.dirname(os.path.abspath(__file__)) + "/../../tools/sample")


def load():
    loader = SourceFileLoader("sample_under_test", TOOL)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("sample_under_test", loader))
    here = os.getcwd()
    loader.exec_module(module)  # it goes to the root of its own tree
    os.chdir(here)
    return module


class Sample(unittest.TestCase):
    def setUp(self):
        self.tool = load()

    def turns(self, labels, seconds):
        """All turns of a run in which this much time is always left."""
        tests, left, turns = types.SimpleNamespace(labels=labels), sorted(labels), []
        while names := self.tool.next_tests(tests, left, seconds):
            turns.append(names)
        return turns

    def test_each_has_its_turn_once(self):
        labels = {f"test_{i}": {"mpi"} for i in range(100)}
        turns = self.turns(labels, 1)
        self.assertEqual(sorted(name for names in turns for name in names), sorted(labels))
        self.assertLessEqual(max(map(len, turns)), self.tool.AT_ONCE * os.cpu_count())

    def test_long_ones_need_time(self):
        labels = {"short": {"mpi"}, "long": {"mpi", "long"}}
        self.assertEqual(self.turns(labels, self.tool.LONG_S - 1), [["short"]])
        self.assertEqual(sorted(sum(self.turns(labels, self.tool.LONG_S), [])), ["long", "short"])

    def test_the_seed_of_a_commit_and_a_day_is_one(self):
        self.assertEqual(self.tool.default_seed(), self.tool.default_seed())

    def test_programs_are_those_of_the_command(self):
        with tempfile.TemporaryDirectory() as build:
            os.makedirs(f"{build}/tests/mpi")
            with open(f"{build}/tests/mpi/CTestTestfile.cmake", "w") as file:
                file.write(f'add_test([=[one]=] "{build}/bin/rzrun" "-n" "3" "{build}/tests/p2p" "{build}/tests/mpi/scratch")\n'
                           f'set_tests_properties([=[one]=] PROPERTIES LABELS "mpi")\n')
            tests = self.tool.Tests.__new__(self.tool.Tests)
            tests.build, tests.targets = build, {"bin/rzrun", "tests/p2p"}
            self.assertEqual(tests.named_programs(), {"one": ["bin/rzrun", "tests/p2p"]})


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
