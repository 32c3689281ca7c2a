#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/slow: what it draws, and that the list is of tests that there are. RZ_TEST_BUILD names the build tree."""
import contextlib
import importlib.util
import io
import json
import os
import re
import subprocess
import tempfile
import types
import unittest
from importlib.machinery import SourceFileLoader

TOOL = os.path.abspath(os.path.dirname(os.path.abspath(__file__)) + "/../../tools/slow")
BUILD = os.environ["RZ_TEST_BUILD"]


def load():
    loader = SourceFileLoader("slow_under_test", TOOL)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("slow_under_test", loader))
    here = os.getcwd()
    loader.exec_module(module)  # it goes to the root of its own tree
    module.LIST = os.path.join(os.path.dirname(TOOL), "..", module.LIST)
    os.chdir(here)
    return module


class Slow(unittest.TestCase):
    def setUp(self):
        self.tool = load()
        self.times = self.tool.listed()

    def test_each_is_drawn_in_time(self):
        seen = set()
        for seed in range(500):
            chosen = self.tool.drawn(self.times, seed, self.tool.BUDGET_S)
            self.assertLessEqual(sum(self.times[name] for name in chosen), self.tool.BUDGET_S)
            seen.update(chosen)
        self.assertEqual(seen, set(self.times))

    def test_the_seed_decides(self):
        draws = [self.tool.drawn(self.times, seed, self.tool.BUDGET_S) for seed in (1, 1, 2)]
        self.assertEqual(draws[0], draws[1])
        self.assertNotEqual(draws[0], draws[2])

    def test_of_each_kind_one_goes_first(self):
        times = {"a_1": 9, "a_2": 9, "b_1": 9, "c_1": 9}
        for seed in range(20):
            self.assertEqual({name[0] for name in self.tool.drawn(times, seed, 27)}, {"a", "b", "c"})
        self.assertEqual(self.tool.drawn(times, 1, 8), [])

    def test_what_is_left_out(self):
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
            self.tool.left_out(types.SimpleNamespace(seed=1, budget=self.tool.BUDGET_S))
        pattern = said.getvalue().rstrip("\n")
        chosen = self.tool.drawn(self.times, 1, self.tool.BUDGET_S)
        self.assertEqual({name for name in self.times if re.search(pattern, name)}, set(self.times) - set(chosen))
        self.assertIsNone(re.search(self.tool.expression([]), "any"))

    def test_they_are_there(self):
        # Some need what this system does not have.
        listed = json.loads(subprocess.run(["ctest", "--test-dir", BUILD, "--show-only=json-v1"], capture_output=True, text=True, check=True).stdout)
        there = {test["name"] for test in listed["tests"]}
        self.assertLess(len(set(self.times) - there), len(self.times) / 2, set(self.times) - there)

    def test_a_log_is_measured(self):
        self.tool.LEAST_S = 8
        with tempfile.TemporaryDirectory() as folder:
            log, self.tool.LIST = f"{folder}/log", f"{folder}/slow.txt"
            with open(log, "w", encoding="utf-8") as file:
                file.write("1/3 Test  #7: one_long ....   Passed   12.40 sec\n2/3 Test #8: two ...   Passed    0.10 sec\n"
                           "3/3 Test #9: three_fails ...***Failed   30.60 sec\n")
            self.tool.measure([log])
            self.assertEqual(self.tool.listed(), {"three_fails": 31, "one_long": 12})
            with open(f"{folder}/table", "w", encoding="utf-8") as file:
                file.write("one_long 2 9.5\nfour 1 8.2\n---\nthree_fails\n")
            self.tool.measure([log, f"{folder}/table"])
            self.assertEqual(self.tool.listed(), {"three_fails": 31, "one_long": 10, "four": 8})


if __name__ == "__main__":
    unittest.main()
