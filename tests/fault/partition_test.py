#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A network that is cut, slow or lossy between the daemons (rzrun --inject): one side continues, the other stops itself and reports
it; no node is reported for being slow; none comes back unnoticed. Needs no namespaces: messages between the processes are not cut."""
import detect_rig as rig


# Reported by the others, or found out alone: which is first depends on the machine's load.
CUT_OFF = "no quorum|declared this node failed|hears too few others"


class Partition(rig.DetectTest):
    def cut_in_two(self, *options):
        """Two against two: the lowest daemon's side continues."""
        job = rig.Job(self, *options, "--inject", "cut node 2,3 at 100ms")
        job.await_event("stopping", lambda: len(job.events("stopping")) == 2)
        job.await_progress()
        self.assertEqual({event["node"] for event in job.events("stopping")}, {"2", "3"})
        for event in job.events("stopping"):
            self.assertRegex(event["note"], CUT_OFF)
        result = self.ends_exact(job, recovered=True)
        self.went_on(job, {0, 1})
        self.assertRegex(result.err, "node 3 is cut off: ")
        self.assertNotRegex(result.err, "node [01] failed")  # what only the other side believed

    def test_two_against_two(self):
        self.cut_in_two()

    def test_two_against_two_by_swim(self):
        self.cut_in_two("--detector", "swim")

    def test_a_small_side_stops_without_reporting_all(self):
        """Two of eight: they ask all others at their first failure report, instead of reporting them one after the other."""
        job = rig.Job(self, "--oversubscribe", "--inject", "cut node 6,7 at 100ms", nodes=8)
        job.await_event("stopping", lambda: len(job.events("stopping")) == 2)
        job.await_progress()
        self.assertEqual({event["node"] for event in job.events("stopping")}, {"6", "7"})
        reported = [event for event in job.events("failure_seen", rank=-1) if event["by"] in "67"]
        self.assertLess(len(reported), 6, "each of the other side was reported")
        self.ends_exact(job, recovered=True)

    def test_three_against_one(self):
        """The majority continues without the lowest daemon."""
        job = rig.Job(self, "--inject", "cut node 0 at 100ms")
        job.await_event("epoch", lambda: len(job.events("epoch", epoch=2)) == 3)
        job.await_progress()
        self.ends_exact(job, recovered=True)
        self.went_on(job, {1, 2, 3})

    def test_healed_after_the_failure_report(self):
        job = rig.Job(self, "--inject", "cut node 3 at 100ms for 4s")
        job.await_event("stopping", node=3)
        self.assertRegex(job.events("stopping")[0]["note"], CUT_OFF)
        job.await_progress()
        self.ends_exact(job, recovered=True)
        self.went_on(job, {0, 1, 2})

    def test_healed_before_the_failure_report(self):
        job = rig.Job(self, *rig.PATIENT, "--inject", "cut node 3 at 100ms for 500ms")
        job.await_event("injected", lambda: len(job.events("injected", node=3)) == 2)
        job.await_progress()
        self.none_reported(job)
        self.ends_exact(job, recovered=False)

    def slow(self, *options):
        job = rig.Job(self, *rig.PATIENT, *options, "--inject", "delay node 3 150ms at 100ms for 1500ms")
        job.await_event("injected", lambda: len(job.events("injected", node=3)) == 2)
        job.await_progress()
        self.none_reported(job)
        self.ends_exact(job, recovered=False)

    def test_slow_is_not_failed(self):
        self.slow()

    def test_slow_is_not_failed_by_swim(self):
        self.slow("--detector", "swim")

    def lossy(self, *options):
        """Three in ten datagrams of one node are lost, both ways: it continues, or is cut off for all alike."""
        job = rig.Job(self, *options, "--inject", "lose 30% node 3 at 100ms for 2500ms")
        job.await_event("injected", lambda: len(job.events("injected", node=3)) == 2 or job.events("stopping"))
        result = job.stop()
        self.assertEqual(result.status, 0, result.out + result.err)
        self.assertIn("exact", result.out)
        self.assertLessEqual({event["node"] for event in job.events("stopping")}, {"3"}, result.err)
        if job.events("epoch", epoch=2):
            self.went_on(job, {0, 1, 2})

    def test_lossy(self):
        self.lossy()

    def test_lossy_by_swim(self):
        self.lossy("--detector", "swim")


if __name__ == "__main__":
    rig.main()
