# SPDX-License-Identifier: BSD-3-Clause
"""The part loops of the study mpi: the loops with which users compare MPI libraries. Collective calls one at a time, with all ranks in step; round trips
of two buffers; messages of several threads."""
from . import records
from .peers import at_least, at_most, crowded
from .table import Table

# What is asked for: at most so much of the better peer's time, at least so much of its rate.
MOST, LEAST = 1.0, 1.0
LIMIT_S = 60

CALLS = {"barrier": (0,), "bcast": (8, 64 << 10), "allreduce": (8, 64 << 10), "alltoall": (8, 4 << 10)}
TRIPS = {"trip": (8, 4 << 10, 64 << 10, 256 << 10), "fresh": (16 << 10, 64 << 10, 256 << 10)}
THREADS = {"latency": "half round trip, 8 B, us", "rate": "10^6 messages of 8 B per second"}
RANKS, RANKS_QUICK = (2, 4, 8, 32), (2, 4)
COUNTS, COUNTS_QUICK = (1, 2, 4), (2,)  # of threads

TEXT = ("### Loops\n\nThe time in the call, the mean of all ranks, which meet in a barrier behind each call, which does not count; \"in step\": call and "
        "barrier, of the slowest rank. Barriers are called in a row. Half a round trip: of data that nobody touches, or of fresh data, which is written and "
        "read. More than two ranks are not pinned.")
TEXT_THREADS = ("Two ranks of several threads (MPI_THREAD_MULTIPLE), pinned where it is one. Each thread has a partner in the other rank and a tag of its own; "
                "for the rate, 64 messages in progress.")


def row_of(loop, n):
    what = {"trip": "half round trip", "fresh": "half round trip, fresh data,"}.get(loop, loop)
    return f"{what} {records.size_text(n)}" if n else what


def take(system, loops, result):
    """Of each loop its time, and that in step."""
    for loop, n, table in loops:
        numbers = next(iter(result.numbers(f"{loop} {n}")), ())
        yield table, row_of(loop, n), system, numbers[0] if numbers else None
        if loop not in ("barrier", *TRIPS):
            yield table, f"{row_of(loop, n)}, in step", system, numbers[1] if len(numbers) > 1 else None


def words(bench, loops, pinned=()):
    return [*pinned, "--ms", "5" if bench.quick else "100", *(str(word) for loop, n, *_ in loops for word in (loop, n))]


def in_step(bench, ranks, text):
    """The table of so many ranks, and what is claimed of it."""
    table = Table(f"mpi-loops-{ranks}", f"{ranks} ranks: one call, us", "call", "one call, us", "ratios")
    sizes_of = {**CALLS, **(TRIPS if ranks == 2 else {})}
    loops = [(loop, n, table) for loop, sizes in sizes_of.items() for n in sizes]
    bench.part(text, [table], (7, 1), crowded(bench, "bench_loops", ranks),
               lambda system, _: [*bench.start("bench_loops", ranks, system=system, yields=ranks > bench.processors),
                                  *words(bench, loops, bench.pinned() if ranks == 2 else ())],
               lambda system, result: list(take(system, loops, result)), limit_s=max(LIMIT_S, bench.limit_s))
    for row in table.rows:
        at_most(bench, table, row, MOST, f"{row}, {ranks} ranks")


def threads(bench):
    tables = {loop: Table(f"mpi-loops-threads-{loop}", f"Two ranks of several threads: {title}", "threads of a rank", title, "ratios")
              for loop, title in THREADS.items()}
    cases = [(count, system) for count in (COUNTS_QUICK if bench.quick else COUNTS) for system in bench.having("bench_loops")]

    def command(case, _):
        count, system = case
        loops = [(loop, count) for loop in THREADS]
        return [*bench.start("bench_loops", 2, system=system, yields=2 * count > bench.processors), *words(bench, loops, bench.pinned() if count == 1 else ())]

    def taken(case, result):
        return [(tables[loop], str(case[0]), case[1], result.value(f"{loop} {case[0]}")) for loop in THREADS]
    bench.part(TEXT_THREADS, list(tables.values()), (7, 1), cases, command, taken, limit_s=max(LIMIT_S, bench.limit_s))
    for row in tables["latency"].rows:
        at_most(bench, tables["latency"], row, MOST, f"half round trip, {row} threads")
        at_least(bench, tables["rate"], row, LEAST, f"message rate, {row} threads")


def loops(bench):
    if not bench.compile("bench_loops", peers=True):
        return False
    counts = bench.options.ranks or (RANKS_QUICK if bench.quick else RANKS)
    bench.each([*counts, None], lambda ranks: in_step(bench, ranks, TEXT if ranks == counts[0] else "") if ranks else threads(bench))
    return True
