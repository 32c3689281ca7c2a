# SPDX-License-Identifier: BSD-3-Clause
"""The study runtime: jobs of real daemons with a fault in them, and their dates from the record that rzrun writes. All dates are of one
clock, CLOCK_MONOTONIC, since all nodes stand on this machine. The parts follow the figures of RDaemon# (EuroMPI 2019), whose simulated
twins `rzsim figure` draws."""
import math
import os
import shutil
import statistics
from dataclasses import dataclass, replace

from . import records
from .bench import Tally
from .run import ENDED, OUT_OF_TIME, leading_number
from .systems import needs
from .table import Table

PERIOD_MS = 100
KILL_RANK, KILL_NODE, CUT_NODE = "kill rank", "kill node", "cut node"  # SIGKILL to a daemon: connections break; cut: silence, none breaks
STOP_RANK = "stop rank"  # silence of one process: found by --detector flat alone

# ---- a job with a fault in it


@dataclass
class Job:
    nodes: int
    per_node: int
    detector: str
    fault: str
    victims: tuple  # ranks or nodes
    at_ms: int  # of the fault, from the moment when all ranks are initialised
    period_ms: int = PERIOD_MS
    timeout_ms: int = 2 * PERIOD_MS
    every_ms: int = 0  # between two killed ranks; nodes all fail at once
    limit_s: int = 0

    def of_nodes(self):
        return self.fault in (KILL_NODE, CUT_NODE)

    def listeners(self):
        """All that are to have the news of each victim: living daemons; of a stopped process: processes."""
        if self.fault == STOP_RANK:
            return self.nodes * self.per_node - len(self.victims)
        return self.nodes - (len(self.victims) if self.of_nodes() else 0)

    def command(self, bench):
        if self.fault == CUT_NODE:
            faults = [f"{self.fault} {','.join(map(str, self.victims))} at {self.at_ms}ms"]
        else:
            faults = [f"{self.fault} {victim} at {self.at_ms + (0 if self.of_nodes() else i * self.every_ms)}ms" +
                      (" for 1m" if self.fault == STOP_RANK else "") for i, victim in enumerate(self.victims)]
        options = ["--on-failure", "continue", "--detector", self.detector, "--report", f"{bench.folder}/runtime.report",
                   "--hb-period", f"{self.period_ms}ms", "--hb-timeout", f"{self.timeout_ms}ms"]
        options += [word for fault in faults for word in ("--inject", fault)]
        return bench.start("bench_rest", self.nodes * self.per_node, self.nodes, options=options)


class Known:
    """What the record of a job tells, while it is being written: of each victim the dates; what a failed or deaf daemon says of others
    does not count."""

    def __init__(self, job, path):
        self.job, self.path, self.read, self.falsely = job, path, 0, False
        self.injected, self.seen, self.news = ({victim: [] for victim in job.victims} for _ in range(3))

    def told(self):
        """Whether each victim's news reached all."""
        return all(len(dates) >= self.job.listeners() for dates in self.news.values())

    def enough(self):
        """Reads on where the record has grown; true: all know, or nothing can be learnt any more."""
        text = records.contents(self.path)
        whole = text.rfind("\n") + 1
        for event, fields in records.events(text[self.read:whole]):
            if "at_ns" in fields:
                self.take(event, {name: int(leading_number(value)) for name, value in fields.items()})
        self.read = max(self.read, whole)
        return self.told() or self.falsely

    def take(self, event, fields):
        stops, of_nodes = self.job.fault == STOP_RANK, self.job.of_nodes()
        # Of a stopped process the other processes see and tell; daemons only judge.
        seen, news = (event == "flat_news",) * 2 if stops else (event == "failure_seen", event == "failure_news")
        living = self.job.fault == KILL_RANK or fields.get("value" if stops else "by", -1) not in self.job.victims
        consequence = of_nodes and fields.get("rank", -1) >= 0  # of a node's failure: the processes that it had
        victim = fields.get("node" if of_nodes else "rank", -1)
        if consequence or victim not in self.job.victims:
            self.falsely |= (seen or news) and living and not consequence
            return
        for dates, happened in ((self.injected, event == "injected"), (self.seen, seen and living), (self.news, news and living)):
            if happened:
                dates[victim].append(fields["at_ns"])

    def ms(self, victims, dates, which):
        """From the first fault of these victims until the first or the last of the dates; None: that is not known."""
        begin, end = (sum((of[victim] for victim in victims), []) for of in (self.injected, dates))
        return (which(end) - min(begin)) / 1e6 if begin and end and which(end) >= min(begin) else None

    def first_seen(self):
        return self.ms(self.job.victims, self.seen, min)

    def first(self):
        return self.ms(self.job.victims, self.news, min)

    def last(self):
        return self.ms(self.job.victims, self.news, max)


