# SPDX-License-Identifier: BSD-3-Clause
"""NetCDF on parallel HDF5, which is built with it: the parallel tests of nc_test4."""
import os
import re

from ..suite import Case, Suite

LINE = re.compile(r"^ *@MPIEXEC@ -n (\d+) \./(\S+)", re.MULTILINE)
LIMIT_S = 600


def cases(folder):
    tests = f"{folder}/nc_test4"
    with open(f"{tests}/run_par_test.sh.in", encoding="utf-8") as file:
        jobs = LINE.findall(file.read())
    for ranks, program in jobs:
        own = f"{tests}/rz-{program}-{ranks}"
        os.makedirs(own, exist_ok=True)
        yield Case(f"{program} {ranks}", own, [f"../{program}"], int(ranks), LIMIT_S)
    yield Case("h5_test tst_h_par 4", f"{folder}/h5_test", ["./tst_h_par"], 4, LIMIT_S)


SUITE = Suite(
    name="netcdf", package="netcdf", also=("hdf5",), what="parallel NetCDF on HDF5, the parallel tests of nc_test4 and h5_test",
    cases=lambda folder: list(cases(folder)), needs="zlib1g-dev m4",
    build="""
cp -r "$RZ_ALSO/hdf5/unpacked" rz-hdf5
(cd rz-hdf5 && ./configure --prefix="$PWD/rz" --enable-parallel --disable-fortran --disable-cxx --enable-hl --disable-shared --disable-tools --disable-tests &&
    make && make install)
CC=mpicc CPPFLAGS="-I$PWD/rz-hdf5/rz/include" LDFLAGS="-L$PWD/rz-hdf5/rz/lib" ./configure --disable-shared --disable-dap --disable-byterange \\
    --enable-parallel-tests --disable-nczarr --disable-libxml2
make
make -C nc_test4 $(make -s -C nc_test4 --eval='rz-print: ; @echo $(filter tst_mpi_parallel tst_parallel% tst_nc4perf tst_mode tst_simplerw_coll_r \\
    tst_quantize_par,$(check_PROGRAMS))' rz-print)
make -C h5_test tst_h_par
""")
