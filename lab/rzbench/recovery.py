# SPDX-License-Identifier: BSD-3-Clause
"""The study recovery: global restart after Georgakoudis, Guo, Laguna (Reinit++, ISC 2020), figures 4 to 7, on emulated nodes of this machine:
by MPIX_Reinit, in the way of ULFM, and by restarting; and what peers need for the same. Values are medians with the 95 % interval of the mean
by Student's t."""
import glob
import math
import os
import shutil

from . import records
from .bench import Tally
from .run import ENDED, OVER
from .systems import MPICH, OPENMPI, RHIZOME
from .table import Interval, Table

PER_NODE, NODES_LEAST = 16, 2  # ranks of a node as in the paper; nodes
BALLAST = "32"  # MiB that the victim holds
PEERS_QUICK = 2  # repetitions in which the peers take part with --quick
PEERS_RANKS_MOST = 64  # beyond they take many seconds each
RANKS_STATED = 64

# How a job is made whole again: the program's method, and what rzrun does on a failure; of peers, which system starts it (again).
OURS = {"Reinit": ("reinit", "repair"), "ULFM, replace": ("replace", "replace"), "ULFM, spawn": ("spawn", "replace"),
        "restart": ("restart", "restart")}
PEERS = {"Open MPI again": ("restart", OPENMPI), "MPICH again": ("restart", MPICH), "Open MPI 5, ULFM": ("spawn", None)}
PHASES = {"spread": "spread", "agree": "agree", "place": "place", "start": "start", "roll back": "roll_back", "protect": "protect",
          "runtime's barrier": "barrier"}


