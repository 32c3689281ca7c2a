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

TEXT = "\n## One-sided communication\n\nThe target waits in MPI_Recv.\n"


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
    return judged(bench, "allocated", ", allocated window", f"### Windows of MPI_Win_allocate\n\nTwo ranks{bench.pinned_text()}.")


def created(bench):
    return judged(bench, "created", ", created window", f"### Windows of MPI_Win_create\n\nTwo ranks{bench.pinned_text()}.", ("--window", "create"))


def nodes(bench):
    return judged(bench, "nodes", ", two nodes", f"### Between nodes\n\nTwo ranks{bench.pinned_text()}, over TCP on loopback.", between=True)


def contention(bench):
    table = Table("rma-contention", f"{CONTENDING} ranks: one lock, get, put, unlock, us", "what", "us", "ratios")
    bench.say(f"\n### Contention\n\n{CONTENDING} ranks on one node, not pinned; the time of all divided by their number. A run that takes longer than "
              f"{CONTENTION_LIMIT_S} s is ended.\n")
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
