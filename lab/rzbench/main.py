# SPDX-License-Identifier: BSD-3-Clause
"""The command: its options, its studies, and a run of them from the first line of the report to the last."""
import os
import shutil
import sys
import tempfile
import time

from . import checkpoint, files, foreign, group, mpi, records, recovery, rewind, rma, runtime, simple, tune, ulfm
from .cli import DURATION, Cli, Option, Out, numbers, seconds, taking
from .run import Interrupt
from .systems import RHIZOME, SYSTEMS, Systems

INCOMPLETE = 1  # exit status
HOW_TO_READ = "Medians [smallest..largest] of n repetitions, ratios repetition by repetition; (95 % interval of the mean); bold: it does not hold."

# What is measured: the study, its parts (None: it has none), and what it is, in the words of --help.
STUDIES = {
    "failure": (simple.failure, None, "from SIGKILL to the last survivor's error, and to its roll-back."),
    "latency": (simple.latency, None, "ping-pong of two ranks, within a node and between nodes."),
    "crowd": (simple.crowd, None, "64 ranks on this machine, whole programs and collective calls."),
    "all": (None, None, "the three above."),
    "runtime": (runtime.study, runtime.PARTS, "the daemons, by parts: streams (frames between hosts, sealed beside "
                "plain), noise (what heartbeats cost messages), accuracy (how short they may be), "
                "detect (a silent or killed node: first seen, known to all), many (several at once), spread (news of a failed process), members (beside "
                "memberlist), footprint (an idle daemon)."),
    "ulfm": (ulfm.study, ulfm.PARTS, "the calls of user-level failure mitigation over the number of ranks, beside Open MPI 5 where it is, by parts: "
             "agree (beside allreduce), trees, engines, shrink, failures (shrink over their number), revoke, perturb (collectives after a revoke), detect "
             "(SIGKILL to the last error), replace, program (one in the manner of MiniFE)."),
    "recovery": (recovery.study, recovery.PARTS, "global restart by MPIX_Reinit, the ULFM way and restarting, beside the same of the peers, by "
                 "parts: process, node (what fails; the recovery alone), apps (three applications), hosts (with --hosts: on hosts that rzrun reaches "
                 "by ssh, beside as many emulated nodes); its last line is the verdict on what was asked (own bounds are shown, and do not count)."),
    "checkpoint": (checkpoint.study, checkpoint.PARTS, "what checkpoints cost, by parts: copy (beside memcpy), pages (of which a share changed), erasure "
                   "(beside ISA-L), files (beside dd), apps (one in each iteration); its last line is the verdict."),
    "group": (group.study, group.PARTS, "the dynamic group of recommended processes, by parts: sort (processes that leave it), slices (the same, as if "
              "each had a processor), scale (one process alone), noise (what its tests cost), watch (18 hosts over time); its last line is the verdict."),
    "mpi": (mpi.study, mpi.PARTS, "what an MPI program sees, by parts: messages (latency, bandwidth and message rate of two ranks), network (the same on two "
            "nodes), collectives (2 to 64 ranks), loops (collective calls one at a time, round trips of two buffers, several threads), nodes (32 ranks on "
            "4 nodes), start (a program that does nothing, 4 to 1024 ranks), memory (of a rank), "
            "proxies (three applications, also with --no-ft), pair (two ranks, as they wait by default and yielding, as the machine is and with slow "
            "wake-ups), crowd (8 and 32 ranks), calls (instructions of the shortest paths, by valgrind); its last line is the verdict."),
    "rma": (rma.study, rma.PARTS, "one-sided communication, by parts: allocated and created (two ranks and a window of either kind: put, get, "
            "fetch_and_op, compare_and_swap, locks and fences, bandwidth), nodes (the same on two nodes), contention (8 ranks that want one lock); its last "
            "line is the verdict."),
    "io": (files.study, files.PARTS, "collective writing of one file of 1 GiB (with --quick 16 MiB) by 8 ranks, in blocks of a cube, in rows and in small "
           "records, by parts: memory (tmpfs), disk (in TMPDIR); its last line is the verdict."),
    "rewind": (rewind.study, rewind.PARTS, "images of programs that do nothing about failures (rzrun --rewind), by parts: pause (of a snapshot, beside copies "
               "of the same memory), recovery (from a kill until all run again), run (the run time that snapshots take, and the time from a kill until all run "
               "again, beside a program that saves itself to files), memory (what is held, by each scheme of --checkpoint); its last line is the verdict."),
    "foreign": (foreign.study, None, "from SIGKILL until each client of libpmix is told, beside Open MPI 5's own runtime where it is."),
    "tune": (tune.study, None, "each algorithm of each collective operation on this machine, and the rules for RZ_COLL that follow (--rules)."),
}
OF_ALL = {"failure": 0.4, "latency": 0.4, "crowd": 1.0}  # and their shares of the time that is left