class Recovery:
    def __init__(self, bench):
        self.bench = bench
        self.ranks = [n for n in bench.options.ranks or ([8, 64] if bench.quick else [4, 8, 16, 32, 64, 128, 256]) if n >= 4]
        self.report, self.files = f"{bench.folder}/recovery.report", f"{bench.folder}/checkpoints"
        self.peers = Tally()

    def nodes(self, ranks):
        chosen = self.bench.options.nodes
        return min(ranks, max(NODES_LEAST, chosen[0] if chosen else math.ceil(ranks / PER_NODE)))

    # ---- figures 6 and 7: from the kill until the job is whole again, and past its first barrier

    def command(self, way, ranks, failure):
        bench, yields = self.bench, ranks > os.cpu_count()
        if way in OURS:
            method, on_failure = OURS[way]
            words = bench.start("bench_recovery", ranks, self.nodes(ranks), options=["--on-failure", on_failure, "--report", self.report])
        else:
            method, system = PEERS[way]
            words = bench.peer_start("bench_recovery", ranks)
            if system:  # it is run twice, whatever becomes of the first
                words = ["sh", "-c", '"$@"; exec "$@"', "sh", *bench.start("bench_recovery", ranks, system=system, yields=yields)]
        return [*words, method, failure, BALLAST]

    def is_there(self, way, ranks, failure):
        """Whether this way can be gone here, and is not known to take too long. Peers have no emulated nodes."""
        bench = self.bench
        if way in OURS:
            return not (bench.quick and way == "ULFM, spawn")
        if failure == "node" or ranks > PEERS_RANKS_MOST or (bench.quick and ranks != self.ranks[0]):
            return False
        system = PEERS[way][1]
        return bench.has(system, "bench_recovery") if system else bench.peer_version

    def times(self, failure):
        bench, figure = self.bench, {"process": 6, "node": 7}[failure]
        whole, repaired, phases = tables = [
            Table(failure, f"Recovery from the failure of a {failure}, ms (figure {figure})", "ranks", "ms", "intervals plot log log2"),
            Table(f"{failure}-repaired", f"Until all have the communicator again, ms; failure of a {failure}", "ranks", "ms",
                  "intervals plot log log2 untold"),
            Table(f"{failure}-phases", f"Phases of the recovery by Reinit, ms; failure of a {failure}", "ranks", "ms", "intervals plot log2")]
        late = {}  # of the peers: a run of so many ranks was over the limit

        def take(ranks, way, result):
            recovered, record = result.value(f"recovered {ranks}"), records.take(self.report)
            values = [(whole, str(ranks), way, recovered), (repaired, str(ranks), way, result.value(f"repaired {ranks}"))]
            values += [(phases, str(ranks), column, records.of_last_recovery(record, f"{name}_ms")) for column, name in PHASES.items() if way == "Reinit"]
            return values[:1] if recovered is None else values

        def measure(case, repetition):
            (ranks, way), ours = case, case[1] in OURS
            if not self.is_there(way, ranks, failure) or ranks >= late.get(way, math.inf) or (bench.quick and not ours and repetition >= PEERS_QUICK):
                return
            for dates in glob.glob(f"{bench.folder}/bench_recovery.*.dates"):
                os.unlink(dates)  # the program's working file of an earlier run
            result = bench.job(self.command(way, ranks, failure), repetition, lambda result: take(ranks, way, result), bench.tally if ours else self.peers,
                               good=lambda result, found: result.end == ENDED and (result.status == 0 or not ours) and found[0][-1] is not None)
            if not ours and result.end == OVER:
                late[way] = ranks
        bench.turns((10, 5), [(ranks, way) for ranks in self.ranks for way in (*OURS, *PEERS)], measure)
        victim = {"process": "itself", "node": "its daemon"}[failure]
        bench.say(f"\n### Failure of a {failure}\n\nAll others sleep in a barrier when the victim, which holds {BALLAST} MiB, kills {victim}; until all are "
                  f"past the next barrier. {'As many nodes as asked for' if bench.options.nodes else 'Nodes of 16 ranks each, two at least'}.\n")
        bench.show(*(self.command(way, self.ranks[0], failure) for way in (*OURS, *PEERS) if self.is_there(way, self.ranks[0], failure)), tables=tables)
        self.judge(whole, failure)
        return True

    def judge(self, table, failure):
        claims, reinit = self.bench.claims, table.at(str(RANKS_STATED), "Reinit").interval()

        def times(other, least):
            """How many times slower another way is, at the number of ranks where it is the least."""
            ratios = [(table.ratio(str(ranks), other, "Reinit").interval(), ranks) for ranks in self.ranks]
            worst, where = min((pair for pair in ratios if pair[0].n), key=lambda pair: pair[0].median, default=(Interval(), 0))
            what = f"{other} / Reinit, failure of a {failure}" + (f", where it is least ({where} ranks)" if worst.n else "")
            (claims.least if least > 1 else claims.not_less)(what, least, worst)
        # The paper's best, for processes; for nodes the bound is our own.
        times("restart", 6 if failure == "process" else 2)
        if failure == "node":
            claims.excuse("our own bound")
        times("ULFM, replace", 1)
        if not self.bench.quick:
            times("ULFM, spawn", 1)
        if failure == "node":
            return
        slope = table.trend("Reinit", log2=False)
        claims.most("Reinit, each further rank (slope over ranks), failure of a process", 0.3, Interval(1, slope[0]) if slope else Interval(), " ms")
        claims.most("Reinit, from the kill of a process to the restored loop, 64 ranks", 50, reinit, " ms")
        for way, least in (("Open MPI 5, ULFM", 3), ("Open MPI again", 1), ("MPICH again", 1)):
            times(way, least)


    # ---- the same on real hosts

    def hosts(self):
        """What rzrun reports of the recovery: it knows the clocks of all hosts."""
        bench, hosts = self.bench, self.bench.options.hosts
        if not hosts:
            if bench.options.part == "hosts":
                bench.warn("the part hosts needs --hosts HOST,...")
            return bench.options.part != "hosts"
        n = len(hosts.split(","))
        where = {"emulated nodes": ["--launcher", "local", "--nodes", str(n)], "hosts": ["--host", hosts]}
        ranks = [ranks for ranks in self.ranks if n <= ranks <= RANKS_STATED]
        tables = {(failure, name): Table(f"hosts-{failure}-{name}", f"{title}, ms; failure of a {failure}, {n} hosts", "ranks", "ms", "intervals")
                  for failure in ("process", "node")
                  for name, title in (("whole", "From the notice of the failure until all are at the start again"), ("start", "Starting the new processes"))}

        def command(case, repetition):
            failure, ranks, kind = case
            return [f"{bench.bin}/rzrun", "-n", str(ranks), *where[kind], "--map-by", "node", "--oversubscribe", "--on-failure", "repair", "--report",
                    self.report, bench.compiled(RHIZOME, "bench_recovery"), "reinit", failure, BALLAST]

        def take(case, result):
            (failure, ranks, kind), record = case, records.take(self.report)
            return [(tables[failure, name], str(ranks), kind, records.of_last_recovery(record, f"{name}_ms")) for name in ("whole", "start")]
        cases = [(failure, n, kind) for failure in ("process", "node") for n in ranks for kind in where]
        text = f"### On {n} hosts\n\nOn {hosts} and on as many emulated nodes in turns."
        bench.part(text, list(tables.values()), (10, 2), cases, command, take, [case for case in cases if case[1] == ranks[0]])
        return True


