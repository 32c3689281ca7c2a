#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Where ranks run: on which node, on which cores (the masks that processes really have), and where they go after a failure; --no-ft."""
import os
import re
import signal
import unittest

import launch_rig as rig
from launch_rig import NO_SLOTS

PLACED = rig.program("launch_placed")
FAST = ["--hb-period", "50ms", "--hb-timeout", "300ms"]  # where silence is what is tried


def cores():
    """The cores that this process may use, each as the set of its processors."""
    ours, found = os.sched_getaffinity(0), []
    for processor in sorted(ours):
        core = {processor}
        try:
            with open(f"/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list") as file:
                for part in file.read().strip().split(","):
                    first, _, last = part.partition("-")
                    core |= set(range(int(first), int(last or first) + 1))
        except FileNotFoundError:
            pass
        if core & ours not in found:
            found.append(core & ours)
    return found


def masks(out):
    """(rank, incarnation) -> processors, as the processes saw them."""
    return {(int(rank), int(incarnation)): {int(p) for p in processors.split(",")} for rank, incarnation, processors
            in re.findall(r"^placed rank=(\d+) incarnation=(\d+) processors=([\d,]+)$", out, re.M)}


def told(err):
    """(rank, incarnation) -> (node, text), as --report-bindings says."""
    return {(int(rank), int(incarnation)): (int(node), text) for rank, incarnation, node, text
            in re.findall(r"^rzrun: rank (\d+), incarnation (\d+), node (\d+)(?: \([^)]+\))?: (.+)$", err, re.M)}


CORES = cores()
ALL = os.sched_getaffinity(0)


