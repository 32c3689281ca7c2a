# SPDX-License-Identifier: BSD-3-Clause
"""What the sources state of measurements, and what the tables of our reports say of it: docs/figures/measured.md (tools/figure-index).

A claim has the source's statement, a criterion that follows from it, and the table of a report from which its verdict is computed. Nothing is
typed in: an edit of a table, of a number or of a verdict does not go together with the rest. A criterion that could not fail, or not hold,
would say nothing; so each claim makes a table that refutes it and one that confirms it, and the tests look at both.
"""
import dataclasses
import hashlib
import os
import re
import statistics
from collections.abc import Callable

RUNTIME, RECOVERY, ULFM = "../reports/runtime.md", "measured-recovery.md", "measured-ulfm.md"
TRIALS = 3000  # of rzsim gossip1 and its like, whose table has no column of them
AGREES, DIFFERS, NOT = "agrees", "**differs**", "not comparable"


class Table:
    """Rows and columns of one table of a report; medians. n: of all rows, where the heading says it."""

    def __init__(self, lines, n=""):
        self.mark = hashlib.sha256(("\n".join(lines) + (n or "")).encode()).hexdigest()[:8]
        cells = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
        self.columns = cells[0][1:]
        self.rows = {row[0]: {column: number(cell) for column, cell in zip(self.columns, row[1:])} for row in cells[2:]}
        for row in self.rows.values() if n else ():
            row["n"] = int(n)

    def changed(self, **columns):
        """A table in which these columns are computed from the row: made for what the criterion must say of it."""
        other = Table.__new__(Table)
        other.mark, other.columns = "", self.columns
        other.rows = {name: {**row, **{column: make(float(name) if name.isdigit() else 0, row) for column, make in columns.items()}}
                      for name, row in self.rows.items()}
        return other

    def column(self, name, when=lambda row: True):
        return [row[name] for key, row in self.rows.items() if row.get(name) is not None and when(int(key) if key.isdigit() else 0)]

    def ratios(self, over, under, when=lambda row: True):
        return [row[over] / row[under] for key, row in self.rows.items()
                if row.get(over) is not None and row.get(under) and when(int(key) if key.isdigit() else 0)]

    def least_n(self):
        return int(min(row.get("n", TRIALS) for row in self.rows.values()))


def number(cell):
    found = re.match(r"[-+]?\d+(\.\d+)?", cell)
    return float(found.group()) if found else None


def table_of(folder, report, title, which=0):
    """The table below a heading that ends so; which: of several."""
    with open(os.path.join(folder, report), encoding="utf-8") as file:
        parts = re.split(r"^##+ (.*?)(?: \(n = (\d+)\))?\n", file.read(), flags=re.M)
    below = [(table, n) for name, n, body in zip(parts[1::3], parts[2::3], parts[3::3]) if name.endswith(title)
             for table in re.findall(r"^\|.*(?:\n\|.*)+", body, re.M)]
    return Table(below[which][0].splitlines(), below[which][1])


def span(values, unit=""):
    text = f"{min(values):.3g} to {max(values):.3g}" if min(values) != max(values) else f"{values[0]:.3g}"
    return text + unit


@dataclasses.dataclass
class Claim:
    source: str
    figure: str
    states: str  # the source
    report: str
    title: str
    shown: Callable  # of the table: what was measured, in words
    criterion: str = ""  # "": not comparable
    holds: Callable = None
    refuting: dict = None  # columns of a table that the criterion must refuse, and of one that it must accept
    confirming: dict = None
    why_not: str = ""
    which: int = 0

    def table(self, folder):
        return table_of(folder, self.report, self.title, self.which)

    def says(self, table):
        return f"{NOT}: {self.why_not}" if not self.criterion else AGREES if self.holds(table) else DIFFERS


SHARED = "up to 256 ranks on two processors, which they share: the time of all grows with their number"
APPS = {"hpccg": "HPCCG, 16^3 for each rank (the source: 64^3, 64 times the work)", "comd": "CoMD, small", "lulesh": "LULESH, small"}


