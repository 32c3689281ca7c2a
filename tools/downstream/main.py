# SPDX-License-Identifier: BSD-3-Clause
"""Other people's test suites, from Debian's source packages, built against an installation of this tree and run on it.

    python3 -B tools/downstream [SUITE...] [--budget S] [--seed N] [--settings NAME,...] [--cases PATTERN] [--part P]
                                [--build build] [--work FOLDER] [--report FILE] [--list] [--build-only] [--ci]

Without SUITE all suites, one after the other, each with its share of the budget. Everything is fetched and built in a folder outside the tree
(--work; by default in XDG_CACHE_HOME, or in /var/tmp), and kept there for the next run. Exit status 0: no failure but those that the table of the suite
expects, each with its reason; 1: others; 2: the command line is wrong; 77: nothing could be fetched here.
"""
import argparse
import os
import platform
import random
import re
import subprocess
import textwrap
import time

from rzbench.run import Interrupt

from . import report as reports
from . import systems
from .sources import NotFetched, Sources
from .suite import NotBuilt, built, why_missing
from .suites import SUITES
from .trial import NOT_BUILT, PASSED, SETTINGS, Runner, Trial, is_drawn

HERE = os.path.dirname(os.path.abspath(__file__))
SKIPPED = 77
BUILD_S = 7200  # against hangs; a build without a budget has no other bound
BUILD_LEAST_S = 30
AFTER_S = 200  # a test that was begun within the budget may run so much longer
CI_BUDGET_S = 300


def default_work():
    cache = os.environ.get("XDG_CACHE_HOME")
    return f"{cache}/rhizome-downstream" if cache else f"/var/tmp/rhizome-downstream-{os.getuid()}"


