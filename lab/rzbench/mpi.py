# SPDX-License-Identifier: BSD-3-Clause
"""The study mpi: what an MPI program sees, beside Open MPI and MPICH. Here: two and many ranks on this machine as it is and with wake-ups that take
longer, so that the verdict does not depend on which machine it is made on. The other parts are in files of their own."""
from . import calls, records
from .collectives import collectives, nodes
from .launches import memory, start
from .loops import loops
from .messages import messages, network
from .peers import BETTER, better_peer
from .proxies import proxies
from .systems import MPICH, OPENMPI, RHIZOME
from .table import Table

TEXT = "\n## Beside other MPIs\n"

# What is asked for.
OVER_YIELD, OVER_PEER, OVER_BEFORE, OVER_PEER_COUNTED = 1.3, 1.5, 1.15, 1.0

# Each wake-up of a rank takes so much longer where a way says "delayed": as on a virtual machine whose idle processors have to be woken.
DELAY = "RZ_TEST_WAKE_DELAY_US=70"

# A column: which system runs the program, and how it waits, in options of rzrun. "before" is an earlier Rhizome.
WAYS = {"Rhizome": (RHIZOME, ""), "yield": (RHIZOME, "--wait yield"), "delayed": (RHIZOME, f"-x {DELAY}"),
        "yield, delayed": (RHIZOME, f"--wait yield -x {DELAY}"), "before": (None, ""), "Open MPI": (OPENMPI, ""), "MPICH": (MPICH, "")}
CALLS = ("latency", "bandwidth", "barrier", "allreduce", "alltoall")


def measured(bench, name, text, titles, ranks, leave_out):
    """The table of times, made by all ways but those left out, beside that of voluntary context switches."""
    tables = [Table(name, titles[0], "what"), Table(f"{name}-switches", titles[1], "what")]
    ways = [way for way, (system, _) in WAYS.items() if not any(word in way for word in leave_out)
            and (bench.has(system, "bench_mpi") if system else bench.options.baseline)]

    def command(way, _):
        system, options = WAYS[way]
        words = bench.start("bench_mpi", ranks, system=system, options=options.split(), yields=ranks > 2) if system else \
            [f"{bench.options.baseline}/bin/rzrun", "-n", str(ranks), "--oversubscribe", f"{bench.folder}/bench_mpi.baseline"]
        return [*words, *("--ms 10 --quick" if bench.quick else "--ms 50").split(), *(bench.pinned() if ranks == 2 else ())]
    bench.part(text, tables, (7, 1), ways, command, lambda way, result: [
        (table, f"{call} {records.size_text(int(size))}" if size else call, way, value)  # NAME BYTES VALUE SWITCHES
        for call in CALLS for size, *values in result.numbers(call) for table, value in zip(tables, values)])
    return tables[0]


def claim_row(bench, table, row, ours, yields):
    """One row of two ranks, in one setting."""
    what, peer, own, yielding = f"{row}, delayed," if ours == "delayed" else row, better_peer(table, row), table.at(row, ours), table.at(row, yields)
    bench.claims.most(f"{what} over `--wait yield`", OVER_YIELD, own.over(yielding).interval(), of=(table, row, f"{ours} / {yields}"))
    if peer.values:
        bench.claims.most(f"{what} over the better peer", OVER_PEER, own.over(peer).interval(), of=(table, row, f"{ours} {BETTER}"))
        if yielding.over(peer).interval().median > OVER_PEER:
            bench.claims.remark("; nor without ever sleeping: it is not the waiting")


def pair(bench):
    table = measured(bench, "mpi-pair", f"Two ranks{bench.pinned_text()}. \"delayed\": each wake-up takes 70 us longer (`{DELAY}`); peers never sleep.",
                     ("Two ranks: half round trips and calls in us, bandwidth in MB/s",
                      "Two ranks: voluntary context switches of both in 10,000 repetitions"), 2, ())
    for row in table.rows:
        if row.startswith(("latency", "barrier", "allreduce")):
            claim_row(bench, table, row, "Rhizome", "yield")
            claim_row(bench, table, row, "delayed", "yield, delayed")
    return True


def crowd(bench):
    text = "More ranks than processors, not pinned. Open MPI yields (mpi_yield_when_idle); MPICH is left out: it only spins."
    for ranks in (4,) if bench.quick else (8, 32):
        titles = f"{ranks} ranks: one call, us", f"{ranks} ranks: voluntary context switches of all in 10,000 calls"
        table, text = measured(bench, "mpi-crowd", text, titles, ranks, ("delayed", "MPICH")), ""
        for row in table.rows if bench.options.baseline else ():
            bench.claims.most(f"{row}, {ranks} ranks, over before", OVER_BEFORE, table.ratio(row, "Rhizome", "before").interval(),
                              of=(table, row, "over before"))
    return True


def counted(bench):
    table = calls.counted(bench)
    for row in table.rows if table else ():
        over = table.at(row, RHIZOME).over(better_peer(table, row))
        if over.values:
            bench.claims.most(f"{row}: instructions over those of the better peer", OVER_PEER_COUNTED, over.interval(), of=(table, row, BETTER))
    return table is not None


PARTS = {"messages": messages, "network": network, "collectives": collectives, "loops": loops, "nodes": nodes, "start": start, "memory": memory,
         "proxies": proxies, "pair": pair, "crowd": crowd, "calls": counted}


def study(bench):
    old = bench.options.baseline
    if not bench.compile("bench_mpi", peers=True) or \
            (old and not bench.compile_by(f"{old}/bin/mpicc", "bench_mpi", f"{bench.folder}/bench_mpi.baseline", f"the Rhizome in {old}")):
        return False
    bench.quickly(100)
    bench.say(TEXT)
    return bench.judged(bench.parts(PARTS, bench))