def of_apps():
    for app, name in APPS.items():
        total, own = f"{app}, failure of a process: total time, s (figure 4)", f"{app}, failure of a process: pure application time, s (figure 5)"
        yield Claim("reinit", "figure 4", f"{name}: Reinit++ has the least total time", RECOVERY, total,
                    lambda t: f"ULFM / Reinit {span(t.ratios('ULFM', 'Reinit'))}, restart / Reinit {span(t.ratios('restart', 'Reinit'))}",
                    "Reinit takes no more than ULFM and restart, at each number of ranks",
                    lambda t: min(t.ratios("ULFM", "Reinit") + t.ratios("restart", "Reinit")) >= 1,
                    {"ULFM": lambda n, row: 0.99 * row["Reinit"]}, {"ULFM": lambda n, row: 1.1 * row["Reinit"]})
        yield Claim("reinit", "figure 4", f"{name}: restart has the most", RECOVERY, total,
                    lambda t: f"restart / ULFM {span(t.ratios('restart', 'ULFM'))}", "restart takes more than both, at each number of ranks",
                    lambda t: min(t.ratios("restart", "ULFM") + t.ratios("restart", "Reinit")) > 1,
                    {"restart": lambda n, row: 0.9 * row["ULFM"]}, {"restart": lambda n, row: 2 * max(row["ULFM"], row["Reinit"])})
        yield Claim("reinit", "figure 5", f"{name}: ULFM makes the application itself slower, the more ranks", RECOVERY, own,
                    lambda t: f"ULFM / Reinit {span(t.ratios('ULFM', 'Reinit'))}", "ULFM takes more than Reinit, at each number of ranks",
                    lambda t: min(t.ratios("ULFM", "Reinit")) > 1,
                    {"ULFM": lambda n, row: row["Reinit"]}, {"ULFM": lambda n, row: 1.1 * row["Reinit"]})
        yield Claim("reinit", "figure 5", f"{name}: restart and Reinit++ do not", RECOVERY, own,
                    lambda t: f"restart / Reinit {span(t.ratios('restart', 'Reinit'))}", "within 10 %, at each number of ranks",
                    lambda t: all(0.9 <= ratio <= 1.1 for ratio in t.ratios("restart", "Reinit")),
                    {"restart": lambda n, row: 1.35 * row["Reinit"]}, {"restart": lambda n, row: 1.05 * row["Reinit"]})


def of_recovery():
    process, node = "Recovery from the failure of a process, ms (figure 6)", "Recovery from the failure of a node, ms (figure 7)"
    few, many = lambda n: n <= 64, lambda n: n > 64
    yield Claim("reinit", "figure 6", "Reinit++ and restart need almost constant time, regardless of the ranks", RECOVERY, process,
                lambda t: f"Reinit {span(t.column('Reinit'), ' ms')}, restart {span(t.column('restart'), ' ms')}, 4 to 256 ranks",
                why_not=SHARED)
    yield Claim("reinit", "figure 6", "restart takes about six times as long as Reinit++ (3 s, 0.5 s)", RECOVERY, process,
                lambda t: f"restart / Reinit {span(t.ratios('restart', 'Reinit'))}, in the median {statistics.median(t.ratios('restart', 'Reinit')):.3g}",
                "4 to 9 times in the median", lambda t: 4 <= statistics.median(t.ratios("restart", "Reinit")) <= 9,
                {"restart": lambda n, row: 2 * row["Reinit"]}, {"restart": lambda n, row: 6 * row["Reinit"]})
    yield Claim("reinit", "figure 6", "ULFM is on par with Reinit++ up to 64 ranks", RECOVERY, process,
                lambda t: f"ULFM / Reinit {span(t.ratios('ULFM, replace', 'Reinit', few))} up to 64 ranks", "within 25 % there",
                lambda t: all(0.75 <= ratio <= 1.25 for ratio in t.ratios("ULFM, replace", "Reinit", few)),
                {"ULFM, replace": lambda n, row: 1.35 * row["Reinit"]}, {"ULFM, replace": lambda n, row: 1.1 * row["Reinit"]})
    yield Claim("reinit", "figure 6", "beyond that it grows to three times at 1,024", RECOVERY, process,
                lambda t: f"ULFM / Reinit {span(t.ratios('ULFM, replace', 'Reinit', many))} from 128 ranks on", "more than 1.25 and at most 3.5 times",
                lambda t: all(1.25 < ratio <= 3.5 for ratio in t.ratios("ULFM, replace", "Reinit", many)),
                {"ULFM, replace": lambda n, row: 5 * row["Reinit"]}, {"ULFM, replace": lambda n, row: 2.5 * row["Reinit"]})
    yield Claim("reinit", "figure 7", "after the failure of a node Reinit++ is about twice as fast as restart (1.5 s, 3 s)", RECOVERY, node,
                lambda t: f"restart / Reinit {span(t.ratios('restart', 'Reinit'))}, in the median {statistics.median(t.ratios('restart', 'Reinit')):.3g}",
                "1.5 to 3 times in the median", lambda t: 1.5 <= statistics.median(t.ratios("restart", "Reinit")) <= 3,
                {"restart": lambda n, row: 1.1 * row["Reinit"]}, {"restart": lambda n, row: 2 * row["Reinit"]})
    yield Claim("reinit", "figure 7", "and needs almost constant time", RECOVERY, node,
                lambda t: f"Reinit {span(t.column('Reinit'), ' ms')}, 4 to 256 ranks", why_not=SHARED)


