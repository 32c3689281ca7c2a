#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The trace: one file of all processes and daemons, also of killed ones; in case files; RZ_LOG, --log, -v."""
import glob
import json
import os

import launch_rig as rig

HPCCG = [f"{rig.BUILD}/apps/hpccg", "8", "8", "8", "--iterations", "100", "--checkpoint-every", "5"]
KILL = ["--inject", "kill rank 3 at iteration 10"]
WAITS = [rig.program("launch_waits"), "receive"]


class Trace(rig.LaunchTest):
    def traced(self, *arguments, **options):
        """The events of a run by the name of their process, oldest first; metadata apart."""
        path = f"{self.folder}/trace.json"
        self.result = self.runs("--oversubscribe", "--trace", path, *arguments, **options)
        with open(path) as file:
            document = json.load(file)
        self.metadata = [event for event in document["traceEvents"] if event["ph"] == "M"]
        names = {event["pid"]: event["args"]["name"] for event in self.metadata if event["name"] == "process_name"}
        self.assertEqual(len(set(names.values())), len(names))
        events = {name: [] for name in names.values()}
        for event in document["traceEvents"]:
            if event["ph"] != "M":
                self.assertIn(event["ph"], ("i", "b", "e"))
                self.assertGreater(event["ts"], 0)
                events[names[event["pid"]]].append(event)
        return events

    def test_a_killed_rank(self):
        events = self.traced("-n", "4", "--nodes", "2", "--on-failure", "continue", "--inject", "kill rank 2 at 100ms", *WAITS,
                             status=137)
        killed, survivor = events["rank 2.1"], events["rank 1.1"]
        self.assertEqual([event["name"] for event in killed][:1], ["joined"])
        self.assertIn("init", [event["name"] for event in killed])
        learnt = [event for event in survivor if event["name"] == "failure_learnt"]
        self.assertEqual([event["args"]["slot"] for event in learnt], [2])
        # One clock: the daemon has seen it after the last event of the killed rank, and before the survivor heard.
        (seen,) = [event for event in events["daemon 1"] if event["name"] == "record_failure_seen"]
        self.assertEqual((seen["args"]["rank"], seen["cat"]), (2, "state"))
        self.assertLess(killed[-1]["ts"], seen["ts"])
        self.assertLess(seen["ts"], learnt[0]["ts"])
        nodes = [event["args"] for event in self.metadata if event["name"] == "rhizome_node"]
        self.assertEqual([(node["node"], node["clock_offset_ns"]) for node in nodes], [(0, 0), (1, 0)])

    def test_a_killed_node(self):
        """What the daemon and its processes wrote is there, although the kernel has killed them all."""
        events = self.traced("-n", "6", "--nodes", "3", "--inject", "kill node 2 at iteration 10", *HPCCG)
        for name in ("daemon 2", "rank 4.1", "rank 5.1"):
            self.assertTrue(events[name], name)
        self.assertNotIn("left", [event["name"] for event in events["rank 4.1"]])
        for name in ("rank 4.2", "rank 0.1"):
            self.assertIn("left", [event["name"] for event in events[name]], name)
        back = [event["args"]["epoch"] for event in events["rank 0.1"] if event["name"] == "roll_back"]
        self.assertEqual(back, [1])

    def test_each_attempt(self):
        events = self.traced("-n", "4", "--nodes", "2", "--on-failure", "restart", *KILL, *HPCCG)
        self.assertTrue(events["rank 3.1"])
        self.assertTrue(events["rank 3.1, attempt 2"])

    def test_levels(self):
        events = self.traced("-n", "2", "--log", "all:off,link:debug", *HPCCG)
        modules = {event["cat"] for name, its in events.items() for event in its}
        self.assertEqual(modules, {"link"})
        names = {event["name"] for event in events["rank 0.1"]}
        self.assertTrue({"joined", "told_daemon", "heard_daemon", "left"} <= names)

    def test_wrong_levels(self):
        for options, environment, word in (((), {"RZ_LOG": "engine"}, "RZ_LOG: 'engine'"), (("--log", "moi:info"), {}, "'moi:info'"),
                                           ((), {"RZ_LOG": "mpi:loud"}, "'mpi:loud'")):
            result = self.runs("-n", "1", *options, "/bin/true", status=rig.BAD_LINE, environment=environment)
            for text in (word, "overlay", "daemon", "off notice info debug"):
                self.assertIn(text, result.err)
        self.runs("-n", "1", "/bin/true", environment={"RZ_LOG": ""})

    def test_without_memory_for_rings(self):
        """No trace is no reason not to run."""
        result = self.runs("-c", 'ulimit -f 1000; exec "$@"', "sh", rig.RZRUN, "-n", "2", "--trace", f"{self.folder}/trace.json", "/bin/echo", "ran",
                           rzrun="/bin/sh")
        self.assertEqual(result.out, "ran\nran\n")
        self.assertIn("--trace: there is no memory for the trace of node 0", result.err)

    def test_a_file_that_cannot_be(self):
        result = self.runs("-n", "1", "--trace", f"{self.folder}/none/trace.json", "/bin/true", status=rig.BAD_LINE)
        self.assertIn("--trace", result.err)

    def test_in_case_files(self):
        self.runs("--oversubscribe", "--cases", f"{self.folder}/cases", "-n", "4", "--nodes", "2", *KILL, *HPCCG)
        with open(f"{self.folder}/cases/case-0001.json") as file:
            case = json.load(file)
        before = [(event["process"], event["event"]) for event in case["trace"]]
        self.assertIn(("rank 3.1", "init"), before)
        self.assertIn(("daemon 1", "process_failed"), before)
        self.assertEqual([event["at_ns"] for event in case["trace"]], sorted(event["at_ns"] for event in case["trace"]))
        after = [(event["process"], event["event"]) for event in case["trace_after"]]
        for name in ("rank 0.1", "rank 1.1", "rank 2.1"):
            self.assertIn((name, "roll_back"), after)

    def dump(self, what):
        (path,) = glob.glob(f"{self.folder}/cases/{what}-*.json")
        self.assertEqual(os.path.basename(path), f"{what}-0001.json")
        with open(path) as file:
            return json.load(file)

    def test_at_an_abort(self):
        self.runs("--cases", f"{self.folder}/cases", "-n", "2", rig.program("launch_ends"), "abort", "7", status=7)
        document = self.dump("abort")
        self.assertEqual((document["schema"], document["what"]), ("rhizome.dump.1", "abort"))
        (event,) = [event for event in document["trace"] if event["event"] == "abort"][:1]
        self.assertEqual((event["module"], event["args"]), ("init", {"code": 7}))

    def test_at_a_hang(self):
        self.runs("--cases", f"{self.folder}/cases", "-n", "2", "--timeout", "1s", *WAITS, status=rig.TIMED_OUT)
        self.assertIn("init", [event["event"] for event in self.dump("hang")["trace"]])

    def test_verbose(self):
        result = self.runs("--oversubscribe", "-v", "-n", "4", "--nodes", "2", *KILL, *HPCCG)
        for line in (r"s: node 1 is up: process \d+", "s: rank 3, incarnation 1, has joined on node 1",
                     r"s: rank 3 \(incarnation 1\) has failed; node 1 has noticed it: ", "s: epoch 2 begins, with checkpoint ",
                     "s: rank 3, incarnation 2, is started on node", "s: epoch 2 runs", "s: the job has ended with status 0"):
            self.assertRegex(result.err, line)
        self.assertEqual(result.err.count("epoch 2 begins"), 1)
        self.assertNotIn("engine ", result.err)

    def test_very_verbose(self):
        result = self.runs("--oversubscribe", "-vv", "-n", "4", "--nodes", "2", *KILL, *HPCCG)
        for line in (r"s: rank 0.1: engine roll_back epoch 1\n", r"s: daemon 1: process process_failed rank 3, incarnation 1, hung 0\n",
                     r"daemon 0: launcher order type LEAVE\n", r"s: rank 0.1: ft checkpoint "):
            self.assertRegex(result.err, line)
        quiet = self.runs("-n", "2", *HPCCG)
        self.assertNotIn("rzrun", quiet.err)


if __name__ == "__main__":
    rig.main()
