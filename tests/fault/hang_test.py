#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The watchdog (rzrun --hang-timeout): a process without progress is killed and replaced like any failed one; one that waits, or reports that it
is alive, is not."""
import detect_rig as rig


class Hang(rig.DetectTest):
    def test_a_hung_process_is_replaced(self):
        job = rig.Job(self, "--hang-timeout", "700ms")
        job.await_progress()
        victim = [job.processes(1)[0].pid]
        self.freeze(victim)
        job.await_event("epoch", lambda: len(job.events("epoch", epoch=2)) == rig.NODES)
        seen = job.events("failure_seen")
        self.assertEqual(len(seen), 1, "one hung, and those that waited for it did not")
        self.assertEqual((seen[0]["node"], seen[0]["value"]), ("1", "1"))
        self.assertIn("no progress for", seen[0]["note"])
        self.assertIn("hung", {event["note"] for event in job.events("failure_news") if event["by"] == "3"})
        job.await_progress()
        result = self.ends_exact(job, recovered=True)
        self.assertRegex(result.err, "rank [23] on node 1 hung and was killed; noticed by no progress")

    def compute(self, *arguments):
        return rig.Job(self, "--hang-timeout", "500ms", nodes=1, ranks=2,
                       line=[rig.rig.program("detect_compute"), self.folder, *arguments])

    def test_unrepaired(self):
        """Without MPIX_Reinit it ends the job as a kill would, and the reason is reported."""
        job = self.compute()
        job.await_event("failure_seen", rank=1)
        result = job.stop()
        self.assertEqual(result.status, 137, result.err)
        self.assertIn("rank 1 made no progress for longer than --hang-timeout, and was killed", result.err)

    def test_a_rank_that_says_that_it_is_alive(self):
        job = self.compute("alive")
        rig.time.sleep(1.5)  # three timeouts
        self.assertEqual(job.events("failure_seen"), [])
        self.assertEqual(job.stop().status, 0)

    def test_a_process_that_gets_no_processor(self):
        """It would say that it is alive, and cannot."""
        job = self.compute("alive")
        with self.starved(job.processes(0)[1].pid, 3):
            self.assertEqual(job.events("failure_seen"), [])
        self.assertEqual(job.stop().status, 0)

    def test_no_process_hangs_by_default(self):
        job = rig.Job(self, nodes=1, ranks=2, line=[rig.rig.program("detect_compute"), self.folder])
        rig.time.sleep(1.0)
        self.assertEqual(job.events("failure_seen"), [])
        self.assertEqual(job.stop().status, 0)


if __name__ == "__main__":
    rig.main()
