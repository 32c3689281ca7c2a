#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The programs of the dynamic group end with the right result, whichever processes leave: group_test.py BUILD CASE, where CASE is

plain METHOD   the sort undisturbed: sizes, numbers of processes and of lists, distributions, places for checkpoints
leave METHOD   with processes that crash, are stopped or slow; some come back
again          a step done again makes only what is missing
nodes          a node fails with its part of the checkpoints
damage         a damaged checkpoint is found, in one clear line
alone          without a launcher
wrong          options that cannot be: one line that says so
bag            a bag of tasks with failures, stops, slow ones: the checksum of an undisturbed run
callbacks      the same bag without rounds
pi             runs of pi with failures; a plot
no_result      all leave: refused where it is known, said where it is found out
full           a disk that is full: one line, and nothing stays there
starts         failures from outside at any instant from the end of MPI_Init on: each program begins with the others
"""
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/..")
from patience import HANG, HANG_S  # noqa: E402

BUILD = sys.argv[1]
RZRUN = f"{BUILD}/bin/rzrun"
SORT, BAG, PI = (f"{BUILD}/apps/{name}" for name in ("hyperquicksort", "bag", "pi"))
# Failures come with proof here; with more patience a loaded machine does not add some that only seem to be.
LAUNCH = [RZRUN, "--oversubscribe", "--hb-timeout", "5s", "--timeout", HANG]
# A stopped process is excluded soon; one that is only late on a loaded machine may be, too: results are the same.
GROUP = [word for key in ("interval=50ms", "first_threshold=500ms", "least_threshold=100ms") for word in ("--group", key)]
PI_LINE = r"pi = 3\.1415926\d*, 20 runs of 100000 intervals"
WRONG = [
    (SORT, [], "COUNT '' is not there"),
    (SORT, ["many"], "COUNT 'many' is not a whole number"),
    (SORT, ["10", "--virtual", "6"], "--virtual '6' is not a power of two"),
    (SORT, ["10", "--method", "prayer"], "--method 'prayer' is not dgrp, no-rejoin or ulfm"),
    (SORT, ["10", "--distribution", "odd"], "--distribution 'odd' is not"),
    (SORT, ["10", "--store", "file"], "--store file needs --dir D, a folder that all nodes see"),
    (SORT, ["10", "--store", "file", "--dir", ""], "--dir '' is not a folder"),
    (SORT, ["10", "--store", "memory", "--dir", "x"], "--dir 'x' goes with --store file, which is not there"),
    (SORT, ["10", "--fail", "crash"], "--fail 'crash' is not one or more of kill, stop, slow, starve"),
    (SORT, ["10", "--fail", "kill,"], "--fail 'kill,' is not one or more of"),
    (SORT, ["10", "--return", "101%"], "--return '101%' is not a part in percent"),
    (SORT, ["10", "--group", "interval"], "--group 'interval' is not"),
    (SORT, ["10", "--group", "foo=bar"], "--group 'foo=bar' is not interval=, zeta=, threshold=, factor="),
    (SORT, ["10", "--method", "ulfm", "--group", "zet=1"], "--group 'zet=1' is not interval=, zeta="),
    (SORT, ["10", "--group", "name="], "--group 'name=' is not"),
    (SORT, ["10", "--never"], "the argument '--never' is not an option"),
    (BAG, [], "TASKS '' is not there"),
    (BAG, ["10", "--failure-seconds", "-1"], "--failure-seconds '-1' is not a time"),
    (BAG, ["10", "--callbacks", "--failure-seconds", "1"], "--failure-seconds is for rounds"),
    (BAG, ["10", "--work"], "--work '' is not a whole number"),
    (BAG, ["10", "--never"], "the argument '--never' is not an option"),
    (PI, ["10", *["--group", "zeta=2"] * 17], "--group 'zeta=2' is not one of at most 16 settings"),
    (PI, ["10", "--runs", "0"], "--runs '0' is not a whole number from 1"),
    (PI, ["10", "--plot", ""], "--plot '' is not a file"),
    (PI, ["10", "--csv", ""], "--csv '' is not a file"),
    (PI, ["0"], "INTERVALS '0' is not a whole number"),
    (PI, ["10", "--fail-count", "few"], "--fail-count 'few' is not a number of processes"),
]


def run(command, status=0):
    """stdout's lines, and stderr; with another status than the one expected the check fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * HANG_S)
    if done.returncode != status:
        sys.exit(f"{shlex.join(command)}\nended with {done.returncode} instead of {status}:\n{done.stdout}{done.stderr}")
    return done.stdout.splitlines(), done.stderr


