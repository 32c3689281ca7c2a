# SPDX-License-Identifier: BSD-3-Clause
"""HDF5: its parallel tests (testpar), and the flush of a file by ranks that end without MPI_Finalize."""
import os

from ..suite import Case, Expected, Suite, named_in, of_make

RANKS = 6  # as its own make check
LIMIT_S = 600
ENVIRONMENT = {"HDF5TestExpress": "3"}  # its quickest; the slower ones repeat the same with more shapes


def wrong(run):
    if run.status != 0:
        return f"exit status {run.status}"
    return next((line.strip() for line in run.output.splitlines() if "*FAILED*" in line), "")


def cases(folder):
    tests = f"{folder}/build/testpar"
    names = {"testphdf5": named_in(r'AddTest\((?:\([^)]*\) \? "[^"]*" : )?"([^"]+)"', f"{folder}/testpar/testphdf5.c"),
             "t_shapesame": named_in(r'AddTest\("([^"]+)"', f"{folder}/testpar/t_shapesame.c")}
    for program in of_make(tests, "$(TEST_PROG_PARA)"):
        for name in names.get(program, [""]):
            own = f"{tests}/rz-{program}-{name.replace('/', '-')}"  # files of other tests have the same names
            os.makedirs(own, exist_ok=True)
            before = name[:-1] + "w" if name.endswith("r") and name[:-1] + "w" in names[program] else ""  # it reads what that one writes
            only = [word for one in (before, name) if one for word in ("-o", one)]
            if program == "t_prestart":  # it reads what another one writes
                script = "$RZ_LAUNCH ../t_pshutdown && $RZ_LAUNCH ../t_prestart"
                yield Case(program, own, ["sh", "-c", script], RANKS, LIMIT_S, ENVIRONMENT, wrong=wrong, launcher="RZ_LAUNCH")
                continue
            yield Case(f"{program} {name}".strip(), own, [f"../{program}", *only], RANKS, LIMIT_S, ENVIRONMENT, wrong=wrong)
    yield Case("testpflush", tests, ["sh", "testpflush.sh"], RANKS, LIMIT_S, ENVIRONMENT, launcher="RZ_LAUNCH", rewind=False)


SUITE = Suite(
    name="hdf5", package="hdf5", what="parallel HDF5, its testpar", cases=lambda folder: list(cases(folder)),
    build="""
mkdir build
cd build
RUNPARALLEL='$RZ_LAUNCH' ../configure --enable-parallel --disable-fortran --disable-cxx --disable-hl --disable-shared --disable-tools
make -C src
make -C test libh5test.la
make -C testpar t_pflush1 t_pflush2
make -C testpar $(make -s -C testpar --eval='rz-print: ; @echo $(TEST_PROG_PARA)' rz-print)
""",
    needs="zlib1g-dev",
    expected=[Expected("t_cache_image", "many small collective calls of six ranks: more than its time on two busy processors", sometimes=True)])
