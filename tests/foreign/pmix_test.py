#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A client of libpmix under rzrun: what a runtime serves, and failures: each live client is told of each failure once.
Skipped (77) in a build without libpmix.

    pmix_test.py campaign N [SEED]   N failures, in jobs of several shapes; `make torture` runs 1,000
"""
import os
import random
import re
import signal
import sys
import time

import foreign_rig
from foreign_rig import NOT_ASKED, rig

CLIENT = rig.program("foreign_client")


class Pmix(foreign_rig.ForeignTest):
    def chain(self, seed, ranks, nodes, survivors):
        result = self.job("-n", str(ranks), "--nodes", str(nodes), CLIENT, "chain", str(seed), str(survivors))
        told = sorted(int(rank) for rank in re.findall(rf"rank (\d+): told of {ranks - survivors} failures, of each once", result.out))
        self.assertEqual(told, list(range(ranks - survivors, ranks)), result.out + result.err)

    def test_services(self):
        for n, nodes in ((1, 1), (4, 1), (6, 3), (9, 4)):
            result = self.job("-n", str(n), "--nodes", str(nodes), CLIENT, "services")
            self.assertEqual(result.out, "services: all correct\n")

    def test_failures_one_after_the_other(self):
        self.chain(1, 33, 4, 3)
        self.chain(2, 9, 1, 1)

    def test_a_fence_that_a_participant_never_reaches(self):
        result = self.job("-n", "4", "--nodes", "2", CLIENT, "lost")
        self.assertEqual(sorted(result.out.splitlines()), [f"rank {rank}: the fence has ended" for rank in (0, 2, 3)])

    def test_abort_of_some(self):
        result = self.job("-n", "4", "--nodes", "2", CLIENT, "abort", status=5)
        self.assertIn("told of the end of rank 2: 1\n", result.out)
        self.assertIn("rank 2 was ended by MPI_Abort: rank 1: rank 2 is not needed", result.err)

    def test_spawn(self):
        """Slots of spawned processes are used again."""
        for n, nodes, times in ((1, 1, 2), (4, 2, 3), (3, 3, 30)):
            result = self.job("-n", str(n), "--nodes", str(nodes), CLIENT, "spawn", str(times))
            self.assertEqual(sorted(result.out.splitlines()), [f"rank {rank}: {times} times" for rank in range(n)], result.err)
            self.assertEqual(result.err, "")

    def storm(self, seed):
        """Spawned processes, nodes and gateways fail while rank 0 spawns: the job ends, and its status says which failure no process was told of."""
        dice = random.Random(seed)
        fault = dice.choice(("none", "node", "gateway"))
        lost = ["--inject", f"kill node {dice.randint(1, 2)} at {dice.randint(60, 500)}ms"] if fault == "node" else []
        process = self.start("--oversubscribe", "-n", "3", "--nodes", "3", "--with-ft", "ulfm", *lost, CLIENT, "storm", "15")
        if fault == "gateway":
            time.sleep(dice.uniform(0.05, 0.4))  # anywhere in the job
            for gateway in self.gateways()[-1:]:
                os.kill(gateway.pid, signal.SIGKILL)
        result = self.finish(process)
        good = (0, 137) if fault != "gateway" else (0, 137, 4, 1)  # 4: it could not start; 1: a call failed
        self.assertIn(result.status, good, f"seed {seed}: {result.err}")
        self.assertEqual(result.status != 0, "rzrun: " in result.err, f"seed {seed}: {result.err}")
        if fault != "gateway":
            self.assertNotIn("WRONG", result.err, f"seed {seed}")

    def test_storm(self):
        for seed in range(6):
            self.storm(seed)

    def test_a_spawned_process_fails(self):
        result = self.job("-n", "4", "--nodes", "2", CLIENT, "spawn-fails")
        self.assertEqual(sorted(result.out.splitlines()), [f"rank {rank}: told of 1" for rank in range(4)], result.err)

    def test_spawn_of_no_program(self):
        """Each rank spawns three processes by two commands; a node says once for each command that it cannot execute the program."""
        for nodes in (1, 2):
            err = self.job("-n", str(nodes), "--nodes", str(nodes), CLIENT, "spawn-nothing", status=127).err
            self.assertIn(err.count('cannot execute "/no/such/program"'), range(1, 2 * nodes * nodes + 1), err)

    def test_spawn_by_a_command_of_no_process(self):
        self.assertEqual(self.job("-n", "1", "--nodes", "2", "--spares", "1", CLIENT, "spawn-zero").out, "0 of 1: program 1\n")

    def test_spawn_without_fault_tolerance(self):
        result = self.job("-n", "2", "--no-ft", CLIENT, "spawn", "1", status=1)
        self.assertIn("with --no-ft no process can be started while the job runs", result.err)

    def test_spawn_of_more_than_there_are_slots(self):
        self.assertEqual(self.job("-n", "1", CLIENT, "spawn-many").out, "OUT-OF-RESOURCE\n")

    def test_node_lost(self):
        result = self.job("-n", "6", "--nodes", "3", "--inject", "kill node 1 at 300ms", CLIENT, "wait", "2")
        for rank in (0, 1, 4, 5):
            self.assertRegex(result.out, f"rank {rank}: told of 2, [01] nodes")

    def test_gateway_is_killed(self):
        """For the other nodes its processes have failed."""
        process = self.begin("-n", "4", "--nodes", "2", CLIENT, "wait", "2")
        os.kill(self.gateways()[-1].pid, signal.SIGKILL)
        result = self.finish(process)
        self.assertEqual(result.status, 0, result.err)
        self.assertEqual(result.out.count("told of 2, 0 nodes"), 2, result.out)

    def test_root_of_fences_has_no_gateway(self):
        """The gateway of node 0 ends; the processes of other nodes have fences after that."""
        process = self.begin("-n", "4", "--nodes", "2", CLIENT, "fences", "2")
        here = {p.pid: p.parent for p in self.gateways()}
        first = next(p for p in rig.marked(self.mark) if b"RZ_RANK=0\0" in rig.read(p.pid, "environ"))
        os.kill(next(pid for pid, parent in here.items() if parent == first.parent), signal.SIGKILL)
        result = self.finish(process)
        self.assertEqual((result.status, result.out.count("all fences have ended")), (0, 2), result.out + result.err)

    def test_a_process_that_fails_before_it_connects(self):
        early = [sys.executable, "-c", "import os, signal, sys, time\n"
                 "if os.environ['PMIX_RANK'] == '1': os.kill(os.getpid(), signal.SIGKILL)\n"
                 "time.sleep(0.3); os.execv(sys.argv[1], sys.argv[1:])", CLIENT, "services"]
        for options in ([], ["--with-ft", "ulfm"]):
            result = self.job("-n", "4", "--nodes", "2", "--mpi", "pmix", *options, *early, status=137)
            self.assertIn("rank 1 was killed by signal 9 (Killed); it had not connected yet: that ends the job\n", result.err)

    def test_a_lost_reader_is_an_error(self):
        """Not a signal, for programs that handle failures."""
        for options, ignored in (([], 0), (["--with-ft", "ulfm"], 1)):
            said = self.job("-n", "1", "--mpi", "pmix", *options, "grep", "SigIgn", "/proc/self/status").out
            self.assertEqual(int(said.split()[1], 16) >> (signal.SIGPIPE - 1) & 1, ignored, said)

    def test_a_fence_without_a_process_that_has_ended(self):
        self.assertEqual(self.job("-n", "3", "--nodes", "3", CLIENT, "leaves").out, "the fence has ended\n" * 2)

    def test_restart(self):
        result = self.job("-n", "3", "--on-failure", "restart", "--max-restarts", "1", CLIENT, "once", f"{self.folder}/there")
        self.assertIn("the job restarts", result.err)
        self.assertEqual(result.out, "all fences have ended\n")

    def test_gateway_is_stopped(self):
        """What it serves waits, as for a stopped process; the end of the job does not."""
        process = self.begin("-n", "2", CLIENT, "wait", "1")
        os.kill(self.gateways()[0].pid, signal.SIGSTOP)
        process.terminate()
        self.assertEqual(self.finish(process).status, 143)

    def test_programs_that_do_not_ask(self):
        process = self.begin("-n", "4", "--nodes", "2", CLIENT, "deaf")
        victim = next(p for p in rig.marked(self.mark) if p.name == "foreign_client")
        os.kill(victim.pid, signal.SIGKILL)
        result = self.finish(process)
        self.assertEqual(result.status, 137)
        self.assertIn(NOT_ASKED, result.err)

    def test_without_fault_tolerance(self):
        process = self.begin("-n", "2", "--no-ft", CLIENT, "wait", "1")
        victim = next(p for p in rig.marked(self.mark) if p.name == "foreign_client")
        os.kill(victim.pid, signal.SIGKILL)
        self.assertEqual(self.finish(process).status, 137)

    def test_a_program_without_pmix(self):
        self.assertEqual(self.job("-n", "3", "--mpi", "pmix", "/bin/echo", "x").out, "x\n" * 3)
        self.job("-n", "2", "--mpi", "pmix", "/bin/false", status=1)
        self.assertIn("cannot run", self.job("--mpi", "pmix", "/no/such/program", status=127).err)


def campaign(failures, seed):
    """The number of failures that were tried; the first wrong one ends it."""
    draw, done, jobs, begun = random.Random(seed), 0, 0, time.monotonic()
    test = Pmix("test_services")
    while done < failures:
        nodes = draw.choice((1, 2, 4, 8))
        ranks, survivors = draw.randint(nodes + 2, 65), draw.randint(1, 4)
        survivors = min(survivors, ranks - 1)
        one = draw.randint(1, 1 << 30)
        test.setUp()
        try:
            test.chain(one, ranks, nodes, survivors)
        except AssertionError as error:
            print(f"{error}\nagain: rzrun --oversubscribe -n {ranks} --nodes {nodes} {CLIENT} chain {one} {survivors}")
            sys.exit(1)
        finally:
            test.tearDown()
            test.doCleanups()
        done += ranks - survivors
        jobs += 1
    print(f"{done} failures in {jobs} jobs: each survivor was told of each once ({time.monotonic() - begun:.0f} s, seed {seed})")


if not os.access(CLIENT, os.X_OK):
    print("this build has no libpmix")
    sys.exit(77)
if sys.argv[1:2] == ["campaign"]:
    campaign(int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1)
else:
    rig.main()
