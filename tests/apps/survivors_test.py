#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The programs that survive with windows and files end with the bytes of the undisturbed run: survivors_test.py BUILD CASE

PROGRAM     halo, hashtable, queue or checkpoint_file: processes and nodes fail at random iterations, and at named steps inside the library
again       checkpoint_file: the whole job is killed, and started again with another number of processes
alone       what does not depend on the number of processes is the same without a launcher
wrong       arguments, or a file, that cannot be: status 2 or 1, and a line that says so
"""
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/..")
import scratch  # noqa: E402
from patience import HANG, HANG_S  # noqa: E402

BUILD = sys.argv[1]
RANKS, NODES = 6, 3
WORK = scratch.folder("survivors-test-")
FILE = f"{WORK}/rod"
# Failures are proved here; a longer timeout avoids false ones on a loaded machine.
RZRUN = [f"{BUILD}/bin/rzrun", "--oversubscribe", "--hb-timeout", "5s", "--timeout", HANG]
JOB = [*RZRUN, "-n", str(RANKS), "--nodes", str(NODES)]
PROGRAMS = {
    "halo": ["halo", "24", "20", "60"],
    "hashtable": ["hashtable", "400", "300"],
    "queue": ["queue", "300"],
    "checkpoint_file": ["checkpoint_file", FILE, "3000", "60"],
}
# The iterations that the program marks, in which failures are drawn.
MARKS = {"halo": 60, "hashtable": 4, "queue": 8, "checkpoint_file": 60}
# Named steps, each with the failure that comes first, if one must. Rank 0 of the queue prints the result: a failure between the last
# agreement and that loses it.
FIRST, LATER = ["--inject", "kill rank 4 at iteration 2"], ["--inject", "kill rank 4 at iteration 12"]
STEPS = {
    "halo": [("checkpoint-half:2@1", []), ("store:3@0", []), ("stored:2@5", []), ("send:40@3", []), ("restored@2", LATER),
             ("went-back@0", LATER)],
    "hashtable": [("checkpoint:2@0", []), ("stored:2@1", []), ("arrived:200@2", []), ("restore@3", FIRST)],
    "queue": [("protocol-message:1@2", []), ("read:1@0", []), ("comm:1@0", []), ("arrived:15@0", []), ("protocol-message:2@1", FIRST),
              ("decided:1@0", FIRST), ("comm:2@0", FIRST), ("decided:2@3", FIRST)],
    "checkpoint_file": [("send:55@3", []), ("data-file-opened:2@0", []), ("data-file-commit:2@0", []), ("data-file-committed:1@0", []),
                        ("data-file-committed:3@0", [])],
}


# On a busy machine a rank may be killed when all others have left already: nobody acknowledges that, and the job says so.
LATE = r"rzrun: rank \d+ was killed by signal 9 \(Killed\)\n"


def run(command, status=0, late=False):
    """stdout and stderr; with another status than the one expected the check fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=2 * HANG_S, check=False)
    if done.returncode != status and not (late and done.returncode == 137 and re.fullmatch(LATE, done.stderr)):
        sys.exit(f"{shlex.join(command)}\nended with {done.returncode} instead of {status}:\n{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


def words_of(program):
    return [f"{BUILD}/apps/{PROGRAMS[program][0]}", *PROGRAMS[program][1:]]


def contents():
    """Of the file, which is then removed; no other file may be there."""
    if os.listdir(WORK) != ["rod"]:
        sys.exit(f"instead of one file there are {os.listdir(WORK)}")
    with open(FILE, "rb") as file:
        found = file.read()
    os.remove(FILE)
    return found


def answer(program, options):
    """What the program prints and leaves."""
    out, said = run([*JOB, *options, *words_of(program)], late="--inject" in options)
    return out, contents() if program == "checkpoint_file" else b"", said


def failures_in(report):
    with open(report, encoding="utf-8") as events:
        return len(set(re.findall(r"event=failure_news \S+ (\S+ \S+ \S+) ", events.read())))


def disturbed(program, calm, options, least):
    with tempfile.NamedTemporaryFile(prefix="survivors-test-") as report:
        out, left, said = answer(program, ["--report", report.name, *options])
        if (out, left) != calm:
            sys.exit(f"{shlex.join(options)}: {program} printed\n{out}instead of\n{calm[0]}or left another file\n{said}")
        if failures_in(report.name) < least:
            sys.exit(f"{shlex.join(options)}: {program} had fewer failures than {least}\n{said}")


def drawn(program, seed):
    """One or two failures, the second one later."""
    chance = random.Random(f"{program} {seed}")
    words, marks = [], sorted(chance.sample(range(MARKS[program] - 1), chance.randint(1, 2)))
    node = chance.randrange(NODES)
    for i, mark in enumerate(marks):
        victim = f"node {node}" if i == 0 and seed % 2 else f"rank {chance.randrange(RANKS)}"
        words += ["--inject", f"kill {victim} at iteration {mark}"]
    return words


def survive(program):
    calm = answer(program, [])[:2]
    for seed in range(1, 5):
        disturbed(program, calm, drawn(program, seed), 1)
    for step, first in STEPS[program]:
        disturbed(program, calm, [*first, "-x", f"RZ_KILL_AT={step}"], 2 if first else 1)


def await_file(job):
    bound = time.monotonic() + HANG_S
    while not os.path.exists(FILE) and job.poll() is None and time.monotonic() < bound:
        time.sleep(0.01)


def again():
    """A rank stands still behind the first checkpoints, and then all are killed; others go on from the file."""
    program = "checkpoint_file"
    calm = answer(program, [])[:2]
    for ranks in 3, 8:
        command = [*JOB, "--inject", f"stop rank 1 at iteration 35 for {2 * HANG_S}s", *words_of(program)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as job:
            await_file(job)
            job.send_signal(signal.SIGKILL)
            job.communicate(timeout=2 * HANG_S)
        out, _ = run([*RZRUN, "-n", str(ranks), *words_of(program)])
        if (out, contents()) != calm:
            sys.exit(f"a job of {ranks} that went on from the file printed\n{out}instead of\n{calm[0]}or left another file")


def alone():
    for program in "queue", "checkpoint_file":
        calm = answer(program, [])[:2]
        out, _ = run(words_of(program))
        if (out, contents() if program == "checkpoint_file" else b"") != calm:
            sys.exit(f"{program} alone printed\n{out}instead of\n{calm[0]}or left another file")


def wrong():
    for command, status, words in (
            (["halo", "none"], 2, "'none' is no number from 1 to 10000"), (["hashtable", "5", "0"], 2, "'0' is no number"),
            (["queue", "-4"], 2, "'-4' is no number from"), (["checkpoint_file"], 2, "usage: checkpoint_file FILE"),
            (["checkpoint_file", FILE, "x"], 2, "'x' is no number"), (["checkpoint_file", f"{WORK}/no/rod"], 1, "cannot be opened")):
        said = run([f"{BUILD}/apps/{command[0]}", *command[1:]], status)[1]
        if words not in said:
            sys.exit(f"{shlex.join(command)} did not say '{words}':\n{said}")
    for text in b"", b"notes of a user\n" * 5000:
        with open(FILE, "wb") as file:
            file.write(text)
        said = run([*JOB, *words_of("checkpoint_file")], 1)[1]
        if "is not the checkpoint of a rod of this length" not in said or contents() != text:
            sys.exit(f"another file was taken, or changed:\n{said}")


CASES = {"again": again, "alone": alone, "wrong": wrong}
try:
    if sys.argv[2] in CASES:
        CASES[sys.argv[2]]()
    else:
        survive(sys.argv[2])
finally:
    shutil.rmtree(WORK)
