# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of an installation share: the build, installed into a folder of its own that is removed afterwards.

The folder's name has a blank and a dollar in it: bad quoting is found out.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/..")
from patience import HANG_S  # noqa: E402

BUILD = os.path.abspath(os.environ.get("RZ_TEST_BUILD", "build"))  # commands run in folders of their own
SOURCE = os.path.abspath(os.environ.get("RZ_TEST_SOURCE", os.path.dirname(os.path.abspath(__file__)) + "/../.."))

# Each rank prints its number and the number of ranks, from C as from C++.
PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, size, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("rank %d of %d, sum %d\n", rank, size, sum);
    return MPI_Finalize();
}
"""

# What might be left over in the shell that runs the tests.
FORGOTTEN = ("CC", "CXX", "FC", "RZ_FC", "MPICH_FC", "OMPI_FC", "CFLAGS", "CXXFLAGS", "LDFLAGS", "LD_LIBRARY_PATH", "LD_PRELOAD", "MPI_HOME", "PKG_CONFIG_PATH",
             "CMAKE_PREFIX_PATH", "RZ_CC", "RZ_CXX", "MPICH_CC", "MPICH_CXX", "OMPI_CC", "OMPI_CXX")


def clean_environment(**more):
    variables = {name: value for name, value in os.environ.items() if name not in FORGOTTEN}
    variables.update(more)
    return variables


def run(command, folder=None, environment=None, text=None):
    """Runs to its end; output and error together, for a message that says everything."""
    return subprocess.run(command, cwd=folder, env=clean_environment(**(environment or {})), input=text, text=True,
                          stdin=subprocess.DEVNULL if text is None else None, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=HANG_S, errors="replace")


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="install-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.prefix = f"{cls.folder}/pre fix"
        done = run(["cmake", "--install", BUILD, "--prefix", cls.prefix])
        if done.returncode != 0:
            raise RuntimeError(f"the build in {BUILD} cannot be installed:\n{done.stdout}")
        cls.bin = f"{cls.prefix}/bin"

    def setUp(self):
        self.work = tempfile.mkdtemp(prefix="work-", dir=self.folder)

    def file(self, name, text):
        path = f"{self.work}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as out:
            out.write(text)
        return path

    def does(self, *command, status=0, folder=None, environment=None, text=None):
        """Runs a command that has to end with this status; returns what it printed."""
        done = run(list(command), folder or self.work, environment, text)
        self.assertEqual(done.returncode, status, f"{command}:\n{done.stdout}")
        return done.stdout

    def runs_as_mpi(self, program, ranks=2, launcher=None):
        """Runs a program as a user would, and looks at what its ranks say."""
        lines = self.does(launcher or f"{self.bin}/mpiexec", "-n", str(ranks), program).splitlines()
        total = ranks * (ranks - 1) // 2
        self.assertEqual(sorted(lines), [f"rank {r} of {ranks}, sum {total}" for r in range(ranks)])


def main():
    if not os.path.exists(f"{BUILD}/CMakeCache.txt"):
        sys.exit(f"there is no build in {BUILD}; RZ_TEST_BUILD names the build tree")
    unittest.main(verbosity=2)
