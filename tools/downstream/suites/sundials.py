# SPDX-License-Identifier: BSD-3-Clause
"""SUNDIALS: its parallel examples, as its CTest has them; its own runner compares what they print with the answers beside their sources."""
import json
import os
import re
import shlex
import subprocess
import sys

from ..suite import VARIABLE_S, Case, Expected, Suite


def cases(folder):
    done = subprocess.run(["ctest", "--show-only=json-v1"], cwd=f"{folder}/rz-build", stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=VARIABLE_S, check=True)
    for test in json.loads(done.stdout)["tests"]:
        words = test.get("command", [])
        started = next((re.search(r"rz-launch -n (\d+)", word) for word in words if word.startswith("--runcommand=")), None)
        if not started:
            continue  # of one process, without MPI
        own = f"{folder}/rz-runs/{test['name']}"  # what it prints, and its files
        os.makedirs(own, exist_ok=True)
        kept = [word for word in words[1:] if not word.startswith(("--runcommand=", "--outputdir=", "--verbose"))]
        script = f'exec {shlex.join([sys.executable, *kept])} --outputdir="$PWD" --runcommand="$RZ_LAUNCH"'
        yield Case(test["name"], own, ["sh", "-c", script], int(started.group(1)), launcher="RZ_LAUNCH")


SUITE = Suite(
    name="sundials", package="sundials", what="SUNDIALS, its parallel examples, with their answers", cases=lambda folder: list(cases(folder)),
    needs="cmake",
    build="""
cmake -S . -B rz-build -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF -DENABLE_MPI=ON -DENABLE_PTHREAD=OFF -DEXAMPLES_INSTALL=OFF \\
    -DMPI_C_COMPILER=mpicc -DMPI_CXX_COMPILER=mpicxx -DMPI_Fortran_COMPILER=mpifort -DMPIEXEC_EXECUTABLE=rz-launch -DEXAMPLES_ENABLE_CXX=ON \\
    -DBUILD_FORTRAN_MODULE_INTERFACE=ON -DEXAMPLES_ENABLE_F2003=ON -DSUNDIALS_TEST_DEVTESTS=ON
make -C rz-build
""",
    expected=[Expected("cvsDiurnal_FSA_kry_p_-sensi_sim_t", "its answer is another machine's: Open MPI 4.1.4, built from the same source, prints the "
                       "same as we do, to the last digit")])