def git(*words):
    done = subprocess.run(["git", "-C", HERE, *words], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def commit():
    return (git("rev-parse", "--short=10", "HEAD") or "none") + (" with changes" if git("status", "--porcelain", "-uno") else "")


def machine():
    with open("/proc/meminfo", encoding="utf-8") as file:
        kib = int(re.search(r"MemTotal:\s+(\d+)", file.read()).group(1))
    return f"{os.cpu_count()} processors, {kib / 2**20:.0f} GiB, Linux {platform.release()}, load {os.getloadavg()[1]:.0f}"


class Downstream:
    def __init__(self, options):
        self.options, self.interrupt = options, Interrupt()
        self.sources, self.commit = Sources(options.work), commit()
        self.end = time.monotonic() + options.budget
        self.systems = {"rhizome": systems.installed(os.path.abspath(options.build), options.work)}

    def over(self, end):
        return self.interrupt.set or time.monotonic() >= end

    def ready(self, suite, results, name):
        """The folder and the system of a suite built with an MPI; None: it could not be, and the results say why."""
        if name not in self.systems:
            self.systems[name] = systems.peer(name, self.options.work)
        system, key = self.systems[name], name if name == "rhizome" else "peer"
        if not system:
            results.unbuilt[key] = f"{name} is not installed"
            return None
        try:
            unpacked, results.version = self.sources.get(suite.package)
            for package in suite.also:
                self.sources.get(package)
            left = min(BUILD_S, max(BUILD_LEAST_S, self.end - time.monotonic()))
            folder = built(suite, system, unpacked, self.sources.folder, f"{self.options.work}/builds", left)
        except (NotFetched, NotBuilt) as failure:
            results.unbuilt[key] = str(failure)
            return None
        results.unbuilt.pop(key, None)
        return folder, system

    def pairs(self, cases):
        """The tests and settings to run: those of a smaller budget are drawn, in the order of the seed."""
        chosen = [(case, SETTINGS[name]) for name in self.options.settings for case in cases
                  if is_drawn(case, SETTINGS[name], self.options.seed, self.options.part)]
        if self.options.budget < float("inf"):
            random.Random(self.options.seed).shuffle(chosen)
            chosen.sort(key=lambda pair: pair[1].faults)  # a fault comes within the time that the test took without
        return chosen

    def run_with(self, suite, results, name, settings, end):
        made = self.ready(suite, results, name)
        if not made or self.options.build_only:
            return
        folder, system = made
        cases = [case for case in suite.cases(folder) if re.search(self.options.cases, case.name)]
        if name == "rhizome" and not self.options.cases:
            results.cases = len(cases)
        runner = Runner(system, self.interrupt, self.options.seed, self.commit)
        runner.deadline = self.end + AFTER_S
        for case, setting in self.pairs(cases):
            if setting.name not in settings:
                continue
            if self.over(end):
                break
            if os.path.isfile(case.program()) or not case.words[0].startswith("."):
                trial = runner.run(case, setting)
            else:
                trial = Trial(case.name, setting.name, NOT_BUILT, why_missing(suite, system, f"{self.options.work}/builds", case), commit=self.commit)
            if not trial:
                break
            results.add(trial)
            results.keep()
            judged = results.judged(trial.record())
            if judged != PASSED or not self.options.ci:  # tests are quiet on success
                print(f"{suite.name}: {case.name}, {setting.name}: {judged} {trial.why} ({trial.seconds:.1f} s)", flush=True)

    def run(self, suite, end):
        results = reports.Results(f"{self.options.work}/results", suite)
        self.run_with(suite, results, "rhizome", [name for name in self.options.settings if not SETTINGS[name].peer], end)
        if "peer" in self.options.settings:
            self.run_with(suite, results, suite.peer, ["peer"], end)
        results.keep()
        print(reports.summary(results), flush=True)
        return results

    def run_all(self, suites):
        done = []
        for number, suite in enumerate(suites):
            now = time.monotonic()
            if self.over(self.end):
                break
            done.append(self.run(suite, now + (self.end - now) / (len(suites) - number)))
        return done


def settings_of(parser, text):
    names = text.split(",")
    for name in names:
        if name not in SETTINGS:
            parser.error(f"there is no setting '{name}': {', '.join(SETTINGS)}")
    return [name for name in SETTINGS if name in names]


def parse():
    parser = argparse.ArgumentParser(prog="downstream", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=", ".join(SUITES))
    parser.add_argument("--budget", type=float, default=float("inf"), help="start nothing after so many seconds (no bound)")
    parser.add_argument("--seed", type=int, help="draws tests, faults and bounds (1)")
    parser.add_argument("--settings", default="one,three,faults,least,least3,odd", help=f"of {','.join(SETTINGS)}")
    parser.add_argument("--cases", default="", help="only tests whose name this pattern finds")
    parser.add_argument("--part", type=float, default=0.2, help="of the tests of a setting that is drawn (0.2)")
    parser.add_argument("--build", default="build", help="build tree (build)")
    parser.add_argument("--work", default=default_work(), help="where all is fetched, built and kept (%(default)s)")
    parser.add_argument("--report", help="write the report of all results to this file")
    parser.add_argument("--list", action="store_true", help="list the suites")
    parser.add_argument("--print-needs", action="store_true", help="print the packages of Debian that the suites need")
    parser.add_argument("--build-only", action="store_true", help="fetch and build, and run nothing")
    parser.add_argument("--ci", action="store_true", help=f"one small suite within {CI_BUDGET_S} s, drawn by the seed (that of the commit)")
    options = parser.parse_args()
    options.settings = settings_of(parser, options.settings)
    for name in options.suites:
        if name not in SUITES:
            parser.error(f"there is no suite '{name}': {', '.join(SUITES)}")
    if options.seed is None:
        options.seed = int(git("rev-parse", "HEAD")[:6] or "1", 16) if options.ci else 1
    options.work = os.path.abspath(options.work)
    return options


def main():
    options = parse()
    if options.list or options.print_needs:
        for suite in SUITES.values():
            print(suite.needs if options.print_needs else f"{suite.name:12} {suite.what}")
        return 0
    names = options.suites or list(SUITES)
    if options.ci:
        names, options.budget = [random.Random(options.seed).choice([name for name in names if SUITES[name].small])], CI_BUDGET_S
        print(f"{names[0]}, by --ci --seed {options.seed}", flush=True)
    os.makedirs(options.work, exist_ok=True)
    done = Downstream(options).run_all([SUITES[name] for name in names])
    if options.report:
        kept = [reports.Results(f"{options.work}/results", suite) for suite in SUITES.values()]
        command = "python3 -B tools/downstream " + " ".join(options.suites)
        reports.write(options.report, [results for results in kept if results.version or results.unbuilt], command.strip(), machine())
    failures = [(results.suite.name, trial) for results in done for trial in results.new_failures()]
    for name, trial in failures:
        print(f"FAILED {name}: {trial['case']}, {trial['setting']}: {trial['why']}\n  again: {trial['command']}\n{textwrap.indent(trial['said'], '  | ')}")
    if done and all("rhizome" in results.unbuilt for results in done):
        print(f"skipped: {done[0].suite.name}: {done[0].unbuilt['rhizome']}")
        return SKIPPED
    print(f"{sum(len(results.of_this_run) for results in done)} trials in {len(done)} suites, {len(failures)} failures that nobody has explained")
    return 1 if failures else 0

