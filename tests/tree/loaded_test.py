#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/loaded: its status is that of ctest, and no busy process is left, whatever ends it."""
import os
import signal
import subprocess
import sys
import unittest

SOURCE = os.path.abspath(f"{os.path.dirname(__file__)}/../..")
sys.path[:0] = [f"{SOURCE}/tests"]
import scratch  # noqa: E402
from patience import HANG_S  # noqa: E402


class Loaded(unittest.TestCase):
    def setUp(self):
        """A ctest that does what the variable DO says."""
        self.folder = scratch.folder("loaded-")
        with open(f"{self.folder}/ctest", "w", encoding="ascii") as script:
            script.write('#!/bin/sh\necho "ctest $*"\nexec sh -c "$DO"\n')
        os.chmod(f"{self.folder}/ctest", 0o755)

    def start(self, what, *arguments):
        around = dict(os.environ, PATH=f"{self.folder}:{os.environ['PATH']}", DO=what)
        return subprocess.Popen([f"{SOURCE}/tools/loaded", *arguments], env=around, start_new_session=True, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run_it(self, what, *arguments):
        with self.start(what, *arguments) as tool:
            out, error = tool.communicate(timeout=HANG_S)
        return tool.returncode, out, error

    def test_its_status_is_that_of_ctest(self):
        status, out, error = self.run_it("exit 8", "--busy", "2", "--build", "here", "-R", "some")
        self.assertEqual((status, error), (8, ""))
        self.assertIn("ctest --test-dir here --output-on-failure -R some\n", out)
        self.assertIn("2 busy processes", out)

    def test_wrong_arguments(self):
        self.assertEqual(self.run_it("", "--busy", "many"), (2, "", "tools/loaded: --busy needs a number\n"))
        self.assertEqual(self.run_it("", "--build"), (2, "", "tools/loaded: --build needs a folder\n"))

    def test_a_kill_leaves_nothing(self):
        with self.start("exec sleep 1000", "--busy", "3") as tool:
            self.assertIn("ctest", tool.stdout.readline())
            os.killpg(tool.pid, signal.SIGKILL)
            self.assertEqual(tool.stdout.read(), "")  # it ends with the last process that holds it


if __name__ == "__main__":
    unittest.main()
