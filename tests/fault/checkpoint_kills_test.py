#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A daemon is killed at each step of writing, marking, removing and reading checkpoint files: the generations before are whole,
and the program ends with the bits of the undisturbed run, whether it goes on in place (MPIX_Reinit), restarts in the same
rzrun (--on-failure restart), or is started again later (--restart).

Node 0 has two ranks and writes the marks: its n-th piece belongs to generation (n + 1) / 2."""
import os
import shutil
import tempfile

import checkpoint_rig
from checkpoint_rig import fails, rig

PIECE = ("file-begin", "file-opened", "file-written", "file-synced", "file-named", "file-durable")
MARK = ("mark-begin", "mark-opened", "mark-written", "mark-synced", "mark-named", "mark-durable")
PRUNE = ("prune", "prune-unmarked")
RESTORE = ("restore-open", "restore-read", "restore-checked")

# Where it fails, and the oldest generation that must be there then. Before the n-th mark there are n - 1; the first removal comes
# with the third mark. A piece of generation 5 is written when 4 is agreed on, and its mark may be in progress.
WRITING = [(f"{point}:9@0", 3) for point in PIECE] + [(f"{point}:4@0", 3) for point in MARK] + \
          [(f"{point}:2@0", 4) for point in PRUNE]


class KillTest(checkpoint_rig.CheckpointTest):
    def disk(self):
        """Processes are killed here, not machines: a file system in memory serves as well, and is faster."""
        if not os.access("/dev/shm", os.W_OK):
            return self.folder
        folder = tempfile.mkdtemp(prefix="checkpoint-test-", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return folder


class Reinit(KillTest):
    def test_writing(self):
        for point, least in WRITING:
            with self.subTest(point):
                self.solves(environment=fails(point))
                self.assertGreaterEqual(min(self.restored()), least, "what was agreed on is in files")
                self.assertEqual(os.listdir(self.directory), [])

    def test_reading(self):
        """The node that takes the place of a failed one fails when it reads its file: a third one takes it."""
        for point in RESTORE:
            with self.subTest(point):
                # Node 1 of five fails at its fifth piece; the spare one, 4, is next.
                program = [rig.program("checkpoint_job"), "20", "10", "true"]
                self.job = f"{self.directory}/checkpoint_job"
                calm = self.runs(*self.line(nodes=4), *program[:2], "20", "true").out
                result = self.runs(*self.line("--spares", "1", nodes=5), *program, environment=fails(f"{point}@4"))
                self.assertEqual(result.out, calm, result.err)
                self.assertGreaterEqual(len({event["epoch"] for event in self.events("epoch")}), 3)


class Restart(KillTest):
    def test_writing(self):
        for point, least in WRITING:
            with self.subTest(point):
                result = self.solves("--on-failure", "restart", environment=fails(point))
                self.assertIn("restarts (1)", result.err)
                self.assertNotIn("cannot be used", result.err)
                self.assertGreaterEqual(min(self.restored()), least)


class Later(KillTest):
    def test_writing(self):
        for i, (point, least) in enumerate(WRITING):
            scheme = ("file", "buddy")[i % 2]
            with self.subTest(point, scheme=scheme):
                self.killed(point, scheme=scheme)
                result = self.solves("--restart", scheme=scheme)
                self.assertNotIn("cannot be used", result.err)
                self.assertGreaterEqual(min(self.restored()), least if scheme == "file" else 1)

    def test_reading(self):
        for point in RESTORE:
            with self.subTest(point):
                newest = max(self.leaves_checkpoints())
                before = self.committed()
                self.killed(f"{point}@1", "--restart")
                self.assertEqual(self.committed(), before, "reading changes nothing")
                result = self.solves("--restart", "--on-failure", "restart", environment=fails(f"{point}@1"))
                self.assertIn("restarts (1)", result.err)
                self.assertEqual(self.restored(), {newest})


if __name__ == "__main__":
    rig.main()
