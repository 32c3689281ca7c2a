# SPDX-License-Identifier: BSD-3-Clause
"""What a study was asked to show, beside what it measured, and the verdict. A claim of one row of a table is shown there."""
from dataclasses import dataclass

from .layout import line_of

HOLDS, WITHIN, FAILS = "holds", "holds within the interval", "**does not hold**"
EXCUSED = "**does not hold**; not counted: "  # does not decide the verdict
TOLD, NOT_MEASURED = "told", "not measured"  # told: nothing was asked


@dataclass
class Claim:
    what: str
    asked: str
    measured: str = ""
    holds: str = NOT_MEASURED
    why: str = ""
    n: int = 0
    of_row: bool = False  # shown in the row of a table

    def cell(self, n):
        """What stands in a table, in bold where it does not hold. n: repetitions of the row."""
        text = self.measured.rpartition(", n = ")[0] + (f" (n={self.n})" if self.n != n else "") if self.measured else self.holds
        return (f"**{text}**" if self.holds in (FAILS, EXCUSED) else text) + self.why


class Claims(list):
    def judge(self, what, asked, stats, unit, holds, of=None):
        """stats: a Summary or an Interval. of: (table, row, what is taken from the row), where it is to be shown."""
        self.append(Claim(what, asked, f"{stats.text()}{unit}, n = {stats.n}", holds, n=stats.n) if stats.n else Claim(what, asked))
        if of:
            table, row, taken = of
            self[-1].of_row = True
            table.asked.setdefault(f"{taken}: {asked}", {})[row] = self[-1]

    def least(self, what, bound, stats, unit="", of=None):
        """The median is at least so much."""
        self.judge(what, f"at least {bound:g}{unit}", stats, unit, HOLDS if stats.median >= bound else FAILS, of)

    def most(self, what, bound, stats, unit="", of=None):
        """At most; None: nothing was asked."""
        asked = "" if bound is None else f"at most {bound:g}{unit}"
        self.judge(what, asked, stats, unit, TOLD if bound is None else HOLDS if stats.median <= bound else FAILS, of)

    def not_less(self, what, bound, interval, unit=""):
        """Not less, unless by chance: neither the median nor the whole 95 % interval is below the bound."""
        self.judge(what, f"within the interval not less than {bound:g}{unit}", interval, unit,
                   HOLDS if interval.median >= bound else WITHIN if interval.high >= bound else FAILS)

    def not_more(self, what, bound, interval, unit="", of=None):
        """The same the other way round."""
        self.judge(what, f"within the interval not more than {bound:g}{unit}", interval, unit,
                   HOLDS if interval.median <= bound else WITHIN if interval.low <= bound else FAILS, of)

    def all(self, what, good, of):
        """All of them did as they should."""
        self.append(Claim(what, "all", f"{good} of {of}", HOLDS if good == of else FAILS) if of else Claim(what, "all"))

    def excuse(self, why):
        """The latest claim, where it does not hold, is shown with why, and does not decide the verdict."""
        if self and self[-1].holds == FAILS:
            self[-1].holds, self[-1].why = EXCUSED, why

    def remark(self, remark):
        """The latest claim, where it does not hold, is shown with this, and counts all the same."""
        if self and self[-1].holds == FAILS:
            self[-1].why = remark

    def verdict(self):
        """The verdict in one line, and whether it is good: at least one was measured, and none failed but those excused."""
        states = [claim.holds for claim in self]
        held, failed = states.count(HOLDS) + states.count(WITHIN), states.count(FAILS)
        good = held > 0 and failed == 0
        rest = "".join(f"; {states.count(state)} {word}" for state, word in ((EXCUSED, "excused"), (NOT_MEASURED, "not measured")) if state in states)
        return f"verdict: {'holds' if good else 'does not hold' if failed else 'nothing was measured'} ({held} of {held + failed}{rest})", good

    def markdown(self):
        """Those that no table shows."""
        rest = [claim for claim in self if not claim.of_row]
        lines = [line_of([claim.what, claim.asked, claim.measured, claim.holds + claim.why]) for claim in rest]
        if len(rest) == 1:
            return f"\nAlso asked: {rest[0].what}, {rest[0].asked}: {rest[0].measured}, {rest[0].holds}{rest[0].why}.\n"
        return "\n".join(["\n### What was asked for\n", "| what | asked | measured | |", "|---|---|---|---|", *lines, ""]) if rest else ""
