#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`--detector flat`: each process watches another. A stopped process is found, a killed one is removed from the ring, one that is only slow
or has slept with all others is not reported; each epoch has a ring of its own."""
import signal
import time

import detect_rig as rig

FLAT = ("--detector", "flat")


class Flat(rig.DetectTest):
    def frozen_process_is_replaced(self, job, node, epoch):
        victim = job.processes(node)[0]
        self.freeze([victim.pid])
        job.await_event("run", lambda: len(job.events("run", epoch=epoch)) == rig.NODES)
        self.assertIsNone(next((p for p in job.processes(node) if p.pid == victim.pid), None), "it lives")
        job.await_progress()

    def test_stopped_process_is_failed(self):
        """Twice on the same node: the second ring knows the process that was started again, and its address."""
        job = rig.Job(self, *FLAT, *rig.PATIENT)
        self.frozen_process_is_replaced(job, 1, epoch=2)
        self.frozen_process_is_replaced(job, 1, epoch=3)
        self.ends_exact(job, recovered=True)
        self.went_on(job, {0, 1, 2, 3})
        seen = job.events("failure_seen")
        self.assertEqual([(event["epoch"], event["by"], event["note"]) for event in seen],
                         [("1", "1", "silence"), ("2", "1", "silence")])
        self.assertEqual(job.events("stopping"), [])

    def test_all_processes_hear_of_it(self):
        """And none of them calls MPI meanwhile."""
        job = rig.Job(self, *FLAT, "--on-failure", "continue", line=[rig.rig.program("detect_compute"), self.folder])
        victim = job.processes(1)[0]
        self.freeze([victim.pid])
        job.await_event("failure_seen", note="silence")
        rank = job.events("failure_seen")[0]["rank"]
        others = {str(number) for number in range(rig.RANKS)} - {rank}
        job.await_true(lambda: {news["value"] for news in job.events("flat_news", rank=rank)} == others, "some have not heard of it")
        job.stop()
        self.assertEqual(len(job.events("failure_seen")), 1)

    def test_killed_process_is_no_news_to_the_ring(self):
        """The daemon informs its ring faster than a timeout would."""
        job = rig.Job(self, *FLAT)
        self.signal([job.processes(2)[0].pid], signal.SIGKILL)
        job.await_event("run", lambda: len(job.events("run", epoch=2)) == rig.NODES)
        job.await_progress()
        time.sleep(1.5 * rig.HB_TIMEOUT_S)  # for failure reports that must not occur
        self.ends_exact(job, recovered=True)
        self.assertNotIn("silence", [event["note"] for event in job.events("failure_seen")])
        self.assertEqual(len(job.events("failure_seen")), 1)
        self.assertEqual(job.events("flat_news"), [])

    def test_a_process_that_leaves_is_not_reported(self):
        """While others stay for longer than a silence may last."""
        job = rig.Job(self, *FLAT, nodes=2, line=[rig.rig.program("detect_leave"), "5"])
        self.assertEqual(self.finish(job.process).status, 0)
        self.none_reported(job)
        self.assertEqual(job.events("flat_news"), [])

    def stopped_node_is_failed(self, choose):
        job = rig.Job(self, *FLAT)
        victims = choose(job)
        self.freeze(victims)
        job.await_event("epoch", lambda: len(job.events("epoch", epoch=2)) == rig.NODES - 1)
        self.wake(victims)
        job.await_true(lambda: not job.processes(2), "the failed node's processes live")
        job.await_progress()
        self.ends_exact(job, recovered=True)
        self.went_on(job, {0, 1, 3})
        seen = job.events("failure_seen", node=2, rank=-1)
        self.assertIn("silence when asked", {event["note"] for event in seen})
        first = min(int(event["at_ns"]) for event in seen)
        self.assertTrue([news for news in job.events("flat_news") if int(news["at_ns"]) < first], "its processes were not found")

    def test_stopped_node_is_failed(self):
        self.stopped_node_is_failed(lambda job: job.processes_of(2))

    def test_stopped_daemon_is_failed(self):
        """Its processes send until their lease ends; then it does not answer for them."""
        self.stopped_node_is_failed(lambda job: [job.daemon(2)])

    def test_short_stop_is_forgiven(self):
        job = rig.Job(self, *FLAT)
        time.sleep(2 + rig.HB_TIMEOUT_S)  # until the patience of the beginning is over
        victim = [job.processes(1)[0].pid]
        self.freeze(victim)
        time.sleep(rig.HB_TIMEOUT_S / 2)  # that is what is tested
        self.wake(victim)
        job.await_progress()
        self.none_reported(job)
        self.ends_exact(job, recovered=False)

    def test_the_machine_sleeps(self):
        """Longer than the lease; one process wakes long before the others, and has the patience it had. The processes wake before
        their daemons."""
        job = rig.Job(self, *FLAT)
        time.sleep(2 + rig.HB_TIMEOUT_S)  # until the patience of the beginning is over
        job.await_progress()
        sleepers = [pid for node in range(rig.NODES) for pid in reversed(job.processes_of(node))]
        self.freeze(sleepers)
        time.sleep(3.5 * rig.HB_TIMEOUT_S)  # that is what is tested
        self.wake(sleepers[:1])
        time.sleep(rig.HB_TIMEOUT_S / 2)
        self.wake(sleepers[1:])
        job.await_progress()
        time.sleep(1.5 * rig.HB_TIMEOUT_S)  # for failure reports that must not occur
        self.none_reported(job)
        self.ends_exact(job, recovered=False)


if __name__ == "__main__":
    rig.main()