def sorts(count, arguments, launch):
    """The result is there, once, as the last line."""
    command = [*launch, SORT, str(count), *arguments]
    lines, said = run(command)
    told = [line for line in lines if re.fullmatch(rf"sorted {count} in \d+\.\d+ s", line)]
    if len(told) != 1 or lines[-1] != told[0]:
        sys.exit(f"{shlex.join(command)}\nno result, or several:\n" + "\n".join(lines) + f"\n{said}")
    return said


def job(ranks, *options):
    return [*LAUNCH, "-n", str(ranks), *options]


def plain(method):
    """Every size meets every number of processes; the other settings rotate. A process is excluded here only when the machine is
    very loaded, and then the result is the same."""
    distributions, turn = ("uniform", "few", "sorted", "equal"), 0
    with tempfile.TemporaryDirectory(prefix="group-test-") as folder:
        for ranks in 1, 2, 3, 5, 8, 16:
            for count in 0, 1, 7, 1000, 100000:
                turn += 1
                more = ["--distribution", distributions[turn % 4], "--seed", str(turn)]
                more += ["--virtual", str(1 << turn % 6)] if turn % 3 == 0 else []
                more += ["--store", "file", "--dir", folder] if turn % 5 == 0 else []
                said = sorts(count, ["--method", method, "--times", *more], job(ranks))
                if len(re.findall(r"^times total \S+ sort \S+ exchange \S+ store \S+ round \S+$", said, re.MULTILINE)) != 1:
                    sys.exit(f"no line of times, or several:\n{said}")
        if os.listdir(folder):
            sys.exit(f"left in the folder for checkpoints: {os.listdir(folder)}")


def leave(method):
    with tempfile.TemporaryDirectory(prefix="group-test-") as folder:
        for seed, (how, count) in enumerate([("kill", 1), ("kill", 7), ("stop", 2), ("stop", 7), ("slow", 3), ("kill", 4),
                                             ("starve", 7), ("kill,stop,slow,starve", 7)], 1):
            store = ["--store", "file", "--dir", folder] if seed % 2 else []
            more = ["--fail", how, "--fail-count", str(count), "--fail-seed", str(seed), "--return", "60%", *store]
            sorts(20000, ["--method", method, *more, *(GROUP if method != "ulfm" else [])], job(8))
        if os.listdir(folder):
            sys.exit(f"left in the folder for checkpoints: {os.listdir(folder)}")


def again():
    """A repeated step makes only the lists that no process has made: here one has failed after all were made."""
    for seed in 11, 28:
        more = ["--method", "ulfm", "--progress", "--fail", "kill", "--fail-seed", str(seed)]
        said = sorts(20000, more, job(8))
        if not re.search(r"^step 1: [1-7] of 8 lists are made already$", said, re.MULTILINE):
            sys.exit(f"seed {seed}: the whole step was done again\n{said}")


def nodes():
    """Of lists in the memory of a node that fails there is a copy on the next one."""
    for method, seed in ("dgrp", 1), ("no-rejoin", 2), ("ulfm", 3):
        # One process is stopped, so that the sort is under way when the node fails.
        more = ["--fail", "stop", "--fail-count", "1", "--fail-seed", str(seed), *(GROUP if method != "ulfm" else [])]
        sorts(200000, ["--method", method, *more], job(8, "--nodes", "4", "--inject", f"kill node {seed} at iteration 2"))
    left = [name for name in os.listdir("/dev/shm") if name.startswith("rhizome-")]
    mine = [name for name in left if not others_use(name)]
    if mine:
        sys.exit(f"scratch folders of jobs that are over: {mine}")


def others_use(name):
    """Whether a process has this job's number: then it is another one that runs beside this test."""
    needle = f"RZ_SCRATCH=/dev/shm/{name}".encode()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as environ:
                if needle in environ.read().split(b"\0"):
                    return True
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return not os.path.exists(f"/dev/shm/{name}")


def damage():
    with tempfile.TemporaryDirectory(prefix="group-test-") as folder:
        for method in "dgrp", "ulfm":
            found = 0
            for seed in range(1, 5):  # a process that fails before there is a checkpoint damages none
                command = [*job(4), SORT, "1000", "--method", method, "--store", "file", "--dir", folder, "--fail", "kill", "--fail-damage",
                           "--fail-seed", str(seed)]
                done = subprocess.run(command, capture_output=True, text=True, timeout=2 * HANG_S)
                words = [line for line in done.stderr.splitlines() if line.startswith("hyperquicksort:") and " leaves " not in line]
                said = len(words) == 1 and re.search(r"the checkpoint \S+ is damaged: its checksum says so$", words[0])
                if done.returncode == 1 and said and "sorted" not in done.stdout:
                    found += 1
                elif done.returncode != 0 or not done.stdout.startswith("sorted 1000 in "):
                    sys.exit(f"{shlex.join(command)}\nexit status {done.returncode}:\n{done.stdout}{done.stderr}")
            if found == 0:
                sys.exit(f"{method}: no damage was met; choose other seeds")