class Placement(rig.LaunchTest):
    def nodes(self, *arguments, n):
        """Where the first incarnations of n ranks are."""
        result = self.runs("--report-bindings", "-n", str(n), *arguments, "/bin/true")
        where = told(result.err)
        self.assertEqual(len(where), n, result.err)
        self.assertEqual(result.err.count("\n"), n)
        return [where[rank, 1][0] for rank in range(n)]

    # ---- nodes

    def test_map_by(self):
        hosts = ["--host", "localhost:3,localhost:1,localhost:2"]
        self.assertEqual(self.nodes(*hosts, n=5), [0, 0, 0, 1, 2])
        self.assertEqual(self.nodes("--map-by", "slot", "--nodes", "3", n=4), [0, 0, 1, 2])
        self.assertEqual(self.nodes("--map-by", "node", *hosts, n=6), [0, 1, 2, 0, 2, 0])
        self.assertEqual(self.nodes("--map-by", "node", "--nodes", "3", n=4), [0, 1, 2, 0])
        self.assertEqual(self.nodes("--map-by", "core", n=4), [0] * 4)
        if len(CORES) > 1:
            first = len(CORES) // 2
            self.assertEqual(self.nodes("--map-by", "core", "--nodes", "2", n=len(CORES) + 1),
                             [0] * first + [1] * (len(CORES) - first) + [0])

    def test_rankfile(self):
        ranks = self.file("ranks", "rank 0=b\nrank 2=b\nrank 1=a slot=0\n")
        self.assertEqual(self.nodes("--launcher", "local", "--rankfile", ranks, n=3), [0, 1, 0])
        self.assertEqual(self.nodes("--launcher", "local", "--host", "a:2,b:2", "-rf", ranks, n=3), [1, 0, 1])
        refused = self.runs("--launcher", "local", "--rankfile", ranks, "-n", "2", "/bin/true", status=2)
        self.assertIn("--rankfile names the hosts of 3 ranks, and there are 2", refused.err)

    def test_racks(self):
        hosts = self.file("hosts", "".join(f"localhost slots=1 rack={rack}\n" for rack in "aabbc"))
        nodes = self.nodes("--hostfile", hosts, n=5)
        self.assertEqual(sorted(nodes), list(range(5)))
        self.assertEqual(nodes[0], 0)
        err = self.runs("--report-bindings", "--hostfile", hosts, "/bin/true").err
        for rank, rack in enumerate("aabbc"):
            self.assertIn(f"rank {rank}, incarnation 1, node {nodes[rank]} (localhost, rack {rack}): ", err)
        for one, other in ((0, 1), (2, 3)):  # ranks of one rack
            self.assertNotIn((nodes[one] - nodes[other]) % 5, (1, 4))

    def moved(self, *arguments):
        """Node 1 of four fails with its two ranks: where they and the others are then."""
        result = self.runs("-n", "6", *arguments, "--report-bindings", "--inject", "kill node 1 at iteration 3",
                           PLACED, "failure")
        where = told(result.err)
        self.assertEqual(sorted(where), [(rank, 1) for rank in range(2)] + [(2, 1), (2, 2), (3, 1), (3, 2), (4, 1), (5, 1)])
        return [where[rank, 2][0] for rank in (2, 3)]

    def test_the_ranks_of_a_failed_node_go_to_the_spare(self):
        self.assertEqual(self.moved("--nodes", "4", "--spares", "1"), [3, 3])
        self.assertEqual(self.moved("--host", f"{self.HOSTS},localhost:2", "--spares", "all"), [3, 3])

    def test_without_spare_they_go_to_the_least_loaded(self):
        self.assertEqual(self.moved("--nodes", "3"), [0, 2])

    def test_free_slots_come_before_crowding(self):
        self.assertEqual(self.moved("--host", "localhost:2,localhost:2,localhost:4"), [2, 2])

    # ---- slots

    HOSTS = "localhost:2,localhost:2,localhost:2"

    def lost(self, *arguments, status=NO_SLOTS):
        """Node 1 fails with its two ranks."""
        return self.runs("-n", "6", *arguments, "--inject", "kill node 1 at iteration 3", PLACED, "failure", status=status)

    def test_without_a_slot_the_job_ends(self):
        said = ("rzrun: 6 ranks do not fit into the 4 slots of the nodes that are left; keep nodes free (--spares), give more "
                "slots (--host HOST:SLOTS), or use --oversubscribe\n")
        self.assertEqual(self.lost("--host", self.HOSTS).err, said)
        hosts = self.file("hosts", "localhost slots=2\n" * 3)
        self.assertEqual(self.lost("--hostfile", hosts, "--place-lost", "together").err, said)

    def test_free_slots_are_taken_one_failure_after_the_other(self):
        hosts = f"{self.HOSTS},localhost:2,localhost:1"
        again = ("--inject", "kill node 2 at iteration 3")
        self.assertEqual(self.moved("--host", hosts, "--spares", "2"), [3, 4])
        self.assertIn("6 ranks do not fit into the 5 slots", self.lost("--host", hosts, "--spares", "2", *again).err)

    def test_oversubscribed_nodes_are_crowded(self):
        self.assertEqual(self.moved("--host", self.HOSTS, "--oversubscribe"), [0, 2])

    # ---- cores

    def test_no_process_is_bound_unasked(self):
        for options in (["-n", "2"], ["-n", "3", "--nodes", "2"], ["--host", "localhost:2"], ["-n", "2", "--bind-to", "none"]):
            with self.subTest(options=options):
                result = self.runs(*options, PLACED)
                self.assertEqual(result.err, "")
                self.assertEqual({frozenset(mask) for mask in masks(result.out).values()}, {frozenset(ALL)})

    @unittest.skipIf(len(CORES) < 2, "one core")
    def test_each_has_a_core(self):
        for options in (["-n", str(len(CORES))], ["-n", "2", "--nodes", "2"]):
            with self.subTest(options=options):
                result = self.runs("--bind-to", "core", "--report-bindings", *options, PLACED)
                found, said = masks(result.out), told(result.err)
                self.assertEqual(sorted(found), sorted(said))
                self.assertEqual(len({frozenset(mask) for mask in found.values()}), len(found), "two have the same core")
                for rank, mask in found.items():
                    self.assertIn(mask, CORES)
                    self.assertRegex(said[rank][1], rf"^core \d+, processors .*\b{min(mask)}\b.*, package \d+, NUMA node \d+$")

    @unittest.skipIf(len(CORES) < 2, "one core")
    def test_the_mask_of_the_launcher_is_kept(self):
        last = CORES[-1]
        for bind in ("core", "none"):
            process = self.start("-n", "1", "--bind-to", bind, PLACED, preexec_fn=lambda: os.sched_setaffinity(0, last))
            result = self.finish(process)
            self.assertEqual(result.status, 0, result.err)
            self.assertEqual(masks(result.out), {(0, 1): last})
        process = self.start("-n", "2", "--bind-to", "core", PLACED, preexec_fn=lambda: os.sched_setaffinity(0, last))
        result = self.finish(process)
        self.assertEqual(result.status, NO_SLOTS)
        self.assertIn("has 2 ranks and, of this machine's cores, 1", result.err)

    @unittest.skipIf(len(CORES) < 2, "one core")
    def test_a_process_that_has_a_core_spins_on_it(self):
        self.assertIn(" spins=yes\n", self.runs("-n", "2", "--bind-to", "core", PLACED, "keep").out)
        n = str(len(ALL) + 1)
        self.assertIn(" spins=no\n", self.runs("-n", n, "--bind-to", "core", "--oversubscribe", PLACED, "keep").out)

    def test_more_ranks_than_cores(self):
        n = len(CORES) + 1
        result = self.runs("-n", str(n), "--bind-to", "core", PLACED, status=NO_SLOTS)
        self.assertEqual(result.out, "")
        result = self.runs("-n", str(n), "--bind-to", "core", "--oversubscribe", "--report-bindings", PLACED)
        found = list(masks(result.out).values())
        for core in CORES:
            self.assertEqual(found.count(core), 1 if core != ALL else 2)
        self.assertIn(ALL, found)
        self.assertEqual(result.err.count("not bound, cores"), 1)

    @unittest.skipIf(len(CORES) < 2, "one core")
    def test_a_process_that_is_started_again_gets_a_free_core(self):
        for victim in (0, 1):
            result = self.runs("-n", "2", "--bind-to", "core", "--report-bindings",
                               "--inject", f"kill rank {victim} at iteration 3", PLACED, "failure")
            found = masks(result.out)
            self.assertIn(found[victim, 2], CORES)
            self.assertFalse(found[victim, 2] & found[1 - victim, 1], "the other one has this core")
            self.assertIn(f"rzrun: rank {victim}, incarnation 2, node 0: core ", result.err)

    @unittest.skipIf(len(CORES) < 2, "one core")
    def test_without_a_free_core_it_stays_on_those_of_its_node(self):
        result = self.runs("-n", "2", "--nodes", "2", "--bind-to", "core", "--oversubscribe", "--report-bindings",
                           "--inject", "kill node 1 at iteration 3", PLACED, "failure")
        found = masks(result.out)
        share = set().union(*CORES[:len(CORES) // 2])
        self.assertLessEqual(found[0, 1], share)
        self.assertLessEqual(found[1, 2], share)
        if len(CORES) // 2 > 1:
            self.assertFalse(found[1, 2] & found[0, 1])

    # ---- no fault tolerance

    def test_no_ft_keeps_nothing_and_works(self):
        result = self.runs("-n", "3", "--nodes", "2", "--no-ft", PLACED, "keep")
        self.assertIn("kept ft=0 first=0 generation=0 ", result.out)
        self.assertEqual(result.err, "")
        self.assertIn("kept ft=1 first=0 generation=1 ", self.runs("-n", "3", "--nodes", "2", PLACED, "keep").out)

    def test_no_ft_ends_with_the_first_failure(self):
        for what, cause in (("rank 1", "rank 1 was killed by signal 9"), ("node 1", "node 1 was lost")):
            report = f"{self.folder}/report"
            result = self.runs("-n", "4", "--nodes", "2", "--no-ft", "--report", report,
                               "--inject", f"kill {what} at iteration 3", PLACED, "failure", status=137)
            with open(report) as file:
                self.assertNotIn("event=failure_news", file.read())  # no daemon spreads it
            self.assertEqual(len(masks(result.out)), 4)  # no process was started again
            self.assertRegex(result.err, rf"\Arzrun: {cause}.*\n(rzrun: the (daemon|keeper) of node 1 was killed by signal 9 .*\n)?\Z")

    def test_no_ft_ends_for_an_empty_node(self):
        result = self.runs("-n", "1", "--host", "localhost:1,localhost:1", "--no-ft",
                           "--inject", "kill node 1 at iteration 3", PLACED, "failure", status=137)
        self.assertIn("node 1 was lost", result.err)

    def test_no_ft_ignores_silence(self):
        """A daemon is stopped for three times --hb-timeout, its processes are not: all continue, and when it is continued, so does it."""
        process = self.start("-n", "4", "--nodes", "2", "--no-ft", PLACED, "failure", environment={"RZ_HB_TIMEOUT": "1s"})
        daemon = self.await_members(4, 2)["rzd"][1].pid
        os.kill(daemon, signal.SIGSTOP)
        fewer = rig.await_true(lambda: process.poll() is not None or len(self.members()["process"]) < 4, 3)
        os.kill(daemon, signal.SIGCONT)
        self.assertFalse(fewer, "a rank was refused")
        process.terminate()
        result = self.finish(process)
        self.assertEqual((result.status, result.err), (128 + signal.SIGTERM, "rzrun: the job was ended by signal 15 (Terminated) to rzrun\n"))

    def tree_of_agreements(self, *arguments):
        return self.runs(*arguments, "/bin/sh", "-c", 'echo "tree ${RZ_AGREE_TREE-unsaid}"').out.split("\n")[0]

    def test_more_ranks_than_processors_agree_by_a_star(self):
        few, many = len(ALL), os.cpu_count() + 1
        if "RZ_AGREE_TREE" not in os.environ and few == os.cpu_count():
            self.assertEqual(self.tree_of_agreements("-n", str(min(few, 4))), "tree unsaid")
            self.assertEqual(self.tree_of_agreements("-n", str(many), "--oversubscribe"), "tree star")
        self.assertEqual(self.tree_of_agreements("-n", str(many), "--oversubscribe", "-x", "RZ_AGREE_TREE=bin"), "tree bin")


rig.main()
