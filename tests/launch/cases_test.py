#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Case files: the document of each failure."""
import glob
import json
import os

import launch_rig as rig

HPCCG = [f"{rig.BUILD}/apps/hpccg", "8", "8", "8", "--iterations", "300", "--checkpoint-every", "5"]  # the last kill is long before the end


class Cases(rig.LaunchTest):
    def cases(self):
        found = []
        for path in sorted(glob.glob(f"{self.folder}/cases/case-*")):
            self.assertRegex(os.path.basename(path), r"^case-\d{4}\.json$")
            with open(path) as file:
                found.append(json.load(file))
        for number, case in enumerate(found, 1):
            self.assertEqual((case["schema"], case["case"]), ("rhizome.case.2", number))
        return found

    def run_cases(self, *arguments, **options):
        return self.runs("--oversubscribe", "--cases", f"{self.folder}/cases", *arguments, **options)

    def test_a_process_that_is_started_again(self):
        self.run_cases("-n", "6", "--nodes", "3", "--inject", "kill rank 3 at iteration 10", *HPCCG)
        (case,) = self.cases()
        self.assertEqual((case["what"], case["rank"], case["incarnation"], case["node"]), ("process", 3, 1, 1))
        self.assertEqual((case["cause"], case["done"], case["job_status"]), ("failed", "global restart", 0))
        self.assertEqual([a["node"] for a in case["observers"]], [1])
        for what in ("told", "agreed"):
            self.assertEqual(sorted(t["node"] for t in case[what]), [0, 1, 2], what)
            self.assertTrue(all(t["at_ns"] >= case["seen_at_ns"] for t in case[what]), what)
        self.assertEqual(case["started_again"]["incarnation"], 2)
        self.assertEqual(case["epoch"], 2)
        self.assertGreaterEqual(case["seen_at_ns"], case["injected_at_ns"])
        self.assertGreaterEqual(case["runs_again"]["at_ns"], max(t["at_ns"] for t in case["agreed"]))

    def test_a_node(self):
        self.run_cases("-n", "6", "--nodes", "3", "--inject", "kill node 2 at iteration 10", *HPCCG)
        (case,) = self.cases()
        self.assertEqual((case["what"], case["node"], case["done"]), ("node", 2, "global restart"))
        self.assertNotIn("rank", case)
        self.assertTrue(case["observers"])
        self.assertEqual(sorted(t["node"] for t in case["told"]), [0, 1])

    def test_a_node_that_is_cut_off(self):
        """It reports those that it does not hear any more; the others continue without it, and only its own end is a case."""
        result = self.run_cases("-n", "8", "--nodes", "4", "--story", "--inject", "cut node 2 at iteration 10", HPCCG[0],
                                "16", "16", "16", *HPCCG[4:])
        self.assertEqual({(case["what"], case["node"]) for case in self.cases() if case["what"] == "node"}, {("node", 2)})
        for case in self.cases():
            self.assertNotIn(2, [t["node"] for t in case["observers"] + case["told"] + case["agreed"]] if case["what"] == "node" else [])
        self.assertNotRegex(result.err, r"node [013] failed")
        self.assertIn("node 2 failed", result.err)

    def test_two_failures_are_two_cases(self):
        # Far apart, and far from the end: a kill takes some time, in which the program continues.
        long = [HPCCG[0], "24", "24", "24", *HPCCG[4:]]
        self.run_cases("-n", "6", "--nodes", "3", "--inject", "kill rank 1 at iteration 8",
                       "--inject", "kill rank 1 at iteration 150", *long)
        first, second = self.cases()
        self.assertEqual((first["incarnation"], second["incarnation"]), (1, 2))
        self.assertEqual((first["epoch"], second["epoch"]), (2, 3))

    def test_a_failure_that_is_not_repaired(self):
        self.run_cases("-n", "4", "--nodes", "2", "--on-failure", "continue", "--inject", "kill rank 2 at 100ms",
                       rig.program("launch_waits"), "receive", status=137)
        case = self.cases()[0]
        self.assertEqual((case["rank"], case["job_status"]), (2, 137))
        self.assertIn(case["done"], ("noted; the program goes on without it", "nothing: the job ended"))

    def test_no_failure_no_case(self):
        self.run_cases("-n", "2", "/bin/true")
        self.assertEqual(self.cases(), [])

    def test_a_folder_that_cannot_be(self):
        self.file("cases", "")
        result = self.run_cases("/bin/true", status=rig.BAD_LINE)
        self.assertIn("--cases", result.err)
        self.assertIn("no folder", result.err)


if __name__ == "__main__":
    rig.main()
