#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Agreement under random kills: jobs of agree_kills.c, until so many schedules were played or the time is over.

    agree_kills.py --build build [--schedules N | --budget SECONDS] [--seeds FIRST] [--agree ENGINE] [--kind KIND] [--table]

A schedule is a round of a job: one or more processes crash in what the members of a communicator agree on. Each process writes
its results into a file that all of them map; here they are compared: all survivors of a round have the same flags,
classes and groups, with the part of each survivor, and the failure of none. A job that differs, or does not end, is shown
with the command that repeats it.
"""
import argparse
import collections
import mmap
import os
import shlex
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/..")
from patience import HANG_S  # noqa: E402

SEATS, ROUNDS_MAX, NOTES_MAX = 32, 64, 16  # of agree_kills.c, and so is all that follows
NOTE = struct.Struct("=IIIIQQ")
NOTHING, BEGUN, AGREE, SHRINK, FAILED, UNIFORM, LEFT_OUT = range(7)
NAMES = ["nothing", "begin", "agree", "shrink", "failed", "uniform", "left out"]
KINDS = ["agrees", "acknowledges", "many_at_a_time", "freed_under_way", "lists", "shrinks", "revoked", "with_pause",
         "two_at_a_time", "uniform", "bridge"]
UNKNOWN = 2**64 - 1
SUCCESS, ALL = 0, 0xFFFFFFFF
Note = collections.namedtuple("Note", "what error flag kind seats known")

LAST = 99  # kind of the note behind the last round
KILLED = 128 + 9  # of a job that ends after a round: the processes may not have been told of the last failures
BOUND_S = int(os.environ.get("AGREE_BOUND_S", HANG_S))
# Failures are proved here: a loaded machine must not add false ones.
PATIENT = ["--oversubscribe", "--hb-timeout", "10s"]
# ranks, nodes, rounds in which the failed are replaced (0: until one is left)
PLACES = [(8, 1, 0), (12, 3, 0), (16, 1, 0), (6, 6, 0), (24, 1, 0), (9, 3, 12), (32, 1, 0), (4, 2, 0), (16, 4, 0), (7, 1, 12), (5, 1, 0),
          (32, 4, 0)]
TREES = ["star", "bin", "binary"]


def members(seats):
    return [seat for seat in range(SEATS) if seats >> seat & 1]


def notes_of(page, number, seat):
    notes = []
    for i in range(NOTES_MAX):
        note = Note(*NOTE.unpack_from(page, ((number * SEATS + seat) * NOTES_MAX + i) * NOTE.size))
        if note.what == NOTHING:
            break
        notes.append(note)
    return notes


def wrong_agreement(told, living):
    """What is wrong with one agreement, of which each of `living` has a result."""
    if len({note.error for note in told.values()}) > 1:
        return "classes differ"
    by_side = collections.defaultdict(set)
    for note in told.values():
        by_side[note.seats].add(note.flag)
    for whose, flags in by_side.items():
        if len(flags) > 1:
            return "flags differ"
        flag = next(iter(flags))
        missing = {seat for seat in members(whose) if flag >> seat & 1}
        if missing & living:
            return f"the parts of {sorted(missing & living)} are missing"
        if ~flag & ~whose & ALL:
            return "the part of a process that is no member"
        for note in told.values():
            if note.seats == whose and note.known != UNKNOWN and missing - set(members(note.known)):
                return f"{sorted(missing)} are missing, and get_failed does not name them"
            if note.error == SUCCESS and missing and note.kind != KINDS.index("acknowledges"):
                return f"success without {sorted(missing)}"
    return None


def wrong_call(told, living):
    told = {seat: note for seat, note in told.items() if note.what != LEFT_OUT}
    if not told:
        return None
    what = next(iter(told.values())).what
    if {note.what for note in told.values()} != {what}:
        return "they are not in the same call"
    if what == AGREE:
        return wrong_agreement(told, living)
    if len({note.error for note in told.values()}) > 1:
        return "classes differ"
    if what == UNIFORM:
        return None
    if len({note.seats for note in told.values() if note.seats}) > 1:
        return "groups differ"
    for seat, note in told.items():
        there = set(members(note.seats))
        if what == SHRINK and note.seats and not living <= there:
            return f"{sorted(living - there)} live and are left out"
        if what == FAILED and living & there:
            return f"{sorted(living & there)} live and are called failed"
    return None


def wrong_round(page, number, living):
    """What is wrong with a round that `living` have ended, of the members `before`."""
    notes = {seat: notes_of(page, number, seat)[1:] for seat in living}
    counts = {len(calls) for calls in notes.values()}
    if len(counts) > 1 or not counts:
        return f"they have ended {sorted(counts)} calls"
    for i in range(counts.pop()):
        told = {seat: calls[i] for seat, calls in notes.items()}
        wrong = wrong_call(told, living)
        if wrong:
            one = next(iter(told.values()))
            lines = [f"  {seat}: class {n.error}, flag {n.flag:#010x}, seats {n.seats:#x}, known {n.known:#x}" for seat, n in told.items()]
            return f"{NAMES[one.what]}, call {i} of the round of kind {KINDS[one.kind]}: {wrong}\n" + "\n".join(lines)
    return None


def assess(page, kinds):
    """(schedules, failures, what is wrong or None); counts kinds."""
    schedules, failures = 0, 0
    for number in range(ROUNDS_MAX - 1):
        begun = {seat: notes_of(page, number, seat)[:1] for seat in range(SEATS)}
        before = {seat for seat, notes in begun.items() if notes}
        then = {seat for seat in range(SEATS) if notes_of(page, number + 1, seat)[:1]}
        if {notes[0].seats for notes in begun.values() if notes} != {sum(1 << seat for seat in before)}:
            return schedules, failures, f"round {number}: which processes take part?"
        if not then:
            ended = before and all(notes[0].kind == LAST for notes in begun.values() if notes)
            return schedules, failures, None if ended else f"round {number} has not ended"
        # Others may sit in the seats of the failed.
        living = {seat for seat in then & before if notes_of(page, number + 1, seat)[0].flag == begun[seat][0].flag}
        wrong = wrong_round(page, number, living)
        if wrong:
            return schedules, failures, f"round {number}: {wrong}"
        schedules += 1
        failures += len(before - living)
        kinds[KINDS[next(notes[0].kind for notes in begun.values() if notes)]] += 1
    return schedules, failures, "more rounds than there can be"


def command(options, seed, file):
    ranks, nodes, rounds = PLACES[seed % len(PLACES)]
    tree = TREES[seed // len(PLACES) % len(TREES)]
    words = [f"{options.build}/bin/rzrun", "-n", str(ranks), "--timeout", f"{BOUND_S}s", *PATIENT, "-x", f"RZ_AGREE_TREE={tree}"]
    words += ["--nodes", str(nodes)] if nodes > 1 else []
    words += ["--agree", options.agree] if options.agree else []
    words += ["-x", f"AGREE_KILLS_KIND={KINDS.index(options.kind)}"] if options.kind else []
    words += [f"{options.build}/tests/agree_kills", str(seed), file]
    return words + ([str(rounds)] if rounds else []), rounds


def run(options, seed, kinds):
    """(schedules, failures, what is wrong or None, output)"""
    with tempfile.NamedTemporaryFile(prefix="agree_kills_") as file:
        file.truncate(NOTE.size * NOTES_MAX * SEATS * ROUNDS_MAX)
        words, rounds = command(options, seed, file.name)
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=2 * BOUND_S, check=False)
        with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as page:
            schedules, failures, wrong = assess(page, kinds)
    if done.returncode == 124:
        wrong = f"it hung ({wrong})"
    elif done.returncode not in ({0, KILLED} if seed % 4 == 0 and not rounds else {0}) or "not so" in done.stdout:
        wrong = f"exit status {done.returncode} ({wrong})"
    if wrong:
        print(f"seed {seed}: {wrong}\n{done.stdout[-4000:]}\nagain: {sys.argv[0]} --build {options.build} --seeds {seed} --schedules 1"
              f"\nor, with a file of {NOTE.size * NOTES_MAX * SEATS * ROUNDS_MAX} zero bytes: {shlex.join(words)}", flush=True)
    return schedules, failures, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", help="build tree (build)")
    parser.add_argument("--schedules", type=int, default=0, help="so many, in whole jobs")
    parser.add_argument("--budget", type=float, default=0, help="seconds")
    parser.add_argument("--seeds", type=int, default=1, help="of the first job")
    parser.add_argument("--agree", default="", help="the engine of the job (rzrun --agree); communicators of rounds choose their own")
    parser.add_argument("--kind", choices=KINDS, help="all rounds of this kind")
    parser.add_argument("--table", action="store_true", help="how many of each kind")
    options = parser.parse_args()
    if not options.schedules and not options.budget:
        parser.error("--schedules or --budget")
    kinds, schedules, failures, jobs, violations, began = collections.Counter(), 0, 0, 0, 0, time.monotonic()
    while schedules < options.schedules if options.schedules else time.monotonic() - began < options.budget or not jobs:
        played, failed, wrong = run(options, options.seeds + jobs, kinds)
        schedules, failures, jobs, violations = schedules + played, failures + failed, jobs + 1, violations + (wrong is not None)
        if violations == 5:
            break
    if options.table:
        print("\n".join(f"{kind:16} {n:6}" for kind, n in sorted(kinds.items())))
    print(f"{schedules} schedules, {failures} failures in {jobs} jobs, {time.monotonic() - began:.0f} s: {violations} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
