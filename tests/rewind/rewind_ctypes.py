# SPDX-License-Identifier: BSD-3-Clause
"""A program in Python that knows nothing of failures; it calls the standard ABI by ctypes: rewind_ctypes.py LIBRARY STEPS FOLDER"""
import ctypes
import sys
import time

mpi = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
steps = int(sys.argv[2])
COMM_WORLD, INT64, SUM = ctypes.c_void_p(0x101), ctypes.c_void_p(0x258), ctypes.c_void_p(0x21)  # of the standard ABI

rank, size = ctypes.c_int(), ctypes.c_int()
mpi.MPI_Init(None, None)
mpi.MPI_Comm_rank(COMM_WORLD, ctypes.byref(rank))
mpi.MPI_Comm_size(COMM_WORLD, ctypes.byref(size))
open(f"{sys.argv[3]}/lines.{rank.value}", "w").close()
table, total = {}, 0
for step in range(steps):
    table[f"{step * 7 % 97}"] = list(range(step % 40 + rank.value))
    mine, together = ctypes.c_int64(sum(map(sum, table.values())) + len(repr(table))), ctypes.c_int64()
    with open(f"{sys.argv[3]}/lines.{rank.value}", "a") as file:
        print(step, file=file)
    time.sleep(0.001)
    mpi.MPI_Allreduce(ctypes.byref(mine), ctypes.byref(together), 1, INT64, SUM, COMM_WORLD)
    total += together.value * (step + 1)
    if rank.value == 0 and step % 20 == 0:
        print(f"step {step}: {total}")
with open(f"{sys.argv[3]}/lines.{rank.value}") as file:
    if [int(line) for line in file] != list(range(steps)):
        print(f"the file of rank {rank.value} has other lines")
if rank.value == 0:
    print(f"{steps} steps of {size.value} ranks: {total}", flush=True)
mpi.MPI_Finalize()
