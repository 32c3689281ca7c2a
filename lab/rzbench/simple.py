# SPDX-License-Identifier: BSD-3-Clause
"""The studies of `rzbench all`: what a failure costs, what a message costs, what a crowd costs."""
import math
import re

from . import records
from .run import ENDED, leading_number
from .systems import RHIZOME
from .table import Table

# ---- one SIGKILL: when the survivors' calls return an error, when they are rolled back

# Ranks, nodes, MiB that the victim holds; the first three are those of --quick.
FAILURES = ((8, 1, 32), (8, 1, 512), (8, 4, 32), (8, 4, 512), (64, 1, 32), (64, 1, 512), (64, 4, 32), (64, 4, 512))
CALLS = ("receive", "barrier", "reinit")


def failure(bench):
    table = Table("failure", "Milliseconds from SIGKILL", "job, and what the victim holds", "ms", "plot")
    report = f"{bench.folder}/failure.report"
    if not bench.compile("bench_failure"):
        return False

    def command(case, _):
        (ranks, nodes, mebibytes), call = case
        victim = str(ranks // 2 + 1)  # neither rank 0, nor the root's neighbour in any tree, nor the last
        options = ["--on-failure", "repair" if call == "reinit" else "continue", "--inject", f"kill rank {victim} at iteration 1", "--report", report]
        return [*bench.start("bench_failure", ranks, nodes, options=options), call, victim, str(mebibytes)]

    def take(case, result):
        """Each survivor tells what is expected of it, with the date at the end of the line."""
        ((ranks, nodes, mebibytes), call), recorded = case, {}
        for event, fields in records.events(records.take(report)):
            recorded[event] = min(int(fields.get("at_ns", 0)), recorded.get(event, math.inf))
        back, whole, errors = (sorted(int(line.rpartition(" ")[2]) for line in result.lines(word)) for word in ("back", "whole", "error"))
        complete = (result.status, len(back), len(whole)) == (0, ranks - 1, ranks) if call == "reinit" else len(errors) == ranks - 1
        if not complete or "injected" not in recorded or result.end != ENDED:
            return None
        found = {"last survivor rolled back": back, "all past a barrier": whole} if call == "reinit" else {"last error, MPI_Barrier": errors} \
            if call == "barrier" else {"seen by its daemon": [recorded.get("failure_seen", 0)], "first error, MPI_Recv": errors[:1],
                                       "last error, MPI_Recv": errors}
        return [(table, f"{ranks} ranks on {nodes} node{'s' if nodes > 1 else ''}, {mebibytes} MiB", column, (dates[-1] - recorded["injected"]) / 1e6)
                for column, dates in found.items() if dates[-1] >= recorded["injected"]]
    bench.part("## One failure\n\nZero is the moment at which the victim's daemon sends the signal.", [table], (7, 2),
               [(setting, call) for setting in FAILURES[:3 if bench.quick else None] for call in CALLS], command, take,
               [(FAILURES[0], call) for call in CALLS], good=lambda result, found: found is not None)
    bench.say(f"\n{bench.tally.text()} runs complete.\n")
    return bench.tally.failed == 0


# ---- ping-pong of two ranks: within a node and between nodes

SIZES = (*(8 ** n for n in range(1, 7)), 1 << 20, 4 << 20)


def latency(bench):
    if not bench.compile("bench_pair", peers=True):
        return False
    sizes, ms = (SIZES[::2], "20") if bench.quick else (SIZES, "100")
    bench.say(f"\n## Point to point\n\nTwo ranks{bench.pinned_text()}.\n")
    for between, name, title in ((False, "latency", "Half round trip within a node, us"),
                                 (True, "latency-between", "Half round trip between nodes (over loopback; peers: TCP), us")):
        table = Table(name, title, "message", "half round trip, us", "ratios plot log")
        bench.part("", [table], (7, 2), bench.having("bench_pair"), lambda system, _: [
            *bench.start("bench_pair", 2, system=system, between=between), "--ms", ms, *bench.pinned(), *map(str, sizes)],
            lambda system, result: [(table, records.size_text(size), system, result.value(f"pair {size}")) for size in sizes], over=True)
    return True


# ---- many more ranks than processors: what waiting costs

# What a program measures itself, and how it prints that; its arguments, usually and with --quick.
WHOLE = {"ring": ("ring", "one hop us", r"rounds, ([\d.]+) us per hop", "100", "10"),
         "hpccg": ("conjugate gradient", "solver s", r"hpccg: ([\d.]+) s since", "16 16 16 --iterations 50", "8 8 8 --iterations 10")}


def crowd(bench):
    if not bench.compile(*WHOLE, "bench_group", peers=True):
        return False
    bench.say("\n## More ranks than processors\n\nOne node, not pinned. Processor time: of everything that the launcher started. A run that lasts longer than "
              f"{bench.limit_s:.0f} s is ended.\n")
    most = 16 if bench.quick else 64
    programs = Table("crowd", "Whole programs: wall and processor time from start to end of the launcher, and what the program measured itself", "what",
                     "s or us, as named", "ratios plot log")

    def command(case, _):
        program, system, ranks = case
        arguments = ("--ms 40" if bench.quick else "--ms 200") if program == "bench_group" else WHOLE[program][4 if bench.quick else 3]
        plain = " --checkpoint-every 0" if system == RHIZOME and program == "hpccg" else ""  # the peers' programs take no checkpoints
        return [*bench.start(program, ranks, system=system, yields=True), *f"{arguments}{plain}".split()]

    def take_whole(case, result):
        title, inside, pattern = WHOLE[case[0]][:3]
        printed = re.search(pattern, result.output)
        values = (result.wall_s, result.cpu_s, leading_number(printed.group(1)) if printed else None) if result.good() else (None, None, None)
        return [(programs, f"{title}, {most} ranks, {what}", case[1], value)
                for what, value in zip(("wall time s", "processor time s", inside), values)]
    bench.part("", [programs], (5, 1), [(program, system, most) for program in WHOLE for system in bench.having(program)], command, take_whole,
               over=True, once=lambda case: (case[:2], case[2]))
    calls = [Table("barrier", "Barrier, us", "what", "one call, us", "ratios plot log"),
             Table("allreduce", "Allreduce of 8 bytes, us", "what", "one call, us", "ratios plot log")]
    bench.part("", calls, (5, 1), [("bench_group", system, ranks) for ranks in (2, 4, 8, 16, 32, 64) if ranks <= (8 if bench.quick else 64)
                                   for system in bench.having("bench_group")], command, lambda case, result: [
        (table, f"{table.name}, {case[2]} ranks", case[1], result.value(f"{table.name} {case[2]}")) for table in calls],
               (), over=True, once=lambda case: (case[:2], case[2]))
    return True
