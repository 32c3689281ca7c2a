# SPDX-License-Identifier: BSD-3-Clause
"""The part memory of the study rewind: what is held for the images of a job, by each scheme of --checkpoint."""
import os
import shutil
import time

from . import records
from .run import OUT_OF_TIME, leading_number, parent_of
from .table import Table

SCHEMES = ("memory", "buddy", "xor:4", "rs:2+2", "file")
NODES, SNAPSHOTS, LOOK_S = 4, 2, 0.3
IMAGE, COPY = "/memfd:rz-image", "/memfd:rz-piece"
HELD, OWN, COPIES, DAEMON, IN_FILES, RANK = ("held / a rank's memory", "its images, MiB", "copies of other ranks' images, MiB", "daemon, with parities, MiB",
                                             "in files, MiB", "a rank's memory, MiB")
TEXT = f"""### Memory

{NODES} ranks on {NODES} nodes after two snapshots. Held: their images and copies of them, and what the daemons have of their own, with parities. A rank's
memory is without its images. Values are for each rank.
"""


def own_kib(pid):
    """What is a process's own, and its share of the pages of files; not memory that it shares, of which the images are a part."""
    lines = records.contents(f"/proc/{pid}/smaps_rollup")
    return sum(leading_number(records.first_value(lines, name)) for name in ("Pss_Anon", "Pss_File"))


def shared_bytes(pids):
    """{file: (its name, bytes)} of the memory without a name in a file system that these processes hold, mapped or not."""
    found = {}
    for pid in pids:
        for descriptor in os.listdir(f"/proc/{pid}/fd"):
            path = f"/proc/{pid}/fd/{descriptor}"
            try:
                name, status = os.readlink(path), os.stat(path)
            except OSError:
                continue  # closed meanwhile
            if name.startswith("/memfd:"):
                found[status.st_dev, status.st_ino] = name, status.st_blocks * 512
    return found


def file_bytes(folder):
    return sum(os.path.getsize(f"{place}/{name}") for place, _, names in os.walk(folder) for name in names)


class Held:
    """By one job, as its record says which processes there are; looked at until nothing changes any more. values: for each rank, by column; None: not yet."""

    def __init__(self, report, folder):
        self.report, self.folder, self.next, self.bytes, self.values = report, folder, 0, None, None

    def enough(self):
        if time.monotonic() >= self.next:
            self.next = time.monotonic() + LOOK_S
            try:
                self.look()
            except OSError:
                pass  # a process has ended, which the end of the job tells
        return self.values is not None

    def daemons(self):
        """Once each node has said that so many snapshots are committed."""
        events = list(records.events(records.contents(self.report)))
        committed = {fields["node"] for event, fields in events if event == "committed" and int(fields["value"]) >= SNAPSHOTS}
        return [int(fields["daemon"]) for event, fields in events if event == "node"] if len(committed) == NODES else []

    def look(self):
        daemons = self.daemons()
        ranks = [int(pid) for pid in filter(str.isdigit, os.listdir("/proc")) if parent_of(pid) in daemons]
        shared, before = shared_bytes([*daemons, *ranks]).values(), self.bytes
        self.bytes = [sum(n for name, n in shared if name.startswith(kind)) for kind in (IMAGE, COPY)] + [file_bytes(self.folder)]
        if len(ranks) == NODES and self.bytes == before:
            self.values = self.of_each_rank(daemons, ranks)

    def of_each_rank(self, daemons, ranks):
        images, copies, files = (n / NODES / 2**20 for n in self.bytes)
        daemon, rank = (sum(map(own_kib, pids)) / NODES / 1024 for pids in (daemons, ranks))
        return {HELD: (images + copies + daemon) / rank if rank else None, OWN: images, COPIES: copies, DAEMON: daemon, IN_FILES: files, RANK: rank}


def memory(bench):
    report, folder, mib = f"{bench.folder}/rewind.report", f"{bench.folder}/checkpoints", 16 if bench.quick else 64
    table = Table("rewind-memory", f"{NODES} ranks of {mib} MiB on {NODES} nodes: what is held for each rank after two snapshots", "--checkpoint",
                  columns=(HELD, OWN, COPIES, DAEMON, IN_FILES, RANK))

    def command(scheme):
        options = ["--rewind", "1s", "--checkpoint", scheme, *(["--checkpoint-dir", folder] if scheme == "file" else []), "--report", report]
        return [*bench.start("bench_rewind_run", NODES, NODES, options=options), str(mib), "10", "1", "0", "plain"]

    def measure(scheme, repetition):
        shutil.rmtree(folder, ignore_errors=True)
        held = Held(report, folder)
        result = bench.run(command(scheme), watch=held.enough)
        records.take(report)
        if held.values or result.end != OUT_OF_TIME:
            bench.tally.count(bool(held.values))
            if not held.values:
                bench.complain(command(scheme), result, "two snapshots were not seen")
        for column in table.columns:
            table.put(scheme, column, repetition, (held.values or {}).get(column))
    bench.say(f"\n{TEXT}")
    bench.turns((3, 1), SCHEMES, measure)
    shutil.rmtree(folder, ignore_errors=True)
    bench.show(*map(command, SCHEMES), tables=[table])
    return True
