# SPDX-License-Identifier: BSD-3-Clause
"""What all studies share: the time there is, what is said and counted, and parts. A part runs commands, repetition after repetition with all systems
in turn (A B A B), fills tables with what they printed, and shows them."""
import math
import os
import re
import sys
import time

from . import plot
from .claims import Claims
from .layout import Commands
from .run import ENDED, OUT_OF_TIME, OVER, run_command


class Tally:
    """Runs, and those of them that did not print what they should, or did not end well."""

    def __init__(self):
        self.runs = self.failed = 0

    def count(self, good):
        self.runs += 1
        self.failed += not good

    def text(self):
        return f"{self.runs - self.failed} of {self.runs}"


class Bench:
    def __init__(self, options, bin_folder, sources, folder, interrupt, outs):
        self.options, self.bin, self.sources, self.folder, self.interrupt = options, bin_folder, sources, folder, interrupt
        self.out, self.report, self.csv = outs  # the latter two may be None
        self.quick, self.limit_s, self.deadline = options.quick, options.limit, math.inf
        self.processors = os.cpu_count()
        self.used_up = False  # something was left out
        self.runs = self.tables = 0  # shown, with at least one row
        self.verdict = ""  # of a study that has one: the last line
        self.tally, self.claims = Tally(), Claims()
        self.commands, self.waiting = Commands(), []  # waiting: tables that were made; what is claimed of their rows comes next

    def say(self, text):
        tables, self.waiting = self.waiting, []
        text = "".join(table.markdown() for table in tables) + text
        for out in filter(None, (self.out, self.report) if text else ()):
            out.write(text)
        self.interrupt.set |= isinstance(self.out.failure, BrokenPipeError)  # no process reads on

    def warn(self, text):
        sys.stderr.write(f"rzbench: {text.rstrip()}\n")

    # ---- time

    def may_go_on(self):
        """False once the budget is used up; also notes that."""
        self.used_up |= self.interrupt.set or time.monotonic() >= self.deadline
        return not self.used_up

    def within(self, share, make):
        """Makes something with a share of the time that is left; where it used that up, the report says so."""
        end, now = self.deadline, time.monotonic()
        self.deadline = now + max(0, end - now) * share
        good = make()
        if self.used_up:
            self.say("\nOut of time: what is missing was not run.\n")
        self.deadline, self.used_up = end, False
        return good

    def parts(self, parts, subject, shares=None):
        """Makes the part asked for, or all of them, up to one that could not be made: each within its share of the time that is left (None: as much as
        each one behind it)."""
        for i, (name, part) in enumerate(parts.items()):
            asked, share = self.options.part, shares[i] if shares else 1 / (len(parts) - i)
            if asked in ("all", name) and not self.interrupt.set and not self.within(share if asked == "all" else 1, lambda: part(subject)):
                return False
        return True

    def quickly(self, seconds):
        """The time that --quick has where no budget was given."""
        if self.quick and not self.options.budget:
            self.deadline = time.monotonic() + seconds

    def judged(self, parts, what="runs complete"):
        """Shows what was claimed, beside the runs, and makes the verdict. parts: whether all parts could be made."""
        self.claims.all(what, self.tally.runs - self.tally.failed, self.tally.runs)
        self.say(self.claims.markdown())
        self.verdict, good = self.claims.verdict()
        return parts and good

    def each(self, cases, make):
        """Makes each case with an even share of the time that is left, and goes on where one used its own up."""
        end, left_out = self.deadline, False
        for i, case in enumerate(cases):
            now = time.monotonic()
            self.deadline = now + max(0, end - now) / (len(cases) - i)
            make(case)
            left_out, self.used_up = left_out or self.used_up, False
        self.deadline, self.used_up = end, left_out

    def repetitions(self, usual, quick):
        return self.options.repetitions or (quick if self.quick else usual)

    def turns(self, repetitions, cases, measure):
        """measure(case, repetition) of all cases in each repetition."""
        for repetition in range(self.repetitions(*repetitions)):
            for case in cases:
                if self.may_go_on():
                    measure(case, repetition)

    # ---- commands

    def run(self, words, limit_s=0, watch=None):
        self.runs += 1
        terminal = sys.stderr if sys.stderr.isatty() else None
        print(end=f"\r\033[K{self.runs}: {self.shown(words)[:100]}", file=terminal, flush=True) if terminal else None
        result = run_command(words, limit_s or self.limit_s, self.deadline, self.interrupt, watch)
        print(end="\r\033[K", file=terminal, flush=True) if terminal else None
        self.used_up |= result.end == OUT_OF_TIME
        return result

    def job(self, words, repetition=0, take=lambda result: [], tally=None, over=False, good=None, limit_s=0):
        """Runs a command and puts what take(result) finds into tables: [(table, row, column, value)], a value being None where it was not printed; None:
        not all of it was. Counts, and tells, a run that was not complete: by good(result, found), else if it did not end well or a value is missing.
        What was out of time says nothing about the command. over: whatever was printed is taken; that the run was over the limit is shown in the
        cells of missing values."""
        result = self.run(words, limit_s)
        if result.end == OUT_OF_TIME:
            return result
        late, found = over and result.end == OVER, take(result)
        for table, row, column, value in found or ():
            cell = table.cell(row, column)
            if value is None and late:
                cell.put(repetition, math.inf)
                cell.limit_s = limit_s or self.limit_s
            elif value is not None and (over or good or result.good()):
                cell.put(repetition, value)
        fine = good(result, found) if good else late or (result.good() and found is not None and None not in [value for *_, value in found])
        (tally or self.tally).count(fine)
        if not fine:
            self.complain(words, result)
        return result

    def complain(self, words, result, what="incomplete"):
        over = ", over the limit" if result.end == OVER else ""
        self.warn(f"{what} (status {result.status}{over}): {self.shown(words)}\n{result.output[:1500]}")

    def tried(self, words, what, limit_s=0):
        """Whether a command by which something is made ends well; `what` is said where not."""
        result = self.run(words, limit_s)
        if result.end == ENDED and result.status:
            self.warn(f"{what}: {result.output[:1000]}")
        return result.good()

    def shown(self, words):
        """In one line."""
        return " ".join(self.words_shown(words))

    def words_shown(self, words):
        """The command as a reader can type it: without the folders that this run happens to use."""
        def short(word):
            for folder in (self.bin, self.folder, self.sources):
                if word == folder or word.startswith(folder + "/"):
                    return word[len(folder) + 1:] or "."
                word = word.replace(f"={folder}/", "=")  # an option's value
            return word
        return [f"'{word}'" if re.search(r"[ *?;&<>()$]", word) else word for word in map(short, words)]

    # ---- what is shown

    def part(self, text, tables, repetitions, cases, command, take, shown=None, once=lambda case: None, **more):
        """Says the text, runs command(case, repetition) of all cases in turns, and shows the commands, of the cases `shown` (None: all), and the tables.
        take(case, result) and more: as `job` has them. once(case): (kind, size); when one of a kind was over the limit, none of that size and more is
        run again."""
        late = {}

        def measure(case, repetition):
            kind, size = once(case) or (None, 0)
            if size >= late.get(kind, math.inf):
                return
            result = self.job(command(case, repetition), repetition, lambda result: take(case, result), **more)
            if kind and result.end == OVER:
                late[kind] = size
        self.say(f"\n{text}\n" if text else "")
        self.turns(repetitions, cases, measure)
        self.show(*(command(case, 0) for case in (cases if shown is None else shown)), tables=tables)
        return True

    def show(self, *commands, tables=()):
        self.say(self.commands.lines(list(map(self.words_shown, commands))))
        for table in filter(lambda table: table.rows, tables):
            self.waiting += [] if "untold" in table.shown else [table]
            self.tables += 1
            if self.csv:
                self.csv.write(table.csv())
            if self.options.plot and "plot" in table.shown:
                self.draw(table)

    def draw(self, table):
        """FILE itself for the table that has the study's name, else the table's name before the ending."""
        stem, ending = os.path.splitext(self.options.plot)
        path = self.options.plot if table.name == self.options.study else f"{stem}-{table.name}{ending}"
        try:
            plot.draw(table, path)
        except (OSError, ValueError) as why:
            self.warn(f"no plot {path}: {why}")
