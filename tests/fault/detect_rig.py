# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of detection share: a job of four emulated nodes that runs until it is stopped, its record, its daemons.

The program is tests/cluster/cluster_job.c: one lost, duplicate or stale message, and its last line is not `exact`.
"""
import concurrent.futures
import contextlib
import os
import signal
import subprocess
import sys
import time  # noqa: F401 (for the tests)
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../launch")
import launch_rig as rig  # noqa: E402

NODES, RANKS = 4, 8
HB_TIMEOUT_S = 1.0  # rzrun's own for emulated nodes
os.environ["RZ_HB_TIMEOUT"] = f"{HB_TIMEOUT_S:g}s"  # other tests are patient: tests/CMakeLists.txt
PATIENT = ("--hb-timeout", "3s")  # where no failure report is awaited: a loaded machine holds a daemon up, too


class Job:
    """A running job; its record is read as it grows."""

    def __init__(self, test, *options, nodes=NODES, ranks=RANKS, line=None):
        self.test, self.nodes = test, nodes
        self.report = f"{test.folder}/report"
        line = line or [rig.program("detect_job"), test.folder]
        self.process = test.start("-n", str(ranks), "--nodes", str(nodes), "--timeout", rig.HANG, "--story",
                                  "--report", self.report, *options, *line)
        self.await_event("run", lambda: len({event["node"] for event in self.events("run")}) == nodes)

    def events(self, kind, **wanted):
        found = []
        try:
            with open(self.report) as file:
                text = file.read()
        except FileNotFoundError:
            return found
        for line in text.splitlines(keepends=True):
            if not line.endswith("\n"):
                break
            fields, _, note = line.rstrip("\n").partition(" note=")
            event = dict((word.split("=", 1) for word in fields.split(" ")), note=note)
            if event["event"] == kind and all(event.get(key) == str(value) for key, value in wanted.items()):
                found.append(event)
        return found

    def await_event(self, kind, condition=None, **wanted):
        self.await_true(lambda: condition() if condition else self.events(kind, **wanted), f"no event {kind} {wanted}")

    def await_true(self, condition, what):
        rig.await_true(lambda: condition() or self.process.poll() is not None)
        if not condition():
            self.process.kill()
            out, err = self.process.communicate()
            self.test.fail(f"{what}:\n{out.decode()}{err.decode()}")

    def daemon(self, node):
        return int(self.events("node", node=node)[0]["daemon"])

    def processes(self, node):
        """The application's processes on a node, as far as they live."""
        daemon = self.daemon(node)
        return [p for p in rig.marked(self.test.mark) if p.parent == daemon]

    def processes_of(self, node):
        return [self.daemon(node)] + [p.pid for p in self.processes(node)]

    def await_progress(self):
        """Until some more checkpoints are committed: the job runs."""
        before = len(self.events("committed"))
        self.await_event("committed", lambda: len(self.events("committed")) > before + NODES)

    def stop(self):
        open(f"{self.test.folder}/stop", "w").close()
        return self.test.finish(self.process)


class DetectTest(rig.LaunchTest):
    def setUp(self):
        super().setUp()
        self.stopped = set()

    def tearDown(self):
        for pid in list(self.stopped):
            self.wake([pid])
        super().tearDown()

    def signal(self, pids, number):
        for pid in pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def freeze(self, pids):
        self.stopped |= set(pids)
        self.signal(pids, signal.SIGSTOP)
        for pid in pids:
            rig.await_true(lambda: (process := rig.look_at(pid)) is None or process.state in "TZ")

    def wake(self, pids):
        self.signal(pids, signal.SIGCONT)
        self.stopped -= set(pids)

    @contextlib.contextmanager
    def starved(self, pid, least_s):
        """Waits until this process has waited for a processor, which another one with a higher priority uses, for this time. Skipped
        where the system allows no higher priority."""
        core = min(os.sched_getaffinity(0))
        def waited_s():
            return int(rig.read(pid, "schedstat").split()[1]) / 1e9
        def take_precedence():
            os.sched_setaffinity(0, {core})
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        try:
            keeper = subprocess.Popen([sys.executable, "-c", "while True: pass"], preexec_fn=take_precedence)
        except subprocess.SubprocessError:
            for process in self.started:  # a job that still ran would count as left behind
                process.kill()
                process.wait()
            self.skipTest("no process may have precedence here")
        try:
            for thread in os.listdir(f"/proc/{pid}/task"):
                os.sched_setaffinity(int(thread), {core})
            begun = waited_s()
            rig.await_true(lambda: rig.look_at(pid) is None or waited_s() - begun > least_s)
            yield
        finally:
            keeper.kill()
            keeper.wait()

    def ends_exact(self, job, recovered):
        """The job ends with the right numbers, after at least one recovery or none."""
        result = job.stop()
        self.assertEqual(result.status, 0, result.out + result.err)
        self.assertIn("exact", result.out, result.err)
        recoveries = int(job.events("exit")[0]["recoveries"])
        self.assertEqual(recoveries > 0, recovered, result.err)
        return result

    def none_reported(self, job):
        self.assertEqual(job.events("failure_seen"), [])
        self.assertEqual(job.events("stopping"), [])

    def went_on(self, job, survivors):
        """Exactly these nodes have taken part in the newest epoch, and exactly the others have stopped themselves."""
        epoch = max(int(event["epoch"]) for event in job.events("epoch"))
        self.assertGreater(epoch, 1)
        for number in range(2, epoch + 1):
            took_part = {int(event["by"]) for event in job.events("epoch", epoch=number)}
            self.assertLessEqual(took_part, survivors, f"epoch {number}")
        self.assertEqual({int(event["by"]) for event in job.events("epoch", epoch=epoch)}, survivors)


AT_ONCE = 4  # jobs are asleep most of the time: they wait for failure reports


def run_alone(name):
    """One test in a process of its own; its output if it failed."""
    done = subprocess.run([sys.executable, "-B", sys.argv[0], name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout.decode(errors="replace") if done.returncode else ""


def main():
    """All tests, some at once; those that are named, one after the other."""
    if len(sys.argv) > 1:
        rig.main()
    tests = [f"{type(test).__name__}.{test._testMethodName}" for group in
             unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]) for test in group]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for name, words in zip(tests, pool.map(run_alone, tests)):
            print(f"{name}: {words or 'ok'}", flush=True)
            failed += bool(words)
    print(f"{len(tests)} tests, {failed} failed")
    sys.exit(failed > 0)
