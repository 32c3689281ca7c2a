#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A job ends, and some daemons hear of it late: none that leaves in order may be held for failed by one that does not know yet."""
import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../launch")
import launch_rig as rig  # noqa: E402

NODES = 8  # enough that not all daemons are connected: they are along the binomial graph
LATE_S = 3  # longer than a daemon may be silent; nothing happens that could be awaited
BAD = ("failure_seen", "failure_news", "stopping", "excluded")


class OrderOfEnds(rig.LaunchTest):
    def stopped(self, name):
        return [process for process in rig.marked(self.mark) if process.name == name and process.state == "T"]

    def ends_in_order(self, *options, told):
        """rzrun stops when it has told this number of daemons that the job is over."""
        report = f"{self.folder}/report"
        run = self.start("--report", report, "-n", str(NODES), "--nodes", str(NODES), "--oversubscribe", *options, f"{rig.BUILD}/apps/ring",
                         environment={"RZ_KILL_AT": f"launch-shutdown:{told}@0+stop"})
        stopped = rig.await_true(lambda: self.stopped("rzrun"))
        self.assertTrue(stopped, "it does not come to its end")
        time.sleep(LATE_S)
        os.kill(stopped[0].pid, signal.SIGCONT)
        result = self.finish(run)
        self.assertEqual((result.status, result.err), (0, ""))
        with open(report, encoding="utf-8") as file:
            wrong = [line for line in file if any(f"event={kind} " in line for kind in BAD)]
        self.assertEqual(wrong, [], f"{told} of {NODES} daemons told first")

    def test_half_of_the_daemons_hear_first(self):
        self.ends_in_order(told=3)

    def test_all_but_one_hear_first(self):
        self.ends_in_order(told=NODES - 1)

    def test_spare_nodes_hear_first(self):
        self.ends_in_order("--spares", "2", told=1)

    def test_by_swim(self):
        self.ends_in_order("--detector", "swim", told=3)


if __name__ == "__main__":
    rig.main()
