# SPDX-License-Identifier: BSD-3-Clause
"""One test in one setting: how it is run, and what came of it."""
import os
import random
import shlex
import zlib
from dataclasses import asdict, dataclass

from rzbench.run import OUT_OF_TIME, OVER, run_command

PASSED, FAILED, OVERDUE, NOT_BUILT = "passed", "failed", "timed out", "not built"
UNSTEADY = "unsteady"  # it failed, and passed when it was run again
REPORTED_AT = 0.8  # of its time: rzrun then says who waits for whom
AGAIN = 2  # a failed test is run so often again, alone
PATIENT = 3  # a test that timed out gets so many times its time when it is run again
SAID_MAX = 1500
KILLED = 137  # as shells say it


@dataclass
class Setting:
    """A way to run a suite. drawn: of its tests a part, by the seed; peer: on another MPI, for reference."""
    name: str
    what: str
    nodes: int = 1
    drawn: bool = False
    faults: bool = False
    bounds: str = ""
    peer: bool = False


SETTINGS = {setting.name: setting for setting in (
    Setting("one", "1 node"),
    Setting("three", "3 nodes", nodes=3),
    Setting("faults", "3 nodes, --rewind, a rank or a node is lost", nodes=3, drawn=True, faults=True),
    Setting("least", "RZ_BOUNDS=least, 1 node", drawn=True, bounds="least"),
    Setting("least3", "RZ_BOUNDS=least, 3 nodes", nodes=3, drawn=True, bounds="least"),
    Setting("odd", "RZ_BOUNDS=odd:SEED, 3 nodes", nodes=3, drawn=True, bounds="odd"),
    Setting("peer", "another MPI, built from the same sources", peer=True))}


@dataclass
class Trial:
    case: str
    setting: str
    outcome: str
    why: str = ""
    seconds: float = 0.0
    command: str = ""
    commit: str = ""
    said: str = ""
    struck: bool = False  # the fault came before the end

    def record(self):
        return asdict(self)


def draw(case, setting, seed):
    """Numbers for one test in one setting: the same for the same seed."""
    return random.Random(zlib.crc32(f"{case.name} {setting.name} {seed}".encode()))


def is_drawn(case, setting, seed, part):
    """Whether a setting has this test."""
    if setting.faults and (not case.rewind or case.ranks == 1):
        return False
    if setting.nodes > 1 and case.ranks == 1:
        return False
    return not setting.drawn or draw(case, setting, seed).random() < part


def is_struck(record):
    """Whether a fault came while the program ran, by the record of a job; None: it came when all ranks had left MPI."""
    events = {line.split()[0].partition("=")[2] for line in record.splitlines() if line.startswith("event=")}
    return None if {"left", "injected"} <= events and not {"recovery", "again"} & events else "injected" in events


def in_one_word(words, path):
    """The path of a script that runs words and what it is given: scripts split what is in a variable at each space."""
    with open(path, "w", encoding="utf-8") as out:
        out.write(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    os.chmod(path, 0o755)
    return path


class Runner:
    """Runs the tests of a suite with one installation."""

    def __init__(self, system, interrupt, seed, commit):
        self.system, self.interrupt, self.seed, self.commit = system, interrupt, seed, commit
        self.deadline = float("inf")
        self.took_s = {}  # of each test on nodes without faults

    def options(self, case, setting, limit_s, record):
        """What rzrun is told for this setting."""
        nodes = min(setting.nodes, case.ranks or setting.nodes)
        options = [*case.options, "--hang-report", f"{limit_s * REPORTED_AT:.0f}s"]
        if nodes > 1:
            options += ["--nodes", str(nodes)]
        if setting.faults:
            numbers = draw(case, setting, f"fault {self.seed}")
            at_ms = numbers.uniform(10, 1000 * max(0.1, self.took_s.get(case.name, 1.0)))
            of_node = nodes > 1 and numbers.random() < 0.5
            what = f"node {numbers.randrange(nodes)}" if of_node else f"rank {numbers.randrange(case.ranks or 1)}"
            options += ["--rewind", "200ms", "--inject", f"kill {what} at {at_ms:.0f}ms", "--report", record]
        return options

    def command(self, case, setting, limit_s, record):
        """The words that run it, with folder and environment."""
        options = [] if setting.peer else self.options(case, setting, limit_s, record)
        environment = {**{name: value for name, value in self.system.environment().items() if name == "PATH"}, **case.environment}
        if setting.bounds:
            environment["RZ_BOUNDS"] = "least" if setting.bounds == "least" else f"odd:{self.seed}"
        launch = self.system.launch(case.ranks, options)
        if case.launcher:
            environment[case.launcher] = in_one_word(launch, os.path.join(case.folder, f"rz-launch-{setting.name}"))
            launch = []
        return ["env", "-C", case.folder, *(f"{name}={value}" for name, value in environment.items()), *launch, *case.words]

    def once(self, case, setting, limit_s):
        record = os.path.join(case.folder, "rz-record")
        words = self.command(case, setting, limit_s, record)
        run = run_command(words, limit_s, self.deadline, self.interrupt)
        if run.end == OUT_OF_TIME:
            return None
        trial = Trial(case.name, setting.name, PASSED, seconds=run.wall_s, commit=self.commit)
        if setting.faults and os.path.exists(record):
            with open(record, encoding="utf-8", errors="replace") as file:
                struck = is_struck(file.read())
            os.remove(record)
            trial.struck = bool(struck)
            if struck is None and run.status == KILLED:
                run.status = 0  # nobody can finish for a rank that has left; rzrun says that it was killed
        if run.end == OVER:
            trial.outcome, trial.why = OVERDUE, f"it did not end in {limit_s:.0f} s"
        elif why := case.wrong(run):
            trial.outcome, trial.why = FAILED, why
        if trial.outcome != PASSED:
            trial.said, trial.command = run.output[-SAID_MAX:], shlex.join(words)
        if setting.name == "three":
            self.took_s[case.name] = run.wall_s
        return trial

    def run(self, case, setting):
        """Runs a test; one that fails is run again, for a failure that comes and goes is none less. None: the time was over before."""
        trial = self.once(case, setting, case.limit_s)
        for _ in range(AGAIN):
            if not trial or trial.outcome == PASSED:
                break
            again = self.once(case, setting, case.limit_s * (PATIENT if trial.outcome == OVERDUE else 1))
            if not again:
                break
            if again.outcome == PASSED and trial.outcome == OVERDUE:
                return again  # it was slow
            if again.outcome == PASSED:
                trial.outcome = UNSTEADY
                break
            trial = again
        return trial
