# SPDX-License-Identifier: BSD-3-Clause
"""The study ulfm: the calls of user-level failure mitigation over the number of ranks, Rhizome's and its peer's in turns. The peer, Open MPI 5 with ULFM,
has no emulated nodes: on one node it takes shared memory, on several its TCP over loopback. Programs print `WHAT RANKS VALUE`."""
import math
from typing import NamedTuple, Optional

from .bench import Tally
from .run import ENDED, OVER
from .table import Table

RANKS_USUAL = 64  # goals are stated for so many ranks
DEAR = 2  # repetitions of rows beyond the usual ranks, and of the peer between nodes
YIELD = ("--wait", "yield")  # waiting ranks do not sleep, as the peer's


class Line(NamedTuple):
    """One job of a row, and what is taken from it."""
    arguments: tuple
    takes: dict  # what it prints: (column, a factor)
    peer: bool = False
    program: str = "bench_ulfm"
    options: tuple = ()  # of rzrun
    environment: tuple = ()
    on_failure: str = "continue"
    slow: bool = False  # it may take longer than the limit


def both(arguments, printed, ours, theirs, **more):
    """The same job of ours and of the peer, and the columns of what is printed."""
    return [Line(arguments, {what: (column, 1) for what, column in zip(printed, columns)}, peer, **more) for columns, peer in ((ours, False), (theirs, True))]


class Goal(NamedTuple):
    """A median over that of another column: at most so much on one node, and on several; None: nothing is asked."""
    what: str
    above: str
    below: str
    one: Optional[float] = None
    several: Optional[float] = None


def greatest(numbers, most):
    return max((n for n in numbers if n <= most), default=numbers[0])


