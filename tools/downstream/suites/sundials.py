# SPDX-License-Identifier: BSD-3-Clause
"""SUNDIALS: its parallel examples and unit tests, as its CTest has them."""
import json
import os
import subprocess

from ..suite import VARIABLE_S, Case, Suite


def cases(folder):
    done = subprocess.run(["ctest", "--show-only=json-v1"], cwd=f"{folder}/rz-build", stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=VARIABLE_S, check=True)
    for test in json.loads(done.stdout)["tests"]:
        words = test.get("command", [])
        if words[:1] != ["rz-launch"]:
            continue  # of one process, without MPI
        own = f"{folder}/rz-runs/{test['name']}"  # some write files of the same name
        os.makedirs(own, exist_ok=True)
        yield Case(test["name"], own, words[3:], int(words[2]))


SUITE = Suite(
    name="sundials", package="sundials", what="SUNDIALS, its parallel examples and unit tests", cases=lambda folder: list(cases(folder)),
    needs="cmake",
    build="""
cmake -S . -B rz-build -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF -DENABLE_MPI=ON -DENABLE_PTHREAD=OFF -DEXAMPLES_INSTALL=OFF \\
    -DMPI_C_COMPILER=mpicc -DMPI_CXX_COMPILER=mpicxx -DMPI_Fortran_COMPILER=mpifort -DMPIEXEC_EXECUTABLE=rz-launch -DEXAMPLES_ENABLE_CXX=ON \\
    -DBUILD_FORTRAN_MODULE_INTERFACE=ON -DEXAMPLES_ENABLE_F2003=ON
make -C rz-build
""")
