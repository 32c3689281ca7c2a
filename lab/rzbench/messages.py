# SPDX-License-Identifier: BSD-3-Clause
"""The parts messages and network of the study mpi: latency, bandwidth and message rate of two ranks, on one node and on two."""
from . import records
from .peers import at_least, at_most, pair
from .systems import RHIZOME
from .table import Samples

# What bench_messages measures: the kind of its table, and what a row is called.
MEASURES = {"latency": ("latency", "half round trip"), "pingpong": ("bandwidth", "ping-pong"), "stream": ("bandwidth", "stream"),
            "posted": ("rate", "posted receives"), "unexpected": ("rate", "unexpected messages"),
            "reverse": ("rate", "tags received in reverse order"), "shuffled": ("rate", "tags received in shuffled order")}
KINDS = {"latency": "half round trip, us", "bandwidth": "bandwidth, MB/s", "rate": "10^6 messages of 8 B per second"}

# What is measured in each part, and what is asked for: at most (latency) or at least so much of the better peer's.
LONG = (64 << 10, 256 << 10, 1 << 20, 4 << 20)
ON_ONE_NODE = {"latency": (8, 1 << 10, 8 << 10), "pingpong": LONG, "stream": LONG, "posted": (64,), "unexpected": (1000,),
               "reverse": (1000, 10000), "shuffled": (1000, 10000)}
ON_TWO_NODES = {"latency": (8,), "pingpong": (64 << 10, 1 << 20, 16 << 20), "stream": (64 << 10, 1 << 20, 16 << 20)}
ONE_NODE, TWO_NODES = {"latency": 1.05, "bandwidth": 1.0, "rate": 1.0}, {"latency": 1.05, "bandwidth": 0.95}
SHORT_QUEUE, LONG_QUEUE, GROWTH_MOST = 1000, 10000, 3  # messages; a message of the long queue may cost so many times one of the short queue


def row_of(measure, n):
    kind, what = MEASURES[measure]
    return f"{n} {what}" if kind == "rate" else f"{what}, {records.size_text(n)}"


def measured(bench, name, where, text, measures, **start):
    """A table of each kind; (measure, n, table, row) of each measurement."""
    return pair(bench, "bench_messages", f"mpi-{name}", where, text, KINDS,
                {measure: (MEASURES[measure][0], sizes) for measure, sizes in measures.items()}, row_of, **start)


def judge(bench, rows, bounds, where, beside=lambda measure, n: True):
    for measure, n, table, row in rows:
        kind = MEASURES[measure][0]
        if beside(measure, n):
            what = f"message rate, {row}{where}" if kind == "rate" else f"{row}{where}"
            (at_most if kind == "latency" else at_least)(bench, table, row, bounds[kind], what)


def growth(table, measure):
    """What a message of the long queue costs over one of the short queue, repetition by repetition."""
    short, long = (table.at(row_of(measure, n), RHIZOME) for n in (SHORT_QUEUE, LONG_QUEUE))
    return Samples(short.over(long).values)


def messages(bench):
    if not bench.compile("bench_messages", peers=True):
        return False
    text = (f"### Messages\n\nTwo ranks on one node{bench.pinned_text()}. Stream: 16 messages in progress. Unexpected messages, and those of different "
            "tags, have all arrived before the first is received.")
    rows = measured(bench, "messages", " on one node", text, ON_ONE_NODE)
    judge(bench, rows, ONE_NODE, "", lambda measure, n: measure not in ("reverse", "shuffled") or n == LONG_QUEUE)
    for measure in ("reverse", "shuffled"):
        bench.claims.most(f"a message of {LONG_QUEUE} over one of {SHORT_QUEUE}, {MEASURES[measure][1]}", GROWTH_MOST,
                          growth(rows[-1][2], measure).interval())
    return True


def network(bench):
    if not bench.compile("bench_messages", peers=True):
        return False
    text = f"### Network\n\nTwo ranks{bench.pinned_text()}, over TCP on loopback."
    rows = measured(bench, "network", " on two nodes", text, ON_TWO_NODES, between=True)
    judge(bench, rows, TWO_NODES, ", two nodes")
    return True
