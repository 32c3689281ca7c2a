# SPDX-License-Identifier: BSD-3-Clause
"""The study tune: each algorithm of each collective operation on this machine, and the rules of RZ_COLL that follow from it."""
import os

from .systems import RHIZOME
from .table import Table

TEXT = """## Algorithms of collective operations

The slowest rank's mean of one round of calls. "-": what the library chooses without RZ_COLL. An algorithm that cannot do a case has the value of the one
that is taken instead."""

OPERATIONS = ("barrier", "bcast", "allgather", "alltoall", "reduce", "allreduce", "reduce_scatter")
USUAL = "-"
WHOLE = "allgather"  # its rules are by the length of all parts together; bench_coll names that of one

# An algorithm replaces another one only if it takes at most this share of its time.
CLEARLY = 0.93


def ranks_here():
    """Two, and as many and four times as many as there are processors."""
    processors = os.cpu_count() or 1
    return sorted({2, max(2, processors), 4 * processors})


def command(bench, ranks):
    rounds = bench.repetitions(7, 1)
    sizes = "8,65536" if bench.quick else "8,512,4096,32768,262144,1048576"
    words = bench.start("bench_coll", ranks)
    return [*words, "--algorithms", "--rounds", str(rounds), "--ms", "4" if bench.quick else "15", "--sizes", sizes,
            *(bench.pinned() if ranks == 2 else ())]


def taken(result, table):
    """The lines of one job: into the table; False: none."""
    lines = [line.split() for line in result.output.splitlines()]
    lines = [words for words in lines if len(words) == 5 and words[0] in OPERATIONS]
    for operation, algorithm, size, turn, value in lines:
        table.cell(f"{operation} {size}", algorithm).put(int(turn), float(value))
    return bool(lines)


def cases(table, operation):
    """(length, {algorithm: median}), ascending."""
    for size, row in sorted((int(row.split()[1]), row) for row in table.rows if row.split()[0] == operation):
        yield size, {column: table.at(row, column).summary().median for column in table.columns if table.at(row, column).values}


def beaten(table, operation):
    """Whether in a case an algorithm is clearly faster than the one that the library chooses."""
    return any(min(medians.values()) < CLEARLY * medians[USUAL] for _, medians in cases(table, operation))


def chosen(table, operation):
    """(length, algorithm) from which on another one is taken: the one before it stays unless another is clearly faster."""
    last = None
    for size, medians in cases(table, operation):
        del medians[USUAL]  # a rule names an algorithm
        best = min(medians, key=medians.get)
        if last is None or medians[best] < CLEARLY * medians[last]:
            last = best
            yield size, best


def rules(tables):
    """Of (ranks, table): the lines of a file for RZ_COLL. An operation for which the library chooses well in all cases has none."""
    for operation in OPERATIONS:
        if any(beaten(table, operation) for _, table in tables):
            for ranks, table in tables:
                for size, algorithm in chosen(table, operation):
                    yield f"{operation}={algorithm}@{size * (ranks if operation == WHOLE else 1)}:{ranks}"


def write_rules(bench, lines):
    text = "".join(f"{line}\n" for line in lines) or "# The library chooses well in all cases.\n"
    bench.say("\nThe rules for RZ_COLL:\n\n" + "".join(f"    {line}\n" for line in text.splitlines()))
    if not bench.options.rules:
        return True
    try:
        with open(bench.options.rules, "w", encoding="utf-8") as file:
            file.write(f"# Rules for RZ_COLL=@FILE, measured by rzbench tune with {bench.versions[RHIZOME]}.\n{text}")
    except OSError as failure:
        bench.warn(f"cannot write '{bench.options.rules}': {failure.strerror}")
        return False
    return True


def study(bench):
    if not bench.compile("bench_coll"):
        return False
    bench.say(f"\n{TEXT}\n")
    tables, good = [], True
    for ranks in bench.options.ranks or ((2, 4) if bench.quick else ranks_here()):
        table = Table("tune", f"{ranks} ranks: one call, us", "operation, bytes")
        words = command(bench, ranks)
        result = bench.run(words) if bench.may_go_on() else None
        if not result or not result.good() or not taken(result, table):
            if result:
                bench.complain(words, result)
            good = False
            continue
        bench.show(words, tables=[table])
        tables.append((ranks, table))
    return write_rules(bench, list(rules(tables))) and good and bool(tables)
