# SPDX-License-Identifier: BSD-3-Clause
"""hypre: its regression tests (src/test), each a script of jobs and one that compares what they printed."""
import glob
import os

from ..suite import Case, Suite

FOLDERS = ("TEST_struct", "TEST_sstruct", "TEST_ij", "TEST_ams", "TEST_lobpcg", "TEST_fac")
TOLERANCE = "-rtol 1e-3 -atol 1e-4"  # compilers differ in the last digits


def cases(folder):
    tests = f"{folder}/src/test"
    for part in FOLDERS:
        for path in sorted(glob.glob(f"{tests}/{part}/*.jobs")):
            name = os.path.relpath(path, tests).removesuffix(".jobs")
            script = f'rm -f {name}.err; ./runtest.sh -mpi "$RZ_LAUNCH -np" {TOLERANCE} {name}.sh; cat {name}.err; test ! -s {name}.err'
            yield Case(name, tests, ["bash", "-c", script], 0, 900, launcher="RZ_LAUNCH")


SUITE = Suite(
    name="hypre", package="hypre", what="hypre, its regression tests", cases=lambda folder: list(cases(folder)),
    build="""
cd src
./configure --with-MPI CC=mpicc CXX=mpicxx F77=mpif77
make
make -C test ij struct sstruct sstruct_fac ams_driver struct_migrate ij_mv ij_mm ij_assembly || make -k -C test all || true
""")