class Told(Tally):
    """Counted over a part, and shown behind its tables."""
    falsely = 0

    def show(self, bench):
        more = f" In {self.falsely} a living node was reported, since this machine was late by more than the timeout allows; they are left out."
        bench.say(f"\n{self.text()} runs complete.{more if self.falsely else ''}\n")

    def trial(self, bench, job, table, row, repetition, values):
        """Runs the job until all have the news of each victim, and puts {column: value(what is known)}; the latter is returned, None if not all had it."""
        known = Known(job, f"{bench.folder}/runtime.report")
        result = bench.run(job.command(bench), job.limit_s, known.enough)
        known.enough()
        records.take(known.path)
        good = known.told() and not known.falsely
        if good or known.falsely or result.end != OUT_OF_TIME:
            self.count(good)
            self.falsely += known.falsely
            if not good and not known.falsely:
                bench.complain(job.command(bench), result, "not all learnt of it")
        for column, value in values.items():
            table.put(row, column, repetition, value(known) if good else None)
        return known if good else None


def phase_ms(period_ms, repetition):
    """An even choice of phases: the part of a period by which the fault of this repetition is late."""
    return int(math.modf(0.6180339887498949 * (repetition + 1))[0] * period_ms)


def silent_job(bench, nodes, per_node, period_ms, kind, repetition):
    """Of silent nodes: T = 2 P, and when the fault comes: swim begins to probe two seconds late."""
    detector, fault = KINDS[kind]
    settled = 2500 if detector == "swim" else (100 if bench.quick else 250) + 2 * period_ms
    return Job(nodes, per_node, detector, fault, (1 + 5 * repetition % (nodes - 1),), settled + phase_ms(period_ms, repetition), period_ms, 2 * period_ms)


# ---- what heartbeats cost messages: figure 7

# Without heartbeats twice: how much two equal runs differ is what the others are held against.
SETTINGS = {"off": "--no-ft", "off again": "--no-ft", "P = 100 ms": "--hb-period 100ms --hb-timeout 1s", "P = 10 ms": "--hb-period 10ms --hb-timeout 1s"}
PAIR = {"ping-pong, 8 B": "pair 8", "ping-pong, 4 KiB": "pair 4096", "ping-pong, 256 KiB": "pair 262144"}
GROUP = {"barrier, 4 nodes": "barrier 4", "allreduce of 8 B, 4 nodes": "allreduce 4"}


def noise(bench):
    times = Table("noise-times", "Half round trip, or one call: us", "what", "us", columns=SETTINGS)
    overhead = Table("noise", "Overhead of heartbeats, per cent (figure 7)", "what", "per cent", "plot below-zero")
    quickest = Table("noise-quickest", "The same between the quickest run with and the quickest without", "what", "per cent")
    if not bench.compile("bench_pair", "bench_group"):
        return False

    def command(setting, whats):
        program, nodes = ("bench_pair", 2) if whats is PAIR else ("bench_group", 4)
        sizes = [*bench.pinned(), "8", "4096", "262144"] if whats is PAIR else []
        return [*bench.start(program, nodes, nodes, options=SETTINGS[setting].split()), "--ms", "50" if bench.quick else "100", *sizes]

    def measure(case, repetition):
        (whats, turn), names = case, list(SETTINGS)
        setting = names[(turn + repetition) % len(names)]  # turns begin with another setting each time
        bench.job(command(setting, whats), repetition, lambda result: [(times, row, setting, result.value(word)) for row, word in whats.items()], over=True)
    bench.turns((25, 1), [(whats, turn) for whats in (PAIR, GROUP) for turn in range(len(SETTINGS))], measure)
    for row in times.rows:
        for setting in list(SETTINGS)[1:]:
            for repetition, ratio in enumerate(times.ratio(row, setting, "off").values):
                overhead.put(row, setting, repetition, 100 * (ratio - 1))
            quickest.put(row, setting, 0, 100 * (times.at(row, setting).summary().low / times.at(row, "off").summary().low - 1))
    bench.say("\n## Noise\n\nOne process per node. Off is `--no-ft`; `off again` says how far two equal runs are apart.\n")
    bench.show(command("P = 10 ms", PAIR), command("P = 10 ms", GROUP), tables=[times, overhead, quickest])
    return True


