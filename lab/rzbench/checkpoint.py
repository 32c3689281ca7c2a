# SPDX-License-Identifier: BSD-3-Clause
"""The study checkpoint: what checkpoints cost, each part beside what it cannot be faster than, measured in turns in the same run."""
from . import records
from .systems import needs
from .table import Table

TEXT = "\n## Checkpoints\n"
FILE_MIB, IN_A_ROW = 64, 2


def samples(bench, mode, mib, percent, nodes, options=(), most=64):
    """Seconds of memcpy and of checkpoints, one pair for each repetition, of one job of bench_checkpoint."""
    repetitions = min(bench.repetitions(25, 7), most)
    words = [*bench.start("bench_checkpoint", nodes, nodes, options=options), mode, str(mib), str(percent), str(repetitions)]
    return bench.job(words, take=lambda result: [] if result.lines("sample") else None).numbers("sample") if bench.may_go_on() else []


def copy(bench):
    table = Table("checkpoint-copy", "Writing a piece, every page changed: RZ_Checkpoint (copy, and a checksum of each page) beside memcpy of the same bytes; "
                  "one process, the commit not included", "MiB", "GB/s", "ratios plot log2", ("RZ_Checkpoint, GB/s", "memcpy, GB/s"))
    for mib in (64,) if bench.quick else (64, 4, 16, 256):
        for plain, checkpoint in samples(bench, "copy", mib, 100, 1):
            table.append(str(mib), table.columns, [mib * 1.048576e-3 / seconds for seconds in (checkpoint, plain)])
    bench.show(tables=[table])
    bench.claims.least("bandwidth of RZ_Checkpoint over memcpy, 64 MiB", 0.5, table.ratio("64", *table.columns).interval())
    return True


def pages(bench):
    mib, most = (16, 3) if bench.quick else (64, 64)
    table = Table("checkpoint-pages", f"A checkpoint of {mib} MiB of which a share of the pages changed, ms: the call, and, one checkpoint after the other, "
                  "with the copy to another node and the commit; memcpy of all for comparison", "pages changed, %", "ms", "plot",
                  ("RZ_Checkpoint", "with copy and commit", "memcpy"))
    for percent in (0, 1, 10, 100):
        for plain, checkpoint in samples(bench, "copy", mib, percent, 1):
            table.append(str(percent), ("RZ_Checkpoint", "memcpy"), (checkpoint * 1e3, plain * 1e3))
        for _, checkpoint in samples(bench, "cycle", mib, percent, 2, most=most):
            table.append(str(percent), ("with copy and commit",), (checkpoint * 1e3,))
    bench.show(tables=[table])
    return True


def erasure(bench):
    """By a program that the build made, for it measures a function of the daemon: `erasure DATA+PARITY OURS ISAL`, GB/s."""
    table = Table("checkpoint-erasure", "Parities of blocks of 4 MiB, data per second: rz_erasure_encode beside ISA-L's ec_encode_data", "blocks", "GB/s",
                  "ratios", ("Rhizome, GB/s", "ISA-L, GB/s"))
    result = bench.job([bench.app("bench_erasure"), str(bench.repetitions(25, 7))], take=lambda result: [] if result.lines("erasure") else None)
    for line in result.lines("erasure"):
        table.append(line.split()[0], table.columns, map(float, line.split()[1:]))
    bench.show(tables=[table])
    return True


def files(bench):
    """One job and one dd in turns, so that both meet the same disk."""
    table = Table("checkpoint-files", "Pieces in files, one checkpoint after the other (--checkpoint file: written, synchronised, named, committed), beside dd "
                  "conv=fsync to the same folder, MB/s", "MiB", "MB/s", "ratios", ("checkpoints, MB/s", "dd, MB/s"))
    options, megabytes = ["--checkpoint", "file", "--checkpoint-dir", f"{bench.folder}/checkpoints"], FILE_MIB * 1.048576
    for _ in range(max(1, bench.repetitions(25, 4) // IN_A_ROW)):
        for _, seconds in samples(bench, "cycle", FILE_MIB, 100, 1, options, IN_A_ROW):
            dd = bench.job(["dd", "if=/dev/zero", f"of={bench.folder}/dd", "bs=1M", f"count={FILE_MIB}", "conv=fsync", "status=none"])
            table.append(str(FILE_MIB), table.columns, (megabytes / seconds, megabytes / dd.wall_s if dd.good() else float("nan")))
    bench.show(tables=[table])
    return True


# Ranks, and sizes with which an iteration takes some milliseconds.
APPS = {"hpccg": (2, "32 32 32 --iterations 40"), "comd": (2, "-i 2 -j 1 -k 1 -x 12 -y 12 -z 12 -N 20"), "lulesh": (8, "-s 12 --iterations 20")}
METHODS = {"reinit": "each iteration, s", "plain": "none, s"}  # a checkpoint in each iteration, none


def apps(bench):
    table = Table("checkpoint-apps", "A checkpoint in each iteration of an application, to memory and another node, beside none; 2 nodes", "application", "s",
                  "ratios")
    inside = Table("checkpoint-apps-inside", "Of the former: inside RZ_Checkpoint, which also waits until the one before is committed", "application", "s")

    def take(case, result):
        (app, method), line = case, result.line("times")
        values = [(table, app, METHODS[method], records.of_times(line, "total")),
                  (inside, app, "inside RZ_Checkpoint, s", records.of_times(line, "checkpoint"))]
        return values if method == "reinit" else values[:1]
    for app, (ranks, arguments) in APPS.items():
        if bench.app(app):
            bench.part("", [], (10, 2), [(app, method) for method in METHODS], lambda case, _: [
                f"{bench.bin}/rzrun", "--oversubscribe", "-n", str(ranks), "--nodes", "2", bench.app(case[0]), *arguments.split(), "--method", case[1]],
                take, ())
        else:
            bench.say(f"\n{app} is not here, left out.\n")
    bench.show(tables=[table, inside])
    return True


PARTS = {"copy": copy, "pages": pages, "erasure": needs("bench_erasure", erasure), "files": files, "apps": apps}


def study(bench):
    bench.quickly(40)
    bench.say(TEXT)
    return bench.compile("bench_checkpoint") and bench.judged(bench.parts(PARTS, bench))
