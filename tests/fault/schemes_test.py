#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoint schemes (rzrun --checkpoint): the losses that each tolerates are restored to the bit, from the reported source; after one more loss
the job begins at the beginning and reports it; damaged copies are found, and others used."""
import contextlib
import glob
import json
import os
import re
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../launch"))
import launch_rig as rig  # pylint: disable=wrong-import-position

MEMBER = rig.program("schemes_member")
CHECKPOINT_LOST = 8
RESTORED = 18  # the last checkpoint before the program is held at iteration 20
OLDER = 15  # the one before
SMALL, LARGE = 100_001, 3_000_001


class Schemes(rig.LaunchTest):
    def job(self, scheme, *faults, nodes=5, ranks=8, size=SMALL, held=None, status=0, options=(),
            environment=None):
        """Runs the member; the nodes that faults name crash while it is held, and `held` looks at it meanwhile."""
        line = ["-n", str(ranks), "--nodes", str(nodes), "--hb-timeout", "5s", "--timeout", rig.HANG, "-v"]
        line += ["--checkpoint", scheme] if scheme else []
        for fault in faults:
            line += ["--inject", f"kill {fault} at iteration 20"]
        process = self.start(*line, *options, MEMBER, str(size), *([self.folder] if faults or held else []),
                             environment=environment)
        if faults or held:
            there = rig.await_true(lambda: os.path.exists(f"{self.folder}/held") or process.poll() is not None)
            self.assertTrue(there and process.poll() is None, "the program does not come to iteration 20")
            if held:
                held()
            self.file("go", "")
        result = self.finish(process)
        for name in ("held", "go"):
            if os.path.exists(f"{self.folder}/{name}"):
                os.unlink(f"{self.folder}/{name}")
        self.assertEqual(result.status, status, result.err)
        return result

    def calm(self, size=SMALL, ranks=8):
        """What a run without faults says."""
        return self.job(None, size=size, ranks=ranks).out

    def survives(self, scheme, *faults, restored=RESTORED, **how):
        result = self.job(scheme, *faults, **how)
        self.assertEqual(result.out, self.calm(how.get("size", SMALL), how.get("ranks", 8)), result.err)
        begun = re.findall(r"restored iteration (\d+)", result.err)
        self.assertTrue(begun, f"nothing was restored:\n{result.err}")
        if restored is not None:
            self.assertIn(restored, [int(word) for word in begun], result.err)
        if restored != 0:
            self.assertNotIn(0, [int(word) for word in begun], result.err)
            self.assertNotIn("is lost with the nodes", result.err)
        return result

    def fail_at_once(self, *nodes):
        """All of them before any of the others can do anything about it. Nodes have the addresses 127.0.1.1 and so on."""
        daemons = {int(re.search(r"127\.0\.1\.(\d+)", daemon.command)[1]) - 1: daemon.pid for daemon in self.members()["rzd"]}
        others = [pid for node, pid in daemons.items() if node not in nodes]
        for pid in others:
            os.kill(pid, signal.SIGSTOP)
        for node in nodes:
            os.kill(daemons[node], signal.SIGKILL)
        for pid in others:
            os.kill(pid, signal.SIGCONT)

    def made(self, result):
        """Ranks with pieces rebuilt from parities, and the nodes that sent the blocks."""
        return {int(rank): {int(node) for node in nodes.split(", ")}
                for rank, nodes in re.findall(r"the piece of rank (\d+), .* blocks of nodes ([\d, ]+)", result.err)}


class Failures(Schemes):
    """Ranks 0 and 1 are on node 0, 2 and 3 on node 1, 4 on node 2 (by --map-by slot)."""

    def test_memory_bears_processes(self):
        self.survives("memory", "rank 3", "rank 7")

    def test_memory_bears_no_node(self):
        result = self.survives("memory", "node 1", restored=0)
        self.assertIn("is lost with the nodes that held it (--checkpoint memory tolerates no more losses)", result.err)

    def test_buddy_bears_a_node(self):
        self.assertEqual(self.made(self.survives("buddy", "node 1")), {})

    def test_xor_bears_one_node_of_a_group(self):
        result = self.survives("xor:5", "node 1", size=LARGE, options=("--report", f"{self.folder}/report"))
        with open(f"{self.folder}/report") as report:
            from_where = dict(re.findall(r"event=restored epoch=2 rank=(\d+) .* note=(.*)", report.read()))
        self.assertEqual({rank for rank, note in from_where.items() if note == "parities"}, {"2", "3"}, from_where)
        made = self.made(result)
        self.assertEqual(set(made), {2, 3})
        self.assertEqual(made[2], {0, 2, 3, 4})

    def test_xor_bears_one_node_of_each_group(self):
        # Groups of 0 to 2 and 3 to 5.
        made = self.made(self.survives("xor:3", nodes=6, ranks=6, held=lambda: self.fail_at_once(1, 4)))
        self.assertTrue({1, 4} <= set(made), made)

    def test_xor_bears_no_second_node_of_a_group(self):
        result = self.survives("xor:5", restored=0, held=lambda: self.fail_at_once(1, 2))
        self.assertIn("starts from its beginning", result.err)

    def test_rs_bears_two_nodes(self):
        result = self.survives("rs:3+2", size=LARGE, held=lambda: self.fail_at_once(1, 3))
        self.assertTrue(set(self.made(result)) >= {2, 3}, result.err)
        self.assertIn("needs 5 nodes, and 3 are left: from now on checkpoints tolerate the loss of 2 of them", result.err)

    def test_rs_bears_two_nodes_of_six_with_spares(self):
        made = self.made(self.survives("rs:2+2", "node 0", "node 2", nodes=6, ranks=7,
                                        options=("--spares", "2")))
        self.assertTrue(made)

    def test_rs_begins_anew_after_three(self):
        result = self.survives("rs:3+2", restored=0, held=lambda: self.fail_at_once(0, 2, 3))
        self.assertIn("is lost with the nodes that held it (--checkpoint rs:3+2 tolerates no more losses)", result.err)

    def test_rs_of_one_is_copies(self):
        self.survives("rs:1+4", "node 0", "node 1", "node 2", "node 3")

    def test_process_needs_no_parity(self):
        self.assertEqual(self.made(self.survives("rs:3+2", "rank 2", "rank 5")), {})


class Kills(Schemes):
    """A daemon is killed at each step of keeping pieces and of giving them back; the generation before is whole."""

    def killed(self, scheme, point, *faults):
        with self.subTest(scheme, point=point):
            result = self.survives(scheme, *faults, environment={"RZ_KILL_AT": point}, restored=None,
                                   options=("--report", f"{self.folder}/report"))
            with open(f"{self.folder}/report") as report:
                failed = set(re.findall(r"event=failure_seen epoch=\d+ rank=-1 node=(\d+)", report.read()))
            self.assertEqual(len(failed), 1 + len(faults), f"it did not crash there:\n{result.err}")
            begun = [int(word) for word in re.findall(r"restored iteration (\d+)", result.err)]
            self.assertGreaterEqual(min(begun), 9, result.err)  # changes that meet another base are sent again, whole

    def test_keeping(self):
        # Parts and acknowledgements of the fourth to the sixth generation of eight ranks.
        for point in ("piece-came:11", "piece-part:11", "piece-kept:11", "piece-ack:11"):
            self.killed("buddy", f"{point}@0")
        for point in ("piece-came:11", "piece-part:70", "share:70", "piece-kept:35", "piece-ack:45"):
            self.killed("rs:3+2", f"{point}@0")

    def test_giving_back(self):
        # Node 1 fails while the program is held; another one in the middle of the recovery.
        for point in ("block:2@0", "block:2@2", "rebuilt@3", "rebuilt@4", "piece-back@3", "piece-back@4"):
            self.killed("rs:3+2", point, "node 1")


class Damage(Schemes):
    def copies(self, name):
        """The memory of checkpoint pieces in daemons: pid, file, inode."""
        found = {}
        for daemon in self.members()["rzd"]:
            for fd in os.listdir(f"/proc/{daemon.pid}/fd"):
                path = f"/proc/{daemon.pid}/fd/{fd}"
                with contextlib.suppress(FileNotFoundError):  # the daemon has closed it since
                    if os.readlink(path).startswith(f"/memfd:{name}"):
                        found[os.stat(path).st_ino] = path
        return list(found.values())

    def newest(self, name):
        """Those of the checkpoint at iteration 18; the one at 15 is there, too."""
        found = {}
        for path in self.copies(name):
            with open(path, "rb") as memory:
                memory.seek(4)
                n = int.from_bytes(memory.read(4), "little")
                memory.seek((8 + 12 * n + 63) // 64 * 64)  # region 0, src/ckpt/piece.h
                found.setdefault(int.from_bytes(memory.read(4), sys.byteorder), []).append(path)
        self.assertEqual(set(found), {RESTORED, OLDER}, "pieces of other checkpoints")
        return found[RESTORED]

    def damage(self, paths):
        self.assertTrue(paths, "no daemon holds such a piece")
        for path in paths:
            with open(path, "r+b", buffering=0) as memory:
                memory.seek(20_000)
                byte = memory.read(1)
                memory.seek(20_000)
                memory.write(bytes([byte[0] ^ 1]))

    def falls_back(self, scheme, *faults, kind="rz-checkpoint", only=None):
        """The newest checkpoint is damaged; all roll back to the one before, and the job ends with the right bits."""
        result = self.survives(scheme, *faults, restored=OLDER, held=lambda: self.damage(self.newest(kind)[:only]),
                               options=("--story", "--report", f"{self.folder}/report", "--cases", f"{self.folder}/cases"))
        self.assertNotIn(f"restored iteration {RESTORED}", result.err)
        said = "checkpoint 6 is damaged, and there is no other copy of the damaged piece: the job rolls back to checkpoint 5\n"
        self.assertEqual(result.err.count(said), 1, result.err)
        with open(f"{self.folder}/report") as report:
            told = report.read()
        restored = re.findall(r"event=restored epoch=\d+ rank=(\d+) .*value=(\d+)", told)
        self.assertEqual(sorted({(int(rank), int(value)) for rank, value in restored}), [(rank, 5) for rank in range(8)])
        # Each live node reports it once; the recovery shows it on the terminal, in the report and in the cases.
        lived = 5 - sum(fault.startswith("node") for fault in faults)
        given_up = re.findall(r"event=fell_back epoch=\d+ rank=-1 node=(\d+) .*value=(\d+)", told)
        self.assertEqual((len(given_up), len(set(given_up)), {value for _, value in given_up}), (lived, lived, {"6"}), told)
        self.assertEqual(len(re.findall(r"event=recovery way=reinit .* generation=5 damaged_generation=6 ", told)), 1, told)
        self.assertIn("checkpoint 6 could not be restored: back to the one before", result.err)
        for path in glob.glob(f"{self.folder}/cases/*"):
            with open(path, encoding="utf-8") as case:
                repair = json.load(case)
            self.assertEqual((repair["done"], repair["generation"], repair["timeline"]["damaged_generation"]), ("global restart", 5, 6), path)

    def test_all_go_back_further_when_one_piece_is_damaged(self):
        self.falls_back("memory", "rank 2", only=1)

    def test_all_go_back_further_when_all_pieces_are_damaged(self):
        self.falls_back("memory", "rank 2")
        self.falls_back("rs:3+2", "rank 2", "rank 5")

    def test_all_go_back_further_when_copies_of_lost_pieces_are_damaged(self):
        self.falls_back("buddy", "node 1", kind="rz-piece")

    def test_damaged_copy_is_not_used(self):
        # The pieces that the processes wrote are valid; every copy is damaged. Node 1 has failed: no node has the pieces of its ranks.
        result = self.job("buddy", "node 1", held=lambda: self.damage(self.copies("rz-piece")), status=CHECKPOINT_LOST)
        self.assertIn("is damaged", result.err)

    def test_copy_takes_the_place_of_a_damaged_piece(self):
        # Processes crash, and all that processes wrote is damaged; the copies are not.
        result = self.survives("buddy", "rank 2", held=lambda: self.damage(self.copies("rz-checkpoint")))
        self.assertIn("is damaged here", result.err)

    def test_parity_takes_the_place_of_a_damaged_piece(self):
        def damage_one_daemon():
            # The pieces of two ranks of one node, as many columns as one node has.
            paths = self.copies("rz-checkpoint")
            daemon = paths[0].split("/")[2]
            self.damage([path for path in paths if path.split("/")[2] == daemon])
        result = self.survives("rs:3+2", "rank 2", held=damage_one_daemon)
        self.assertIn("is damaged here", result.err)
        self.assertTrue(self.made(result), result.err)

    def test_a_piece_that_is_not_what_its_process_says(self):
        # The helper's piece does not match its checksum, and the program runs.
        result = self.run_it("-n", "2", "--nodes", "2", "--timeout", rig.HANG, rig.program("daemon_test_helper"), "join", "enter",
                             "store:wrong", "serve")
        self.assertEqual(result.status, 128 + 9, result.err)
        self.assertRegex(result.err, r"rank [01] is killed: its checkpoint piece \(generation 1\) does not match its checksum")

    def test_memory_alone_says_that_it_is_damaged(self):
        result = self.job("memory", "rank 2", held=lambda: self.damage(self.copies("rz-checkpoint")), status=CHECKPOINT_LOST)
        self.assertIn("is damaged, and there is no other copy", result.err)


class Words(Schemes):
    def test_too_few_nodes(self):
        result = self.run_it("-n", "2", "--nodes", "3", "--checkpoint", "xor:4", MEMBER)
        self.assertEqual(result.status, rig.BAD_LINE)
        self.assertIn("--checkpoint xor:4 needs groups of 4 nodes, and there are 3", result.err)

    def test_no_such_scheme(self):
        result = self.run_it("-n", "2", "--checkpoint", "raid", MEMBER)
        self.assertEqual(result.status, rig.BAD_LINE)
        self.assertIn("it is memory, buddy, xor:K (like xor:4), rs:K+M (like rs:3+2) or file", result.err)


rig.main()
