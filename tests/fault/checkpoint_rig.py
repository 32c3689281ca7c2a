# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of checkpoint files share: the conjugate gradient with its checkpoints in a folder of the test's own, and the
answer of a run in which nothing happens."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../launch"))
import launch_rig as rig  # noqa: E402

HPCCG = f"{rig.BUILD}/apps/hpccg"
RANKS, NODES = 4, 3
CHECKPOINT = 8  # rzrun's exit status
# Failures come with proof here; with more patience a loaded machine does not add some that only seem to be.
PATIENCE = ["--hb-timeout", "5s"]


def fails(point):
    """Surroundings in which a daemon of the first attempt fails: POINT:NTH@NODE."""
    return {"RZ_KILL_AT": point}


class CheckpointTest(rig.LaunchTest):
    calm = None  # standard output of the undisturbed run

    def setUp(self):
        super().setUp()
        self.directory = f"{self.disk()}/checkpoints"
        self.job = f"{self.directory}/hpccg"
        if CheckpointTest.calm is None:
            CheckpointTest.calm = self.runs("-n", str(RANKS), "--nodes", str(NODES), *PATIENCE, *self.program()).out
            self.assertIn("residual", CheckpointTest.calm)

    def disk(self):
        return self.folder

    def program(self, iterations=40, every=4):
        return [HPCCG, "8", "8", "8", "--iterations", str(iterations), "--checkpoint-every", str(every)]

    def line(self, *options, scheme="file", ranks=RANKS, nodes=NODES):
        return ["-n", str(ranks), "--nodes", str(nodes), *PATIENCE, "--checkpoint", scheme, "--checkpoint-dir", self.directory,
                "--report", f"{self.folder}/report", *options]

    def solves(self, *options, environment=None, scheme="file", ranks=RANKS, nodes=NODES):
        """A run that ends with the bits of the undisturbed one."""
        result = self.runs(*self.line(*options, scheme=scheme, ranks=ranks, nodes=nodes), *self.program(), environment=environment)
        self.assertEqual(result.out, self.calm, result.err)
        return result

    def fails(self, status, *options, environment=None, scheme="file", ranks=RANKS):
        return self.runs(*self.line(*options, scheme=scheme, ranks=ranks), *self.program(), environment=environment, status=status)

    def killed(self, point, *options, scheme="file"):
        """A run that the failure of a daemon ends. Its status is that of the failure, or of a survivor that found out first."""
        result = self.run_it(*self.line("--on-failure", "abort", *options, scheme=scheme), *self.program(), environment=fails(point))
        self.assertNotIn(result.status, (0, CHECKPOINT, rig.TIMED_OUT), result.err)
        self.assertNotIn("residual", result.out)
        return result

    def events(self, kind):
        """Events of that kind in the report of the last run, as dictionaries."""
        with open(f"{self.folder}/report") as report:
            lines = [line.split() for line in report]
        return [dict(word.split("=", 1) for word in words if "=" in word) for words in lines if words[0] == f"event={kind}"]

    def restored(self):
        """The generations that ranks went back to, in the last run, and their sources."""
        return {int(event["value"]) for event in self.events("restored") if event["value"] != "0"}

    def from_files(self):
        return {event["note"] for event in self.events("restored") if event["value"] != "0"} == {"file"}

    def committed(self):
        """The generations that have a mark, by number, oldest first: {12: its folder}."""
        found = {}
        for folder, _, files in os.walk(self.job):
            if "committed" in files:
                found[int(os.path.basename(folder).split("-")[1].split(".")[0])] = folder
        return dict(sorted(found.items()))

    def unfinished(self):
        """Files and folders that a writer left in the middle of its work."""
        left = []
        for folder, _, files in os.walk(self.job):
            left += [f"{folder}/{name}" for name in files if name.endswith(".part")]
            if os.path.basename(folder).startswith("generation-") and "committed" not in files:
                left.append(folder)
        return left

    def leaves_checkpoints(self):
        """A job that the failure of a node ends in its middle, when all pieces of generation 6 but its own are written; what it
        leaves behind: as committed()."""
        result = self.killed("file-begin:6@1")
        self.assertIn(f"checkpoints are in {self.job}: --restart continues from them", result.err)
        found = self.committed()
        self.assertGreaterEqual(len(found), 2)
        self.assertLessEqual(max(found), 5)
        return found
