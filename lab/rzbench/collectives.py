# SPDX-License-Identifier: BSD-3-Clause
"""The parts collectives and nodes of the study mpi: collective operations by few and by many ranks, on one node and on four."""
from . import records
from .peers import at_most, crowded
from .systems import OPENMPI, RHIZOME
from .table import Table

OPERATIONS = ("barrier", "bcast", "reduce", "allreduce", "allgather", "alltoall")
SIZES, SIZES_QUICK = (8, 4 << 10, 64 << 10, 1 << 20), (8, 64 << 10)
RANKS, RANKS_QUICK = (2, 4, 8, 16, 32, 64), (2, 4)
MEMORY_MIB = 6144  # of the buffers of all ranks together; the libraries need some of their own
LIMIT_S = 120

# What is asked for: of a pair, of more ranks than processors, of nodes.
PAIR, CROWD, NODES = 1.0, 0.8, 0.9
N_NODES, PER_NODE = 4, 8

TEXT = ("### Collective operations\n\nThe slowest rank's time of one call. Bytes: of the vector or message; of allgather and alltoall, what each rank gives to "
        f"each other, left out where all buffers need more than {MEMORY_MIB >> 10} GiB. More than two ranks are not pinned.")


def program_words(bench):
    """What stands behind bench_coll."""
    return ["--ms", "5" if bench.quick else "20", "--rounds", "1", "--memory", str(MEMORY_MIB), "--operations", ",".join(OPERATIONS),
            "--sizes", ",".join(map(str, SIZES_QUICK if bench.quick else SIZES))]


def row_of(operation, size):
    return f"{operation} {records.size_text(size)}" if size else operation


def take(table, column, result):
    """OPERATION - BYTES ROUND VALUE; None: not all operations were measured."""
    found = [(table, row_of(operation, int(size)), column, value) for operation in OPERATIONS for size, _, value in result.numbers(f"{operation} -")]
    return found if all(result.lines(f"{operation} -") for operation in OPERATIONS) else None


def measured(bench, name, title, text, systems, command):
    """The table of one number of ranks."""
    table = Table(name, f"{title}: one call, us", "operation", "one call, us", "ratios")
    bench.part(text, [table], (5, 1), systems, lambda system, _: command(system), lambda system, result: take(table, system, result),
               limit_s=max(LIMIT_S, bench.limit_s))
    return table


def collectives(bench):
    if not bench.compile("bench_coll", peers=True):
        return False

    counts = bench.options.ranks or (RANKS_QUICK if bench.quick else RANKS)

    def make(ranks):
        crowd = ranks > bench.processors
        text = TEXT if ranks == counts[0] else ""

        def command(system):
            return [*bench.start("bench_coll", ranks, system=system, yields=crowd), *program_words(bench), *(bench.pinned() if ranks == 2 else ())]
        table = measured(bench, f"mpi-collectives-{ranks}", f"{ranks} ranks", text, crowded(bench, "bench_coll", ranks), command)
        for row in table.rows:
            at_most(bench, table, row, CROWD if crowd else PAIR, f"{row}, {ranks} ranks")
    bench.each(counts, make)
    return True


# ---- over nodes

def peer_words(bench, ranks):
    """Open MPI on nodes that have networks of their own (peer_nodes.sh): shared memory within, TCP between, as ours."""
    made = f"{bench.sources}/peer_nodes.sh"
    hosts = ",".join(f"n{i}:{ranks // N_NODES}" for i in range(1, N_NODES + 1))
    return [made, str(N_NODES), *"mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none --mca pml ob1 --mca btl tcp,vader,self".split(),
            *"--mca btl_tcp_if_include 10.79.0.0/24 --mca oob_tcp_if_include 10.79.0.0/24".split(), "--mca", "plm_rsh_agent", f"{made} --agent",
            "--mca", "orte_tmpdir_base", bench.folder, *"--mca mpi_yield_when_idle 1".split(), "--host", hosts, "-n", str(ranks),
            bench.compiled(OPENMPI, "bench_coll")]


def has_networks(bench):
    """Whether this system gives emulated nodes, ours and the peer's, networks of their own."""
    *launcher, _ = bench.start("bench_coll", N_NODES, N_NODES, options=["--adapter", "netns"])
    return all(bench.run(words).good() for words in ([*launcher, "true"], [f"{bench.sources}/peer_nodes.sh", str(N_NODES), "true"]))


def nodes(bench):
    if not bench.compile("bench_coll", peers=True):
        return False
    ranks = N_NODES * (2 if bench.quick else PER_NODE)
    apart = has_networks(bench)
    where = f"{N_NODES} nodes of {ranks // N_NODES} ranks each, not pinned. "
    text = where + ("Each node has a network of its own, joined by a bridge." if apart else
                    "All nodes are on loopback, for this system gives them no networks of their own (it takes root); peers are left out, which "
                    "cannot be started so.")
    systems = [RHIZOME, OPENMPI] if apart and bench.has(OPENMPI, "bench_coll") else [RHIZOME]

    def command(system):
        options = ["--adapter", "netns"] if apart else []
        words = bench.start("bench_coll", ranks, N_NODES, options=options) if system == RHIZOME else peer_words(bench, ranks)
        return [*words, *program_words(bench)]
    table = measured(bench, "mpi-nodes", f"{ranks} ranks on {N_NODES} nodes", f"### Collective operations over nodes\n\n{text}", systems, command)
    for row in table.rows:
        at_most(bench, table, row, NODES, f"{row}, {ranks} ranks on {N_NODES} nodes")
    return True