def alone():
    for method in "dgrp", "no-rejoin", "ulfm":
        for count in 0, 1, 1000:
            sorts(count, ["--method", method, "--virtual", "8"], [])
    lines, _ = run([BAG, "20", "--work", "1"])
    if lines != run([*job(3), BAG, "20", "--work", "1"])[0]:
        sys.exit(f"a bag alone has another result: {lines}")
    run([PI, "1000", "--runs", "2"])


def wrong():
    for program, arguments, words in WRONG:
        lines, said = run([program, *arguments], 2)
        if lines or said.count("\n") != 1 or words not in said:
            sys.exit(f"{shlex.join([program, *arguments])}\nexpected one line with '{words}':\n{said}")
    for program in SORT, BAG, PI:
        lines, said = run([program, "--help"])
        if said or not lines[0].startswith("usage: "):
            sys.exit(f"{program} --help said:\n" + "\n".join(lines) + said)
        _, said = run([*job(3), program, "10", "--group", "zeta=many"], 1)
        if said.count(f"{os.path.basename(program)}:") != 1 or "zeta" not in said:
            sys.exit(f"{program}: expected one line that names zeta:\n{said}")


LEAVING = [("kill", 1), ("kill", 7), ("stop", 4), ("slow", 4), ("stop", 7)]


def bag_by(way, work, returns):
    """way: the options of rounds, or of callbacks."""
    calm, _ = run([*job(8), BAG, "200", "--work", work])
    if len(calm) != 1 or not re.fullmatch(r"bag of 200: [0-9a-f]{16}", calm[0]):
        sys.exit(f"no checksum: {calm}")
    if run([*job(8), BAG, "200", "--work", work, *way])[0] != calm:
        sys.exit(f"{way}: another checksum")
    for part in returns:
        for seed, (how, count) in enumerate(LEAVING, 1):
            command = [*job(8), BAG, "200", "--work", work, *way, "--times", *GROUP, "--fail", how, "--fail-count", str(count), "--fail-seed",
                       str(seed), "--return", part]
            lines, said = run(command)
            if lines != calm:
                sys.exit(f"{shlex.join(command)}\nundisturbed {calm}, now {lines}\n{said}")
    for count, words in ("0", "bag of 0: "), ("3", "bag of 3: "):
        lines, _ = run([*job(5), BAG, count, "--work", "1", *way])
        if len(lines) != 1 or not lines[0].startswith(words):
            sys.exit(f"a bag of {count}: {lines}")


def bag():
    bag_by(["--failure-seconds", "1"], "20", ["60%"])


def callbacks():
    """With and without processes that come back, and over several nodes, one of which fails."""
    bag_by(["--callbacks"], "20", ["0%", "100%"])
    bag_by(["--callbacks"], "100", ["60%"])
    calm, _ = run([*job(4), BAG, "400", "--work", "50"])
    command = [*job(8, "--nodes", "4", "--inject", "kill node 1 at 100ms"), BAG, "400", "--work", "50", "--callbacks", *GROUP]
    lines, said = run(command)
    if lines != calm:
        sys.exit(f"{shlex.join(command)}\nundisturbed {calm}, now {lines}\n{said}")


def no_result():
    all_leave = "all 4 processes would leave, and none come back: no process would have a result"
    for program in ([SORT, "1000", "--method", "no-rejoin"], [SORT, "1000"], [BAG, "100"], [PI, "1000"]):
        for how in ("slow", "stop", "kill"):
            command = [*job(4), *program, "--fail", how, "--fail-count", "4", "--return", "0%"]
            lines, said = run(command, 2)
            if lines or said.count(all_leave) != 1:
                sys.exit(f"{shlex.join(command)}\nexpected one line '{all_leave}':\n{said}")
    # Rank 0 leaves at once; the other one is killed long before it is done.
    for way in [], ["--callbacks"]:
        command = [*job(2, "--inject", "kill rank 1 at 1500ms"), BAG, "100000", "--work", "1000", *way, *GROUP, "--fail", "slow", "--fail-time",
                   "100", "--fail-seed", "1", "--return", "0%"]
        lines, said = run(command, 1)
        if lines or said.count("bag: no result: all that are left have left the group\n") != 1:
            sys.exit(f"{shlex.join(command)}\nexpected a line that says so:\n{lines}\n{said}")


