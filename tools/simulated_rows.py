# SPDX-License-Identifier: BSD-3-Clause
"""Rows of docs/figures/README.md (rzsim figure all) that say less than their verdict: true by construction, by a number that we have chosen, or
of a composition that is not shipped (tools/figure-index). The index counts them by what stands here, and shows why."""

DEFINITION, NOT, OURS, DIFFERS = "definition", "not comparable", "ours", "differs"

# (figure, how its row begins, what it counts as, why)
ROWS = [
    ("rdaemon-9", "RDaemon#: every trial", DEFINITION, "the timer's formula: a silent node is found between P and T"),
    ("rdaemon-9", "RDaemon# over processes", DEFINITION, "processes of a node have no part in the model of the ring"),
    ("rdaemon-10", "RDaemon#: detection", DEFINITION, "the timer's formula"),
    ("rdaemon-10", "from detection to the last notification", NOT, "the broadcast follows at once; daemons ask all others first (the roll call)"),
    ("rdaemon-11", "RDaemon#, 12 processes per node: trend", DEFINITION, "a broadcast on that graph, without losses, has that depth"),
    ("rdaemon-11", "ULFM, 1 and 12 processes per node: trend", DEFINITION, "the same"),
    ("rdaemon-12", "trend over nodes", DEFINITION, "the same"),
    ("rdaemon-13", "RDaemon#: until all know", DEFINITION, "the timer's formula, and a broadcast of a fraction of a millisecond"),
    ("rdaemon-14", "every trial, 4 to 64 nodes", DEFINITION, "the same"),
    ("rdaemon-15", "drawn at random from 1,024 nodes", NOT,
     "how much is marginal is not stated: eight take 1.3 times as long as one, as independent phases of heartbeats let expect"),
    ("katti-9", "cycles more than with one failure", NOT,
     "the source does not say when its processes failed, and the last failure decides: ours fail within 4 cycles"),
    ("katti-10", "a straight line over log2", DEFINITION, "algorithm 2 returns after a number of cycles that is computed from the size"),
    ("katti-10", "cycles between the first and the last process", DEFINITION, "the same"),
    ("dgrp-7", "peaks above the threshold", DEFINITION, "a failed test is one whose time is above the threshold"),
    ("dgrp-table3", "load of the hosts beside their state", DIFFERS,
     "in the source process 2 is removed most often, on the busiest host; here five others are, and ours is a light one"),
    ("dgrp-loss", "views of one round that differ", OURS, "the source says that channels are unreliable, and not what becomes of views"),
    ("dgrp-loss", "what members know, after the last loss", OURS, "the same"),
    ("reinit-recovery", "failure of a process, 16 to 1024 ranks", DEFINITION, "4.55 of 5.15 ms are constants that were measured here and typed in"),
    ("reinit-recovery", "failure of a node of 16, 64 to 1024 ranks", DEFINITION, "10.2 of 10.76 ms are such constants"),
    ("ulfm-era", "Log2phases with scans", NOT, "the line is that of 1 ns for each rank and message, which is assumed"),
    ("ulfm-era", "messages without failures", DEFINITION, "one up and one down each edge of a tree"),
    ("ulfm-topology", "bin/star against flat", NOT, "the gap of 100 ns between messages of a node decides, which is assumed"),
    ("ulfm-topology", "bin/bin against the others", NOT, "the same"),
]


def of(figure, row):
    """What the row counts as, and why; None: as README.md says."""
    return next(((kind, why) for name, begins, kind, why in ROWS if name == figure and row.startswith(begins)), None)


def section(rows):
    """rows: (figure, row, verdict) of README.md. Each entry above belongs to one of them."""
    lines = ["## Rows that say less than README.md counts", "",
             "A *definition* is true by the way in which it is computed, so it says nothing of the source. *Ours* is an expectation of this project.", "",
             "| figure | row | README.md | here | why |", "|---|---|---|---|---|"]
    for figure, begins, kind, why in ROWS:
        found = [(row, verdict) for name, row, verdict in rows if name == figure and row.startswith(begins)]
        if len(found) != 1:
            raise SystemExit(f"simulated_rows: {figure} has {len(found)} rows that begin with '{begins}'")
        lines.append(f"| {figure} | {found[0][0]} | {found[0][1]} | {kind} | {why} |")
    return lines + [""]
