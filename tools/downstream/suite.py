# SPDX-License-Identifier: BSD-3-Clause
"""What a suite is: sources, how they are built, their tests, and those that are expected to fail. One file of suites/ each."""
import glob
import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field

LIMIT_S = 300  # of a test that does not say its own
VARIABLE_S = 60


def status_only(run):
    """The usual judgement of a test: its exit status."""
    return "" if run.status == 0 else f"exit status {run.status}"


@dataclass
class Case:
    """A test: a program and its arguments, run in a folder of the build by so many ranks (0: a script says how many, job by job)."""
    name: str
    folder: str
    words: list
    ranks: int = 1
    limit_s: float = LIMIT_S
    environment: dict = field(default_factory=dict)
    options: list = field(default_factory=list)  # of rzrun, for this test
    wrong: callable = status_only  # of a run: what is wrong with it, or nothing
    launcher: str = ""  # a script starts jobs itself: by the words in this variable
    rewind: bool = True  # may be drawn for faults

    def program(self):
        return os.path.join(self.folder, self.words[0])


@dataclass
class Expected:
    """Tests that are expected to fail (a pattern of their names) and why; settings: only there."""
    names: str
    reason: str
    settings: tuple = ()
    sometimes: bool = False  # it depends on time, or on the machine

    def covers(self, case, setting):
        return re.fullmatch(self.names, case) and (not self.settings or setting in self.settings)


@dataclass
class Suite:
    name: str
    package: str
    what: str  # one line for the report
    build: str  # for sh -eu, in the folder of the sources; the wrappers of the MPI are mpicc and its like
    cases: callable  # of the folder: its Cases
    also: tuple = ()  # packages whose sources the build needs, too: $RZ_ALSO/PACKAGE/unpacked
    expected: list = field(default_factory=list)
    needs: str = ""  # packages of Debian without which it cannot be built
    changes: dict = field(default_factory=dict)  # what is built in another way than an ordinary user would, and why
    small: bool = False  # fetched, built and run within minutes: for continuous integration
    peer: str = "mpich"  # the reference

    def expectation(self, case, setting):
        return next((one for one in self.expected if one.covers(case, setting)), None)


class NotBuilt(Exception):
    """The text says why."""


def missing_packages(suite):
    """Of the packages that a suite needs, those that are not installed."""
    def there(package):
        done = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status}", package], capture_output=True, text=True, timeout=VARIABLE_S)
        return done.stdout == "installed"
    return [package for package in suite.needs.split() if not there(package)]


def first_error(log):
    """The first line of a build's log that says what is wrong."""
    return next((line.strip() for line in log.splitlines() if re.search(r"\berror:|undefined reference|^make.*\*\*\*|not found", line)),
                (log.strip().splitlines() or ["no word"])[-1])[:200]


def built(suite, system, sources, also, builds, seconds):
    """The folder in which a suite was built with an MPI. It is built again when its recipe, its sources or the MPI's headers are others."""
    folder = f"{builds}/{suite.name}/{system.name}"
    stamp, log = f"{folder}.stamp", f"{folder}.log"
    mark = hashlib.sha256("\n".join([suite.build, os.path.realpath(sources), system.headers()]).encode()).hexdigest()
    if os.path.isfile(stamp):
        with open(stamp, encoding="utf-8") as file:
            if file.read() == mark:
                return folder
        os.remove(stamp)
    missing = missing_packages(suite)
    if missing:
        raise NotBuilt(f"it needs packages: apt-get install {' '.join(missing)}")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(sources, folder, symlinks=True)
    with open(log, "wb") as out:
        child = subprocess.Popen(["nice", "-n", "10", "sh", "-eu", "-c", suite.build], cwd=folder, env={**os.environ, **system.environment(), "RZ_ALSO": also},
                                 stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = child.wait(seconds)
        except BaseException as failure:
            os.killpg(child.pid, 9)
            child.wait()
            if isinstance(failure, subprocess.TimeoutExpired):
                raise NotBuilt(f"its build did not end in {seconds:.0f} s") from None
            raise
    if status != 0:
        with open(log, encoding="utf-8", errors="replace") as file:
            raise NotBuilt(first_error(file.read()))
    with open(stamp, "w", encoding="utf-8") as file:
        file.write(mark)
    return folder


def why_missing(suite, system, builds, case):
    """Why the program of a test was not built: what the log says where it names it."""
    name = os.path.basename(case.program())
    with open(f"{builds}/{suite.name}/{system.name}.log", encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    found = next((line for line in lines if re.search(rf"\b{re.escape(name)}\b.*(error|undefined reference)", line)), "")
    return (found.replace(builds, "").strip() or "its program was not built")[:200]


def of_make(folder, expression):
    """The words that an expression has in the Makefile of a folder."""
    done = subprocess.run(["make", "-s", "-C", folder, "--no-print-directory", "--eval", f"rz-print: ; @echo {expression}", "rz-print"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=VARIABLE_S)
    return done.stdout.split()


def named_in(pattern, *sources):
    """All names that a pattern finds in files, each once, in their order."""
    found = {}
    for source in sources:
        for path in sorted(glob.glob(source)):
            with open(path, encoding="utf-8", errors="replace") as file:
                found.update(dict.fromkeys(re.findall(pattern, file.read())))
    return list(found)
