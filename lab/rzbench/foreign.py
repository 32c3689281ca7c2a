# SPDX-License-Identifier: BSD-3-Clause
"""The study foreign: from SIGKILL until clients of libpmix are told, under rzrun and under Open MPI 5's own runtime (PRRTE), in turns. One source."""
from .bench import Tally
from .table import Table

PROGRAM, RANKS, RANKS_QUICK, NODES = "bench_events", 64, 8, 8
OWN_MS = 10  # what was asked: from what the daemon knows to the last client
FLAGS = ["-I/usr/lib/x86_64-linux-gnu/pmix2/include", "-lpmix"]  # where Debian has it; elsewhere pkg-config says
OURS, PEER = "rzrun", "Open MPI 5"


def compile_with_pmix(bench):
    """Whether the program is there for rzrun."""
    asked = bench.run(["pkg-config", "--cflags", "--libs", "pmix"])
    words = asked.output.split() if asked.good() else FLAGS
    return bench.tried(["cc", "-O2", "-o", f"{bench.folder}/{PROGRAM}.rhizome", f"{bench.sources}/{PROGRAM}.c", *words],
                       f"{PROGRAM} does not compile (libpmix-dev)")


def study(bench):
    peers, ranks = Tally(), RANKS_QUICK if bench.quick else RANKS
    if not compile_with_pmix(bench):
        return False
    peer = bench.peer_open(PROGRAM, flags=FLAGS) or ("left out" if bench.options.no_peers else
                                                     "Open MPI 5 is not here (tools/setup --peers makes it available), left out")
    table = Table("foreign", f"From SIGKILL until clients of libpmix are told, ms; {ranks} processes", "runtime", "ms", "ratios")
    rows = {"one node": 1, f"{NODES if ranks > RANKS_QUICK else 2} nodes": NODES if ranks > RANKS_QUICK else 2}
    bench.say(f"\n## Programs of other MPIs\n\nOne process of {ranks} kills itself; all others have a handler for the event. Peer: {peer}, on one node.\n")

    def command(case):
        row, system = case
        return bench.peer_start(PROGRAM, ranks) if system == PEER else \
            [f"{bench.bin}/rzrun", "--oversubscribe", "--mpi", "pmix", "--on-failure", "continue", "-n", str(ranks), "--nodes", str(rows[row]),
             f"{bench.folder}/{PROGRAM}.rhizome"]

    def take(case, result):
        row, system = case
        return [(table, row, f"{system}: {which} client", result.value(which)) for which in ("first", "last")]

    def measure(case, repetition):
        bench.job(command(case), repetition, lambda result: take(case, result), peers if case[1] == PEER else bench.tally,
                  good=lambda result, found: None not in [value for *_, value in found])
    cases = [(row, system) for row in rows for system in (OURS, PEER) if system == OURS or (bench.peer_version and row == "one node")]
    bench.turns((15, 2), cases, measure)
    bench.show(*(command(case) for case in cases), tables=[table])
    for row in rows:
        bench.claims.most(f"SIGKILL to the last client, {ranks} processes on {row}", OWN_MS, table.at(row, f"{OURS}: last client").summary(), " ms")
    if bench.peer_version:
        bench.claims.most(f"the same over Open MPI 5's, {ranks} processes on one node", 1,
                          table.ratio("one node", f"{OURS}: last client", f"{PEER}: last client").summary())
    bench.say(bench.claims.markdown())
    bench.say(f"\n{bench.tally.text()} runs complete.\n")
    bench.say(f"Of the peer {peers.text()} runs complete.\n" if bench.peer_version else "")
    return bench.tally.failed == 0