class Ulfm:
    def __init__(self, bench):
        self.bench, options = bench, bench.options
        self.ranks = options.ranks or ([4, 8] if bench.quick else [2 ** n for n in range(1, 9)])
        self.nodes = options.nodes or ([1, 2] if bench.quick else [1, 8])
        self.peers, self.exact = Tally(), Tally()  # runs of the peer; jobs in which an agreement took 2 (n - 1) messages
        # Many calls in each batch: the first few of a crowd are of ranks that the barrier before let go one after the other, and take twice as long.
        self.agree = ("agree", lambda ranks: "40" if bench.quick else "200" if ranks <= 16 else "600" if ranks <= 32 else "2000")
        self.rounds = "4" if bench.quick else "20"
        self.usual = greatest(self.ranks, 8 if bench.quick else RANKS_USUAL)  # ranks of tables that are not over ranks
        self.where = f"{self.usual} ranks on {self.nodes_of(self.usual)} nodes"

    def nodes_of(self, ranks):
        nodes = greatest(self.nodes, ranks) if self.bench.options.nodes else 4 if self.bench.quick else 8
        return nodes if nodes <= ranks else 1

    def command(self, line, ranks, nodes):
        words = self.bench.peer_start(line.program, ranks, between=nodes > 1) if line.peer else \
            self.bench.start(line.program, ranks, nodes, options=["--on-failure", line.on_failure, *line.options])
        return [*(("env", *line.environment) if line.environment else ()), *words, *(part(ranks) if callable(part) else part for part in line.arguments)]

    def part(self, text, table, repetitions, cases, dear=lambda line, ranks: False):
        """A part whose cases are (row, line, ranks, nodes); a dear one has fewer repetitions. What is printed was measured, even where the launcher then
        does not end well."""
        bench, late = self.bench, {}  # late: once over the limit is enough, with so many ranks and more
        cases = [case for case in cases if not case[1].peer or bench.peer_version]

        def measure(case, repetition):
            row, line, ranks, nodes = case

            def printed(result):
                return (f" {ranks} " in result.output and not result.lines("odd")) or result.lines("absent")

            def take(result):
                """Absent: the library does not have it, and there is no row for that."""
                for counted, in result.numbers(f"messages {ranks}"):
                    self.exact.count(counted == 2 * (ranks - 1))
                values = [(column, factor, result.value(f"{what} {ranks}")) for what, (column, factor) in line.takes.items()]
                return [(table, row, column, None if value is None else value * factor) for column, factor, value in values] \
                    if line.slow or (printed(result) and not result.lines("absent")) else []
            kind = "peer" if line.peer else line.options
            if ranks >= late.get(kind, math.inf) or (repetition >= DEAR and dear(line, ranks)):
                return
            result = bench.job(self.command(line, ranks, nodes), repetition, take, self.peers if line.peer else bench.tally, line.slow,
                               lambda result, _: printed(result) if result.end == ENDED else line.slow and result.end == OVER)
            if result.end == OVER and (line.peer or line.slow):
                late[kind] = ranks
        bench.say(f"\n{text}\n" if text else "")
        bench.turns(repetitions, cases, measure)
        bench.show(*(self.command(*case[1:]) for case in cases if case[0] == cases[-1][0]), tables=[table])

    def sweep(self, text, name, title, unit, shown, lines, goals=(), nodes=slice(None)):
        """A table over ranks, one for each number of nodes (or for some of these)."""
        def make(n):
            where = "one node" if n == 1 else f"{n} nodes"
            table = Table(name if n == 1 else f"{name}-{n}", f"{title}; {where}", "ranks", unit, f"plot log log2 {shown}")
            self.part("", table, (5, 1), [(str(ranks), line, ranks, n) for ranks in self.ranks if ranks >= n for line in lines],
                      lambda line, ranks: ranks > RANKS_USUAL or (line.peer and n > 1))
            ranks = greatest(self.ranks, RANKS_USUAL)
            for goal in goals:
                bound = goal.one if n == 1 else goal.several
                if bound is not None:
                    self.bench.claims.most(f"{goal.what}, {ranks} ranks on {where}", bound, table.ratio(str(ranks), goal.above, goal.below).summary())
        self.bench.say(f"\n### {text}\n")
        self.bench.each(self.nodes[nodes], make)
        return True

    def rows(self, text, table, rows):
        """rows: (row, ranks, nodes, lines). Of the peer all ranks are on one node: it has no emulated ones, and does best so."""
        self.part(f"### {text}", table, (7, 1), [(row, line, ranks, 1 if line.peer else nodes) for row, ranks, nodes, lines in rows for line in lines])
        return True

    def over_ranks(self, text, table, lines):
        most = 8 if self.bench.quick else 2 * RANKS_USUAL
        return self.rows(text, table, [(str(ranks), ranks, self.nodes_of(ranks), lines) for ranks in self.ranks if 4 <= ranks <= most])


def agree(ulfm):
    ulfm.sweep("Agreement\n\nMPIX_Comm_agree and MPI_Allreduce of one int (MPI_BAND) in turns: the slowest rank's time of one call.",
               "agree", "Agreement without failures, us", "one call, us", "ratios",
               both(ulfm.agree, ("agree", "allreduce"), ("agree", "allreduce of an int"), ("Open MPI agree", "Open MPI allreduce")),
               # Of the peer on several nodes (TCP over loopback, and it sees one node) nothing was asked.
               (Goal("agree / Open MPI's agree", "agree", "Open MPI agree", 0.5),))
    ulfm.bench.say(f"\nMessages of one agreement, as MPI_T counts them (rz_protocol_messages_sent): exactly 2 (n - 1) in {ulfm.exact.text()} jobs.\n")
    ulfm.bench.claims.all("jobs whose agreements took exactly 2 (n - 1) messages", ulfm.exact.runs - ulfm.exact.failed, ulfm.exact.runs)
    return True