def full():
    """A limit for files stands for the disk."""
    with tempfile.TemporaryDirectory(prefix="group-test-") as folder:
        limited = f"trap '' XFSZ; ulimit -f 4096; exec {shlex.quote(SORT)} 9000000 --store file --dir {shlex.quote(folder)}"
        lines, said = run(["sh", "-c", limited], 1)
        if lines or said.count("\n") != 1 or "no checkpoint can be written to" not in said or os.listdir(folder):
            sys.exit(f"expected one line, and nothing left: {lines} {said} {os.listdir(folder)}")


def pi():
    with tempfile.TemporaryDirectory(prefix="group-test-") as folder:
        plot, csv = f"{folder}/pi.svg", f"{folder}/pi.csv"
        lines, said = run([*job(4), PI, "100000", "--runs", "20", "--times", "--csv", csv, "--plot", plot])
        if len(lines) != 1 or not re.fullmatch(PI_LINE, lines[0]) or len(re.findall(r"(?m)^run \d+ of \d+ processes \S+ s$", said)) < 20:
            sys.exit(f"{lines}\n{said}")
        drawn = "".join(xml.etree.ElementTree.parse(plot).getroot().itertext())
        if "The same computation 20 times" not in drawn:
            sys.exit(f"the plot has no title: {drawn}")
        with open(csv, encoding="utf-8") as file:
            heading, *rows = file.read().splitlines()
        if heading != "run,seconds" or [row.split(",")[0] for row in rows] != [str(i) for i in range(20)]:
            sys.exit(f"not the times of 20 runs: {heading} {rows}")
    for option in "--plot", "--csv":
        lines, said = run([*job(2), PI, "1000", option, f"{folder}/nowhere/pi"], 1)
        if lines or said.count("cannot be written") != 1:
            sys.exit(f"a file of {option} that cannot be written: {lines}\n{said}")
    alone = PI_LINE.replace("20 runs of 100000", "1 runs of 7").replace("1415926", "14")
    for ranks in 1, 3:  # more slices than intervals
        lines, _ = run([*job(ranks), PI, "7"])
        if len(lines) != 1 or not re.fullmatch(alone, lines[0]):
            sys.exit(f"7 intervals: {lines}")
    for seed, how in enumerate(("kill", "stop", "slow"), 1):
        lines, said = run([*job(6), PI, "100000", "--runs", "20", *GROUP, "--fail", how, "--fail-count", "5", "--fail-seed", str(seed)])
        if len(lines) != 1 or not re.fullmatch(PI_LINE, lines[0]):
            sys.exit(f"{how}: {lines}\n{said}")


STARTS, FAILURES, START_MS = 15, 2, 25
KILLED = 128 + 9


def starts():
    """The failures are within the first milliseconds of runs that take some hundred, in starts of the group or soon behind them."""
    bag_line = run([*job(6), BAG, "100", "--work", "100"])[0][0]
    programs = [([BAG, "100", "--work", "100", "--failure-seconds", "1"], re.escape(bag_line)),
                ([BAG, "100", "--work", "100", "--callbacks"], re.escape(bag_line)),
                ([PI, "2000000", "--runs", "20"], r"pi = 3\.1415926\d*, 20 runs of 2000000 intervals"),
                *(([SORT, "1000000", "--method", method], r"sorted 1000000 in \d+\.\d+ s") for method in ("dgrp", "no-rejoin", "ulfm"))]
    for program, wanted in programs:
        for seed in range(STARTS):
            draw = random.Random(f"{os.path.basename(program[0])} {seed}")
            failures = [f"kill rank {rank} at {draw.randrange(START_MS * 1000)}us" for rank in draw.sample(range(6), FAILURES)]
            group = GROUP if program[-1] != "ulfm" else []
            command = [*job(6, *(word for failure in failures for word in ("--inject", failure))), *program, *group]
            done = subprocess.run(command, capture_output=True, text=True, timeout=2 * HANG_S)
            lines = done.stdout.splitlines()
            # On a very loaded machine a failure may come when the others are done: no process acknowledges it, or it is that of the process that has printed.
            right = lines and all(re.fullmatch(wanted, line) for line in lines) and len(lines) <= 1 + FAILURES
            if not right or done.returncode not in (0, KILLED):
                sys.exit(f"{shlex.join(command)}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")


CASES = {"plain": plain, "leave": leave, "again": again, "nodes": nodes, "damage": damage, "alone": alone, "wrong": wrong, "bag": bag, "pi": pi,
         "callbacks": callbacks, "no_result": no_result, "full": full, "starts": starts}
CASES[sys.argv[2]](*sys.argv[3:])
