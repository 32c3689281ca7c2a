#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kills processes of checkpoint_bits at named places inside RZ_Checkpoint and RZ_Restore, and processes and nodes at
random steps. Each run must end with the sum of the undisturbed one, and go back to no other generation than it should.

    checkpoint_kills.py RZRUN PROGRAM table               every named place
    checkpoint_kills.py RZRUN PROGRAM seeds FIRST..LAST   random failures; --scheme WORDS: more options of rzrun, or `each`:
                                                          another way of keeping pieces in each run
"""
import argparse
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/..")
from patience import HANG_S  # noqa: E402
from record import struck_after_the_end  # noqa: E402

STEPS, RANKS = 24, 4
PLACE = ["--oversubscribe", "--hb-timeout", "3s", "-n", str(RANKS)]
# Place, and the ordinal of the visit that fails; generations that may be restored then (checkpoint k of an undisturbed start is generation k).
TAKING = [(point, nth, {nth - 1} if point != "stored" else {nth - 1, nth})
          for point in ("checkpoint", "checkpoint-half", "store", "stored") for nth in (1, 2, 9)]
# Ways of keeping pieces; {} is an empty folder.
SCHEMES = ["", "--checkpoint xor:2", "--checkpoint-dir {}", "--checkpoint rs:1+1", "--checkpoint memory",
           "--checkpoint file --checkpoint-dir {}"]
GOING_BACK = ["restore", "restored"]
FIRST_FAILURE = "1@7"  # the process that fails, and at which step, so that the others roll back


def run(command):
    """(exit status or None: it hung, output, ([(epoch, rank, generation restored)], {epoch: its generation}, all events))"""
    with tempfile.NamedTemporaryFile(prefix="checkpoint-kills-") as report:
        command = command[:1] + ["--report", report.name] + command[1:]
        try:
            job = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=HANG_S, check=False)
        except subprocess.TimeoutExpired as late:
            return None, (late.stdout or b"").decode(errors="replace"), ([], {}, "")
        events = report.read().decode()
    restored = re.findall(r"event=restored epoch=(\d+) rank=(\d+) .*? value=(\d+) ", events)
    epochs = re.findall(r"event=epoch epoch=(\d+) .*? value=(\d+) ", events)
    return job.returncode, job.stdout, ([tuple(map(int, words)) for words in restored], {int(e): int(g) for e, g in epochs}, events)


def last_line(output):
    lines = [line for line in output.splitlines() if line.startswith("the same bits")]
    return lines[-1] if lines else ""


class Trial:
    def __init__(self, rzrun, program):
        self.rzrun, self.program = rzrun, program
        self.sums, self.failures, self.runs = {}, 0, 0

    def command(self, seed, words, failures=()):
        return [self.rzrun, *PLACE, *words, self.program, str(seed), str(STEPS), *failures]

    def calm(self, seed):
        if seed not in self.sums:
            status, output, _ = run(self.command(seed, []))
            self.sums[seed] = last_line(output)
            if status != 0 or not self.sums[seed]:
                sys.exit(f"the run without failures did not succeed (status {status}):\n{output}")
        return self.sums[seed]

    def run(self, seed, words, good, failures=()):
        """good(restored, epochs): why it is not, or None."""
        wanted, command = self.calm(seed), self.command(seed, words, failures)
        status, output, events = run(command)
        late = status == 137 and struck_after_the_end(events[2])
        self.runs += 1
        why = ("it hung" if status is None else f"exit status {status}" if status != 0 and not late else
               "another sum" if last_line(output) != wanted else good(*events[:2]))
        if why:
            self.failures += 1
            print(f"{why}; again:\n    {shlex.join(command)}\n{output}", flush=True)


def only(generations):
    """The second epoch goes back to one of these; 0 is the beginning."""
    def look(restored, epochs):
        gone_back = {g for epoch, _, g in restored if epoch == 2} or {epochs.get(2)}
        if epochs.get(2) is None:
            return "no process failed"
        return None if len(gone_back) == 1 and gone_back <= generations else f"restored {gone_back}, not one of {generations}"
    return look


def all_to_the_same(restored, epochs):
    """Both roll-backs, one of them in the other, go to the generation that was there."""
    third = {g for epoch, _, g in restored if epoch == 3}
    if epochs.get(3) is None:
        return "no process failed while restoring"
    wanted = {g for epoch, _, g in restored if epoch == 2} or {epochs[2]}
    return None if third == wanted and len([1 for e, _, _ in restored if e == 3]) == RANKS else f"restored {third}, not {wanted}"


def table(trial):
    for number, (point, nth, generations) in enumerate(TAKING):
        victim = number % RANKS
        nodes = ["--nodes", str(1 + number % 3)]
        trial.run(1 + number % 2, [*nodes, "-x", f"RZ_KILL_AT={point}:{nth}@{victim}"], only(generations))
    for number, point in enumerate(GOING_BACK * 2):
        words = ["--nodes", str(1 + number), "-x", f"RZ_KILL_AT={point}@{2 * (number // 2)}"]
        trial.run(1, words, all_to_the_same, [FIRST_FAILURE])


def uniform(restored, _):
    by_epoch = {}
    for epoch, _, generation in restored:
        by_epoch.setdefault(epoch, set()).add(generation)
    mixed = {epoch: found for epoch, found in by_epoch.items() if len(found) > 1}
    return f"several generations in one epoch: {mixed}" if mixed else None


def draw(seed):
    chance = random.Random(seed)
    nodes = chance.choice([2, 3, 4])
    words, doomed = ["--nodes", str(nodes)], chance.sample(range(nodes), nodes - 1)
    for _ in range(chance.randint(1, 4)):
        victim = f"node {doomed.pop()}" if doomed and chance.random() < 0.4 else f"rank {chance.randrange(RANKS)}"
        words += ["--inject", f"kill {victim} at iteration {chance.randrange(1, STEPS // 2)}"]
    return words


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("rzrun")
    options.add_argument("program")
    options.add_argument("what", choices=["table", "seeds"])
    options.add_argument("range", nargs="?", default="1..10")
    options.add_argument("--scheme", default="")
    options = options.parse_args()
    trial = Trial(options.rzrun, options.program)
    if options.what == "table":
        table(trial)
    else:
        first, last = map(int, options.range.split(".."))
        for seed in range(first, last + 1):
            scheme = SCHEMES[seed % len(SCHEMES)] if options.scheme == "each" else options.scheme
            with tempfile.TemporaryDirectory(prefix="checkpoint-kills-") as folder:
                trial.run(seed, [word.format(folder) for word in shlex.split(scheme)] + draw(seed), uniform)
    print(f"{trial.runs} runs, {trial.failures} wrong")
    return 1 if trial.failures else 0


if __name__ == "__main__":
    # A sanitizer that is killed while it looks for leaks at the end complains of that.
    os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    sys.exit(main())
