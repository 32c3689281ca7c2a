#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Daemons and whole nodes that are stopped (SIGSTOP) and woken: before they are declared failed nothing happens, after it they end
at once; a machine that slept as a whole continues normally."""
import os
import time

import detect_rig as rig


class Stopped(rig.DetectTest):
    def test_daemon_woken_before_the_failure_report(self):
        job = rig.Job(self, *rig.PATIENT)
        self.freeze([job.daemon(2)])
        time.sleep(rig.HB_TIMEOUT_S / 2)  # that is what is tested: several periods
        self.wake([job.daemon(2)])
        job.await_progress()
        self.none_reported(job)
        self.ends_exact(job, recovered=False)

    def woken_after_the_failure_report(self, choose, *options):
        job = rig.Job(self, *options)
        victims = choose(job)
        self.freeze(victims)
        job.await_event("epoch", lambda: len(job.events("epoch", epoch=2)) == 3)
        self.wake(victims)
        job.await_event("stopping", node=2)
        job.await_true(lambda: not job.processes(2), "the failed node's processes live")
        job.await_progress()
        reported = [event for event in job.events("failure_seen", rank=-1) if event["by"] == "2"]
        self.assertEqual(reported, [], "it reported others")
        self.assertEqual([event["note"] for event in job.events("stopping")],
                         ["the other daemons have declared this node failed"])
        self.ends_exact(job, recovered=True)
        self.went_on(job, {0, 1, 3})

    def test_daemon_woken_after_the_failure_report(self):
        self.woken_after_the_failure_report(lambda job: [job.daemon(2)])

    def test_daemon_woken_after_the_failure_report_by_swim(self):
        self.woken_after_the_failure_report(lambda job: [job.daemon(2)], "--detector", "swim")

    def test_node_woken_after_the_failure_report(self):
        self.woken_after_the_failure_report(lambda job: job.processes_of(2))

    def the_tie_is_kept(self, *options):
        """Of two the one that breaks the tie continues, though the other one declares it failed: that one alone has no quorum."""
        job = rig.Job(self, *options, nodes=2, ranks=4)
        job.await_progress()
        self.freeze([job.daemon(0)])
        job.await_event("stopping", node=1)
        self.wake([job.daemon(0)])
        job.await_progress()
        self.assertEqual(job.events("stopping", node=0), [])
        self.ends_exact(job, recovered=True)

    def test_the_tie_is_kept(self):
        self.the_tie_is_kept()

    def test_output_of_a_node_that_is_out(self):
        """It was written in time, but read too late: refused, once the others have agreed to exclude the node."""
        job = rig.Job(self)
        victim = job.daemon(2)
        with open(f"/proc/{job.processes(2)[0].pid}/fd/1", "w") as out:  # as if that process wrote it
            print("in time", file=out, flush=True)
            job.await_progress()
            self.freeze([victim])
            job.await_event("excluded", lambda: len(job.events("excluded", node=2)) == 3)
            print("too late", file=out, flush=True)
        self.wake([victim])
        job.await_event("stopping", node=2)
        result = self.ends_exact(job, recovered=True)
        self.assertIn("in time", result.out)
        self.assertNotIn("too late", result.out)
        self.assertEqual({event["node"] for event in job.events("refused")}, {"2"})

    def all_sleep(self, choose, sleep_s, *options):
        job = rig.Job(self, *options)
        job.await_progress()
        sleepers = [pid for node in range(rig.NODES) for pid in choose(job, node)]
        self.freeze(sleepers)
        time.sleep(sleep_s)  # that is what is tested
        self.wake(sleepers)
        job.await_progress()
        time.sleep(1.5 * rig.HB_TIMEOUT_S)  # for failure reports that must not occur
        self.none_reported(job)
        self.ends_exact(job, recovered=False)

    def test_all_daemons_sleep(self):
        self.all_sleep(lambda job, node: [job.daemon(node)], 1.5 * rig.HB_TIMEOUT_S)

    def test_all_daemons_sleep_by_swim(self):
        self.all_sleep(lambda job, node: [job.daemon(node)], 1.5 * rig.HB_TIMEOUT_S, "--detector", "swim")

    def test_the_machine_sleeps(self):
        """Longer than the lease; the processes wake before their daemons."""
        self.all_sleep(lambda job, node: reversed(job.processes_of(node)), 3.5 * rig.HB_TIMEOUT_S)

    def test_stopped_process_is_only_slow(self):
        job = rig.Job(self)
        victim = [job.processes(1)[0].pid]
        self.freeze(victim)
        time.sleep(1.5 * rig.HB_TIMEOUT_S)
        self.wake(victim)
        job.await_progress()
        self.none_reported(job)
        self.ends_exact(job, recovered=False)

    def test_lease_ends_processes_whose_daemon_is_stopped(self):
        """They are neither told nor killed: they end by themselves."""
        job = rig.Job(self)
        victims = [process.pid for process in job.processes(2)]
        self.assertEqual(len(victims), 2)
        self.freeze([job.daemon(2)])
        job.await_true(lambda: all((p := rig.rig.look_at(pid)) is None or p.state == "Z" for pid in victims),
                       "they live without a daemon")
        self.assertEqual(rig.rig.look_at(job.daemon(2)).state, "T")
        job.await_event("epoch", lambda: len(job.events("epoch", epoch=2)) == 3)
        self.wake([job.daemon(2)])  # else rzrun waits a few seconds for it at the end
        self.ends_exact(job, recovered=True)

    def lease_ends_before_the_failure_report(self, *options):
        """The processes of all nodes end, and no node is reported as silent: each is restarted once, where it was."""
        job = rig.Job(self, *options)
        job.await_progress()
        processes = [process.pid for node in range(rig.NODES) for process in job.processes(node)]
        daemons = [job.daemon(node) for node in range(rig.NODES)]
        self.assertEqual(len(processes), rig.RANKS)
        self.freeze(daemons)
        job.await_true(lambda: all((p := rig.rig.look_at(pid)) is None or p.state == "Z" for pid in processes),
                       "they live without a daemon")
        self.wake(daemons)
        job.await_event("run", lambda: any(int(event["epoch"]) > 1 for event in job.events("run")))
        job.await_progress()
        self.ends_exact(job, recovered=True)
        self.went_on(job, set(range(rig.NODES)))
        self.assertEqual(job.events("excluded"), [])
        seen = sorted((int(event["rank"]), int(event["incarnation"])) for event in job.events("failure_seen"))
        self.assertEqual(seen, [(rank, 1) for rank in range(rig.RANKS)])

    def test_lease_ends_before_the_failure_report(self):
        self.lease_ends_before_the_failure_report()

    def test_lease_ends_before_the_failure_report_by_swim(self):
        self.lease_ends_before_the_failure_report("--detector", "swim")

    def test_lease_ends_a_computing_process(self):
        """Which calls nothing for hours, so that no call could report it."""
        job = rig.Job(self, "--hb-timeout", "300ms", nodes=2, ranks=2,
                      line=[rig.rig.program("detect_compute"), self.folder])
        job.await_true(lambda: os.path.exists(f"{self.folder}/computes.1"), "it does not compute")
        victim = job.processes(1)[0].pid
        self.freeze([job.daemon(1)])
        job.await_true(lambda: (p := rig.rig.look_at(victim)) is None or p.state == "Z", "it computes on")
        self.assertEqual(rig.rig.look_at(job.daemon(1)).state, "T")
        job.stop()

    def test_daemon_without_a_processor(self):
        """Starved for longer than the timeout, from one moment to the next: it cannot say that it is late, and is not failed."""
        job = rig.Job(self, "--hb-period", "100ms", "--hb-timeout", "500ms", nodes=3, ranks=3)
        job.await_progress()
        with self.starved(job.daemon(1), 4):
            pass
        job.await_progress()
        self.none_reported(job)
        self.ends_exact(job, recovered=False)


if __name__ == "__main__":
    rig.main()
