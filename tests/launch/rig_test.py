#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The search for what is left behind (launch_rig.py): it finds what stays, and leaves out what belongs to jobs that other tests run."""
import itertools
import os
import subprocess
import unittest

import launch_rig as rig


class Leftovers(unittest.TestCase):
    def setUp(self):
        self.before = rig.names()
        self.path = f"/dev/shm/rhizome-9{os.getpid()}-0-{os.urandom(8).hex()}"
        os.mkdir(self.path)
        self.addCleanup(os.rmdir, self.path)

    def mine(self):
        """Others make and remove folders meanwhile."""
        return [name for name in rig.forgotten(self.before) if name == self.path]

    def test_a_folder_without_a_job_is_left_behind(self):
        self.assertEqual(rig.lasting(self.mine, 0.2), [self.path])

    def test_a_folder_of_a_job_that_runs_is_not(self):
        other = subprocess.Popen(["sleep", "1000"], env={"PATH": os.environ["PATH"], "RZ_SCRATCH": self.path.replace("-0-", "-1-")})
        try:
            self.assertEqual(rig.await_true(lambda: not self.mine()), True)
        finally:
            other.kill()
            other.wait()
        self.assertEqual(self.mine(), [self.path])

    def test_what_comes_and_goes_is_not(self):
        """Every look finds something, but never the same."""
        looks = itertools.count()
        self.assertEqual(rig.lasting(lambda: [str(next(looks))], 60), [])
        self.assertEqual(rig.lasting(lambda: ["stays", str(next(looks))], 0.2), ["stays"])


if __name__ == "__main__":
    unittest.main()
