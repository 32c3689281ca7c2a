# SPDX-License-Identifier: BSD-3-Clause
"""PnetCDF: the programs of its `make ptest`, each file that they write looked at by its validator."""
import os
import re

from ..suite import Case, Suite, of_make

RANKS = 4  # as its own make ptest
ALONE = ("fandc/", "nc_test/", "nf_test/", "nf90_test/", "F90/tst_io")  # make ptest leaves them out: rank 0 alone calls what is collective
FOLDERS = ("C", "fandc", "nc_test", "cdf_format", "header", "testcases", "nonblocking", "nf_test", "nf90_test", "F90", "largefile")


def wrong(run):
    if run.status != 0:
        return f"exit status {run.status}"
    return next((line.strip() for line in run.output.splitlines() if " fail" in line or re.search(r"(?<!No )Error", line)), "")


def script(program, out):
    """What its own scripts do with a program: run it, and look at what it has written."""
    validator = "../../src/utils/ncvalidator/ncvalidator -q"
    if program == "pres_temp_4D_wr":
        return f"$RZ_LAUNCH ./pres_temp_4D_wr {out} && {validator} {out} && $RZ_LAUNCH ./pres_temp_4D_rd {out}"
    if program == "tst_version":
        return "$RZ_LAUNCH ./tst_version"
    if program in ("test_inq_format", "tst_corrupt"):  # they read files of their sources
        return f"$RZ_LAUNCH ./{program} ."
    if program == "tst_open_cdf5":
        return f"$RZ_LAUNCH ./{program} bad_begin.nc5"
    if program in ("put_all_kinds", "iput_all_kinds"):
        return f"$RZ_LAUNCH ./{program} {out}" + "".join(f" && {validator} {out}{kind}" for kind in "125")
    if program == "tst_io":
        return f"$RZ_LAUNCH ./tst_io rz-out && {validator} rz-out/tst_io1.nc"
    if program in ("nc_test", "nf_test", "nf90_test"):
        files = " ".join(f"rz-out/{name}.nc" for name in ("test", "scratch", "tooth-fairy"))
        return " && ".join(f"rm -f {files} && $RZ_LAUNCH ./{program} {kind} -d rz-out && {validator} rz-out/test.nc" for kind in ("", "-2", "-5"))
    look = f" && if [ -f {out} ]; then {validator} {out}; fi"
    return f"$RZ_LAUNCH ./{program} {out}" + look


def cases(folder):
    for part in FOLDERS:
        tests = f"{folder}/test/{part}"
        if not os.path.isfile(f"{tests}/Makefile"):
            continue
        os.makedirs(f"{tests}/rz-out", exist_ok=True)
        for program in of_make(tests, "$(check_PROGRAMS)"):
            if program in ("pres_temp_4D_rd", "mcoll_perf") or not os.path.isfile(f"{tests}/{program}"):
                continue
            yield Case(f"{part}/{program}", tests, ["sh", "-c", script(program, f"rz-out/{program}.nc")],
                       1 if f"{part}/{program}".startswith(ALONE) else RANKS, wrong=wrong, launcher="RZ_LAUNCH")


SUITE = Suite(
    name="pnetcdf", package="pnetcdf", what="PnetCDF, the programs of its `make ptest`", cases=lambda folder: list(cases(folder)),
    build="""
autoreconf -fi
./configure MPICC=mpicc MPIF77=mpif77 MPIF90=mpif90 --disable-cxx --disable-shared
make
make tests
""",
    needs="m4 autoconf automake libtool")
