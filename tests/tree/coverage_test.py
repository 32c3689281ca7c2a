#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/coverage finds lines that nothing ran, and refuses a module that is below its floor or is not there."""
import glob
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.dirname(os.path.abspath(__file__)) + "/../..")


class Coverage(unittest.TestCase):
    def test_code_that_nothing_ran(self):
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(f"{folder}/src/base")
            subprocess.run(["gcc", "--coverage", "-D_GNU_SOURCE", f"-I{ROOT}/src", f"-I{ROOT}/include", "-c",
                            sorted(glob.glob(f"{ROOT}/src/base/*.c"))[-1], "-o", f"{folder}/src/base/one.c.o"], check=True)
            words = [f"{ROOT}/tools/coverage", "--report-only", "--build", folder]
            done = subprocess.run(words, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, r"(?m)^base +\d+ +0\.0 +\d+ +\d+ +0\.0 +\d+$")
            done = subprocess.run([*words, "--check"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertIn("base is below its floor", done.stderr)
            self.assertIn("there is no module wire", done.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