FOLDER = taking("it wants the path of a folder", "/.*")


def duration(why):
    return taking(why, DURATION, seconds, lambda value: value > 0)


def ranks(why):
    return taking(why, r"\d{1,4}(,\d{1,4}){0,15}", numbers, lambda values: all(1 <= n <= 1024 for n in values))


OPTIONS = [
    ("How much", [
        Option("-r, --repetitions", "N", "Repeat each measurement N times (3 to 25; with --quick 1 or 2); systems take turns in each.",
               taking("it wants a whole number from 1 to 64", r"\d{1,4}", int, lambda n: 1 <= n <= 64)),
        Option("--quick", None, "Fewer repetitions and fewer cases."),
        Option("--budget", "T", "Start nothing after this time; end what still runs. Default: none.", duration("it wants a time like 300s or 10m")),
        Option("--limit", "T", "End a single run after this time (30s).", duration("it wants a time like 30s")),
        Option("--ranks", "N,...", "For `ulfm`, `recovery`, `tune`, and `collectives`, `loops` and `start` of `mpi`: numbers of ranks (2 or 4 to 256 by "
               "powers of two; with --quick 4 and 8, or 8 and 64; `tune`: 2, and as many and four times as many as there are processors; `mpi`: 2 to "
               "64, 2 to 32, and 4 to 1024). For `rewind run` the number of them (8 where there are as many processors, else 2).",
               ranks("it wants numbers like 2,4,8 (16 at most, up to 1024)")),
        Option("--hosts", "HOST,...", "For `recovery hosts`: hosts in the form of rzrun --host. They see the program by TMPDIR, a folder at the same "
               "path on all of them."),
        Option("--nodes", "N,...", "For `ulfm`: numbers of emulated nodes (1 and 8; with --quick 1 and 2). For `recovery`: the number of them (one "
               "for each 16 ranks, two at least), and for `rewind run` (one for each two ranks, two at least).",
               ranks("it wants numbers like 1,8 (16 at most, up to 1024)"))]),
    ("Beside what", [
        Option("--no-peers", None, "Leave Open MPI, MPICH and memberlist out even where they are installed."),
        Option("--peer-root", "DIR", "For `ulfm` and `recovery`: the root folder of a system that has Open MPI with ULFM, as tools/setup --peers makes "
               "it (/var/lib/rhizome/peer-root). Entering it needs root.", FOLDER),
        Option("--baseline", "DIR", "For `mpi`: where an earlier Rhizome is installed, to be measured beside this one.", FOLDER),
        Option("--pin", "CPU,CPU|none", "Processors of the two ranks of `latency`, `mpi` and `rma` (0,1 where there are two).",
               taking("it wants two processors like 0,1, or none", r"\d+,\d+|none"))]),
    ("What is written", [
        Option("--csv", "FILE", "Every single value: table, row, column, repetition, value."),
        Option("--plot", "FILE", "Draw by gnuplot; the ending (svg, png, pdf) says how. Further plots get their name before the ending."),
        Option("--rules", "FILE", "For `tune`: write the rules to FILE, for RZ_COLL=@FILE."),
        Option("--report", "FILE", "Write what is printed to FILE, too.")])]


def command_line(version):
    return Cli("rzbench", version, "measure Rhizome, beside Open MPI and MPICH where they are installed",
               "STUDY [PART] [OPTION]...",
               "Programs are compiled at the start with each system's own wrapper. Figures are medians [smallest..largest] of n repetitions. Without PART "
               "all parts of a study are measured.",
               {name: text[0].upper() + text[1:] for name, (_, _, text) in STUDIES.items()}, OPTIONS,
               "Exit status: 0; 1 when a run of failure or ulfm was not complete, the verdict of another\nstudy is that something does not hold, or "
               "nothing could be measured; 2 when the command line\nis wrong; 9 when standard output could not be written.\n\n"
               "Example: everything within ten minutes\n"
               "  rzbench all --budget 10m --report benchmarks.md --csv benchmarks.csv")


