# SPDX-License-Identifier: BSD-3-Clause
"""The study rma: one-sided communication of two ranks, on one node and on two, and of eight ranks that want one lock, beside Open MPI and MPICH."""
from . import records
from .peers import at_least, at_most, in_turns, pair
from .table import Table

# What is asked for, of the better peer: so much of its time at most, and of its bandwidth at least.
TIME_MOST, BANDWIDTH_LEAST = 1.1, 0.91

# What bench_rma measures: the kind of its table, and what a row is called.
MEASURES = {"put": ("time", "put"), "get": ("time", "get"), "fetch": ("time", "fetch_and_op"), "swap": ("time", "compare_and_swap"),
            "lock": ("time", "lock, put, unlock"), "fence": ("time", "put and fence"),
            "puts": ("bandwidth", "16 puts"), "gets": ("bandwidth", "16 gets")}
KINDS = {"time": "one, and its completion, us", "bandwidth": "bandwidth, MB/s"}
SIZES = {"time": (8,), "bandwidth": (64 << 10, 1 << 20)}
CONTENDING, CONTENTION_LIMIT_S = 8, 60

# Open MPI's component rdma is slower than sm within a node, and its emulated atomics end processes by a signal (4.1.4: MPI_Compare_and_swap over
# vader). Between processes of one machine sm and rdma would map memory, whatever btl says.
ON_A_NODE, BETWEEN = ("--mca", "osc", "^rdma"), ("--mca", "osc", "pt2pt")

TEXT = ("\n## One-sided communication\n\nAll systems take turns in each repetition; each value is the mean of one run. Ratios are taken repetition by "
        "repetition. The target waits in MPI_Recv. Put, get, fetch_and_op and compare_and_swap are followed by a flush, in one epoch of "
        "MPI_Win_lock; 16 of them by one flush; a lock is exclusive, and not contended.\n")


def row_of(measure, size):
    return f"{MEASURES[measure][1]}, {records.size_text(size)}"


def judged(bench, name, where, text, words=(), between=False):
    """Two ranks: a table of each kind, and what is claimed of it."""
    rows = pair(bench, "bench_rma", f"rma-{name}", where, text, KINDS, {measure: (kind, SIZES[kind]) for measure, (kind, _) in MEASURES.items()}, row_of,
                words, between=between, openmpi=BETWEEN if between else ON_A_NODE)
    for measure, _, table, row in rows:
        if MEASURES[measure][0] == "time":
            at_most(bench, table, row, TIME_MOST, f"{row}{where}")
        else:
            at_least(bench, table, row, BANDWIDTH_LEAST, f"{row}{where}")
    return True


def allocated(bench):
    return judged(bench, "allocated", ", allocated window", f"### On a node\n\nTwo ranks on one node{bench.pinned_text()}; the memory of the window is that of "
                "MPI_Win_allocate.")


def created(bench):
    return judged(bench, "created", ", created window", "The same with memory of MPI_Alloc_mem, and MPI_Win_create.", ("--window", "create"))


def nodes(bench):
    return judged(bench, "nodes", ", two nodes", f"### Between nodes\n\nTwo ranks{bench.pinned_text()}, all over TCP on loopback: Rhizome between two emulated "
                "nodes, peers with shared memory turned off.", between=True)


def contention(bench):
    table = Table("rma-contention", f"{CONTENDING} ranks: one lock, get, put, unlock, us", "what", "us", "ratios")
    bench.say(f"\n### Contention\n\n{CONTENDING} ranks on one node, not pinned, take the exclusive lock of rank 0 at once, again and again, and count by get "
              "and put; the count is checked. One of these takes the time of all divided by their number. Where ranks outnumber processors Open MPI "
              f"yields. A run that takes longer than {CONTENTION_LIMIT_S} s is ended.\n")
    row, systems = f"lock contention, {CONTENDING} ranks", bench.having("bench_rma")

    def command(case):
        ranks, system = case
        return [*bench.start("bench_rma", ranks, system=system, yields=ranks > bench.processors, openmpi=ON_A_NODE),
                "--ms", "10" if bench.quick else "50", "contend", "8"]
    in_turns(bench, (9, 1), [(CONTENDING, system) for system in systems], command,
             lambda case, result: [(table, row, case[1], result.value("contend 8"))], CONTENTION_LIMIT_S)
    bench.show(*(command((CONTENDING, system)) for system in systems), tables=[table])
    at_most(bench, table, row, TIME_MOST, row, CONTENTION_LIMIT_S * 1e6)
    return True


PARTS = {"allocated": allocated, "created": created, "nodes": nodes, "contention": contention}


def study(bench):
    if not bench.compile("bench_rma", peers=True):
        return False
    bench.say(TEXT)
    return bench.judged(bench.parts(PARTS, bench))
