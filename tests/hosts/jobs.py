# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of jobs on a rig of hosts share: programs, the class of their tests, waiting."""
import os
import re
import signal
import subprocess
import sys
import time
import unittest

import hosts
from hosts_files import HANG_S

SKIPPED = 77
BUILD = os.path.abspath(os.environ.get("RZ_TEST_BUILD", "build"))
SOURCE = os.path.abspath(os.path.dirname(os.path.abspath(__file__)) + "/../..")
RZRUN, HPCCG = f"{BUILD}/bin/rzrun", f"{BUILD}/apps/hpccg"
RING, SHRINK = f"{BUILD}/apps/ring", f"{BUILD}/apps/tutorial/step5_shrink"
HAS_PMIX = os.path.exists(f"{BUILD}/lib/rhizome/rhizome-pmix.so")
SIZE = ["24", "24", "24"]
BAD_LINE, NO_START, NO_JOB, SAVED = 2, 4, 7, 75
COMD = [f"{BUILD}/apps/comd", "-x", "8", "-y", "8", "-z", "8", "--temperature", "20000", "-N", "100", "--checkpoint-every", "5"]
CHECKPOINTS = "/run/rig/home/checkpoints"  # on all hosts
# A rank is stopped in the middle, so that the job is not over before it is preempted.
PREEMPTED, HELD = ["--checkpoint-dir", CHECKPOINTS, "--signal-checkpoint", "USR1"], "stop rank 1 at iteration 40 for 60s"


def await_true(condition, bound_s=HANG_S):
    """Polls for a state without an event; the value that was true, or the last one."""
    end = time.monotonic() + bound_s
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return value


def result_of(text):
    """The lines of hpccg that do not depend on time."""
    return [line for line in text.splitlines() if re.match(r"(iterations|residual) ", line)]


def state_of(text):
    """The lines of comd at its end: atoms, drift, and the state of all of them as a number."""
    return text.splitlines()[-3:]


class JobsTest(unittest.TestCase):
    """A rig of N hosts (with SLURM) for all tests of a class; after each test nothing is left on any host. expected: the result of
    hpccg on RANKS ranks of this machine."""
    N, SLURM, RANKS = 4, False, 8

    @classmethod
    def setUpClass(cls):
        cls.rig = hosts.Hosts(cls.N, slurm=cls.SLURM, share=[SOURCE, BUILD])
        cls.addClassCleanup(cls.rig.close)
        cls.expected = result_of(cls.undisturbed([HPCCG, *SIZE], cls.RANKS))

    def tearDown(self):
        for k in range(self.N + 1):
            self.assertEqual(await_true(lambda k=k: not self.rig.free_check(k)) or self.rig.free_check(k), True, f"left on h{k}")

    @staticmethod
    def undisturbed(program, ranks):
        """What the program prints on this machine."""
        line = [RZRUN, "--launcher", "local", "-n", str(ranks), "--oversubscribe", *program]
        return subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True, timeout=HANG_S).stdout

    def await_checkpoint(self):
        find = ["find", CHECKPOINTS, "-name", "committed"]
        found = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "timeout": HANG_S}
        self.assertTrue(await_true(lambda: self.rig.run(0, find, **found).stdout), "no checkpoint in files")

    def await_ranks_on(self, k):
        runs = ["pgrep", "-x", "hpccg"]
        there = await_true(lambda: self.rig.run(k, runs, stdout=subprocess.DEVNULL, timeout=HANG_S).returncode == 0)
        self.assertTrue(there, f"no rank on h{k}")
        time.sleep(1.5)  # some iterations, and a checkpoint


def main(slurm=False):
    lacking = hosts.lacking(slurm=slurm)
    if lacking:
        print(lacking)
        sys.exit(SKIPPED)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    unittest.main(verbosity=2)