def of_daemons():
    noise, accuracy = "Overhead of heartbeats, per cent (figure 7)", "(figure 8)"
    nodes, processes = "over nodes (figure 11)", "over processes on 64 nodes (figure 12)"
    yield Claim("rdaemon", "figure 7", "at P = 1 ms ping-pong takes up to 3 % longer, and collectives less than 8 % (maxima; 64 nodes, all cores)",
                RUNTIME, noise,
                lambda t: f"P = 10 ms: {span(t.column('P = 10 ms'), ' %')}; equal runs {span(t.column('off again'), ' %')} (medians)",
                why_not="medians at periods of 10 ms and more were measured, on two processors, where equal runs differ by as much")
    yield Claim("rdaemon", "figure 8", "no living node is reported as failed with periods down to 20 ms, and each failure is found between P and 2 P",
                RUNTIME, accuracy,
                lambda t: "false reports in a run: " + ", ".join(f"{row[t.columns[0]]:.3g} at {name.partition(',')[0]}" for name, row in t.rows.items()
                                                              if name.startswith(("P = 20 ", "P = 10 ", "P = 2 "))),
                why_not="how long a failure takes to be found was not measured with the same periods; a detector that waits longer reports less")
    yield Claim("rdaemon", "figure 11", "the news of a process takes less than 5 ms at 64 nodes", RUNTIME, nodes,
                lambda t: f"{span([t.rows['64'][c] for c in t.columns[:3]], ' ms')} at 64 nodes, which share two processors", "less than 5 ms",
                lambda t: max(t.rows["64"][c] for c in t.columns[:3]) < 5,
                {"4 per node": lambda n, row: 5.1}, {c: lambda n, row: 4.9 for c in ("1 per node", "4 per node", "12 per node")})
    yield Claim("rdaemon", "figure 12", "and about 10 ms with 4,096 processes", RUNTIME, processes,
                lambda t: f"{t.rows['4096']['64 nodes']:.3g} ms on 64 nodes, which share two processors", "8 to 12.5 ms",
                lambda t: 8 <= t.rows["4096"]["64 nodes"] <= 12.5, {"64 nodes": lambda n, row: 13.5}, {"64 nodes": lambda n, row: 10})


