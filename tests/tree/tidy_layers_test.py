#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/tidy on a small tree: it finds an include of a higher layer and a circle of modules, and nothing else."""
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from importlib.machinery import SourceFileLoader

TIDY = os.path.abspath(os.path.dirname(os.path.abspath(__file__)) + "/../../tools/tidy")

# Layers of the tree: low, then middle and beside, then high. It has no circle and no upward include.
TREE = {
    "low/base.h": [], "low/base.c": ["low/base.h"],
    "middle/send.h": ["low/base.h"], "middle/send_state.h": ["middle/send.h"], "middle/send.c": ["middle/send_state.h"],
    "middle/wait.h": ["middle/send.h"], "beside/list.c": ["middle/wait.h"],
    "high/all.c": ["middle/wait.h", "low/base.h"],
}
COMPONENT = "src/part"
LAYERS = {COMPONENT: ["low", "middle beside", "high"]}


class TidyLayers(unittest.TestCase):
    def setUp(self):
        self.here = os.getcwd()
        self.root = tempfile.mkdtemp()
        os.makedirs(f"{self.root}/tools")
        shutil.copy(TIDY, f"{self.root}/tools/tidy")

    def tearDown(self):
        os.chdir(self.here)
        shutil.rmtree(self.root)

    def write(self, changes):
        for name, includes in {**TREE, **changes}.items():
            path = f"{self.root}/src/part/{name}"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.writelines(f'#include "part/{include}"\n' for include in includes)

    def breaches(self, **changes):
        """What tidy says of the tree with these files changed; names with `__` for `/` and `_` before the ending."""
        self.write({re_name(name): includes for name, includes in changes.items()})
        loader = SourceFileLoader("tidy_under_test", f"{self.root}/tools/tidy")
        tidy = importlib.util.module_from_spec(importlib.util.spec_from_loader("tidy_under_test", loader))
        loader.exec_module(tidy)  # it goes to the root of its own tree
        sources = tidy.sources_of(COMPONENT, tidy.tracked())
        tidy.LAYERS = LAYERS
        tidy.check_layers(COMPONENT, sources)
        tidy.check_circles(COMPONENT, sources)
        return tidy.breaches

    def test_a_tree_in_order(self):
        self.assertEqual(self.breaches(), [])

    def test_an_upward_include(self):
        self.assertEqual(self.breaches(low__base_c=["low/base.h", "high/top.h"], high__top_h=[]),
                         [f"{COMPONENT}/low/base.c:2: part/high/top.h is of a higher layer ({COMPONENT}/README.md)"])

    def test_a_file_in_no_layer(self):
        self.assertEqual(len(self.breaches(elsewhere__odd_c=[])), 1)

    def test_a_circle_of_two(self):
        self.assertEqual(self.breaches(middle__send_c=["middle/send_state.h", "middle/wait.h"]),
                         [f"{COMPONENT}/middle/send.c:2: a circle of includes: send -> wait -> send"])

    def test_a_circle_through_a_private_header(self):
        found = self.breaches(middle__send_state_h=["middle/wait.h"])
        self.assertEqual(len(found), 1)
        self.assertIn("a circle of includes: send -> wait -> send", found[0])

    def test_larger_circles_are_told_by_the_shortest_way(self):
        found = self.breaches(low__base_c=["middle/wait.h"], middle__send_c=["middle/wait.h"])
        self.assertEqual(len([line for line in found if "a circle of includes" in line]), 1)
        self.assertIn("3 modules hang together so", "".join(found))

    def test_the_graph(self):
        self.write({"middle/send.c": ["middle/wait.h"]})
        done = subprocess.run([f"{self.root}/tools/tidy", "--graph", COMPONENT], stdout=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0)
        self.assertIn('"send" -> "wait" [color=red];', done.stdout)
        self.assertIn('"all" -> "wait";', done.stdout)


def re_name(name):
    folder, file = name.split("__")
    return f"{folder}/{file[:-2]}.{file[-1]}"


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
