#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rzrun's exit status is the job's, and its message names the first cause."""
import signal

import launch_rig as rig

SH = "/bin/sh"
ENDS = rig.program("launch_ends")


class ExitStatus(rig.LaunchTest):
    def test_programs_without_mpi(self):
        self.assertEqual(self.runs("-n", "3", "/bin/true").err, "")
        for code in (1, 7, 255):
            result = self.runs("-n", "2", SH, "-c", f"exit {code}", status=code)
            self.assertIn(f"exited with status {code}", result.err)

    def test_one_of_many(self):
        result = self.runs("-n", "4", SH, "-c", "test $RZ_RANK != 2 || exit 9", status=9)
        self.assertIn("rank 2 exited with status 9", result.err)

    def test_signals(self):
        for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM):
            result = self.runs("-n", "2", SH, "-c", f"test $RZ_RANK = 0 || kill -{int(number)} $$", status=128 + number)
            self.assertIn(f"rank 1 was killed by signal {int(number)}", result.err)

    def test_mpi_returns_0(self):
        self.assertEqual(self.runs("-n", "4", "--nodes", "2", ENDS, "return", "0").err, "")

    def test_mpi_returns_another_code(self):
        self.runs("-n", "2", ENDS, "return", "5", status=5)

    def test_abort(self):
        result = self.runs("-n", "4", "--nodes", "2", ENDS, "abort", "42", status=42)
        self.assertIn("rank 1", result.err)
        self.runs("-n", "2", ENDS, "abort", "0", status=1)

    def test_an_unacknowledged_failure(self):
        """It counts, unless the user accepts it: docs/decisions/0061."""
        job = ["-n", "3", "--nodes", "2"]
        self.assertIn("rank 1 was killed by signal 9", self.runs(*job, ENDS, "alone", "9", status=137).err)
        for options in (["--accept-failures"], ["--with-ft", "mpi"]):
            self.assertEqual(self.runs(*job, *options, ENDS, "alone", "9").err, "")
        number = self.runs("--detach", "--accept-failures", *job, ENDS, "alone", "9").out.split()[-1]
        self.runs("--attach", number)
        self.runs(*job, "--with-ft", "mpi", "--on-failure", "abort", ENDS, "alone", "9", status=137)

    # ---- of some processes: the others continue

    def of_some(self, *words, ranks=4, others=2, status):
        result = self.runs("-n", str(ranks), "--nodes", "2", "--timeout", rig.HANG, ENDS, *words, status=status)
        self.assertEqual(result.out.count("goes on"), others, result.out)
        return result

    def test_abort_of_some(self):
        self.assertRegex(self.of_some("half", "42", status=42).err, "rank [23] was ended by MPI_Abort: rank 2")
        self.of_some("half", "0", status=1)
        self.assertIn("rank 1 was ended by MPI_Abort", self.of_some("self", "9", ranks=3, status=9).err)

    def test_abort_of_some_without_fault_tolerance_is_of_all(self):
        self.assertNotIn("goes on", self.runs("-n", "4", "--no-ft", ENDS, "half", "42", status=42).out)

    def test_errors_abort_on_some(self):
        self.assertIn("MPI_ERRORS_ABORT", self.of_some("half-error", status=6).err)

    def test_a_process_that_gives_up_because_of_a_failure_is_not_the_cause(self):
        self.assertIn("rank 2 was killed by signal 9", self.of_some("half-failure", status=137).err)

    def test_a_spawned_process_aborts_its_own_world(self):
        result = self.of_some("spawn", "abort", "8", ranks=2, status=8)
        self.assertIn("process 2 (spawned) was ended by MPI_Abort", result.err)

    def test_a_fatal_error_of_a_spawned_process_is_of_all(self):
        result = self.of_some("spawn", "fatal", ranks=2, others=0, status=6)
        self.assertIn("process 2 (spawned) ended the job", result.err)

    def test_exit_before_finalize_is_a_failure(self):
        result = self.runs("-n", "2", ENDS, "early", "0", status=1)
        self.assertIn("before MPI_Finalize", result.err)
        self.runs("-n", "2", ENDS, "early", "6", status=6)

    def test_a_crash_loop_names_its_last_failure(self):
        lines = (("kill -SEGV $$", "rank 0 was killed by signal 11 (Segmentation fault) on node 0"),
                 ("kill -9 $$", "rank 0 was killed by signal 9 (Killed) on node 0"))
        for line, words in lines:
            result = self.runs("--on-failure", "repair", "--max-restarts", "2", SH, "-c", line, status=6)
            self.assertIn(f"too many restarts without a newly committed checkpoint (see --max-restarts); the last failure: {words}", result.err)

    def test_killed_inside_mpi(self):
        result = self.runs("-n", "4", "--nodes", "2", ENDS, "kill", "9", status=137)
        self.assertIn("rank 1 was killed by signal 9", result.err)

    def test_survivors_that_wait_for_a_failed_rank_do_not_hang(self):
        self.runs("-n", "3", ENDS, "kill", "11", status=139)


rig.main()
