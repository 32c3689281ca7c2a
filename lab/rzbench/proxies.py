# SPDX-License-Identifier: BSD-3-Clause
"""The part proxies of the study mpi: whole programs without recovery, beside the same programs of the peers, and what fault tolerance costs them."""
from . import records
from .peers import at_most, crowded
from .systems import RHIZOME
from .table import Table

NO_FT = "Rhizome, --no-ft"
RANKS = (2, 8)
PEER_MOST, NO_FT_MOST = 1.0, 1.01
PLAIN = ("--method", "plain")  # no checkpoints, no recovery: the only way that all systems have


def comd(ranks, cells):
    """A box of ranks, each with so many cells along each side."""
    sides = records.dimensions(ranks)
    return [word for axis, n in zip("ijkxyz", (*sides, *(cells * n for n in sides))) for word in (f"-{axis}", str(n))]


# The arguments, usually and with --quick, with which a run takes some seconds; numbers of ranks.
APPS = {"hpccg": (lambda ranks: "48 48 48 --iterations 200".split(), lambda ranks: "8 8 8 --iterations 10".split(), RANKS),
        "comd": (lambda ranks: [*comd(ranks, 8), "-N", "40"], lambda ranks: [*comd(ranks, 5), "-N", "5"], RANKS),
        "lulesh": (lambda ranks: "-s 12 -i 200".split(), lambda ranks: "-s 4 -i 10".split(), (8,))}


def proxies(bench):
    if not bench.compile(*APPS, peers=True):
        return False
    table = Table("mpi-proxies", "Whole programs, s from MPI_Init on", "program", "s", "ratios")

    def command(case, _):
        (app, ranks), column = case
        ours = column in (RHIZOME, NO_FT)
        options = ["--no-ft"] if column == NO_FT else []
        return [*bench.start(app, ranks, system=RHIZOME if ours else column, options=options, yields=ranks > bench.processors),
                *APPS[app][bench.quick](ranks), *PLAIN]
    rows = [(app, ranks) for app, (*_, counts) in APPS.items() for ranks in counts]
    cases = [(row, column) for row in rows for column in (RHIZOME, NO_FT, *crowded(bench, *row)[1:])]
    bench.part("### Proxy applications\n\nWithout checkpoints and recovery.", [table], (7, 1), cases, command, lambda case, result: [
                   (table, f"{case[0][0]}, {case[0][1]} ranks", case[1], records.of_times(result.line("times"), "total"))],
               [case for case in cases if case[0] == rows[0]])
    for row in table.rows:
        at_most(bench, table, row, PEER_MOST, row)
        bench.claims.not_more(f"{row}, over the same with `--no-ft`", NO_FT_MOST, table.ratio(row, RHIZOME, NO_FT).interval(), of=(table, row, "over --no-ft"))
    return True