def trees(ulfm):
    return ulfm.sweep("Trees\n\nThe same by each tree of ERA.", "trees", "Agreement by each tree, us", "one call, us", "",
                      [Line(ulfm.agree, {"agree": (column, 1)}, environment=(f"RZ_AGREE_TREE={tree}",)) for column, tree in (
                          ("binary, blind to nodes", "binary"), ("binary over nodes, star within", "star"), ("binary over nodes and within", "bin"))],
                      nodes=slice(-1, None))


def engines(ulfm):
    """Those that rzrun lets one choose, as its help says. Gossip goes in cycles of a period: it may be slow."""
    said = ulfm.bench.run([f"{ulfm.bench.bin}/rzrun", "--help"]).output.partition("--agree ")[2]
    lines = [Line(ulfm.agree, {"agree": (engine, 1)}, options=("--agree", engine), slow=True)
             for engine in ("era", "twophase", "gossip1", "gossip2", "gossip3") if engine in said]
    return ulfm.sweep("Engines\n\nThe same by each engine.", "engines", "Agreement by each engine, us", "one call, us", "",
                      lines, nodes=slice(0, 1))


def shrink(ulfm):
    lines = both(("shrink", "0"), ("shrink",), ("shrink",), ("Open MPI shrink",))
    lines[0].takes["agree"] = ("two agrees", 2)
    return ulfm.sweep("Shrink\n\nThe slowest rank's time of a call behind a barrier, the median of 8. Two agrees: twice one agreement measured so.",
                      "shrink", "Shrink without failures, us", "one call, us", "ratios", lines,
                      (Goal("shrink / Open MPI's shrink", "shrink", "Open MPI shrink", 0.25), Goal("shrink / two agrees", "shrink", "two agrees", 1, 1)))