# ---- figures 4 and 5: three proxy applications, weak scaling, a checkpoint after every iteration, and one failure in a random iteration, the same
# one for all methods. Where the time went they say themselves (apps/recovery). Stores as in table 2 of the paper: restart has files; Reinit and
# ULFM memory for the failure of a process and files for that of a node, and there, beside it, the memory of another node.

ITERATIONS = 20

# The program's method, and what rzrun does on a failure.
METHODS = {"Reinit": ("reinit", "repair"), "Reinit, buddy": ("reinit", "repair"), "ULFM": ("ulfm", "replace"), "ULFM, buddy": ("ulfm", "replace"),
           "restart": ("restart", "restart"), "undisturbed": ("plain", "continue")}
MEASURES = {"total": ("total time, s (figure 4)", 1, "s", ""), "application": ("pure application time, s (figure 5)", 1, "s", ""),
            "checkpoint": ("writing checkpoints, s", 1, "s", ""), "recovery": ("recovery, ms, and what of the iteration was lost", 1000, "ms", "log")}


def comd(ranks):
    sides = list(zip("ijkxyz", (*records.dimensions(ranks), *(4 * n for n in records.dimensions(ranks)))))
    return [word for axis, n in sides for word in (f"-{axis}", str(n))]


# With small parts for each rank: ten repetitions of all sizes and ways shall end within an hour.
APPS = {"hpccg": lambda ranks: ["16"] * 3, "comd": comd, "lulesh": lambda ranks: ["-s", "5"]}


