# SPDX-License-Identifier: BSD-3-Clause
"""The parts start and memory of the study mpi: how long a job takes that does nothing, and what a rank needs."""
from .peers import at_most, in_turns
from .systems import RHIZOME
from .table import Table

STARTS, STARTS_QUICK, START_LIMIT_S, START_MOST = (4, 64, 256, 1024), (4, 16), 60, 0.5  # ranks; of the better peer's time
MEMORY_RANKS, MEMORY_RANKS_QUICK, MEMORY_MOST = 64, 8, 3  # MiB of a rank
WITHOUT = "without MPI"


def start(bench):
    if not bench.compile("bench_start", peers=True):
        return False
    table = Table("mpi-start", "From start to end of the launcher, s", "ranks", "s", "ratios")
    counts = bench.options.ranks or (STARTS_QUICK if bench.quick else STARTS)
    bench.say(f"\n### Start\n\nA program that calls MPI_Init and MPI_Finalize, on one node. A peer that fails or takes longer than {START_LIMIT_S} s is "
              "not run with more ranks.\n")

    def command(case):
        ranks, system = case
        return bench.start("bench_start", ranks, system=system, yields=ranks > bench.processors)
    systems = bench.having("bench_start")
    in_turns(bench, (3, 1), [(ranks, system) for ranks in counts for system in systems], command,
             lambda case, result: [(table, str(case[0]), case[1], result.wall_s if result.good() else None)], START_LIMIT_S)
    bench.show(*(command((counts[0], system)) for system in systems), tables=[table])
    for row in table.rows:
        at_most(bench, table, row, START_MOST, f"start and end of {row} ranks", START_LIMIT_S)
    return True


def memory(bench):
    """The program without MPI comes first in each repetition."""
    alone = f"{bench.folder}/bench_memory.alone"
    if not bench.compile("bench_memory", peers=True) or \
            not bench.tried(["cc", "-O2", "-DBENCH_WITHOUT_MPI", "-o", alone, f"{bench.sources}/bench_memory.c"],
                            "bench_memory does not compile without MPI"):
        return False
    ranks, base = MEMORY_RANKS_QUICK if bench.quick else MEMORY_RANKS, {}
    table = Table("mpi-memory", f"A rank of {ranks} on one node, MiB beyond the same program without MPI", "proportional set size", "MiB", "ratios")
    bench.say("\n### Memory\n\nAfter an all-to-all of 8 B; without the launcher and the daemon.\n")

    def command(case):
        return [alone, str(ranks)] if case[1] == WITHOUT else bench.start("bench_memory", ranks, system=case[1], yields=ranks > bench.processors)

    def take(case, result):
        mean, largest = (result.numbers("pss") or [[None, None]])[0]
        if case[1] == WITHOUT:
            base["kib"] = mean
            return [] if mean else None
        return [(table, row, case[1], None if kib is None or not base.get("kib") else (kib - base["kib"]) / 1024)
                for row, kib in (("mean of all ranks", mean), ("largest", largest))]
    systems = [WITHOUT, *bench.having("bench_memory")]
    in_turns(bench, (5, 1), [(ranks, system) for system in systems], command, take, max(START_LIMIT_S, bench.limit_s))
    bench.show(*(command((ranks, system)) for system in systems), tables=[table])
    bench.say(f"\nThe program without MPI needs {base['kib'] / 1024:.2f} MiB.\n" if base.get("kib") else "")
    bench.claims.most(f"memory of a rank, {ranks} ranks on one node", MEMORY_MOST, table.at("mean of all ranks", RHIZOME).interval(), " MiB")
    return True