def parse(cli, words):
    options = cli.parse(words)
    *names, last = STUDIES
    study, part, more = [*options.words, None, None, None][:3]
    if not study:
        cli.refuse(f"say what to measure: {', '.join(names)} or {last}")
    if study not in STUDIES:
        cli.refuse(f"'{study}' cannot be measured")
    parts = STUDIES[study][1]
    if part and parts and part not in (*parts, "all"):
        cli.refuse(f"'{part}' is no part of {study}")
    if more or (part and not parts):
        cli.refuse(f"'{more or part}' is one word too many")
    options.study, options.part, options.limit = study, part or "all", options.limit or 30.0
    options.pin = None if options.pin == "none" else options.pin or ("0,1" if os.cpu_count() > 1 else None)
    return options


def opened(cli, path):
    out = Out(path) if path else None
    if out and out.failure:
        cli.refuse(f"cannot write '{path}'")
    return out


def show_head(bench, words, build_type):
    """What a reader must know of the machine."""
    cpu, memory, system = records.contents("/proc/cpuinfo"), records.contents("/proc/meminfo"), os.uname()
    model, total = (records.first_value(text, name) for text, name in ((cpu, "model name"), (memory, "MemTotal")))
    source = os.path.dirname(os.path.realpath(f"{bench.sources}/ring.c"))
    asked = bench.run(["git", "-C", source, "describe", "--always", "--dirty"])
    commit = f", commit {asked.output.strip()}" if asked.good() else ""
    missing = f"left out{'' if bench.options.no_peers else ', not installed'}"
    peers = "; ".join(f"{name}: {bench.versions.get(name, missing)}" for name in SYSTEMS if name != RHIZOME)
    bench.say(f"# Benchmarks\n\n`{' '.join(['rzbench', *words])}`, {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}{commit}. {HOW_TO_READ}\n\n"
              f"{os.cpu_count()} processors ({model}), {total} of memory, {system.sysname} {system.release}; load at the start {os.getloadavg()[0]:.2f}. "
              f"{bench.versions[RHIZOME]}, {build_type}; {peers}.\n")


def run_studies(bench):
    if bench.options.budget:
        bench.deadline = time.monotonic() + bench.options.budget
    asked = OF_ALL if bench.options.study == "all" else {bench.options.study: 1.0}
    good = [bench.within(share, lambda: STUDIES[name][0](bench)) for name, share in asked.items()]
    return all(good) and bench.tables > 0


def measure(bench, words, build):
    if not bench.find(build["version"]):
        return False
    show_head(bench, words, build["type"])
    good = run_studies(bench)
    load = os.getloadavg()  # others may have come in the meantime: a reader must see it
    bench.say(f"\nLoad at the end: {load[0]:.2f} (1 min), {load[2]:.2f} (15 min).\n" + (f"{bench.verdict}\n" if bench.verdict else ""))
    return good


def main(words, bin_folder, share, build):
    """share: share/rhizome; build: the version and the type of the build."""
    cli = command_line(build["version"])
    options = parse(cli, words)
    outs = stdout, report, csv = Out(1), opened(cli, options.report), opened(cli, options.csv)
    interrupt = Interrupt()
    try:
        folder_made = tempfile.mkdtemp(prefix="rzbench-", dir=os.environ.get("TMPDIR") or "/tmp")
    except OSError as failure:
        sys.stderr.write(f"rzbench: no temporary folder: {failure}\n")
        return INCOMPLETE
    try:
        bench = Systems(options, bin_folder, f"{share}/bench", folder_made, interrupt, outs)
        if csv:
            csv.write("table,row,column,repetition,value\n")
        good = measure(bench, words, build)
    finally:
        shutil.rmtree(folder_made, ignore_errors=True)
    for out, path in ((report, options.report), (csv, options.csv)):
        if out and out.failure:
            sys.stderr.write(f"rzbench: {path}: not all of it could be written: {out.failure.strerror}\n")
            good = False
    return cli.finish(stdout, 0 if good else INCOMPLETE)