class Apps(Recovery):
    def find(self):
        """What is not here is said, and left out: checkpoint schemes, checkpoints in files, applications."""
        bench = self.bench
        said = bench.run([f"{bench.bin}/rzrun", "--help"]).output
        self.schemes, self.in_files = "--checkpoint SCHEME" in said, "--checkpoint-dir DIR" in said
        if not self.schemes:
            bench.say("This rzrun has no `--checkpoint`: checkpoints are in the memory of two nodes.\n")
        if not self.in_files:
            bench.say("This rzrun has no `--checkpoint-dir`: no checkpoints in files, and no restart from them.\n")
        apps = list(APPS)[:1] if bench.quick else list(APPS)
        there = [app for app in apps if bench.app(app) and "--method" in bench.run([bench.app(app), "--help"]).output]
        for app in apps:
            if app not in there:
                bench.say(f"{app} is not here, or knows no --method: left out.\n")
        return there

    def methods(self, failure):
        there = {"Reinit": failure == "process" or (self.schemes and self.in_files), "restart": self.in_files}
        return [method for method in METHODS if there.get(method, failure == "node" or not method.endswith("buddy"))]

    def app_command(self, app, ranks, method, failure, seed):
        program_method, on_failure = METHODS[method]
        in_files = method == "restart" or (method == "Reinit" and failure == "node")
        words = [f"{self.bench.bin}/rzrun", "-n", str(ranks), "--nodes", str(self.nodes(ranks)), "--oversubscribe", "--on-failure", on_failure,
                 "--report", self.report]
        if self.schemes and (in_files or method.startswith("Reinit")):
            words += ["--checkpoint", "file" if in_files else "memory" if method == "Reinit" else "buddy"]
        words += ["--checkpoint-dir", self.files] if in_files else []
        words += [self.bench.app(app), *APPS[app](ranks), "--iterations", str(ITERATIONS), "--method", program_method]
        words += ["--checkpoint-files", self.files] if method == "ULFM" and failure == "node" else []
        return words + ([] if method == "undisturbed" else ["--fail", failure, "--fail-seed", str(seed)])

    def ranks_of(self, app):
        """The study's numbers of ranks, or as many cubes up to the greatest of them."""
        if app == "lulesh":
            return [edge ** 3 for edge in range(2, 2 if self.bench.quick and max(self.ranks) < 8 else 11)
                    if edge ** 3 <= max(self.ranks) and (not self.bench.quick or edge == 2)]
        return [ranks for ranks in self.ranks if not self.bench.quick or ranks <= 8 or ranks == self.ranks[0]]

    def make(self, app, failure):
        bench, ranks = self.bench, self.ranks_of(app)
        tables = [Table(f"{app}-{failure}-{name}", f"{app}, failure of a {failure}: {title}", "ranks", unit, f"intervals plot log2 {log}")
                  for name, (title, _, unit, log) in MEASURES.items()]

        def command(case, repetition):
            shutil.rmtree(self.files, ignore_errors=True)
            os.mkdir(self.files)
            return self.app_command(app, *case, failure, repetition + 1)

        def take(case, result):
            """What rzrun needed to restart the proxy cannot know: rzrun's report does."""
            (ranks, method), line, found = case, result.line("times"), []
            whole_ms = records.of_last_recovery(records.take(self.report), "whole_ms")
            for table, (name, (_, scale, _, _)) in zip(tables, MEASURES.items()):
                value = records.of_times(line, name)
                if method == "restart" and name in ("total", "recovery") and value is not None:
                    value = None if whole_ms is None else whole_ms / 1000 + (value if name == "total" else 0)
                if method != "undisturbed" or name in ("total", "application"):
                    found.append((table, str(ranks), method, None if value is None else value * scale))
            return found if line else None
        if ranks:
            bench.part("", [], (10, 1), [(n, method) for n in ranks for method in self.methods(failure)], command, take, ())
            bench.say(f"\n#### {app}, failure of a {failure}\n")
            bench.show(*(self.app_command(app, ranks[0], method, failure, 1) for method in self.methods(failure)), tables=tables)
        if ranks and failure == "process":
            self.claim(app, tables[1])

    def claim(self, app, table):
        """Figure 5 of the source: restarting and Reinit take the same application time, ULFM more. In the row of the most ranks."""
        for other, stated in (("ULFM", "ULFM takes more"), ("restart", "the same")):
            row = next((row for row in reversed(table.rows) if table.at(row, other).values and table.at(row, "Reinit").values), None)
            if row:
                what = f"figure 5, {app}, {row} ranks: application time, {other} / Reinit ({stated})"
                ratio = table.ratio(row, other, "Reinit").interval()
                if other == "ULFM":
                    self.bench.claims.least(what, 1, ratio)
                else:
                    self.bench.claims.most(what, 1.1, ratio)


def apps(study):
    study.bench.say(f"\n### Applications\n\nWeak scaling, {ITERATIONS} iterations, a checkpoint after each, one failure in the same iteration for all "
                    "methods. Recovery: from the begin of that iteration, of restart from the notice of the failure.\n")
    study.bench.each([(app, failure) for app in study.find() for failure in ("process", "node")], lambda case: study.make(*case))
    return True


PARTS = {"process": lambda study: study.times("process"), "node": lambda study: study.times("node"), "hosts": lambda study: study.hosts(), "apps": apps}
SHARES, SHARES_QUICK = (0.3, 0.25, 0.2, 1.0), (0.6, 0.5, 0.2, 1.0)


def study(bench):
    recovery = Apps(bench)
    bench.quickly(36)  # all is over within 45 s, as it is promised; what is under way then needs some
    if not recovery.ranks:
        bench.warn("the study recovery needs 4 ranks at least (--ranks)")
    if not recovery.ranks or not bench.compile("bench_recovery", peers=True):
        return False
    peer = bench.peer_open("bench_recovery") or ("left out" if bench.options.no_peers else
                                                 "not here (--peer-root; tools/setup --peers makes it available), left out")
    bench.say(f"\n## Global restart\n\nMedians (95 % interval of the mean by Student's t). Open MPI 5 with ULFM: {peer}.\n")
    good = bench.judged(bench.parts(PARTS, recovery, SHARES_QUICK if bench.quick else SHARES), "runs of ours complete")
    bench.say(f"\nOf the peers {recovery.peers.text()} runs complete.\n" if recovery.peers.runs else "")
    return good
