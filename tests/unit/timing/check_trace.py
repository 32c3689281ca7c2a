#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_trace.py PROGRAM: the traces it writes are JSON that a viewer takes, and show what happened."""
import collections
import json
import os
import subprocess
import sys
import tempfile


def trace(*arguments):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        subprocess.run([sys.argv[1], path, *arguments], check=True)
        with open(path, encoding="utf-8") as file:
            return json.load(file)


def check_nesting(events):
    """Slices of one track follow each other or lie one inside the other."""
    tracks = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            tracks[event["tid"]].append((event["ts"], -event["dur"]))
    for slices in tracks.values():
        ends = []
        for begin, minus in sorted(slices):
            while ends and ends[-1] <= begin + 1e-9:
                ends.pop()
            assert not ends or begin - minus <= ends[-1] + 1e-9, slices
            ends.append(begin - minus)


def main():
    whole = trace()
    events = whole["traceEvents"]
    kinds = collections.Counter(event["ph"] for event in events)
    # Four pings, three answers (4 is failed), one more: eight sends, of which seven arrive.
    assert kinds["s"] == 8 and kinds["f"] == 7, kinds
    sent = {event["id"]: event for event in events if event["ph"] == "s"}
    for event in events:
        if event["ph"] == "f":
            assert sent[event["id"]]["ts"] < event["ts"], event
    names = collections.Counter(event["name"] for event in events if event["ph"] == "X")
    assert names == {"PING \"quoted\\\"": 3, "NEWS": 4, "call": 3, "failure": 1, "tick": 1}, names
    assert [event for event in events if event["name"] == "fails" and event["ph"] == "i" and event["tid"] == 5]
    ping = [event for event in events if event["name"].startswith("PING")][0]
    assert abs(ping["ts"] - 1.1) < 1e-9 and abs(ping["dur"] - 0.15) < 1e-9, ping
    check_nesting(events)
    assert whole["otherData"]["left_out"] == 0

    nodes = trace("nodes")["traceEvents"]
    assert {event["pid"] for event in nodes} == {1, 2, 3}
    assert {event["args"]["name"] for event in nodes if event["name"] == "process_name"} == {"node 0", "node 1", "node 2"}

    short = trace("nodes", "10")
    assert sum(event["ph"] != "M" for event in short["traceEvents"]) == 10
    assert short["otherData"]["left_out"] > 10


main()
