# SPDX-License-Identifier: BSD-3-Clause
"""The part run of the study rewind: what snapshots take of a program's run time, beside files that it writes and reads by itself."""
import math
import os
import shutil

from . import records
from .files import type_at
from .table import Samples, Table

LOST_MOST_PERCENT, EVERY_S = 1, 30  # with a snapshot each 30 s
CHANGED_PERCENT, WARM_UP = 10, 2  # of the pages from one snapshot to the next; intervals before those that are measured
PLAIN, IDLE, SNAPSHOTS, FILES = "nothing", "--rewind, no snapshot", "snapshots", "its own files"
WAYS = {PLAIN: ("plain", ()), IDLE: ("plain", ("--rewind", "1h")), SNAPSHOTS: ("snapshots", ("--rewind", "1h")), FILES: ("files", ())}
BASE = {SNAPSHOTS: IDLE, FILES: PLAIN}  # the same without any: the difference is what they take
TIME, LOST, TAKEN, EACH, SPARSE = "run time, s", "lost, %", "taken", "lost by each, ms", f"lost with one each {EVERY_S} s, %"
RANKS_CPU, DAEMONS_CPU, MORE_CPU = "processor time of ranks, s", "of daemons, s", f"more processor time with one each {EVERY_S} s, %"
TEXT = """### Run time

Files: each rank writes all its memory to a file ({kind}), synchronised, and renamed over the one before the last, at the points where the program else
asks for a snapshot. One each {every} s follows by division, and to it is added what --rewind takes without any.
"""
AGAIN = """### Beside a program that saves itself

Until all ranks have ended a step again: rewound, or started again by rzrun (--on-failure restart) with files, which are read from the page cache.
"""


class Work:
    """The program, with how many ranks and how much to do."""

    def __init__(self, bench):
        self.bench, self.folder, self.report = bench, f"{bench.folder}/work", f"{bench.folder}/rewind.report"
        self.ranks = (bench.options.ranks or [8 if bench.processors >= 8 else 2])[0]
        self.nodes = min(self.ranks, (bench.options.nodes or [max(2, self.ranks // 2)])[0])
        self.mib, self.steps, self.intervals = (16, 40, 3) if bench.quick else (256, 250, 6)
        self.sums = {}  # the result of each amount of work

    def text(self):
        return f"{self.ranks} ranks of {self.mib} MiB on {self.nodes} nodes"

    def command(self, way, fails=False):
        mode, options = WAYS[way]
        restart = ["--on-failure", "restart"] if fails and way == FILES else []
        return [*self.bench.start("bench_rewind_run", self.ranks, self.nodes, options=[*options, *restart, "--report", self.report, "--wdir", self.folder]),
                str(self.mib), str(CHANGED_PERCENT), str(self.steps), str(2 if fails else self.intervals), mode, *(["fail"] if fails else [])]

    def job(self, way, repetition, take, fails=False):
        """In an empty folder; its result must be that of all others."""
        shutil.rmtree(self.folder, ignore_errors=True)
        os.mkdir(self.folder)

        def checked(result):
            record, found = records.take(self.report), result.line("sum")
            return take(result, record) if found and self.sums.setdefault(fails, found) == found else None
        self.bench.job(self.command(way, fails), repetition, checked)

    def taken(self, way, record):
        """How many snapshots or files there were in the time that was measured."""
        if way == FILES:
            return self.intervals
        return max(0, len({fields["value"] for event, fields in records.events(record) if event == "committed"}) - WARM_UP)


def each(make, *samples):
    """make(value of each) repetition by repetition; nan where one of them is missing."""
    return Samples(make(*values) if all(map(math.isfinite, values)) else math.nan for values in zip(*(one.values for one in samples)))


def derive(table, ranks):
    """What was lost, beside the runs of the same repetition."""
    plain = table.at(PLAIN, TIME)
    for way in table.rows[1:]:
        table.cells[way, LOST] = each(lambda time, none: 100 * (time / none - 1), table.at(way, TIME), plain)
    for way, base in BASE.items():
        before = table.at(base, TIME)
        table.cells[way, EACH] = each(lambda time, without, n: 1e3 * (time - without) / n if n else math.nan, table.at(way, TIME), before,
                                      table.at(way, TAKEN))
        table.cells[way, SPARSE] = each(lambda ms, without, none: ms / 10 / EVERY_S + 100 * (without / none - 1), table.at(way, EACH), before, plain)
        cpu, cpu_before, cpu_plain = (each(lambda a, b: a + b, table.at(row, RANKS_CPU), table.at(row, DAEMONS_CPU)) for row in (way, base, PLAIN))
        table.cells[way, MORE_CPU] = each(lambda s, without, none, n: 100 * ((s - without) / n / EVERY_S / ranks + without / none - 1) if n else math.nan,
                                          cpu, cpu_before, cpu_plain, table.at(way, TAKEN))


def times(bench, work):
    bench.say("\n" + TEXT.format(kind=type_at(work.folder), every=EVERY_S))
    table = Table("rewind-run", "", "at each interval:", columns=(TIME, LOST, TAKEN, EACH, SPARSE, RANKS_CPU, DAEMONS_CPU, MORE_CPU))

    def measure(way, repetition):
        def take(result, record):
            values = (result.numbers("run") or [[]])[0]
            taken = [(table, way, TAKEN, work.taken(way, record))] if way in BASE else []
            return [(table, way, column, value) for column, value in zip((TIME, RANKS_CPU, DAEMONS_CPU), values)] + taken if len(values) == 3 else None
        work.job(way, repetition, take)
    bench.turns((5, 1), WAYS, measure)
    derive(table, work.ranks)
    interval_s = table.at(PLAIN, TIME).summary().median / work.intervals
    table.title = f"{work.text()}: run time, with a snapshot or files each {interval_s:.2g} s, before which {CHANGED_PERCENT} % of the pages changed"
    bench.show(*(work.command(way) for way in WAYS), tables=[table])
    for way, most in ((SNAPSHOTS, LOST_MOST_PERCENT), (FILES, None)):
        bench.claims.most(f"run time lost with {way} each {EVERY_S} s", most, table.at(way, SPARSE).interval(), " %")


def again(bench, work):
    names = {SNAPSHOTS: "rewound", FILES: "started again from its own files"}
    table = Table("rewind-again", f"{work.text()}: from the kill of a rank until all run again, ms", "MiB", "ms", "ratios", names.values())
    bench.say(f"\n{AGAIN}")
    bench.turns((5, 1), names, lambda way, repetition: work.job(
        way, repetition, lambda result, _: [(table, str(work.mib), names[way], result.value("again"))], fails=True))
    bench.show(*(work.command(way, True) for way in names), tables=[table])
    bench.claims.most("rewound / started again from its own files, from the kill of a rank until all run again", None,
                      table.ratio(str(work.mib), *names.values()).interval())


def run(bench):
    work = Work(bench)
    bench.each((again, times), lambda make: make(bench, work))
    return True
