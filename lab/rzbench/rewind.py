# SPDX-License-Identifier: BSD-3-Clause
"""The study rewind: what images of the ranks' memory cost a program that does nothing about failures, beside copies of the same memory in the same run."""
from . import records
from .rewind_memory import memory
from .rewind_run import run
from .table import Samples, Table

PAUSE_MOST_MS_PER_GIB, REWIND_MOST = 50, 2
PAUSE = "\nThe pause is the longest time that a barrier took while a snapshot was taken; the file is not synchronised.\n"
COLUMNS = ("snapshot: pause", "memcpy", "memcpy to new memory", "a file")


def samples(bench, ranks, nodes, mib, percent, options=(), repetitions=None):
    words = [*bench.start("bench_rewind", ranks, nodes, options=["--rewind", "1h", "--wdir", bench.folder, *options]), str(mib), str(percent),
             str(repetitions or bench.repetitions(15, 3))]
    return bench.job(words, take=lambda result: [] if result.lines("sample") else None).numbers("sample") if bench.may_go_on() else []


def pause(bench):
    bench.say(PAUSE)
    table = Table("rewind-pause", "One rank: a snapshot beside copies of the same memory, ms", "MiB, pages changed", "ms", "", COLUMNS)
    last = []
    cases = ((64, 10),) if bench.quick else ((64, 10), (256, 1), (256, 10), (256, 100), (1024, 10))
    for mib, percent in cases:
        last.clear()
        for copied, fresh, file, paused in samples(bench, 1, 1, mib, percent):
            table.append(f"{mib}, {percent} %", COLUMNS, [1e3 * seconds for seconds in (paused, copied, fresh, file)])
            last.append(1e3 * paused * 1024 / mib)
    bench.show(tables=[table])
    bench.claims.most("pause for each GiB, 10 % of the pages changed", PAUSE_MOST_MS_PER_GIB, Samples(last).interval(), " ms")
    return True


def rewind(bench):
    """A rank is killed; the whole recovery, from the kill until all ranks run again, by rzrun's report."""
    report, mib = f"{bench.folder}/rewind.report", 64 if bench.quick else 256
    table = Table("rewind-recovery", f"Two ranks of {mib} MiB on two nodes: from the kill of one until both run again, beside memcpy to new memory, ms",
                  "MiB", "ms", "ratios", ("rewound", "memcpy to new memory"))
    for _ in range(bench.repetitions(9, 2)):
        options = ["--rewind", "300ms", "--inject", "kill rank 1 at 3s", "--report", report, "--rewind-output", "repeat"]
        taken = samples(bench, 2, 2, mib, 10, options, 4 if bench.quick else 2)
        whole_ms = records.of_last_recovery(records.take(report), "whole_ms")
        for _, fresh, _, _ in taken[:1] if whole_ms else []:
            table.append(str(mib), table.columns, (whole_ms, 1e3 * fresh))
    bench.show(tables=[table])
    bench.claims.most("rewinding after the failure of a process, over memcpy to new memory", REWIND_MOST,
                      table.ratio(str(mib), *table.columns).interval())
    return True


PARTS = {"pause": pause, "recovery": rewind, "run": run, "memory": memory}


def study(bench):
    bench.say("\n## Snapshots of unmodified programs\n")
    return bench.compile("bench_rewind", "bench_rewind_run") and bench.judged(bench.parts(PARTS, bench))
