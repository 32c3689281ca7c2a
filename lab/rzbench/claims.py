# SPDX-License-Identifier: BSD-3-Clause
"""What a study was asked to show, beside what it measured, and the verdict."""
from dataclasses import dataclass

from .table import line_of

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
    by: str = ""  # how far from what was asked


class Claims(list):
    def judge(self, what, asked, stats, unit, holds, bound=None):
        """stats: a Summary or an Interval."""
        off = stats.median / bound - 1 if bound and stats.n else 0
        self.append(Claim(what, asked, f"{stats.text()}{unit}, n = {stats.n}", holds, by=f"{abs(off):.0%} {'more' if off > 0 else 'less'}")
                    if stats.n else Claim(what, asked))

    def least(self, what, bound, stats, unit=""):
        """The median is at least so much."""
        self.judge(what, f"at least {bound:g}{unit}", stats, unit, HOLDS if stats.median >= bound else FAILS, bound)

    def most(self, what, bound, stats, unit=""):
        """At most; None: nothing was asked."""
        asked = "" if bound is None else f"at most {bound:g}{unit}"
        self.judge(what, asked, stats, unit, TOLD if bound is None else HOLDS if stats.median <= bound else FAILS, bound)

    def not_less(self, what, bound, interval, unit=""):
        """Not less, unless by chance: neither the median nor the whole 95 % interval is below the bound."""
        self.judge(what, f"within the interval not less than {bound:g}{unit}", interval, unit,
                   HOLDS if interval.median >= bound else WITHIN if interval.high >= bound else FAILS, bound)

    def not_more(self, what, bound, interval, unit=""):
        """The same the other way round."""
        self.judge(what, f"within the interval not more than {bound:g}{unit}", interval, unit,
                   HOLDS if interval.median <= bound else WITHIN if interval.low <= bound else FAILS, bound)

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

    def shortfalls(self):
        """What does not hold and counts, and by how much; empty: nothing."""
        lines = [f"* {claim.what}: {claim.measured}; asked: {claim.asked}{f' ({claim.by})' if claim.by else ''}{claim.why}\n"
                 for claim in self if claim.holds == FAILS]
        return "\n### What does not hold\n\n" + "".join(lines) if lines else ""

    def markdown(self, text=""):
        lines = [line_of([claim.what, claim.asked, claim.measured, claim.holds + claim.why]) for claim in self]
        return "\n".join(["\n### What was asked for\n", f"{text}| what | asked | measured | |", "|---|---|---|---|", *lines, ""]) if self else ""
