#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/check, with a cmake, a ctest, a make and a tools/sample that are played: every part runs, and any failure is in the
exit status."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

CHECK = os.path.abspath(os.path.dirname(os.path.abspath(__file__)) + "/../../tools/check")

PLAYED = """#!/bin/sh
echo "{name} $*"
case "$*" in {fails}) exit 8 ;; esac
"""


class Check(unittest.TestCase):
    def check(self, *parts, cmake="-", ctest="-", make="-", sanitized="-", **variables):
        """Exit status and output, where the commands whose line fits the pattern fail."""
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(f"{folder}/tools")
            shutil.copy(CHECK, f"{folder}/tools/check")
            for name, fails in (("cmake", cmake), ("ctest", ctest), ("make", make), ("tools/sample", sanitized), ("tools/slow", "-")):
                with open(f"{folder}/{name}", "w") as program:
                    program.write(PLAYED.format(name=name, fails=fails))
                os.chmod(f"{folder}/{name}", 0o755)
            own = {name: value for name, value in os.environ.items() if name not in ("SLOW", "SEED")}  # of the check that runs this
            environment = dict(own, PATH=f"{folder}:{os.environ['PATH']}", **variables)
            done = subprocess.run([f"{folder}/tools/check", *parts], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True)
        return done.returncode, done.stdout

    def test_all_is_well(self):
        status, out = self.check()
        self.assertEqual(status, 0)
        self.assertNotIn("FAILED", out)
        self.assertRegex(out, r"(?s)-L asan.*tools/sample asan --budget 60 --most 24 --seed 1\n.*"
                              r"-L tsan.*tools/sample tsan --budget 60 --most 8 --seed 1\n")
        self.assertRegex(out, r"(?s)-L tsan.*make \S* coverage\n.*\nctest --test-dir build --[^\n]*\n$")

    def test_slow_tests_are_drawn_where_that_is_asked(self):
        self.assertNotIn(" -E ", self.check()[1])
        self.assertIn(" -E tools/slow left-out\n", self.check(SLOW="drawn")[1])
        self.assertIn(" -E tools/slow left-out --seed 7\n", self.check(SLOW="drawn", SEED="7")[1])

    def test_a_part_that_fails_stops_no_other(self):
        for broken in ({"ctest": "*asan*"}, {"cmake": "*--preset*asan*"}, {"sanitized": "asan*"}):
            with self.subTest(broken=broken):
                status, out = self.check(**broken)
                self.assertEqual(status, 1)
                self.assertIn("FAILED: asan (above)\n== release\n", out)
                self.assertRegex(out, r"-L tsan[^\n]*\n(.*\n)*ctest --test-dir build --[^\n]*\n$")

    def test_jobs_are_sampled_whatever_the_unit_tests_said(self):
        status, out = self.check("asan", ctest="*asan*", SEED="7")
        self.assertEqual(status, 1)
        self.assertIn("tools/sample asan --budget 60 --most 24 --seed 7\n", out)

    def test_a_module_below_its_floor(self):
        status, out = self.check(make="*coverage*")
        self.assertEqual(status, 1)
        self.assertIn("FAILED: coverage (above)\n== release\n", out)

    def test_the_release_build_fails(self):
        self.assertEqual(self.check(ctest="*build*--output*")[0], 1)
        self.assertEqual(self.check("release", ctest="*build*--output*")[0], 1)

    def test_parts(self):
        status, out = self.check("tsan")
        self.assertEqual((status, "asan" in out, "== release" in out), (0, False, False))
        self.assertEqual(self.check("everything")[0], 2)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