# ---- how short the heartbeats may be before living nodes are reported: figure 8

PERIODS_MS = (100, 50, 30, 20, 10, 5, 3, 2, 1)


def accuracy(bench):
    table = Table("accuracy", "Living nodes reported in a run (figure 8)", "heartbeats", shown="plot")
    nodes, report = 4 if bench.quick else 16, f"{bench.folder}/accuracy.report"

    def command(period_ms, _):
        options = ["--on-failure", "continue", "--hb-period", f"{period_ms}ms", "--hb-timeout", f"{2 * period_ms}ms", "--report", report]
        return [*bench.start("bench_group", 4 * nodes, nodes, options=options), "--ms", "200" if bench.quick else "4000"]

    def take(period_ms, result):
        """No node fails: each report is false."""
        row, reports = f"P = {period_ms} ms, T = {2 * period_ms} ms", [event for event, _ in records.events(records.take(report))].count("failure_seen")
        return [(table, row, "failure reports", reports), *([(table, row, "run s", result.wall_s)] if result.end == ENDED else [])]
    if not bench.compile("bench_group"):
        return False
    bench.part("## The shortest heartbeats\n\nNo process fails; all ranks call barrier and allreduce without rest. T = 2 P.",
               [table], (5, 1), PERIODS_MS[:1] if bench.quick else PERIODS_MS, command, take, PERIODS_MS[:1], good=lambda *_: True)
    shortest = None  # such that neither it nor a longer one saw a failure report
    for row in table.rows:
        if not table.at(row, "failure reports").summary().high <= 0:
            break
        shortest = leading_number(row[len("P = "):])
    bench.say(f"\nThe shortest period without a failure report in any run: {shortest:.0f} ms.\n" if shortest else
              "\nThere was a failure report at every period: this machine is late by more than 200 ms.\n")
    return True


# ---- a node that falls silent or whose daemon is killed: figures 9, 10, 13, 14 and 15

KINDS = {"ring, silent": ("ring", CUT_NODE), "ring, killed": ("ring", KILL_NODE), "swim, silent": ("swim", CUT_NODE), "flat, one process": ("flat", STOP_RANK)}
SWEEPS = (("nodes", "A node fails: ms, over nodes; P = 100 ms (figures 9, 14)", "nodes", "log2", (4, 8, 16, 32, 64), (4, 8)),
          ("processes", "A node of eight fails: ms, over processes per node; P = 100 ms (figure 9)", "processes per node", "log2", (1, 4, 16, 64), (4,)),
          ("period", "A node of eight fails: ms, over the period P; T = 2 P (figures 10, 13)", "period ms", "linear", (30, 50, 100, 200, 500), (50, 100)))


def detect(bench):
    told, kinds = Told(), list(KINDS)[:2] if bench.quick else list(KINDS)

    def job_of(sweep, x, kind, repetition):
        return silent_job(bench, x if sweep == "nodes" else 8, x if sweep == "processes" else 1, x if sweep == "period" else PERIOD_MS, kind, repetition)
    bench.say("\n## Detection\n\nSilent: nothing comes from the node any more, and no connection breaks. Killed: SIGKILL to its daemon; its connections break. "
              "T = 2 P; swim probes every P. Flat: each process watches another; one is stopped, and all processes are to know.\n")
    bench.show(*(job_of("nodes", 8, kind, 0).command(bench) for kind in KINDS))
    for sweep, title, rows_are, axis, usual, quick in SWEEPS:
        table = Table(f"detect-{sweep}", title, rows_are, "ms", f"plot log {axis}")
        # A broken connection knows no period and waits for none.
        cases = [(x, kind) for x in (quick if bench.quick else usual) for kind in kinds if (sweep, KINDS[kind][1]) != ("period", KILL_NODE)]
        bench.turns((7, 1), cases, lambda case, repetition: told.trial(
            bench, job_of(sweep, *case, repetition), table, str(case[0]), repetition,
            {f"{case[1]}: first seen": Known.first_seen, f"{case[1]}: known to all": Known.last}))
        bench.show(tables=[table])
        say_bounds(bench, table, sweep)
    told.show(bench)
    return True