def of_ulfm():
    one, eight = "Agreement without failures, us; one node", "Agreement without failures, us; 8 nodes"
    ratio = "agree / allreduce of an int"
    for title, where in ((one, "one node"), (eight, "8 nodes")):
        yield Claim("ulfm", "agreement, topologies", "ERA takes about twice as long as an optimised allreduce", ULFM, title,
                    lambda t, where=where: f"{span(t.column(ratio))} times our allreduce, {where}", "1.5 to 2.5 times, in the median of all numbers of ranks",
                    lambda t: 1.5 <= statistics.median(t.column(ratio)) <= 2.5, {ratio: lambda n, row: 3}, {ratio: lambda n, row: 2})
    yield Claim("ulfm", "agreement, scalability", "ERA grows with the logarithm of the ranks, and is faster than Log2phases", ULFM, one,
                lambda t: f"{span(t.column('agree / Open MPI agree'))} times Open MPI 5's ERA", why_not=SHARED.replace("256", "128"))
    yield Claim("ulfm", "revoke on Darter", "a revocation costs little more than a broadcast, and soon disturbs nobody", ULFM,
                "Revoke until the last member is interrupted, us; one node",
                lambda t: f"{span([a / b for a, b in zip(t.column('revoke'), t.column('Open MPI revoke'))])} times Open MPI 5's, 2 to 16 ranks",
                why_not="at most 64 ranks, on two processors; ours sleep where Open MPI's spin")
    yield Claim("ulfm", "S3D with Fenix", "shrink by ERA takes less time than by Log2phases, whatever number of ranks has failed", ULFM,
                "Shrink after failures at once, us; 64 ranks on one node",
                lambda t: ", ".join(f"{row['shrink'] / row['Open MPI shrink']:.3g}" for row in t.rows.values()) +
                f" times Open MPI 5's time after {', '.join(t.rows)} failures",
                why_not="S3D was not run, and shrink by Log2phases was not measured")
    yield Claim("ulfm", "MiniFE with LFLR", "the time in which MiniFE recovers its communicators", ULFM,
                "A finite-element program repairs its communicators, ms",
                lambda t: f"a program like it: repaired in {span(t.ratios('repaired', 'Open MPI repaired'))} times Open MPI 5's time, 4 to 64 ranks",
                why_not="MiniFE itself was not run")


def of_gossip():
    during = ("16, two fail meanwhile", "64, two fail meanwhile")
    for engine, which in (("gossip1", "first"), ("gossip2", "second")):
        yield Claim("katti", "algorithms 1 and 2", f"the {which} algorithm is completely fault tolerant, as it tolerates failures during the execution",
                    "../agreement-engines.md", "Gossip in the library",
                    lambda t, engine=engine: " and ".join(f"{t.rows[f'`{engine}`'][column]:.0f}" for column in during) +
                    " of 3,000 runs of 16 and 64 members return different sets", "none returns different sets",
                    lambda t, engine=engine: all(t.rows[f"`{engine}`"][column] == 0 for column in during),
                    {during[0]: lambda n, row: 1}, {column: lambda n, row: 0 for column in during})


CLAIMS = [*of_daemons(), *of_gossip(), *of_ulfm(), *of_apps(), *of_recovery()]


def counted(folder, source, figure):
    """For the index."""
    words = [claim.says(claim.table(folder)).partition(":")[0] for claim in CLAIMS if (claim.source, claim.figure) == (source, figure)]
    count = {word: words.count(word) for word in (AGREES, DIFFERS, NOT)}
    named = [f"{count[AGREES]} agree" if count[AGREES] else "", f"**{count[DIFFERS]} differ**" if count[DIFFERS] else "",
             f"{count[NOT]} not comparable" if count[NOT] else ""]
    return "[measured](measured.md): " + ", ".join(word for word in named if word)


def page(folder, sources):
    lines = ["# What was measured, beside what the sources state", "",
             "Written by `tools/figure-index` from the tables of the reports that are named; its check computes each line again. n is the least "
             "number of repetitions of a row of the table: 1 is a single run. *Not comparable* says why no criterion would be fair. What this project "
             "asks of itself stands in the reports, and not here. The mark is that of the table's text.", ""]
    for source, title in sources.items():
        claims = [claim for claim in CLAIMS if claim.source == source]
        if not claims:
            continue
        lines += [f"## {title}", "", "| | the source states | criterion | measured | n | table | verdict |", "|---|---|---|---|---|---|---|"]
        for claim in claims:
            table = claim.table(folder)
            lines.append(f"| {claim.figure} | {claim.states} | {claim.criterion or 'none'} | {claim.shown(table)} | {table.least_n()} | "
                         f"[{claim.title}]({claim.report}), {table.mark} | {claim.says(table)} |")
        lines.append("")
    return "\n".join(lines)
