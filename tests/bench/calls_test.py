#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The shortest paths through calls do not grow: instructions, counted by `rzbench mpi calls`. A bound is a few per cent above what was counted when it was
set (x86-64, gcc 12, -O2). Lower a bound when its path becomes shorter."""
import csv
import os
import subprocess
import sys

BUILD, SOURCE = os.environ["RZ_TEST_BUILD"], os.environ["RZ_TEST_SOURCE"]
sys.path[:0] = [f"{SOURCE}/tests"]
import scratch  # noqa: E402
from patience import HANG_S  # noqa: E402

MOST = {"MPI_Send, 8 B": 375, "MPI_Recv, 8 B": 755, "MPI_Isend and MPI_Wait, 8 B": 511, "MPI_Irecv and MPI_Wait, 8 B": 916,
        "a message of 32 MPI_Irecv and MPI_Waitall, 8 B": 1110, "MPI_Recv of an unexpected message, 8 B": 1156,
        "MPI_Allreduce, one double, MPI_COMM_SELF": 246,
        "MPI_Bcast, 8 B, root of 2 ranks": 655, "MPI_Bcast, 8 B, other rank": 1210,
        "MPI_Reduce, one double, root of 2 ranks": 1400, "MPI_Reduce, one double, other rank": 760,
        "MPI_Put and MPI_Win_flush, 8 B": 246, "MPI_Get and MPI_Win_flush, 8 B": 246,
        "MPI_Fetch_and_op and MPI_Win_flush": 290, "MPI_Compare_and_swap and MPI_Win_flush": 284,
        "MPI_Win_lock, MPI_Put of 8 B, MPI_Win_unlock": 495}

path = scratch.folder("calls-") + "/calls.csv"
ran = subprocess.run([sys.executable, "-B", f"{BUILD}/bin/rzbench", "mpi", "calls", "--no-peers", "--limit", f"{HANG_S // 4}s", "--csv", path],
                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=HANG_S, check=False)
print(ran.stdout)
with open(path, encoding="utf-8") as file:
    counted = {row[1]: float(row[4]) for row in csv.reader(file) if row and row[0] == "mpi-calls" and row[2] == "Rhizome"}
wrong = [f"{call}: {counted.get(call)} instructions, allowed are {most}" for call, most in MOST.items() if not 0 < counted.get(call, 0) <= most]
print("\n".join(wrong))
sys.exit(bool(wrong))