def failures(ulfm):
    return ulfm.rows("Shrink over the number of failures\n\nAll survivors know of all failures and stand at the call. Again: further shrinks.",
                     Table("shrink-failures", f"Shrink after failures at once, us; {ulfm.usual} ranks on one node", "failures", "us", "plot log log2"),
                     [(str(n), ulfm.usual, 1, both(("shrink", str(n)), ("first", "shrink"), ("shrink", "again"), ("Open MPI shrink", "Open MPI again")))
                      for n in (1, 2, 4, 8, 16, 32) if n <= min(ulfm.usual // 2, 2 if ulfm.bench.quick else 32)])


def revoke(ulfm):
    def line(column, what="revoke", **more):
        return Line((what, ulfm.rounds), {what: (column, 1)}, **more)
    return ulfm.sweep("Revoke\n\nAll others wait in MPI_Recv on the communicator that one revokes: asleep; or yielding, as those of the peer. Beside it as "
                      "many processes that the kernel wakes for nothing.", "revoke", "Revoke until the last member is interrupted, us", "us", "ratios",
                      [line("revoke"), line("flat among the members", environment=("RZ_REVOKE=flat",)), line("woken by the kernel alone", "floor"),
                       line("revoke, yielding", options=YIELD), line("Open MPI revoke", peer=True)],
                      (Goal("revoke / Open MPI's revoke", "revoke", "Open MPI revoke", 0.25),
                       Goal("revoke, yielding / Open MPI's revoke", "revoke, yielding", "Open MPI revoke", 0.25)))


def perturb(ulfm):
    return ulfm.sweep("What a revoke leaves for others\n\nCollectives on one communicator, until one rank revokes it; then, without a pause, the same on a "
                      "duplicate: from the last rank that begins to the last that ends.", "perturb",
                      "Allreduce of an int on a duplicate after a revoke, us", "us", "",
                      both(("perturb", ulfm.rounds), ("quiet", "first", "second", "third"), ("undisturbed", "first after", "second", "third"),
                           ("Open MPI undisturbed", "Open MPI first", "Open MPI second", "Open MPI third")),
                      # Undisturbed is what chance alone makes of two medians: a tenth.
                      (Goal("third collective after a revoke / an undisturbed one", "third", "undisturbed", 1.1, 1.1),), slice(0, 1))


def detect(ulfm):
    table = Table("detect", f"From SIGKILL to an error, ms; {ulfm.where}", "pending call, and what the victim holds", "ms", "plot log")
    calls = [(call, size) for size in ("32", "512") for call in ("receive", "barrier")]
    ulfm.rows("One failure\n\nThe victim kills itself when all others wait in their call: asleep; or yielding, as those of the peer, which are on one "
              "node.", table,
              [(f"{call}, {size} MiB", ulfm.usual, ulfm.nodes_of(ulfm.usual),
                [*both((call, size), ("first", "last"), ("first error", "last error"), ("Open MPI first", "Open MPI last"), program="bench_ulfm_failure"),
                 Line((call, size), {"first": ("first, yielding", 1), "last": ("last, yielding", 1)}, program="bench_ulfm_failure", options=YIELD)])
               for call, size in calls])
    for call, size in sorted(calls, key=lambda case: (case[0] != "receive", int(case[1]))):
        row = f"{call}, {size} MiB"
        for what, column in ((f"SIGKILL to the last error, {row}, {ulfm.where}", "last error"),
                             ("the same, yielding (rzrun --wait yield)", "last, yielding")):
            ulfm.bench.claims.most(what, 3 if size == "512" else 2, table.at(row, column).summary(), " ms")
    return True


def replaced(ulfm):
    table = Table("replace", "One rank replaced, ms from the kill", "ranks", "ms", "plot log log2")
    ulfm.over_ranks("One rank replaced\n\nBy RZ_Comm_replace; of the peer by revoke, shrink, spawn, merge and split, all ranks on one "
                    "node.", table,
                    both(("replace", "32"), ("repaired", "replaced"), ("all have the communicator", "all past its first barrier"),
                         ("Open MPI: have it", "Open MPI: past it"), program="bench_ulfm_failure", on_failure="replace"))
    ulfm.bench.claims.most(f"SIGKILL until all are past the first barrier of the repaired communicator, {ulfm.where}", 50,
                           table.at(str(ulfm.usual), "all past its first barrier").summary(), " ms")
    return True


def program(ulfm):
    return ulfm.over_ranks("A program like MiniFE\n\nOne spare rank; a process fails in an iteration. Noticed, iterating again: from the kill until the last "
                           "is; shrunk, repaired: from the notice until the last has the communicator.",
                           Table("program", "A finite-element program repairs its communicators, ms", "ranks", "ms", "plot log log2"),
                           both((), ("noticed", "shrunk", "repaired", "resumed"), ("noticed", "shrunk", "repaired", "iterating again"),
                                ("Open MPI noticed", "Open MPI shrunk", "Open MPI repaired", "Open MPI iterating"), program="bench_fe"))


PARTS = {"agree": agree, "trees": trees, "engines": engines, "shrink": shrink, "failures": failures, "revoke": revoke, "perturb": perturb, "detect": detect,
         "replace": replaced, "program": program}
SHARES = (0.19, 0.06, 0.08, 0.18, 0.15, 0.26, 0.2, 0.43, 0.5, 1.0)


def study(bench):
    ulfm, programs = Ulfm(bench), ("bench_ulfm", "bench_ulfm_failure", "bench_fe")
    if not bench.compile(*programs):
        return False
    peer = bench.peer_open(*programs) or ("left out" if bench.options.no_peers else
                                          "Open MPI with ULFM is not here (tools/setup --peers makes it available), left out")
    bench.say(f"\n## ULFM\n\nPeer: {peer}; on one node by shared memory, on several by TCP over loopback. Not pinned. Tables over ranks have two repetitions "
              "at most beyond 64 ranks, and of the peer on several nodes.\n")
    good = bench.parts(PARTS, ulfm, SHARES)
    bench.say(bench.claims.markdown())
    bench.say(f"\n{bench.tally.text()} runs complete.\n")
    bench.say(f"Of the peer {ulfm.peers.text()} runs complete.\n" if bench.peer_version else "")
    return good and bench.tally.failed == 0
