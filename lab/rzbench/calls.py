# SPDX-License-Identifier: BSD-3-Clause
"""The part calls of the study mpi: how many instructions the shortest paths through a few calls take. Time is noisy, and instructions are not."""
import glob
import re
import shutil

from .rma import ON_A_NODE
from .systems import ENDINGS, MPICH
from .table import Table

# The function of bench_calls that holds a collective call of rank 0: rank 1 calls the same MPI function.
OF_A_RANK = ("counted_call",)
# What is counted in each case of bench_calls: these functions and what they call.
COUNTED = {"send": ("MPI_Send",), "recv": ("MPI_Recv",), "isend": ("MPI_Isend", "MPI_Wait"), "irecv": ("MPI_Irecv", "MPI_Wait"),
           "posted": ("MPI_Irecv", "MPI_Waitall"), "unexpected": ("MPI_Recv",),
           "allreduce": ("MPI_Allreduce",), "bcast": OF_A_RANK, "bcast-leaf": OF_A_RANK, "reduce": OF_A_RANK, "reduce-leaf": OF_A_RANK,
           "put": ("MPI_Put", "MPI_Win_flush"), "get": ("MPI_Get", "MPI_Win_flush"),
           "fetch": ("MPI_Fetch_and_op", "MPI_Win_flush"), "swap": ("MPI_Compare_and_swap", "MPI_Win_flush"),
           "lock": ("MPI_Win_lock", "MPI_Put", "MPI_Win_unlock")}
TITLES = {"send": "MPI_Send, 8 B", "recv": "MPI_Recv, 8 B", "isend": "MPI_Isend and MPI_Wait, 8 B", "irecv": "MPI_Irecv and MPI_Wait, 8 B",
          "posted": "a message of 32 MPI_Irecv and MPI_Waitall, 8 B", "unexpected": "MPI_Recv of an unexpected message, 8 B",
          "allreduce": "MPI_Allreduce, one double, MPI_COMM_SELF",
          "bcast": "MPI_Bcast, 8 B, root of 2 ranks", "bcast-leaf": "MPI_Bcast, 8 B, other rank",
          "reduce": "MPI_Reduce, one double, root of 2 ranks", "reduce-leaf": "MPI_Reduce, one double, other rank",
          "put": "MPI_Put and MPI_Win_flush, 8 B",
          "get": "MPI_Get and MPI_Win_flush, 8 B", "fetch": "MPI_Fetch_and_op and MPI_Win_flush", "swap": "MPI_Compare_and_swap and MPI_Win_flush",
          "lock": "MPI_Win_lock, MPI_Put of 8 B, MPI_Win_unlock"}
# MPICH's other rank has to be in a call, too: these are not counted there.
OF_BOTH = ("bcast", "bcast-leaf", "reduce", "reduce-leaf", "put", "get", "fetch", "swap", "lock")
# So many messages in each step, where it is not one.
MESSAGES = {"posted": 32, "unexpected": 32}
FEW, MANY = 500, 1500  # calls; what two runs differ by is that of MANY - FEW calls

TEXT = """By `valgrind --tool=callgrind`: of the difference between {many} and {few} calls. No call waits. The window is one of MPI_Win_allocate, in one
epoch of MPI_Win_lock. Of 32 posted receives and of 32 unexpected messages one is given; of the latter with its part of the MPI_Recv in which all arrive."""


def total(prefix):
    """Of all ranks together; only rank 0 makes calls that are counted."""
    found = [re.search(r"^(?:summary|totals): (\d+)", open(path, encoding="utf-8", errors="replace").read(), re.M) for path in glob.glob(f"{prefix}.*")]
    return sum(int(match[1]) for match in found if match)


def words(bench, system, call, calls):
    """The command, where its counts go, and the file by which the ranks take turns."""
    counts, turns = (f"{bench.folder}/{what}.{ENDINGS[system]}.{call}.{calls}" for what in ("count", "turns"))
    *launcher, program = bench.start("bench_calls", 2, system=system, openmpi=ON_A_NODE)
    toggles = [f"--toggle-collect=*{name}" for name in COUNTED[call]]
    return [*launcher, "valgrind", "-q", "--tool=callgrind", *toggles, f"--callgrind-out-file={counts}.%p", program, turns, call, str(calls)], counts, turns


def count(bench, system, call):
    """Instructions of one call; None: a run was not complete."""
    totals = []
    for calls in (FEW, MANY):
        command, counts, turns = words(bench, system, call, calls)
        with open(turns, "wb") as file:
            file.write(bytes(4096))
        result = bench.run(command)
        bench.tally.count(result.good())
        if not result.good():
            bench.complain(command, result)
            return None
        totals.append(total(counts))
    return (totals[1] - totals[0]) / (MANY - FEW) / MESSAGES.get(call, 1)


def counted(bench):
    """The table; None: it cannot be made. Without rows where valgrind is not here."""
    table = Table("mpi-calls", "Instructions of one call", "call")
    if not shutil.which("valgrind"):
        bench.say("\nvalgrind is not here: the instructions of calls are left out.\n")
        return table
    if not bench.compile("bench_calls", peers=True):
        return None
    systems = bench.having("bench_calls")
    bench.say("\n" + TEXT.format(few=FEW, many=MANY) + "\n")
    for call, title in TITLES.items():
        for system in systems:
            counts = bench.may_go_on() and not (system == MPICH and call in OF_BOTH)
            value = count(bench, system, call) if counts else None
            if value is not None:
                table.cell(title, system).put(0, value)
    bench.show(*(words(bench, system, "send", MANY)[0] for system in systems), tables=[table])
    return table
