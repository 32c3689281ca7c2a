# SPDX-License-Identifier: BSD-3-Clause
"""What tests of single checks of tools/tidy share: the tool as a module, fresh for each test, so that no breach of another is in it."""
import importlib.util
import os
import unittest
from importlib.machinery import SourceFileLoader

TIDY = os.path.abspath(os.path.dirname(os.path.abspath(__file__)) + "/../../tools/tidy")


class TidyTest(unittest.TestCase):
    def setUp(self):
        here = os.getcwd()
        loader = SourceFileLoader("tidy_under_test", TIDY)
        self.tidy = importlib.util.module_from_spec(importlib.util.spec_from_loader("tidy_under_test", loader))
        loader.exec_module(self.tidy)
        os.chdir(here)
