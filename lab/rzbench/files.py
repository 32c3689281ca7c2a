# SPDX-License-Identifier: BSD-3-Clause
"""The study io: collective writing of one file by eight ranks, in memory (tmpfs) and on a disk, beside Open MPI and MPICH."""
import os

from .peers import BETTER, at_most, better_peer, in_turns
from .systems import RHIZOME
from .table import Table

RANKS, MIB, MIB_QUICK = 8, 1024, 16
AT_MOST = 1.0  # of the better peer's time
PATTERNS = {"blocks": "blocks of a cube", "strided": "rows of 64 KiB in turn", "records": "records of 64 B in turn"}
IN_MEMORY = "/dev/shm"

TEXT = (f"\n## Collective writing\n\n{RANKS} ranks on one node, not pinned, write a new file with one MPI_File_write_all, which is checked and deleted. Times "
        "of the slowest rank. A peer that takes longer than --limit is not run again.\n")


def type_at(path, mounts="/proc/self/mounts"):
    """The type of the file system where a file of that path would be."""
    found = ("", "")
    with open(mounts, encoding="utf-8") as file:
        for _, point, kind, *_ in map(str.split, file):
            if os.path.commonpath([os.path.realpath(path), point]) == point and len(point) >= len(found[0]):
                found = (point, kind)
    return found[1]


def measured(bench, name, where, folder, syncs):
    """The table of one place."""
    mib = MIB_QUICK if bench.quick else MIB
    table = Table(f"io-{name}", f"{RANKS} ranks, {where}: ms", "what", "ms", "ratios")
    path, systems = f"{folder}/bench_io.file", bench.having("bench_io")

    def command(case):
        ranks, system = case
        words = bench.start("bench_io", ranks, system=system, yields=bench.processors < ranks)
        apart = bench.apart if system == RHIZOME else []  # as peers are: with a /dev/shm of its own
        return [*apart, *words, *(["--sync"] if syncs else []), path, str(mib), *PATTERNS]

    def take(case, result):
        return [(table, row, case[1], value) for pattern, what in PATTERNS.items()
                for row, value in zip((what, f"{what}, sync and close"), (result.numbers(pattern) or [[None] * 3])[0][1:]) if syncs or row == what]
    bench.say(f"\n### On {where}\n\nSync and close: with MPI_File_sync and MPI_File_close.\n" if syncs else f"\n### In {where}\n")
    in_turns(bench, (7, 1), [(RANKS, system) for system in systems], command, take, bench.limit_s)
    bench.show(*(command((RANKS, system)) for system in systems), tables=[table])
    for row in table.rows:
        what = f"{row}, {where}"
        if not row.endswith("close"):
            at_most(bench, table, row, AT_MOST, what)
        elif better_peer(table, row).values:  # most of it is the disk's time, and that varies
            bench.claims.not_more(f"{what} over that of the better peer", AT_MOST, table.at(row, RHIZOME).over(better_peer(table, row)).interval(),
                                  of=(table, row, BETTER))
    return True


def memory(bench):
    return measured(bench, "memory", "memory (tmpfs)", IN_MEMORY, False)


def disk(bench):
    kind = type_at(bench.folder)
    if kind == "tmpfs":
        bench.say(f"\n{bench.folder} is in memory, too, so there is no part disk. TMPDIR says where it is.\n")
        return True
    return measured(bench, "disk", f"a disk ({kind})", bench.folder, True)


PARTS = {"memory": memory, "disk": disk}


def study(bench):
    if not bench.compile("bench_io", peers=True):
        return False
    bench.say(TEXT)
    return bench.judged(bench.parts(PARTS, bench))
