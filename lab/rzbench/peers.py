# SPDX-License-Identifier: BSD-3-Clause
"""What is claimed beside the better peer, and peers that fail or need too long: they are shown as such, and do not count."""
import math

from .bench import Tally
from .run import ENDED, OVER
from .systems import MPICH, OPENMPI, RHIZOME
from .table import Samples, Table

BETTER = "over the better peer"


def better_peer(table, row, better=min, late_s=math.inf):
    """The peer with the better median of those that are there. Not the better one of each repetition: that is better than each peer (of two equal ones
    whose values spread by a fifth, by a tenth), since each time the one with more luck counts. late_s stands for a run over the limit, which took at
    least that long."""
    peers = [Samples(late_s if value == math.inf else value for value in table.at(row, peer).values) for peer in (OPENMPI, MPICH)]
    medians = {peer.summary().median: peer for peer in peers if peer.summary().n}
    there = list(filter(math.isfinite, medians))
    return medians[better(there)] if there else Samples()


def at_most(bench, table, row, bound, what, late_s=math.inf):
    """Claims that ours takes at most so much of the better peer's. Nothing is claimed where no peer was measured."""
    over = table.at(row, RHIZOME).over(better_peer(table, row, late_s=late_s)).interval()
    if over.n:
        bench.claims.most(f"{what} over that of the better peer", bound, over, of=(table, row, BETTER))


def at_least(bench, table, row, bound, what):
    """The same of what is better if it is more."""
    over = table.at(row, RHIZOME).over(better_peer(table, row, max)).interval()
    if over.n:
        bench.claims.least(f"{what} over that of the better peer", bound, over, of=(table, row, BETTER))


def crowded(bench, program, ranks):
    """The systems that are measured where ranks may outnumber processors; then without MPICH, which only spins."""
    return [system for system in bench.having(program) if system != MPICH or ranks <= bench.processors]


def pair(bench, program, name, where, text, kinds, measures, row_of, words=(), **start):
    """Two ranks of a program that prints a line `MEASURE N VALUE` for each measurement. kinds: {kind: title}, a table of each; measures: {measure: (its kind,
    the values of N)}. Returns (measure, n, table, row) of each measurement."""
    tables = {kind: Table(f"{name}-{kind}", f"Two ranks{where}: {title}", "what", title, "ratios")
              for kind, title in kinds.items() if any(its == kind for its, _ in measures.values())}
    rows = [(measure, n, tables[kind], row_of(measure, n)) for measure, (kind, sizes) in measures.items() for n in sizes]
    more = ["--ms", "10" if bench.quick else "50", *bench.pinned(), *words, *(str(word) for measure, n, *_ in rows for word in (measure, n))]
    bench.part(text, list(tables.values()), (9, 1), bench.having(program),
               lambda system, _: [*bench.start(program, 2, system=system, **start), *more],
               lambda system, result: [(table, row, system, result.value(f"{measure} {n}")) for measure, n, table, row in rows])
    return rows


def in_turns(bench, repetitions, cases, command, take, limit_s):
    """Runs command(case) of all cases, each (ranks, system), in turns, and puts take(case, result), as `job` has them. A peer that fails or is over
    the limit is shown so, and is not run again with so many ranks and more."""
    late, peers = {}, Tally()

    def measure(case, repetition):
        ranks, system = case
        if ranks >= late.get(system, math.inf):
            return
        result = bench.job(command(case), repetition, lambda result: take(case, result), bench.tally if system not in (OPENMPI, MPICH) else peers,
                           over=True, limit_s=limit_s)
        bad = result.end == OVER or (result.end == ENDED and not result.good())
        if bad and system in (OPENMPI, MPICH):
            late[system] = ranks
            for table, row, column, _ in take(case, result) if result.end == ENDED else ():
                table.cell(row, column).failed = True
    bench.turns(repetitions, cases, measure)
