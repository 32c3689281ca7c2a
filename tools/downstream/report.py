# SPDX-License-Identifier: BSD-3-Clause
"""The results of suites, kept between runs, and the report of them."""
import json
import os
import time

from .trial import FAILED, NOT_BUILT, OVERDUE, PASSED, SETTINGS, UNSTEADY

BAD = (FAILED, OVERDUE, UNSTEADY)


class Results:
    """Of one suite: of each test in each setting the last trial, be it of this run or of an earlier one."""

    def __init__(self, folder, suite):
        self.suite, self.path = suite, f"{folder}/{suite.name}.json"
        self.version, self.trials, self.unbuilt, self.cases = "", {}, {}, 0
        self.of_this_run = set()
        if os.path.isfile(self.path):
            with open(self.path, encoding="utf-8") as file:
                kept = json.load(file)
            self.version, self.unbuilt, self.cases = kept["version"], kept["unbuilt"], kept["cases"]
            self.trials = {(trial["case"], trial["setting"]): trial for trial in kept["trials"]}

    def add(self, trial):
        self.trials[trial.case, trial.setting] = trial.record()
        self.of_this_run.add((trial.case, trial.setting))

    def keep(self):
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(f"{self.path}.new", "w", encoding="utf-8") as file:
            json.dump({"version": self.version, "unbuilt": self.unbuilt, "cases": self.cases, "trials": list(self.trials.values())}, file, indent=1)
        os.replace(f"{self.path}.new", self.path)

    def of(self, setting):
        return [trial for trial in self.trials.values() if trial["setting"] == setting]

    def judged(self, trial):
        """What a trial means: passed, expected, or what is to be looked at."""
        if trial["setting"] == "peer" or trial["outcome"] in (PASSED, NOT_BUILT) and not self.suite.expectation(trial["case"], trial["setting"]):
            return trial["outcome"]
        expected = self.suite.expectation(trial["case"], trial["setting"])
        if trial["outcome"] == PASSED:
            return PASSED if expected.sometimes or trial["setting"] not in ("one", "three") else "passed against expectation"
        return "expected" if expected else trial["outcome"]

    def open_failures(self):
        """Those that are neither passed nor expected: ours, until somebody has shown otherwise."""
        return [trial for trial in self.trials.values() if self.judged(trial) in BAD and trial["setting"] != "peer"]

    def new_failures(self):
        """Those of this run: an earlier one had its own verdict, maybe on another commit."""
        return [trial for trial in self.open_failures() if (trial["case"], trial["setting"]) in self.of_this_run]


def cell(results, trials):
    if not trials:
        return "-"
    counts = {}
    for trial in trials:
        outcome = results.judged(trial)
        counts[outcome] = counts.get(outcome, 0) + 1
    words = [f"{counts.pop(PASSED, 0)}"]
    words += [f"{count} {outcome}" for outcome, count in sorted(counts.items())]
    struck = sum(trial["struck"] for trial in trials)
    return ", ".join(words) + (f" ({struck} struck)" if struck else "")


def summary(results):
    """One line for the terminal: this run."""
    if "rhizome" in results.unbuilt:
        return f"{results.suite.name}: not built: {results.unbuilt['rhizome']}"
    run = {name: [trial for trial in results.of(name) if (trial["case"], name) in results.of_this_run] for name in SETTINGS}
    words = [f"{SETTINGS[name].what}: {cell(results, trials)}" for name, trials in run.items() if trials]
    return f"{results.suite.name}: {'; '.join(words) or 'nothing was run'}"


def failure_lines(results):
    lines = []
    for trial in sorted(results.open_failures(), key=lambda one: (one["case"], one["setting"])):
        peer = results.trials.get((trial["case"], "peer"))
        beside = f"; on the peer: {peer['outcome']}" if peer else ""
        lines.append(f"* `{trial['case']}`, {SETTINGS[trial['setting']].what}: {trial['outcome']}: {trial['why']}{beside}")
    return lines


def expected_lines(results):
    lines = []
    for one in results.suite.expected:
        met = sorted({trial["case"] for trial in results.trials.values()
                      if trial["setting"] != "peer" and trial["outcome"] != PASSED and results.suite.expectation(trial["case"], trial["setting"]) is one})
        if met:
            shown = ", ".join(f"`{name}`" for name in met[:6]) + (f" and {len(met) - 6} others" if len(met) > 6 else "")
            lines.append(f"| {shown} | {one.reason} |")
    return lines


def unbuilt_lines(results):
    found = {}
    for trial in results.trials.values():
        if trial["setting"] != "peer" and results.judged(trial) == NOT_BUILT:
            found.setdefault(trial["why"], set()).add(trial["case"])
    return [f"* {', '.join(f'`{name}`' for name in sorted(names))}: {why}" for why, names in sorted(found.items())]


def write(path, all_results, command, machine):
    """The report of all suites that have results."""
    commits = sorted({trial["commit"] for results in all_results for trial in results.trials.values()})
    out = [f"# Other people's tests ({time.strftime('%Y-%m-%d', time.gmtime())})", "",
           f"Suites from Debian's source packages, built against an installation of this tree: `{command}`.",
           f"Of commit {', '.join(commits)}. Machine: {machine}. How: [downstream.md](../downstream.md).", "",
           "A cell counts the tests that passed, then the others. *expected*: a failure with a reason, below. *not built*: its program does not compile "
           "with this MPI, or is left out by the suite itself. *struck*: the injected fault came before the test had ended.", "",
           "| suite | version | tests | " + " | ".join(setting.what for setting in SETTINGS.values()) + " |",
           "|---|---|---|" + "---|" * len(SETTINGS)]
    for results in all_results:
        if "rhizome" in results.unbuilt:
            out.append(f"| {results.suite.name} | {results.version} | not built: {results.unbuilt['rhizome']} |" + " |" * len(SETTINGS))
        else:
            cells = [cell(results, results.of(name)) for name in SETTINGS]
            if "peer" in results.unbuilt and cells[-1] == "-":
                cells[-1] = f"not built: {results.unbuilt['peer']}"
            out.append(f"| {results.suite.name} | {results.version} | {results.cases} | " + " | ".join(cells) + " |")
    for title, lines_of in (("Failures that nobody has explained", failure_lines), ("Tests that do not compile", unbuilt_lines)):
        found = [(results, lines_of(results)) for results in all_results]
        if lines_of is unbuilt_lines and not any(lines for _, lines in found):
            continue
        out += ["", f"## {title}", ""]
        for results, lines in found:
            if lines:
                out += [f"### {results.suite.name}", "", *lines, ""]
        if not any(lines for _, lines in found):
            out += ["None.", ""]
    out += ["", "## Expected failures", ""]
    for results in all_results:
        lines = expected_lines(results)
        if lines:
            out += [f"### {results.suite.name}", "", "| tests | reason |", "|---|---|", *lines, ""]
    changes = [(results.suite.name, change, reason) for results in all_results for change, reason in results.suite.changes.items()]
    if changes:
        out += ["## What is built otherwise than an ordinary user would", "", "| suite | what | reason |", "|---|---|---|"]
        out += [f"| {name} | {change} | {reason} |" for name, change, reason in changes]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(out).rstrip() + "\n")