def say_bounds(bench, table, sweep):
    """Of the ring and silence alone: in periods, over all trials of the table."""
    bounds = [[table.at(row, f"ring, silent: {what}").summary() for what in ("first seen", "known to all")] for row in table.rows]
    periods = [int(row) if sweep == "period" else PERIOD_MS for row in table.rows]
    found = [(first.low / period, last.high / period) for (first, last), period in zip(bounds, periods) if first.n and last.n]
    if found:
        bench.say(f"\nRing, silent: from {min(low for low, _ in found):.2f} (first seen) to {max(high for _, high in found):.2f} periods (known to all) in all "
                  "trials; by the formula 1 and 2.\n")


MANY_NODES = 16
MANY_KINDS = {"neighbours, silent": ("ring, silent", False), "scattered, silent": ("ring, silent", True), "neighbours, killed": ("ring, killed", False)}


def many(bench):
    table = Table("many", "Several of 16 nodes fail at once: ms until all know of all; P = 100 ms (figure 15)", "nodes that fail", "ms", "plot linear")
    told, kinds = Told(), list(MANY_KINDS)[:2] if bench.quick else list(MANY_KINDS)

    def job_of(case, repetition):
        n, (kind, scattered) = case[0], MANY_KINDS[case[1]]
        job = silent_job(bench, MANY_NODES, 1, PERIOD_MS, kind, repetition)
        return replace(job, victims=tuple((job.victims[0] + i * (MANY_NODES // n if scattered else 1)) % MANY_NODES for i in range(n)))

    bench.turns((7, 1), [(n, kind) for n in range(1, (2 if bench.quick else 6) + 1) for kind in kinds],
                lambda case, repetition: told.trial(bench, job_of(case, repetition), table, str(case[0]), repetition, {case[1]: Known.last}))
    bench.say("\n## Several nodes at once\n")
    bench.show(*(job_of((3, kind), 0).command(bench) for kind in kinds), tables=[table])
    parts = []
    for kind in kinds:
        one, most = (table.at(row, kind).summary() for row in (table.rows[0], table.rows[-1]))
        each = (most.median - one.median) / max(1, len(table.rows) - 1)
        if one.n and most.n:
            parts.append(f"{kind}: {each:.1f} ms ({each / (2 * PERIOD_MS):.2f} timeouts) for each further one")
    bench.say("\n" + "; ".join(parts) + ". By the formula two timeouts for neighbours, none for scattered.\n")
    told.show(bench)
    return True


# ---- a process fails: the news at the last daemon; figures 11 and 12

NODES_MOST = 64
PROCESS_KIB, LEFT_KIB = 2048, 2 << 20  # what one resting process and its share of its daemon take, and what must be left to others


def spread_job(bench, nodes, per_node):
    """Several are killed, one after the other: starting so many nodes takes longer than all that."""
    ranks = nodes * per_node
    kills = min(2 if bench.quick else 5, ranks - 1)
    return Job(nodes, per_node, "ring", KILL_RANK, tuple((i + 1) * ranks // (kills + 1) for i in range(kills)), 100 if bench.quick else 300, timeout_ms=1000,
               every_ms=130, limit_s=120 if ranks > 512 else 0)


def spread_trial(bench, told, table, row, column, job, repetition):
    known = told.trial(bench, job, table, row, 0, {})
    for i, victim in enumerate(job.victims):
        table.put(row, column, repetition * len(job.victims) + i, known.ms([victim], known.news, max) if known else None)
    return known


def spread_show(bench, table, *commands):
    bench.show(*commands, tables=[table])
    found = [(column, table.trend(column), table.trend(column, log2=False)) for column in table.columns if table.trend(column)]
    bench.say(("\n" if found else "") + "; ".join(f"{column}: {a:.3g} log2({table.rows_are}) {b:+.3g} ms, R2 = {r2:.3f} (a straight line: {straight[2]:.3f})"
                                                  for column, (a, b, r2), straight in found) + ".\n")


def spread(bench):
    told, columns = Told(), (1, 4) if bench.quick else (1, 4, 12)
    table = Table("spread-nodes", "A process fails: ms from SIGKILL to the news at the last daemon, over nodes (figure 11)", "nodes", "ms",
                  "plot trends log2")
    bench.say("\n## News of a failed process\n\nThe processes rest; some are killed one after the other.\n")
    bench.turns((4, 1), [(nodes, per_node) for nodes in (2, 4, 8, 16, 32, 64) if nodes <= (8 if bench.quick else NODES_MOST) for per_node in columns],
                lambda case, repetition: spread_trial(bench, told, table, str(case[0]), f"{case[1]} per node", spread_job(bench, *case), repetition))
    spread_show(bench, table, spread_job(bench, 8, 4).command(bench))
    if not bench.quick:
        spread_processes(bench, told)
    told.show(bench)
    return True


def available_kib():
    return leading_number(records.first_value(records.contents("/proc/meminfo"), "MemAvailable"))


def spread_processes(bench, told):
    """As many trivial processes as the machine carries without harm to others."""
    table = Table("spread-processes", "The same over processes on 64 nodes (figure 12)", "processes", "ms", "plot trends log2")
    sizes, carried, repetitions = [256, 1024, 2048, 4096], [0], max(1, bench.repetitions(4, 1) // 2)

    def measure(size, repetition):
        if size in sizes and available_kib() < size * PROCESS_KIB + LEFT_KIB:
            bench.say(f"\n{size} processes are not tried: {available_kib() / (1 << 20):.1f} GiB are available.\n")
            del sizes[sizes.index(size):]
        job = spread_job(bench, NODES_MOST, size // NODES_MOST)
        if size in sizes and repetition < repetitions and spread_trial(bench, told, table, str(size), "64 nodes", job, repetition):
            carried.append(size)
    bench.turns((4, 1), tuple(sizes), measure)
    spread_show(bench, table)
    bench.say(f"\nThe most that this machine carried: {max(carried)} processes on {NODES_MOST} nodes.\n")


# ---- what an idle daemon costs: processor time, memory, heartbeats

HEADERS_BYTES = 20 + 8  # of IPv4 and UDP
IDLE = {"8 nodes, 1 process each, P = 100 ms": (8, 1, "100ms"), "2 nodes, 64 processes each, P = 100 ms": (2, 64, "100ms"),
        "8 nodes, 1 process each, P = 10 ms": (8, 1, "10ms")}
DAEMON = {"processor, % of a core": 1, "resident MiB": 1024, "its share MiB": 1024}


def footprint(bench):
    table = Table("footprint", "An idle daemon: median over the nodes", "job")
    # A network of its own, so that only the job's own bytes are counted.
    own = ["unshare", *(() if os.geteuid() == 0 else ("--map-root-user",)), "--net", "sh", "-c", 'ip link set lo up && exec "$0" "$@"']
    alone = bool(shutil.which("unshare") and shutil.which("ip")) and bench.run([*own, "true"]).good()

    def command(setting, _):
        nodes, per_node, period = IDLE[setting]
        started = bench.start("bench_rest", nodes * per_node, nodes, options=["--hb-period", period, "--hb-timeout", "1s"])
        return [*(own if alone else ()), *started, "1" if bench.quick else "5", f"{bench.bin}/rzps"]

    def take(setting, result):
        daemons, values = [numbers[1:4] for numbers in result.numbers("daemon")], []
        for i, (column, unit) in enumerate(DAEMON.items()):
            there = [daemon[i] / unit for daemon in daemons if i < 2 or daemon[i] > 0]  # 0: it may not be read
            values.append((table, setting, column, statistics.median(there) if there else None))
        return values + (network(setting, result) if alone else [])

    def network(setting, result):
        """Sent and received by each node: on this machine what one sends another receives. Streams between the daemons must have been silent, else their
        bytes cannot be told apart."""
        formula, measured = result.value("formula"), None
        for seconds, datagrams, segments, octets in result.numbers("network")[:1]:
            measured = 2 * (octets - datagrams * HEADERS_BYTES) / seconds / IDLE[setting][0] if segments == 0 and datagrams > 0 else None
        return [(table, setting, "heartbeats, B/s and node", measured), (table, setting, "by formula (rzps)", formula),
                (table, setting, "measured / formula", measured / formula if measured is not None and formula else None)]
    counted = "Heartbeats: bytes of datagrams without their headers, sent and received, by the kernel." \
        if alone else "The bytes of heartbeats are not measured: a network namespace of the job's own cannot be made here (unshare, ip)."
    bench.part(f"## An idle daemon\n\nAll processes wait in MPI_Barrier. Share: shared pages divided among those that share them. {counted}", [table], (3, 1),
               list(IDLE)[:1 if bench.quick else None], command, take, list(IDLE)[:1], good=lambda result, _: result.end != ENDED or result.status == 0)
    bench.say("\nTargets at P = 100 ms: below 0.2 % of a core; 6 MiB with 64 processes.\n")
    return True


# ---- our detectors beside HashiCorp's memberlist, a member being a node's daemon

MEMBERS_MS = 200
BUILD_LIMIT_S = 180
GO_PATH = "/usr/share/gocode"  # where Debian puts the sources of Go libraries (golang-github-hashicorp-memberlist-dev)
MEMBERLIST = "memberlist, killed"


def members(bench):
    table = Table("members", "One member of n fails: ms until the others are told; P = 200 ms (figures 9, 10)", "members", "ms", "plot log log2")
    told, theirs, path = Told(), Told(), f"{bench.folder}/peer_memberlist"
    peer = not bench.options.no_peers and shutil.which("go") and os.access(f"{GO_PATH}/src/github.com/hashicorp/memberlist", os.R_OK) and \
        bench.tried(["env", "GO111MODULE=off", "GOFLAGS=", f"GOPATH={GO_PATH}", f"GOCACHE={bench.folder}/go-cache", "go", "build", "-o", path,
                     f"{bench.sources}/peer_memberlist.go"], "peer_memberlist does not compile", BUILD_LIMIT_S)

    def peer_command(n, repetition):
        return [path, str(n), str(MEMBERS_MS), str(1000 + phase_ms(MEMBERS_MS, repetition))]

    def peer_take(n, result):
        """From the kill until the first and the last member was told, if all were, and nothing false."""
        killed, news, falsely = result.value("killed"), [at for _, at in result.numbers("news")], result.line("false") is not None
        theirs.falsely += falsely
        return [(table, str(n), f"{MEMBERLIST}: {what}", (which(news) - killed) / 1e6) for what, which in (("first", min), ("last", max))] \
            if killed is not None and len(news) == n - 1 and not falsely else None

    def measure(case, repetition):
        n, kind = case
        if kind == MEMBERLIST:
            bench.job(peer_command(n, repetition), repetition, lambda result: peer_take(n, result), theirs, good=lambda _, found: found is not None)
            return
        told.trial(bench, silent_job(bench, n, 1, MEMBERS_MS, kind, repetition), table, str(n), repetition,
                   {f"{kind}: first": Known.first, f"{kind}: last": Known.last})
    bench.turns((5, 1), [(n, kind) for n in ((4,) if bench.quick else (4, 8, 16, 32, 64)) for kind in [*list(KINDS)[:3], *([MEMBERLIST] if peer else [])]],
                measure)
    left_out = "" if peer else " memberlist was left out." if bench.options.no_peers else " memberlist or Go is not installed (tools/setup --peers does it)."
    bench.say("\n## Beside memberlist\n\nRing: T = 2 P. Swim and memberlist probe every P. memberlist: HashiCorp's library in Go, DefaultLANConfig with all "
              "intervals scaled by P / 1 s; a killed member is silence to it. First and last: of the living that are told."
              f"{left_out}\n")
    bench.show(*([peer_command(16, 0)] if peer else ()), tables=[table])
    told.show(bench)
    if peer:
        bench.say(f"Of memberlist {theirs.text()} runs complete; in {theirs.falsely} a living member was declared failed, and they are left out.\n")
    return True


# ---- streams between hosts


def streams(bench):
    """By a program that the build made: `stream BYTES PLAIN SEALED`, MB/s."""
    table = Table("streams", "Frames over TCP on loopback: encrypted and authenticated, beside plain", "bytes", "MB/s", "ratios",
                  ("plain, MB/s", "sealed, MB/s"))
    command = [bench.app("bench_stream"), str(bench.repetitions(15, 3))]
    result = bench.job(command, take=lambda result: [] if result.lines("stream") else None)
    for line in result.lines("stream"):
        size, *values = line.split()
        table.append(size, table.columns, map(float, values))
    bench.say("\n## Streams between hosts\n\nOne connection between two threads, 64 MiB in frames of one size.\n")
    bench.show(command, tables=[table])
    return True


PARTS = {"streams": needs("bench_stream", streams), "noise": noise, "accuracy": accuracy, "detect": detect, "many": many, "spread": spread,
         "footprint": footprint, "members": members}
SHARES = (0.1, 0.15, 0.15, 0.4, 0.25, 0.4, 0.5, 1.0)


def study(bench):
    return bench.compile("bench_rest") and bench.parts(PARTS, bench, SHARES)
