#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that send their daemons messages of every type of the link, with sizes at every bound, in any state (rogue.c). They harm
only themselves: the other ranks compute right and see the failures of these ranks alone, every daemon lives to the end, and
nothing is left behind.

    rogue_test.py [--seeds 1..4] [--messages 300] [--budget SECONDS]
"""
import argparse
import os
import re
import resource
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../launch"))
import launch_rig as rig  # noqa: E402

OPTIONS = argparse.Namespace(seeds="1..4", messages=300, budget=0.0)
HONEST = ROGUES = 3
REFUSALS_SAID = 3  # by a daemon, of each process
# Right; a rank was killed, by itself or its daemon, or by its alarm; a process that a rogue has spawned could not be executed.
STATUSES = {0, 128 + 9, 128 + 14, rig.NOT_FOUND}
DAEMONS = r"(?m)^.*(?:assertion failed|Sanitizer|runtime error|node \d+ (?:has )?(?:failed|is lost)).*$"


class Rogues(rig.LaunchTest):
    def one(self, seed, when, environment=None, scheme="buddy", timeout="5s", **options):
        words = ["-n", "6", "--nodes", "3", "--oversubscribe", "--hb-timeout", timeout, "--checkpoint", scheme, rig.program("rogue"),
                 str(seed), str(OPTIONS.messages), when]
        result = self.run_it(*words, environment=environment, **options)
        told = f"{' '.join([rig.RZRUN, *words])}: status {result.status}\n{result.out}{result.err[-3000:]}"
        self.assertEqual(result.out.count("right\n"), HONEST, told)
        self.assertIn(result.status, STATUSES, told)
        self.assertIsNone(re.search(DAEMONS, result.err), told)
        for rank in range(6):
            self.assertLessEqual(result.err.count(f"rank {rank} is refused: "), REFUSALS_SAID, told)
        return result

    def each(self, when):
        first, last = map(int, OPTIONS.seeds.split(".."))
        end = time.monotonic() + (OPTIONS.budget / 3 or rig.HANG_S)
        for seed in range(first, last + 1):
            if seed > first and time.monotonic() > end:
                break
            with self.subTest(seed=seed, when=when):
                self.one(seed, when)

    def test_in_place_of_mpi_init(self):
        self.each("early")

    def test_between_collectives(self):
        self.each("loop")

    def test_after_mpi_finalize(self):
        self.each("left")

    def ends(self, kind, told, times=1):
        for nodes in ("1", "2") * times:
            with self.subTest(kind=kind, nodes=nodes):
                result = self.runs("-n", "2", "--nodes", nodes, "--oversubscribe", rig.program("rogue_bye"), kind)
                self.assertEqual(result.out, f"{told}\n" * 2, result.err)

    def test_bye_of_spawned_processes_amid_their_work(self):
        self.ends("inter", "told")

    def test_bye_amid_an_operation_that_succeeds_elsewhere(self):
        self.ends("merged", "told")

    def test_spawned_processes_that_end_after_their_part(self):
        self.ends("freed", "right", 10)

    def test_revocations_without_end(self):
        """Daemons remember each until the end of the job."""
        result = self.one(1, "revoke", {"RZ_REVOCATIONS_EACH": "50"})
        self.assertEqual(result.err.count("it has revoked more communicators"), ROGUES, result.err)

    def test_lines_without_end(self):
        """Each is a descriptor of the daemon, which does not have so many."""
        def few():
            resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))
        result = self.one(1, "lines", preexec_fn=few)
        self.assertNotIn("its daemon", result.err)

    def test_groups_that_grow_before_they_are_refused(self):
        self.one(1, "sizes")

    def test_checkpoint_pieces_whose_close_waits(self):
        """A daemon that waits with them is taken for failed."""
        self.one(1, "linger", timeout="1s")

    def pieces(self, when, told, environment=None):
        for scheme in "buddy", "xor:2":
            with self.subTest(scheme=scheme):
                result = self.one(1, when, environment, scheme)
                self.assertEqual(len(re.findall(f"is killed: its checkpoint piece.* {told}", result.err)), ROGUES, result.err)

    def test_checkpoint_pieces_of_holes(self):
        """They cost a rogue nothing, and would cost the daemons of other nodes more than there is."""
        self.pieces("sparse", "has holes")

    def test_checkpoint_pieces_for_which_no_other_node_has_memory(self):
        self.pieces("large", "of 8388608 bytes cannot be copied: node \\d has no memory for it", {"RZ_TEST_MEMORY_LEFT": "0"})

    def test_checkpoint_pieces_with_another_checksum(self):
        self.pieces("false", "does not match its checksum")

    def test_checkpoint_pieces_that_change_while_they_are_copied(self):
        """Such a process ends, or each has seen the same bytes."""
        for scheme in "buddy", "xor:2":
            for _ in range(3):
                with self.subTest(scheme=scheme):
                    self.one(1, "changing", scheme=scheme)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name, value in vars(OPTIONS).items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    OPTIONS, rest = parser.parse_known_args()
    sys.argv[1:] = rest
    rig.main()
