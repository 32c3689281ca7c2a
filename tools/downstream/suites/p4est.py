# SPDX-License-Identifier: BSD-3-Clause
"""p4est and libsc: the programs of their `make check`."""
import os

from ..suite import Case, Suite, of_make

RANKS = 4


def cases(folder):
    for part in ("", "/sc"):
        root = f"{folder}{part}"
        for program in of_make(root, "$(check_PROGRAMS)"):
            if os.path.basename(program) not in ("sc_test_node_comm",):
                yield Case(os.path.basename(program), root, [f"./{program}"], RANKS, 600)


SUITE = Suite(
    name="p4est", package="p4est", what="p4est and libsc, their `make check`", cases=lambda folder: list(cases(folder)), small=True,
    needs="autoconf automake libtool zlib1g-dev",
    build="""
echo 2.2 >.tarball-version
echo 2.2 >sc/.tarball-version
./bootstrap
./configure --enable-mpi --enable-mpiio --disable-shared --without-blas F77=gfortran FC=gfortran
make
make $(make -s --eval='rz-print: ; @echo $(check_PROGRAMS)' rz-print)
make -C sc $(make -s -C sc --eval='rz-print: ; @echo $(check_PROGRAMS)' rz-print)
""")
