#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs that continue without rzrun: what is shown of them later, how they end, and that nothing of them is left."""
import os
import pty
import re
import signal
import socket
import subprocess
import time
import unittest

import launch_rig as rig

SH = "/bin/sh"
ENDS, WAITS = rig.program("launch_ends"), rig.program("launch_waits")
HPCCG = [f"{rig.BUILD}/apps/hpccg", "24", "24", "24", "--checkpoint-every", "5"]
NO_JOB = 7


class Detach(rig.LaunchTest):
    def setUp(self):
        super().setUp()
        self.gate = f"{self.folder}/gate"
        self.jobs = []

    def tearDown(self):
        for job in self.jobs:
            subprocess.run([rig.RZRUN, "--end", job], capture_output=True, timeout=rig.HANG_S)
        super().tearDown()

    def detach(self, *arguments, **options):
        """Starts a job; its number."""
        out = self.runs("--detach", "--oversubscribe", *arguments, **options).out
        self.assertRegex(out, r"\A[0-9a-f]{16}\n\Z")
        self.jobs.append(out.strip())
        self.members()
        return out.strip()

    def script(self, after, before="echo before $RZ_RANK"):
        """Ranks write, wait until the gate is opened, and continue."""
        return [SH, "-c", f"{before}; until [ -e {self.gate} ]; do sleep 0.02; done; {after}"]

    def daemon_of(self, node):
        return next(p.pid for p in self.members()["rzd"] if f"--address 127.0.1.{1 + node}" in p.command)

    def open_gate(self):
        open(self.gate, "w").close()

    def attach(self, job, *arguments):
        return self.start("--attach", job, *arguments)

    def attached(self, job, status=0, *arguments):
        result = self.finish(self.attach(job, *arguments))
        self.assertEqual(result.status, status, result.out + result.err)
        return result

    def read_until(self, process, words):
        """Output up to this text; the rest stays in the pipe."""
        got = b""
        while words not in got:
            byte = os.read(process.stdout.fileno(), 1)
            self.assertTrue(byte, f"the output ends before {words}: {got}")
            got += byte
        return got

    def attach_if_there_is_room(self, job):
        viewer = self.attach(job)
        if os.read(viewer.stdout.fileno(), 1):
            return viewer
        self.finish(viewer)
        return None

    def assert_gone(self):
        self.assertEqual(rig.lasting(self.left_behind), [], "not gone")

    # ---- output

    def test_output_before_and_after_is_complete_and_in_order(self):
        lines = "i=0; while [ $i -lt 200 ]; do echo {} $RZ_RANK $i; i=$((i+1)); done"
        job = self.detach("-n", "4", "--nodes", "2", *self.script(lines.format("new"), before=lines.format("old")))
        viewer = self.attach(job, "--label")
        head = self.read_until(viewer, b"old 3 199\n").decode()
        self.open_gate()
        result = self.finish(viewer)
        self.assertEqual((result.status, result.err), (0, ""))
        for rank in range(4):
            mine = [line for line in (head + result.out).splitlines() if line.startswith(f"[{rank}] ")]
            self.assertEqual(mine, [f"[{rank}] {what} {rank} {i}" for what in ("old", "new") for i in range(200)])
        self.assert_gone()

    def test_a_job_that_is_over_at_once(self):
        for _ in range(5):
            job = self.detach("-n", "2", "--nodes", "2", SH, "-c", "echo out; echo err >&2")
            result = self.attached(job)
            self.assertEqual((result.out, result.err), ("out\n" * 2, "err\n" * 2))
        self.assert_gone()

    def test_input_is_empty(self):
        job = self.detach(SH, "-c", "wc -c", stdin=subprocess.PIPE, data=b"this is not read")
        self.assertEqual(self.attached(job).out.strip(), "0")

    def test_the_pipe_delays_no_process(self):
        """The daemons close rzrun's output: `$(rzrun --detach ...)` returns while the job runs."""
        out = subprocess.run([SH, "-c", f"echo $({rig.RZRUN} --detach {WAITS} receive)"], capture_output=True, text=True,
                             timeout=rig.HANG_S, env=dict(os.environ, **rig.BY_SIGNAL, RZ_TEST_MARK=self.mark))
        self.jobs.append(out.stdout.strip())
        self.assertEqual(len(self.await_members(1, 1)["process"]), 1)

    def test_what_does_not_fit_is_dropped_and_said(self):
        flood = "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo the end"
        job = self.detach("--spool", "256KiB", *self.script("exit 0", before=flood + f"; : > {self.folder}/written"))
        self.assertTrue(rig.await_true(lambda: os.path.exists(f"{self.folder}/written")), "the writer is held")
        self.open_gate()
        result = self.attached(job)
        missed = int(re.search(r"node 0: (\d+) bytes of older output are not kept", result.err)[1])
        self.assertTrue(result.out.endswith("x\nthe end\n"))
        self.assertEqual(missed + len(result.out), 3000000 + len("\nthe end\n"))
        self.assertGreater(len(result.out), 100000)

    def test_a_process_that_does_not_read_delays_no_other(self):
        flood = f"head -c 9000000 /dev/zero | tr '\\0' x; : > {self.folder}/written"
        job = self.detach("--spool", "256KiB", *self.script(flood, before="echo ready"))
        viewer = self.attach(job)
        self.read_until(viewer, b"ready\n")
        self.open_gate()
        self.assertTrue(rig.await_true(lambda: os.path.exists(f"{self.folder}/written")), "the writer is held")
        result = self.finish(viewer)
        self.assertEqual(result.status, 0)
        missed = sum(int(bytes) for bytes in re.findall(r"(\d+) bytes of older output", result.err))
        self.assertGreater(missed, 0)
        self.assertEqual(missed + len(result.out), 9000000)

    # ---- how it ends

    def test_exit_status(self):
        for what, status, cause in ((["return", "0"], 0, ""), (["return", "3"], 3, "exited with status 3"),
                                    (["early", "0"], 1, "rank 1 exited with status 0 before MPI_Finalize"),
                                    (["abort", "9"], 9, "rank 1 ended the job"),
                                    (["kill", "11"], 139, "rank 1 was killed by signal 11")):
            with self.subTest(what=what):
                job = self.detach("-n", "4", "--nodes", "2", ENDS, *what)
                self.assertIn(cause, self.attached(job, status).err)
        self.assert_gone()

    def test_without_fault_tolerance(self):
        job = self.detach("--no-ft", "-n", "4", "--nodes", "2", WAITS, "receive")
        os.kill(self.await_members(4, 2)["process"][0].pid, signal.SIGKILL)
        self.assertIn("was killed by signal 9", self.attached(job, 137).err)
        job = self.detach("--no-ft", "-n", "4", "--nodes", "2", WAITS, "receive")
        os.kill(self.await_members(4, 2)["rzd"][0].pid, signal.SIGKILL)
        self.attached(job, 137)

    def test_timeout(self):
        job = self.detach("--timeout", "1s", "-n", "2", "--nodes", "2", WAITS, "receive")
        result = self.attached(job, rig.TIMED_OUT)
        self.assertIn("the job was ended after --timeout (1 s)", result.err)
        self.assertEqual(len(re.findall(r"rank [01] waits .* in MPI_Recv", result.err)), 2)

    def test_one_that_never_joins(self):
        job = self.detach("-n", "2", "--nodes", "2", SH, "-c", f"[ $RZ_RANK = 0 ] && exit 5; exec {WAITS} receive")
        self.assertIn("without MPI_Init", self.attached(job, 5).err)

    def test_errors_at_the_start(self):
        self.runs("--detach", "./nothing", status=rig.NOT_FOUND)
        result = self.runs("--detach", self.file("broken", "#!/no/such/interpreter\n", 0o755), status=rig.NOT_EXECUTABLE)
        self.assertEqual(result.out, "")
        self.assert_gone()

    # ---- failures

    def hpccg(self, iterations, *arguments):
        return self.detach("-n", "4", "--nodes", "4", *arguments, *HPCCG, "--iterations", str(iterations))

    def answer(self, out):
        return [line for line in out.splitlines() if "residual" in line][-1:]

    def repaired(self, kind):
        job = self.hpccg(1000)  # seconds: it must not be over before the viewer has left
        viewer = self.attach(job)
        victims = self.await_members(4, 4)[kind]
        started = {process.pid for process in self.members()["process"]}
        os.kill(victims[-1].pid, signal.SIGKILL)
        again = lambda: viewer.poll() is not None or {p.pid for p in self.members()["process"]} - started
        self.assertTrue(rig.await_true(again), "no process takes the place of the failed one")
        viewer.send_signal(signal.SIGINT)
        left = self.finish(viewer)
        self.assertEqual(left.status, 128 + signal.SIGINT, left.out + left.err)
        return self.attached(job)

    def test_a_failure_of_a_rank_is_repaired(self):
        self.assertEqual(len(self.answer(self.repaired("process").out)), 1)
        self.assert_gone()

    def test_a_failure_of_a_node_is_repaired(self):
        self.assertEqual(len(self.answer(self.repaired("rzd").out)), 1)
        self.assert_gone()

    def test_the_result_outlives_a_daemon(self):
        """What ranks of a node returned is known on the others."""
        job = self.detach("-n", "2", "--nodes", "2", *self.script("[ $RZ_RANK = 0 ] && exit 4; exit 0"))
        self.await_members(2, 2)
        first = self.daemon_of(0)
        self.open_gate()
        self.assertTrue(rig.await_true(lambda: self.pages()[0]["detached"] == "over"))
        os.kill(first, signal.SIGKILL)
        self.assertTrue(rig.await_true(lambda: first not in {p.pid for p in self.members()["rzd"]}))
        said = self.attached(job, 4).err
        self.assertIn("rank 0 exited with status 4", said)
        self.assertIn("1 of 2 nodes have ended; their last output may be missing", said)

    def test_all_daemons_fail(self):
        job = self.detach("-n", "2", "--nodes", "2", *self.script("exit 0"))
        viewer = self.attach(job)
        self.read_until(viewer, b"before")
        for daemon in self.await_members(2, 2)["rzd"]:
            os.kill(daemon.pid, signal.SIGKILL)
        self.assertEqual(self.finish(viewer).status, rig.LOST)
        self.assert_gone()

    def test_the_keeper_fails(self):
        self.detach("-n", "2", WAITS, "receive")
        os.kill(self.await_members(2, 1)["rzd-keeper"][0].pid, signal.SIGKILL)
        self.assert_gone()

    def test_a_stopped_daemon_is_not_waited_for(self):
        job = self.detach("-n", "3", "--nodes", "3", "--linger", "2s", *self.script("exit 0"))
        viewer = self.attach(job)
        self.await_members(3, 3)
        self.read_until(viewer, b"before")
        stopped = self.daemon_of(2)
        os.kill(stopped, signal.SIGSTOP)
        self.open_gate()
        result = self.finish(viewer)
        os.kill(stopped, signal.SIGCONT)  # it finds that it was given up, and keeps its part for a while
        self.assertEqual(result.status, 137, result.err)
        self.assertIn("node 2 does not answer any more", result.err)
        self.assertIn("rank 2 was lost with node 2", result.err)
        self.assert_gone()

    # ---- attaching and leaving

    def test_attached_ones_go_and_come(self):
        job = self.detach("-n", "2", "--nodes", "2", *self.script("echo after $RZ_RANK"))
        for number in (signal.SIGKILL, signal.SIGINT, signal.SIGHUP):
            viewer = self.attach(job)
            self.read_until(viewer, b"before")
            viewer.send_signal(number)
            result = self.finish(viewer)
            self.assertEqual(result.status, -number if number == signal.SIGKILL else 128 + number)
            self.assertEqual("continues" in result.err, number != signal.SIGKILL)
        self.open_gate()
        self.assertEqual(sorted(self.attached(job).out.splitlines()), ["after 0", "after 1", "before 0", "before 1"])
        self.assert_gone()

    def test_several_look_at_once(self):
        job = self.detach("-n", "2", "--nodes", "2", *self.script("exit 6"))
        viewers = [self.attach(job) for _ in range(3)]
        for viewer in viewers:
            self.read_until(viewer, b"before")
        self.open_gate()
        for viewer in viewers:
            self.assertEqual(self.finish(viewer).status, 6)
        self.assert_gone()

    def test_too_many_look_at_once(self):
        job = self.detach(*self.script("exit 0"))
        viewers = [self.attach(job) for _ in range(8)]
        for viewer in viewers:
            self.read_until(viewer, b"before 0\n")
        self.assertIn("too many rzruns are attached", self.attached(job, NO_JOB).err)
        viewers[0].kill()
        self.finish(viewers[0])
        # Its place is free once the daemon has seen that it has ended, and before the end, because a result that
        # was shown is not kept.
        another = rig.await_true(lambda: self.attach_if_there_is_room(job))
        self.assertTrue(another, "no room again")
        self.open_gate()
        for viewer in viewers[1:] + [another]:
            self.assertEqual(self.finish(viewer).status, 0)

    def test_end(self):
        job = self.detach("-n", "4", "--nodes", "2", *self.script("exit 0"))
        viewer = self.attach(job)
        self.read_until(viewer, b"before")
        self.assertEqual(self.runs("--end", job).out, "")
        result = self.finish(viewer)
        self.assertEqual(result.status, 128 + signal.SIGTERM)
        self.assertIn("ended by rzrun --end", result.err)
        self.assert_gone()

    def test_no_process_comes(self):
        self.detach("--linger", "300ms", "-n", "2", "--nodes", "2", SH, "-c", "exit 1")
        self.assert_gone()

    def test_the_result_stays_until_a_client_comes(self):
        job = self.detach("-n", "2", "--nodes", "2", SH, "-c", "echo here; exit 2")
        over = lambda: all(page["detached"] == "over" for page in self.pages())
        self.assertTrue(rig.await_true(over))
        with socket.socket(socket.AF_UNIX) as visitor:  # has the result, and never says so
            visitor.settimeout(rig.HANG_S)
            visitor.connect(f"\0rhizome/{os.geteuid()}/{job}/0")
            visitor.sendall(b"attach\n")
            got = b""
            while b"exited with status 2" not in got:
                got += visitor.recv(4096)
        self.assertEqual(self.attached(job, 2).out, "here\n" * 2)
        self.assert_gone()

    @unittest.skipUnless(rig.can_unshare(), "this user may not make network namespaces, or there is no ip")
    def test_no_heartbeats_after_the_end(self):
        """Datagrams of a network of this job alone."""
        line = f'ip link set lo up; exec {rig.RZRUN} "$@"'
        words = ["--detach", "-n", "3", "--nodes", "3", "--detector", "ring", "--hb-period", "10ms", *self.script("exit 0")]
        job = self.runs("-rn", SH, "-c", line, "sh", *words, rzrun="/usr/bin/unshare").out.strip()
        daemon = self.await_members(3, 3)["rzd"][0].pid

        def datagrams():
            return [line.split()[4] for line in rig.read(daemon, "net/snmp").decode().splitlines() if line.startswith("Udp:")][1]

        def are_equal_for(seconds):
            before = datagrams()
            time.sleep(seconds)
            return before == datagrams()
        self.assertTrue(rig.await_true(lambda: not are_equal_for(0.1)), "there are no heartbeats")
        self.open_gate()
        self.assertTrue(rig.await_true(lambda: are_equal_for(1)), "heartbeats do not end")
        self.assertEqual(len(self.members()["rzd"]), 3, "the daemons keep the result no more")
        self.runs("-t", str(daemon), "-U", "-n", "--preserve-credentials", rig.RZRUN, "--end", job, rzrun="/usr/bin/nsenter")
        self.assert_gone()

    def test_rzrun_fails_while_it_starts(self):
        for _ in range(8):
            run = self.start("--detach", "-n", "4", "--nodes", "4", "--linger", "100ms", "/bin/sleep", "100")
            rig.await_true(lambda: self.members()["rzd"] or run.poll() is not None)
            run.kill()
            out = self.finish(run).out
            if run.returncode == 0:  # it was faster
                self.jobs.append(out.strip())
                self.runs("--end", self.jobs[-1])
                continue
            # A job continues only if its number was written.
            settled = lambda: not self.members()["rzd"] or all(page["detached"] == "running" for page in self.pages())
            self.assertTrue(rig.await_true(settled), "the job hangs after the end of rzrun")
            for job in self.listening() - set(self.jobs):
                self.assertEqual(out, job + "\n")
                self.run_it("--end", job)
        self.assert_gone()

    def listening(self):
        return {page["job"] for page in self.pages()}

    def test_a_number_that_cannot_be_written(self):
        with open("/dev/full", "wb") as full:
            result = self.run_it("--detach", "/bin/sleep", "100", stdout=full)
        self.assertEqual(result.status, 9, result.err)
        self.assertIn("its number cannot be written: No space left on device", result.err)
        self.assert_gone()

    def test_a_terminal_goes(self):
        master, slave = pty.openpty()
        run = self.start("--detach", WAITS, "receive", stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
        os.close(slave)
        self.jobs.append(os.read(master, 100).decode().strip())
        self.finish(run)
        os.close(master)
        self.await_members(1, 1)
        self.runs("--end", self.jobs[-1])

    # ---- names

    def test_names_of_jobs(self):
        jobs = [self.detach("/bin/sleep", "100")]
        while jobs[-1][0] not in {job[0] for job in jobs[:-1]}:  # until two begin alike
            jobs.append(self.detach("/bin/sleep", "100"))
        job, other = jobs[-1], next(job for job in jobs if job[0] == jobs[-1][0])
        common = os.path.commonprefix([job, other])
        self.assertRegex(self.runs("--attach", common, status=NO_JOB).err, r"\d jobs begin with")
        self.assertRegex(self.runs("--end", common, status=NO_JOB).err, r"\d jobs begin with")
        unknown = "0" * 16
        self.assertIn("no job on this machine", self.runs("--attach", unknown, status=NO_JOB).err)
        self.assertIn("no job on this machine", self.runs("--end", unknown, status=NO_JOB).err)
        self.runs("--end", other[:12])
        self.assertEqual(self.listening(), set(jobs) - {other})

    def test_not_detached(self):
        run = self.start(WAITS, "receive")
        self.await_members(1, 1)
        for what in ("--attach", "--end"):
            (job,) = self.listening()
            self.assertIn("not started with --detach", self.runs(what, job, status=NO_JOB).err)
        self.assertIsNone(run.poll())
        run.send_signal(signal.SIGINT)
        self.finish(run)

    @unittest.skipUnless(os.geteuid() == 0, "another user is needed")
    def test_another_user(self):
        job = self.detach(WAITS, "receive")
        for what in ("--attach", "--end"):
            line = ["setpriv", "--reuid=65534", "--clear-groups", rig.RZRUN, what, job]
            result = self.finish(self.start(*line[1:], rzrun=line[0]))
            self.assertEqual(result.status, NO_JOB, result.err)
            self.assertIn("belongs to another user", result.err)
        pid = os.fork()
        if pid == 0:  # hung up on, without a word
            os.setuid(65534)
            with socket.socket(socket.AF_UNIX) as visitor:
                visitor.settimeout(rig.HANG_S)
                visitor.connect(f"\0rhizome/0/{job}/0")
                try:
                    visitor.sendall(b"attach\n")
                    os._exit(len(visitor.recv(1)))
                except (BrokenPipeError, ConnectionResetError):
                    os._exit(0)
                finally:
                    os._exit(2)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)

    def test_nonsense_on_the_stream(self):
        job = self.detach(*self.script("echo after"))
        for words in (b"attach\n" + b"\xff" * 64, b"attach\n" + bytes([4, 0, 0, 0, 0, 0, 0, 0]), b"attach\n"):
            with socket.socket(socket.AF_UNIX) as visitor:
                visitor.connect(f"\0rhizome/{os.geteuid()}/{job}/0")
                visitor.sendall(words)
        self.open_gate()
        self.assertTrue(self.attached(job).out.endswith("after\n"))

    def test_command_lines(self):
        for line in (["--detach", "--inject", "kill rank 0 at 1s", "true"], ["--detach", "--story", "true"],
                     ["--detach", "--report", f"{self.folder}/r", "true"], ["--spool", "1KiB", "true"],
                     ["--detach", "--adapter", "netns", "--nodes", "2", "true"], ["--attach", "xyz"], ["--attach", ""],
                     ["--attach", "1", "true"], ["--attach", "1", "--end", "2"], ["--detach", "--attach", "1"],
                     ["--linger", "0s", "true"]):
            with self.subTest(line=line):
                self.assertTrue(self.runs(*line, status=rig.BAD_LINE).err.startswith("rzrun: "))


if __name__ == "__main__":
    rig.main()
