#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The exit status where processes are replaced, spawned, ended one by one, or their failures are known to the program; and what
--on-failure makes of failures. The processes speak the link protocol without MPI (tests/unit/daemon/daemon_test_helper.c)."""
import json
import os
import shutil

import launch_rig as rig

HELPER = rig.program("daemon_test_helper")
NODES = ("-n", "3", "--nodes", "2")


def words(rank_1, others, again="join enter leave bye", first=""):
    """A program whose rank 1 does one thing in its first incarnation and another in its next ones."""
    return ["sh", "-c", f"test $RZ_RANK = 1 || exec {HELPER} join enter {others}; "
                        f"test $RZ_INCARNATION = 1 || exec {HELPER} {again}; {first}exec {HELPER} join enter {rank_1}"]


class Spawns(rig.LaunchTest):
    def spawns(self, command, parent, status):
        return self.runs("-n", "2", "--nodes", "2", "-x", f"TEST_SPAWN={command}",
                         *words(f"{parent} leave bye", "leave bye"), status=status)

    def test_a_failure_that_is_not_known(self):
        result = self.runs(*NODES, *words("kill", "failed:1 leave bye"), status=137)
        self.assertIn("rank 1 was killed by signal 9", result.err)

    def test_a_failure_that_the_program_knows_of(self):
        self.assertEqual(self.runs(*NODES, *words("kill", "failed:1 ack:1 leave bye")).err, "")
        told = self.runs(*NODES, "--story", *words("kill", "failed:1 ack:1 leave bye")).err
        self.assertEqual(told.count("rank 1 on node 0 failed; noticed by"), 1, told)

    def test_a_lost_node_whose_rank_is_replaced_is_told(self):
        told = self.runs("-n", "2", "--nodes", "2", "--story", "--inject", "kill node 1 at 100ms", "sh", "-c",
                         f"test $RZ_INCARNATION = 1 || exec {HELPER} join enter leave bye; test $RZ_RANK = 0 || "
                         f"exec {HELPER} join enter serve; exec {HELPER} join enter failed:1 replace:1,2 leave bye").err
        self.assertEqual(told.count("node 1 failed; noticed by"), 1, told)
        self.assertIn("rank 1 replaced on node 0 (incarnation 2)", told)

    def test_what_ended_in_order_is_not_excused(self):
        self.runs(*NODES, "sh", "-c", f"test $RZ_RANK = 1 || exec {HELPER} join enter ack:1 leave bye; "
                  f"{HELPER} join enter leave bye; exit 3", status=3)

    def test_a_failure_that_was_replaced(self):
        cases, report = f"{self.folder}/cases", f"{self.folder}/report"
        result = self.runs(*NODES, "--story", "--cases", cases, "--report", report,
                           *words("kill", "failed:1 replace:1,2 leave bye"))
        self.assertEqual(result.err.count("rank 1 on node 0 failed; noticed by"), 1, result.err)
        self.assertRegex(result.err, r"rank 1 replaced after [0-9.]+ ms on node \d \(incarnation 2\)")
        with open(f"{cases}/case-0001.json", encoding="utf-8") as file:
            case = json.load(file)
        self.assertEqual((case["done"], case["started_again"]["incarnation"]), ("replaced", 2))
        with open(report, encoding="utf-8") as file:
            self.assertIn("event=spawned epoch=1 rank=1", file.read())

    def test_the_last_incarnation_counts(self):
        result = self.runs(*NODES, *words("kill", "failed:1 replace:1,2 leave bye", again="join enter leave bye exit:4"), status=4)
        self.assertIn("rank 1 exited with status 4", result.err)

    def test_spawned_processes_that_return_0(self):
        self.assertEqual(self.spawns(f"{HELPER} join enter bye", "spawn:3", 0).err, "")

    def test_a_spawned_process_that_returns_another_code(self):
        self.assertIn("process 2 (spawned) exited with status 7",
                      self.spawns(f"{HELPER} join enter bye exit:7", "spawn:1", 7).err)

    def test_spawned_processes_are_waited_for(self):
        self.spawns("sleep 1", "spawn:2", 0)

    def test_a_program_that_cannot_be_spawned(self):
        result = self.spawns("/nonexistent/program", "spawn:3 all-failed:2,4", 127)
        said = [line for line in result.err.splitlines() if "cannot execute" in line]
        self.assertIn(len(said), (1, 2), result.err)
        self.assertEqual(len(set(said)), len(said), "each of the two nodes says it once")
        self.spawns("/nonexistent/program", "spawn:2 all-failed:2,3 ack:2 ack:3", 0)

    def test_a_program_that_is_gone_replaces_no_process(self):
        shell, here = f"{self.folder}/shell", f"{self.folder}/here"
        shutil.copy("/bin/sh", shell)
        # Not before the others run it, too.
        last = f"until test -e {here}0 && test -e {here}2; do sleep 0.01; done; rm {shell}; "
        _, option, script = words("kill", "failed:1 replace:1,2 failed:1,2 replace:1,3 ack:1 leave bye", first=last)
        result = self.runs(*NODES, "--timeout", rig.HANG, shell, option, f": > {here}$RZ_RANK; {script}")
        self.assertEqual(result.err.count("cannot execute"), 1, result.err)
        self.assertNotIn("slot 1 incarnation 3", result.out)

    def test_some_are_aborted(self):
        result = self.runs(*NODES, *words("serve", "end:1,42 failed:1 ack:1 leave bye"), status=42)
        self.assertIn("rank 1 was ended by MPI_Abort", result.err)

    def test_spawns_are_refused_in_words(self):
        for options, why in ((("--no-ft",), "--no-ft"), (("--detector", "flat"), "--detector flat"),
                             (("--on-failure", "continue"), "--on-failure continue")):
            result = self.runs("-n", "2", *options, "sh", "-c",
                               f"exec {HELPER} join enter replace:1,2 leave bye")
            self.assertIn(why, result.err)

    def test_spawns_without_a_slot_are_refused(self):
        """Node 1 is lost with its rank; no process waits for an answer without end, and survivors continue."""
        script = (f"test $RZ_RANK = 1 && exec {HELPER} join enter serve; exec {HELPER} join enter failed:1 replace:1,2 ack:1 "
                  "leave bye")
        hosts = ("-n", "3", "--inject", "kill node 1 at 100ms", "--host")
        result = self.runs(*hosts, "localhost:1,localhost:1,localhost:1", "sh", "-c", script)
        self.assertIn("no slot is left on the live nodes (see --spares, --host HOST:SLOTS and --oversubscribe)", result.err)
        again = f"test $RZ_INCARNATION = 1 || exec {HELPER} join enter leave bye; {script}"
        result = self.runs(*hosts, "localhost:1,localhost:1,localhost:2", "--story", "sh", "-c", again)
        self.assertIn("rank 1 replaced on node 2 (incarnation 2)", result.err)

    # ---- --on-failure

    def test_continue_and_replace_do_not_restart(self):
        for policy in ("continue", "replace"):
            self.runs(*NODES, "--on-failure", policy, *words("repairing kill", "repairing failed:1 ack:1 leave bye"))

    def test_replace_replaces(self):
        self.runs(*NODES, "--on-failure", "replace", *words("kill", "failed:1 replace:1,2 leave bye"))

    def test_abort_ends_the_job_at_the_first_failure(self):
        result = self.runs(*NODES, "--on-failure", "abort", *words("kill", "serve"), status=137)
        self.assertIn("rank 1 was killed by signal 9", result.err)
        self.assertIn("--on-failure", result.err)

    def test_restart_begins_anew_until_it_goes_well(self):
        done = f"{self.folder}/done"  # as a checkpoint file would be
        cases = f"{self.folder}/cases"
        result = self.runs(*NODES, "--on-failure", "restart", "--cases", cases, "sh", "-c",
                           f"test $RZ_RANK != 1 || test -e {done}2 || {{ test -e {done}1 && : > {done}2; : > {done}1; "
                           f"exec {HELPER} join enter kill; }}; exec {HELPER} join enter say:went leave bye")
        self.assertEqual(result.err.count("the job restarts"), 2, result.err)
        self.assertEqual(result.out.count("went 1 1 1"), 1, result.out)
        self.assertEqual(sorted(os.listdir(cases)), ["case-0001.json", "case-0002.json"])

    def test_restart_has_a_bound(self):
        result = self.runs(*NODES, "--on-failure", "restart", "--max-restarts", "2", *words("kill", "serve"),
                           status=rig.RESTARTS)
        self.assertEqual(result.err.count("the job restarts"), 2, result.err)

    def test_restart_is_for_failures_only(self):
        self.assertNotIn("restarts", self.runs(*NODES, "--on-failure", "restart", *words("abort:3", "serve"), status=3).err)
        self.assertNotIn("restarts", self.runs(*NODES, "--on-failure", "restart", "sh", "-c", "exit 5", status=5).err)

    def test_restart_leaves_alone_what_is_done(self):
        """Rank 1 fails behind MPI_Finalize of all, by itself or with its node: the job has said what it had to say."""
        for end in ("kill", "bye; kill -9 $PPID; sleep 60"):
            result = self.runs(*NODES, "--on-failure", "restart", "sh", "-c",
                               f"test $RZ_RANK = 1 || exec {HELPER} join enter leave serve; {HELPER} join enter say:went leave {end}",
                               status=137)
            self.assertNotIn("restarts", result.err)
            self.assertEqual(result.out.count("went"), 1, result.out)

    def test_a_lost_node_begins_anew_and_its_fault_does_not_come_again(self):
        again = f"{self.folder}/again"
        result = self.runs(*NODES, "--on-failure", "restart", "--inject", "kill node 1 at 300ms", "sh", "-c",
                           f"test -e {again}$RZ_RANK || {{ : > {again}$RZ_RANK; exec {HELPER} join enter hang; }}; "
                           f"{HELPER} join enter leave bye; sleep 1")
        self.assertEqual(result.err.count("the job restarts"), 1, result.err)

    def test_all_nodes_are_lost(self):
        self.runs("-n", "1", "--inject", "kill node 0 at 100ms", HELPER, "join", "enter", "hang", status=rig.LOST)

    def test_refusals(self):
        self.assertIn("--on-failure restart", self.runs("--on-failure", "restart", "--detach", "true", status=rig.BAD_LINE).err)
        self.assertIn("`restart`", self.runs("--on-failure", "whatever", "true", status=rig.BAD_LINE).err)


rig.main()
