# SPDX-License-Identifier: BSD-3-Clause
"""The study group: the dynamic group of recommended processes after Camargo, Duarte (JBCS 24:5, 2018): figure 14, HyperQuickSort whose processes leave;
the same by one process; large amounts; what the tests among processes cost; and the group over time."""
import os

from .run import leading_number
from .slices import Slices
from .systems import needs
from .table import Interval, Table

TEXT = ("\n## The dynamic group of recommended processes\n\nMedians (95 % interval of the mean by Student's t).\n")
RANKS, REPETITIONS = 16, (10, 2)

# Sizes with which an undisturbed run takes some seconds; a quarter where few go on with a share of a processor each.
COUNT, COUNT_QUICK, COUNT_SLICES = 96 << 20, 1 << 20, 24 << 20
OVERHEAD_MOST = 1.09  # what the paper has

# The program's method, how processes leave, settings. ULFM has no notion of slow: there they fail; "failures": the same event as there.
WAYS = {"ULFM": ("ulfm", "kill", ""), "DGRP, failures": ("no-rejoin", "kill", ""), "DGRP, no rejoin": ("no-rejoin", "stop", ""),
        "DGRP, rejoin": ("dgrp", "stop", " --group zeta=3")}
SCENARIOS = {"all recommended": 0, "one leaves": 1, "half leave": RANKS // 2, "one remains": RANKS - 1}
SLICED = ("all recommended", "half leave", "one remains")  # also with shares of processors

# Tests that find a stop of a quarter of a second and more. Processes leave early and for long, so that there is a time to be out.
SETTINGS = "--group interval=250ms --group first_threshold=1s --group least_threshold=250ms"
LEAVING = " --fail-within 34% --fail-time {} --fail {} --fail-count {} --fail-seed {}"


def seconds(result):
    """By the program's own clock, from "sorted COUNT in T s"; None: it was not complete."""
    found = (result.line("sorted") or "").partition(" in ")[2]
    return leading_number(found) if found else None


def sort_command(bench, count, case, repetition, shares=()):
    scenario, way = case
    method, fail, settings = WAYS[way]
    leaving = LEAVING.format(300 if bench.quick else 3000, fail, SCENARIOS[scenario], repetition + 1) if SCENARIOS[scenario] else ""
    return [f"{bench.bin}/rzrun", "--oversubscribe", "--on-failure", "continue", "-n", str(RANKS), *shares, bench.app("hyperquicksort"), str(count),
            "--method", method, *f"{SETTINGS}{settings}{leaving}".split()]


def sort_all(bench, table, count, slices=None, where=""):
    scenarios, processors = SLICED if slices else tuple(SCENARIOS), os.cpu_count()
    cases = [(scenario, way) for scenario in scenarios for way in WAYS if SCENARIOS[scenario] or way != "DGRP, failures"]  # no process leaves: as stops
    bench.part("", [table], REPETITIONS, cases, lambda case, repetition: sort_command(
        bench, count, case, repetition, slices.words(bench.sources, 100 * processors // RANKS) if slices else ()),
               lambda case, result: [(table, *case, seconds(result))], ())

    def over_ulfm(scenario, way, how):
        bench.claims.most(f"DGRP over ULFM, {scenario}{how}{where}", OVERHEAD_MOST, table.ratio(scenario, way, "ULFM").interval())
    over_ulfm("all recommended", "DGRP, no rejoin", "")
    for scenario in scenarios[1:]:
        # The runtime tells of a failure at once. Of a stop only tests tell, when an answer is late: ULFM has nothing to set against that.
        over_ulfm(scenario, "DGRP, failures", ", by failure in both")
        if slices:
            bench.claims.excuse("a known failure ends a round at once")
        over_ulfm(scenario, "DGRP, no rejoin", ", by stops, there by failure")
        bench.claims.excuse("a stop is known by late answers alone")
    for scenario in ("half leave", "one remains"):  # a process that comes back helps where those that remain leave processors idle
        remain = RANKS - SCENARIOS[scenario]
        bench.claims.least(f"DGRP without rejoin over with rejoin, {scenario}{where}", 1, table.ratio(scenario, "DGRP, no rejoin", "DGRP, rejoin").interval())
        if not slices and remain >= processors:
            bench.claims.excuse(f"{remain} processes keep {processors} processors busy, see slices")


def sort(bench):
    count = COUNT_QUICK if bench.quick else COUNT
    sort_all(bench, Table("group-sort", f"Figure 14: {count} integers sorted by {RANKS} processes that leave in the first third, s", "scenario", "s",
                          "intervals plot"), count)
    return True


def sliced(bench):
    count, processors = COUNT_QUICK if bench.quick else COUNT_SLICES, os.cpu_count()
    slices = Slices.open() if processors < RANKS else None
    if not slices:
        bench.say("\nFigure 14 with a share of a processor for each process: left out, for there are enough, or the system gives none (it takes root, and "
                  "the controller cpu of cgroup).\n")
        return True
    try:
        sort_all(bench, Table("group-slices", f"Figure 14 as if there were a processor for each: {count} integers, {RANKS} processes that have "
                              f"{processors}/{RANKS} of one each, s", "scenario", "s", "intervals plot"), count, slices, ", a share each")
    finally:
        slices.close()
    return True


def scale(bench):
    table, count = Table("group-scale", "The same integers by one process alone, s", "integers", "s", "intervals ratios"), \
        COUNT_QUICK if bench.quick else COUNT
    commands = {"16 processes, DGRP": sort_command(bench, count, ("all recommended", "DGRP, rejoin"), 0),
                "one, radix sort": [bench.app("hyperquicksort"), str(count)]}
    return bench.part("", [table], REPETITIONS, commands, lambda column, _: commands[column],
                      lambda column, result: [(table, "all", column, seconds(result))], ())


# ---- large amounts

LARGE_LIMIT_S = 900
# Usually, with --quick: integers, where checkpoints are; bytes of memory for each integer.
LARGE = (((1000000000, 4000000), "file", 12), ((256000000, 1000000), "memory", 24))
STORE_BYTES = 3 * 4  # for each integer, in checkpoints: of two generations, and of the one being written


def has_room(bench, count, memory, folder):
    facts, there = os.statvfs(folder), os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if there >= count * memory and facts.f_bavail * facts.f_frsize >= count * STORE_BYTES:
        return True
    bench.say(f"\n{count} integers are left out: they take {count * memory / 1e9:.0f} GB of memory and {count * STORE_BYTES / 1e9:.0f} GB in {folder}.\n")
    return False


def large(bench):
    """Minutes, which the other parts do not have: not among all of them."""
    if not bench.quick and bench.options.part == "all":
        bench.say("\nLarge sorts are made by `rzbench group large` alone.\n")
        return True
    table = Table("group-large", "Large sorts, checkpoints in files or in memory; one alone keeps none, s", "integers, checkpoints", "s", "intervals ratios")
    program, cases = bench.app("hyperquicksort"), []
    for counts, store, memory in LARGE:
        count, folder = counts[bench.quick], {"file": bench.folder}.get(store, "/dev/shm")
        if has_room(bench, count, memory, folder):
            row = f"{count:_}, {store}{'s' if store == 'file' else ''}".replace("_", " ")
            words = [f"{bench.bin}/rzrun", "--oversubscribe", "-n", str(RANKS), program, str(count), "--method", "dgrp", "--store", store]
            cases += [(row, "16 processes, DGRP", words + (["--dir", folder] if store == "file" else [])), (row, "one, radix sort", [program, str(count)])]
    return bench.part("", [table], (1, 1), cases, lambda case, _: case[2], lambda case, result: [(table, *case[:2], seconds(result))], (),
                      limit_s=LARGE_LIMIT_S)


# ---- the noise of monitoring, and the group over time

WATCHES = {"none": ("none", "full"), "1 s": ("1s", "full"), "100 ms": ("100ms", "full"), "100 ms, cube": ("100ms", "cube")}
HOSTS = 18
RECOVERY_INTERVALS = 100  # after the load: thresholds are long then, and tests in a row are to be passed


def noise(bench):
    """`time S` and `messages N INTERVALS`: tests and answers sent by all, and in how many intervals."""
    times = Table("group-noise", "A fixed computation of 16 processes while they test one another, s", "interval of tests", "s", "intervals")
    messages = Table("group-messages", "Tests and answers in an interval; 2n(n-1) = 480 where all test all, 2n log2 n = 128 by the cube",
                     "interval of tests", "messages")
    return bench.compile("bench_monitor") and bench.part(
        "", [times, messages], REPETITIONS, WATCHES, lambda watch, _: [*bench.start("bench_monitor", RANKS), "0.5" if bench.quick else "2", *WATCHES[watch]],
        lambda watch, result: [(times, watch, "compute", result.value("time")),
                               *((messages, watch, "messages", n / intervals) for n, intervals in result.numbers("messages") if intervals)], ())


def watch(bench):
    """A row for each line `size T N`, of which the least is told; and how often a process was excluded and came back."""
    table = Table("group-watch", "18 emulated hosts, tests every 100 ms, half of them under bursts of load: the group over time", "seconds", "processes",
                  "plot linear untold")
    if not bench.compile("bench_monitor"):
        return False
    result = bench.job([*bench.start("bench_monitor", HOSTS, HOSTS), "4" if bench.quick else "25", "100ms", "full", "watch"], 0, lambda result: [
        (table, f"{at:.1f}", "in the group", size) for at, size in result.numbers("size")]
        if all(result.lines(word) for word in ("size", "left", "back", "recovered")) else None)
    bench.show(tables=[table])
    if table.rows:
        sizes = {row: table.at(row, "in the group").summary().median for row in table.rows}
        least = min(sizes, key=sizes.get)
        whole = list(sizes.values()).count(HOSTS)
        bench.say(f"\n{table.title}: {HOSTS} at {whole} of {len(sizes)} points of time, at least {sizes[least]:.0f} (at {least} s). "
                  f"Processes were excluded {result.value('left'):.0f} times, and voted back {result.value('back'):.0f} times.\n")
        bench.claims.most("all are in again after the load, no round begun", RECOVERY_INTERVALS, Interval(1, result.value("recovered")), " intervals")
    return True


PARTS = {"sort": needs("hyperquicksort", sort), "slices": needs("hyperquicksort", sliced), "scale": needs("hyperquicksort", scale), "noise": noise,
         "watch": watch, "large": needs("hyperquicksort", large)}


def study(bench):
    bench.quickly(40)
    bench.say(TEXT)
    return bench.judged(bench.parts(PARTS, bench))
