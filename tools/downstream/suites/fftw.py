# SPDX-License-Identifier: BSD-3-Clause
"""FFTW: random transforms by mpi-bench, each checked against the definition."""
from ..suite import Case, Suite

PROBLEMS, SIZE_MAX = 10, 10000  # as its own make check
RANKS = (1, 2, 3, 4, 7)


def cases(folder):
    check = f"perl -w ../tests/check.pl --verbose --random --maxsize={SIZE_MAX} -c={PROBLEMS}"
    for ranks in RANKS:
        yield Case(f"mpi-bench {ranks}", f"{folder}/mpi", ["sh", "-c", f'{check} --mpi "$RZ_LAUNCH ./mpi-bench"'], ranks, launcher="RZ_LAUNCH")


SUITE = Suite(
    name="fftw", package="fftw3", what="FFTW, its `mpi-bench`", cases=lambda folder: list(cases(folder)), needs="perl",
    build="""
./configure --enable-mpi --disable-fortran --disable-doc --disable-shared
make
""")
