#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The end of a job that does not end by itself: --timeout with its report, Ctrl-C, signals that are passed on."""
import contextlib
import os
import random
import re
import resource
import signal
import subprocess
import time
import unittest

import launch_rig as rig

WAITS = rig.program("launch_waits")
HOLDS = rig.program("launch_holds")
ENDS = rig.program("launch_ends")
OVERLAP = rig.program("ulfm_overlap")
SH = "/bin/sh"
NO_SECCOMP = 77  # old_kernel says so
SEED, RESTARTING_RUNS, SAVED = 1, 12, 75
CYCLE = "a cycle that none of these ranks will leave by itself.*\n"  # a page before it may show one that is not proved yet
LONE_USER = 64999  # has no processes of its own


class Ending(rig.LaunchTest):
    def test_a_daemon_that_fails_while_the_job_starts(self):
        """It may write no file, not even the one that is the job's memory: no rank ever runs, and that is said."""
        result = self.runs("-c", f"ulimit -f 0; {rig.RZRUN} -n 2 /bin/echo here", rzrun=SH, status=rig.NO_START)
        self.assertEqual(result.out, "")
        self.assertRegex(result.err, r"(?m)^rzrun: node 0 refuses: a file, .* raise `ulimit -f`$")

    def test_a_node_that_ends_alone(self):
        """Its daemon gets a signal, or loses its keeper, and ends its ranks: those are lost with it, whatever signal they got."""
        ways = [(f"kill -{number} $PPID", "daemon", number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGSEGV)]
        ways.append(("kill -9 $(cut -d' ' -f4 /proc/$PPID/stat)", "keeper", signal.SIGKILL))
        for how, what, number in ways:
            go = f"{self.folder}/go.{what}.{int(number)}"
            script = f"echo up; if [ $RZ_RANK = 1 ]; then {how}; sleep 100; fi; while [ ! -e {go} ]; do sleep 0.05; done"
            process = self.start("-n", "2", "--nodes", "2", SH, "-c", script)
            self.assertEqual(process.stdout.readline(), b"up\n")
            self.assertTrue(rig.await_true(lambda: len(self.members()["rzd"]) == 1), "no node ends")
            self.file(os.path.basename(go), "")
            result = self.finish(process)
            self.assertEqual(result.status, 128 + signal.SIGKILL, result.err)
            self.assertRegex(result.err, rf"\Arzrun: rank 1 was lost with node 1\nrzrun: the {what} of node 1 was killed by signal {int(number)} ")

    def test_a_small_stack(self):
        """64 KiB, for rzrun and its daemon too, of which a large environment takes its share."""
        for words in (["/bin/echo", "here"], [ENDS, "return", "0"]):
            self.runs("-c", f"ulimit -s 64; exec {rig.RZRUN} -n 2 --nodes 2 {' '.join(words)}", rzrun=SH, environment={"LARGE": "x" * 30000})

    def limited(self, which, limit, prepare=lambda: None):
        """A run of which a resource is limited: it succeeds, or it says why not."""
        def prepare_all():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            prepare()
            resource.setrlimit(which, (limit, limit))
        # The search for leaks needs a process and descriptors of its own, and waits for them for ever.
        options = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
        result = self.run_it("-n", "2", SH, "-c", "echo here", preexec_fn=prepare_all, environment=options)
        if result.status == 0:
            self.assertEqual(result.out, "here\n" * 2, result.err)
        else:
            self.assertRegex(result.err, r"(?m)^(rzrun|rzd|rhizome)(\[\d+\])?: .", f"status {result.status} with a limit of {limit}")
        return result.status

    def test_little_memory(self):
        statuses = [self.limited(resource.RLIMIT_AS, mebi << 20) for mebi in (32, 48, 64, 80, 1024)]
        self.assertEqual((statuses[0] != 0, statuses[-1]), (True, 0), statuses)

    @unittest.skipUnless(os.geteuid() == 0, "needs a mount namespace")
    def test_no_memory_for_messages(self):
        """Without memfd_create messages lie in /dev/shm, which may be full: that is said, and not that a peer does not answer."""
        line = 'mount -t tmpfs -o size=448k none /dev/shm && exec "$@"'
        result = self.run_it("-m", SH, "-c", line, "sh", os.path.abspath(rig.program("old_kernel")), "memfd_create", "--forbidden",
                             os.path.abspath(rig.RZRUN), "-n", "2", os.path.abspath(WAITS), "traffic", rzrun="/usr/bin/unshare")
        if result.status == NO_SECCOMP:
            self.skipTest("there is no seccomp here")
        self.assertRegex(result.err, r"rhizome: (MPI_\w+ at rank \d: .*\(MPI_ERR_NO_MEM |rank \d: no memory for a connection|.*no memory for its inbox)")
        self.assertNotEqual(result.status, 0)

    def test_small_files(self):
        """What processes share counts as a file: where a job cannot have it, the limit is named, and nothing ends by SIGXFSZ."""
        for nodes in ("1", "2"):
            for limit in (0, 64 << 10, 1 << 20, 10 << 20, 40 << 20, 1 << 30):
                at_most = lambda limit=limit: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
                result = self.run_it("-n", "2", "--nodes", nodes, ENDS, "return", "0", preexec_fn=at_most)
                with self.subTest(nodes=nodes, limit=limit):
                    if result.status != 0 or limit <= 40 << 20:
                        self.assertIn(result.status, (1, rig.NO_START), result.err)
                        self.assertIn("ulimit -f", result.err)
                    self.assertNotIn("signal", result.err)

    def test_few_descriptors(self):
        statuses = [self.limited(resource.RLIMIT_NOFILE, limit) for limit in (4, 5, 6, 7, 8, 12, 20, 30, 100)]
        self.assertEqual((statuses[:5], statuses[-1]), ([rig.NO_START] * 5, 0), statuses)

    @unittest.skipUnless(os.geteuid() == 0, "a limit on processes counts those of a user, which must be another one")
    def test_few_processes(self):
        """Where rzrun cannot start a thread that writes, it writes all the same."""
        def be_another_user():
            os.setgroups([])
            os.setgid(LONE_USER)
            os.setuid(LONE_USER)
        try:
            subprocess.run([rig.RZRUN, "--version"], preexec_fn=be_another_user, stdout=subprocess.DEVNULL, timeout=rig.HANG_S, check=True)
        except PermissionError:
            self.skipTest("another user does not reach this build")
        statuses = [self.limited(resource.RLIMIT_NPROC, limit, be_another_user) for limit in (0, 1, 2, 3, 4, 5, 6, 7, 8, 100)]
        self.assertEqual((statuses[:2], statuses[-1]), ([rig.NO_START] * 2, 0), statuses)

    def test_a_daemon_without_descriptors(self):
        """A refused user learns what is missing, and nothing about authentication."""
        for limit in (66, 62, 58, 54):
            result = self.run_it("-c", f"ulimit -n {limit}; exec {rig.RZRUN} -n 8 {ENDS} return 0", rzrun=SH)
            self.assertNotRegex(result.err, "no memory|prove")
            if result.status != 0:
                self.assertRegex(result.err, "[Oo]pen files|descriptor")

    def test_timeout_of_a_program_without_mpi(self):
        result = self.runs("-n", "2", "--timeout", "500ms", SH, "-c", "sleep 100", status=rig.TIMED_OUT)
        self.assertIn("--timeout", result.err)
        for rank in (0, 1):
            self.assertRegex(result.err, rf"rank {rank} \(node 0, pid \d+\) has not called MPI_Init")

    def timed_out(self, *words):
        """The page of a job that waits; with more time if the processes had not reached their calls."""
        for seconds in (2, 10, 60):
            result = self.runs("-n", "2", "--timeout", f"{seconds}s", *words, status=rig.TIMED_OUT)
            if len(re.findall(r"rank \d .*MPI_Recv", result.err)) == (1 if "compute" in words else 2):
                break
        return result

    def test_timeout_tells_which_rank_waits_for_which(self):
        for nodes in ("1", "2"):
            result = self.timed_out("--nodes", nodes, WAITS, "receive")
            lines = [line for line in result.err.splitlines() if re.match(r"\s+rank \d", line)]
            self.assertEqual(len(lines), 2, result.err)
            for rank, line in enumerate(sorted(lines)):
                self.assertRegex(line, rf"rank {rank} .*MPI_Recv.*\b(rank )?{1 - rank}\b.*tag 77", result.err)

    def test_timeout_tells_which_ranks_compute(self):
        result = self.timed_out(WAITS, "compute")
        self.assertRegex(result.err, r"rank 1 .*MPI_Recv")
        self.assertRegex(result.err, r"rank 0 ")

    def page_until(self, process, *words):
        """The reports until all expected texts have appeared; a process that has not reached its call yet gives an earlier one."""
        page = process.stderr.readline().decode()
        self.assertRegex(page, r"rzrun: nothing has come for .* these ranks wait:")
        while not all(re.search(word, page) for word in words):
            line = process.stderr.readline().decode()
            self.assertTrue(line, page)
            page += line
        return page

    def test_hang_report_ends_no_process(self):
        for nodes, wait in (("1", "auto"), ("2", "auto"), ("1", "yield"), ("2", "yield")):
            process = self.start("-n", "3", "--nodes", nodes, "--hang-report", "300ms", "--wait", wait, WAITS, "receive")
            page = self.page_until(process, CYCLE)
            for rank in range(3):
                self.assertRegex(page, rf"rank {rank} waits .* MPI_Recv on MPI_COMM_WORLD, for rank {(rank + 1) % 3}, tag 77")
            self.assertIn("a cycle that none of these ranks will leave by itself: rank 0 waits for 1 waits for 2 waits for 0", page)
            self.assertIsNone(process.poll())
            time.sleep(0.7)  # more than two bounds: the same page is not shown again
            process.send_signal(signal.SIGINT)
            self.assertNotIn("ranks wait", self.finish(process).err)

    def start_holding(self, nodes, *options):
        """Rank 0 goes on, with what HOLDS does, once rank 1 waits for it."""
        process = self.start("-n", "3", "--nodes", nodes, "--map-by", "node", "--hang-report", "1s", *options)
        waits = lambda: [w for page in self.pages() for p in page["processes"] if p["rank"] == 1 for w in p["waits"] if w["tag"] == 5]
        self.assertTrue(rig.await_true(waits))
        process.send_signal(signal.SIGUSR1)
        return process

    def test_hang_report_of_a_message_that_does_not_arrive(self):
        """Lost by the network, or not taken by a process that is stopped: the ranks wait in a circle, and no cycle is claimed."""
        for nodes, *how in (("2", "held"), ("2", "held", "1000000"), ("2", "payload", "1000000"), ("2", "stopped"), ("1", "stopped"),
                            ("1", "stopped", "1000000")):
            for wait in ("auto", "yield"):
                process = self.start_holding(nodes, "--wait", wait, HOLDS, *how)
                page = self.page_until(process, r"ranks 1-2 wait .* in MPI_Recv on MPI_COMM_WORLD, for rank 0, tag 5\n",
                                       r"\n  (1 message|2 messages) from rank 0 to rank 1 ha(s|ve) been under way for [\d.]+ s and do(es)? not arrive: "
                                       "this is not the program's doing\n")  # 2: it was stopped before it told of the one that it has
                self.assertNotIn("cycle", page)
                process.send_signal(signal.SIGINT)
                self.assertNotIn("cycle", self.finish(process).err)

    def test_hang_report_of_messages_that_no_receive_takes(self):
        """They have arrived, payload or not: what is missing is the program's receive, and the cycle is one."""
        for nodes in ("1", "2"):
            for length in ("8", "1000000"):
                process = self.start_holding(nodes, HOLDS, "other", length)
                page = self.page_until(process, CYCLE)
                self.assertIn("a cycle that none of these ranks will leave by itself: rank 0 waits for 1 waits for 0\n", page)
                process.send_signal(signal.SIGINT)
                self.assertNotIn("under way", page + self.finish(process).err)

    def test_hang_report_of_agreements_in_a_circle(self):
        """Two communicators, shrunk in different orders: each waits for processes that wait in the other one."""
        for nodes in ("1", "2"):
            process = self.start("-n", "8", "--nodes", nodes, "--hang-report", "1s", OVERLAP, "circle", "shrink")
            page = self.page_until(process, CYCLE)
            self.assertRegex(page, r"ranks 0,3-4 wait .* in MPIX_Comm_shrink on green \(3 of 5 are there\), operation 1, for rank 1\n")
            self.assertRegex(page, r"ranks 1-2,5 wait .* in MPIX_Comm_shrink on orange \(3 of 5 are there\), operation 1, for rank 3\n")
            circle = re.search(r"a cycle that none of these ranks will leave by itself: rank (\d)((?: waits for \d)+) waits for \1\n", page)
            self.assertTrue(circle and {"1", "3"} <= set(re.findall(r"\d", circle[0])), page)
            process.send_signal(signal.SIGINT)
            self.finish(process)

    def test_hang_report_of_waits_that_others_may_end(self):
        """For any of several requests, or for a lock that a third rank has: there is no cycle. Of threads only what is in a call is known."""
        for nodes in ("1", "3"):
            for how, waits in (("any", r"rank 0 waits .* MPI_Waitany on MPI_COMM_WORLD, for rank 1 or another, tag 77\n"),
                               ("lock", r"ranks 1-2 wait .* in MPI_Win_lock on .*\n")):
                process = self.start("-n", "3", "--nodes", nodes, "--hang-report", "1s", WAITS, how)
                page = self.page_until(process, waits)
                time.sleep(2.5)  # a page that is not sure is made again
                process.send_signal(signal.SIGINT)
                self.assertNotIn("cycle", page + self.finish(process).err)
            process = self.start("-n", "3", "--nodes", nodes, "--hang-report", "300ms", WAITS, "threads")
            self.page_until(process, "a cycle, unless another thread of these ranks ends it: rank 0 waits for 1 waits for 2 waits for 0\n")
            process.send_signal(signal.SIGINT)
            self.finish(process)

    def test_hang_report_tells_which_ranks_compute(self):
        process = self.start("-n", "3", "--hang-report", "300ms", WAITS, "compute")
        self.page_until(process, r"rank 0 \(node 0, pid \d+\) computes", r"ranks 1-2 wait .* for rank 0, tag 77")
        process.send_signal(signal.SIGINT)
        self.finish(process)

    def test_hang_report_sees_no_cycle_in_one_collective(self):
        for ranks, nodes in (("3", "3"), ("8", "2")):
            result = self.runs("-n", ranks, "--nodes", nodes, "--hang-report", "300ms", WAITS, "late", status=0)
            self.assertNotIn("cycle", result.err)

    def test_hang_report_tells_of_an_accept_without_a_connect(self):
        process = self.start("-n", "2", "--nodes", "2", "--hang-report", "300ms", rig.program("dyn_connect"), "unanswered")
        self.page_until(process, "in MPI_Comm_accept on MPI_COMM_WORLD")
        process.send_signal(signal.SIGINT)
        self.finish(process)

    def test_hang_report_tells_which_end_is_awaited(self):
        for how, call in (("point", "the end of MPIX_Reinit"), ("end", "MPI_Finalize")):
            process = self.start("-n", "3", "--hang-report", "300ms", WAITS, how)
            self.page_until(process, r"rank 0 \(node 0, pid \d+\) computes", rf"ranks 1-2 wait .* s in {call}, operation 1\n")
            process.send_signal(signal.SIGINT)
            self.finish(process)

    def test_hang_report_of_a_rank_that_does_not_hang(self):
        self.assertEqual(self.runs("--hang-report", "100ms", "/bin/sleep", "0.5").err, "")

    def test_timeout_of_the_environment(self):
        """MPIEXEC_TIMEOUT, as with other launchers; the option has precedence, and a value that is none is refused."""
        self.runs("-n", "2", SH, "-c", "sleep 100", status=rig.TIMED_OUT, environment={"MPIEXEC_TIMEOUT": "1"})
        self.runs("-n", "1", "--timeout", rig.HANG, SH, "-c", "sleep 1.5", environment={"MPIEXEC_TIMEOUT": "1"})
        self.assertIn("MPIEXEC_TIMEOUT", self.runs("-n", "1", "/bin/true", status=rig.BAD_LINE, environment={"MPIEXEC_TIMEOUT": "soon"}).err)

    def test_heartbeats_of_the_environment(self):
        """RZ_HB_TIMEOUT is the default of --hb-timeout, but no less than three times --hb-period."""
        self.assertIn("RZ_HB_TIMEOUT is 'soon'", self.runs("-n", "1", "/bin/true", status=rig.BAD_LINE, environment={"RZ_HB_TIMEOUT": "soon"}).err)
        self.runs("-n", "1", "--hb-period", "2s", "/bin/true", environment={"RZ_HB_TIMEOUT": "1s"})
        self.runs("-n", "1", "--hb-timeout", "2s", "/bin/true", environment={"RZ_HB_TIMEOUT": "soon"})

    def test_timeout_that_is_not_needed(self):
        self.assertEqual(self.runs("--timeout", rig.HANG, "/bin/true").err, "")

    def test_timeout_of_a_process_that_ignores_signals(self):
        self.runs("--timeout", "500ms", SH, "-c", "trap '' TERM INT HUP; while :; do sleep 1; done", status=rig.TIMED_OUT)

    def test_timeout_while_rzrun_is_stopped(self):
        """The job ended in time: its status counts, whenever rzrun learns of it. One that did not is ended."""
        for ends, status in ((True, 7), (False, rig.TIMED_OUT)):
            go = f"{self.folder}/go.{ends}"
            begun = time.monotonic()
            process = self.start("-n", "2", "--nodes", "2", "--timeout", "3s", SH, "-c", f"until [ -e {go} ]; do sleep 0.02; done; exit 7")
            self.await_members(2, 2)
            process.send_signal(signal.SIGSTOP)
            if ends:
                self.file(f"go.{ends}", "")
                self.assertTrue(rig.await_true(lambda: not [p for p in self.members()["process"] if p.name == "sh"]))
            ended = time.monotonic()
            rig.await_true(lambda: time.monotonic() > begun + 3.5)
            process.send_signal(signal.SIGCONT)
            result = self.finish(process)
            if ended < begun + 3:  # on a slow machine this says nothing
                self.assertEqual(result.status, status, result.err)

    def interrupted(self, number, *arguments):
        process = self.start("-n", "4", "--nodes", "2", *arguments)
        self.await_members(4, 2)
        process.send_signal(number)
        result = self.finish(process)
        self.assertEqual(result.status, -number if number == signal.SIGINT else 128 + number, result.err)
        self.assertRegex(result.err, rf"(?m)^rzrun: the job was ended by signal {int(number)} \(.*\) to rzrun$")

    def test_interrupt(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self.interrupted(number, "/bin/sleep", "100")
            self.interrupted(number, WAITS, "receive")

    def ends_by(self, process, number, options):
        """It begins no attempt after the signal."""
        process.send_signal(number)
        result = self.finish(process)
        saved = options and number == signal.SIGTERM
        self.assertEqual(result.status, SAVED if saved else -number if number == signal.SIGINT else 128 + number, result.err)
        if not saved:  # else a failure may have come while the newest checkpoint was to be written
            self.assertRegex(result.err, rf"(?m)^rzrun: the job was ended by signal {int(number)} \(.*\) to rzrun$")

    def test_interrupt_between_the_attempts_of_a_job(self):
        """A job that fails at once, and restarts as often: a signal ends it at whatever moment."""
        for options in [], ["--checkpoint-dir", f"{self.folder}/checkpoints"]:
            for turn in range(RESTARTING_RUNS):
                draw = random.Random(f"{SEED} {turn} {options != []}")
                number, restarts, delay_s = draw.choice((signal.SIGTERM, signal.SIGTERM, signal.SIGINT)), draw.randrange(1, 4), draw.uniform(0, 0.1)
                with self.subTest(seed=SEED, turn=turn, checkpoints=options != []):
                    process = self.start("-n", "2", "--nodes", "2", "--on-failure", "restart", "--max-restarts", "100000", *options, SH, "-c", "kill -9 $$")
                    while f"the job restarts ({restarts})" not in (line := process.stderr.readline().decode()):
                        self.assertTrue(line, "the job does not restart")
                    time.sleep(delay_s)  # the moment of the signal is random on purpose
                    self.ends_by(process, number, options)

    def test_interrupt_while_a_failed_attempt_ends(self):
        """Rank 1 is told to end, because rank 0 has failed: what the job ends by is the signal, which comes before another attempt."""
        up = f"{self.folder}/up"
        script = (f"if [ $RZ_RANK = 1 ]; then trap 'echo told; trap \"\" TERM; sleep 100' TERM; : > {up}; while :; do sleep 0.05; done; fi; "
                  f"until [ -e {up} ]; do sleep 0.05; done; kill -9 $$")
        for options in [], ["--checkpoint-dir", f"{self.folder}/checkpoints"]:
            for number in signal.SIGTERM, signal.SIGHUP:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(up)
                process = self.start("-n", "2", "--nodes", "2", "--on-failure", "restart", "--max-restarts", "100000", *options, SH, "-c", script)
                while (line := process.stdout.readline()) != b"told\n":
                    self.assertTrue(line, "rank 1 is not told")
                self.ends_by(process, number, options)

    def test_interrupt_of_a_process_that_ignores_signals(self):
        self.interrupted(signal.SIGINT, SH, "-c", "trap '' TERM INT HUP; while :; do sleep 1; done")

    def test_interrupt_while_everything_starts(self):
        for turn in range(8):
            process = self.start("-n", "4", "--nodes", "4", "/bin/sleep", "100")
            rig.await_true(lambda: len(self.members()["rzd"]) >= turn // 2)
            process.send_signal(signal.SIGINT)
            self.assertEqual(self.finish(process).status, -signal.SIGINT)

    def test_second_interrupt_does_not_wait(self):
        process = self.start(SH, "-c", "trap '' TERM INT HUP; while :; do sleep 1; done")
        self.await_members(1, 1)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process).status, -signal.SIGINT)

    def test_grandchildren_end_too(self):
        process = self.start("-n", "2", SH, "-c", "setsid sleep 100 & sleep 100 & wait")
        self.await_members(6, 1)
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process).status, -signal.SIGINT)

    def test_what_a_process_leaves_running_ends_with_the_job(self):
        self.runs(SH, "-c", "setsid sleep 100 >/dev/null 2>&1 & exit 0")

    def test_user_signals_are_passed_on(self):
        process = self.start("-n", "2", SH, "-c", "trap 'echo got; exit 0' USR1; echo ready; while :; do sleep 0.1; done")
        for _ in range(2):
            self.assertEqual(process.stdout.readline(), b"ready\n")
        process.send_signal(signal.SIGUSR1)
        result = self.finish(process)
        self.assertEqual((result.status, result.out), (0, "got\n" * 2), result.err)


rig.main()
