#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs that another launcher starts through PMIx, here Open MPI's mpirun: they run, survive where it lets them, and end as a whole with
any of their parts. Skipped (77) where there is no mpirun of Open MPI, or no module for PMIx."""
import os
import re
import shutil
import signal
import subprocess
import sys

import launch_rig as rig

MPIRUN = shutil.which("mpirun.openmpi") or shutil.which("mpirun") or ""
RING, SHRINK = f"{rig.BUILD}/apps/ring", f"{rig.BUILD}/apps/tutorial/step5_shrink"
ENDS = rig.program("launch_ends")
FOR_EVER = "1000000000"  # rounds
NOTICE = re.compile(r"^rhizome: started through PMIx, not by rzrun: .*\n", re.MULTILINE)
SILENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_orte_base_help_aggregate": "1"}


class Pmix(rig.LaunchTest):
    def start_mpirun(self, *words, environment=None, **options):
        return self.start("--oversubscribe", *words, rzrun=MPIRUN, environment={**SILENT, **(environment or {})}, **options)

    def mpirun(self, *words, status=0, **options):
        result = self.finish(self.start_mpirun(*words, **options))
        self.assertEqual(result.status, status, result.out + result.err)
        return result

    def parts(self, name):
        """The processes of this name (stand-ins have the name of rzd until they name themselves)."""
        return [process for process in rig.marked(self.mark) if process.name == name]

    def coming_up(self, n):
        """A job of n ranks that runs until something ends it."""
        process = self.start_mpirun("-n", str(n), RING, FOR_EVER)
        self.assertTrue(rig.await_true(lambda: len(self.parts("rzd-stand-in")) == n and len(self.parts("ring")) == n and
                                       NOTICE.search(self.said(process))), "the job does not come up")
        return process

    def said(self, process):
        """What it has said so far."""
        text = getattr(process, "said", "")
        os.set_blocking(process.stderr.fileno(), False)
        more = process.stderr.read()
        process.said = text + (more or b"").decode()
        return process.said

    def test_it_runs(self):
        result = self.mpirun("-n", "4", RING)
        self.assertRegex(result.out, r"\Aring of 4: token 40 after 10 rounds, .*\n\Z")
        self.assertRegex(result.err, rf"\A{NOTICE.pattern}\Z")

    def test_who_may_read_memory(self):
        """All processes of this user: the ranks of a node do not descend from one daemon."""
        self.mpirun("-n", "3", rig.program("let_read"), "any")

    def test_one_process(self):
        self.assertEqual(self.mpirun("-n", "1", ENDS, "return", "0").err, "")

    def test_two_programs(self):
        self.assertIn("ring of 5", self.mpirun("-n", "2", RING, ":", "-n", "3", RING).out)

    def test_survivors_go_on(self):
        result = self.mpirun("--enable-recovery", "-n", "4", SHRINK)
        for rank, number in ((0, 0), (1, 1), (3, 2)):
            self.assertIn(f"rank {rank}: I am rank {number} of 3 now; our numbers add up to 3\n", result.out)

    def test_a_job_that_ends_at_a_failure(self):
        result = self.finish(self.start_mpirun("-n", "3", ENDS, "kill", "9"))
        self.assertNotEqual(result.status, 0, result.err)

    def test_abort(self):
        result = self.finish(self.start_mpirun("-n", "3", ENDS, "abort", "7"))
        self.assertIn(result.status, (7, 1), result.err)  # that of the process that mpirun sees first
        self.assertIn("rzrun: rank 1 ended the job: MPI_Abort\n", result.err)

    def test_spawned_processes(self):
        self.mpirun("-n", "2", rig.program("dyn_spawn"), environment={"RZ_RZRUN_ARGS": "--oversubscribe"})

    def test_options_of_rzrun(self):
        report = f"{self.folder}/report"
        self.mpirun("-n", "2", RING, environment={"RZ_RZRUN_ARGS": f"--report {report}"})
        with open(report, encoding="utf-8") as file:
            self.assertIn("event=joined", file.read())
        result = self.finish(self.start_mpirun("-n", "2", RING, environment={"RZ_RZRUN_ARGS": "--nonsense"}))
        self.assertNotEqual(result.status, 0)
        self.assertRegex(result.err, "rzrun: .*--nonsense")

    def test_a_process_that_does_not_join(self):
        result = self.finish(self.start_mpirun("-n", "3", "sh", "-c", f"test $PMIX_RANK = 1 && exit 3; exec {RING}"))
        self.assertNotEqual(result.status, 0, result.err)

    def test_each_part_is_killed(self):
        for name, line in (("rzrun", "."), ("rzd", "."), ("rzd-keeper", "."), ("rzd-stand-in", "rank 2 (ends: |was killed)"), ("ring", ".")):
            with self.subTest(name):
                process = self.coming_up(3)
                os.kill(self.parts(name)[-1].pid, signal.SIGKILL)
                text = self.said(process)
                status = process.wait(timeout=rig.HANG_S)
                text += self.said(process)
                self.assertNotEqual(status, 0, text)
                self.assertRegex(text, line)
                self.assertEqual(rig.lasting(lambda: [p.command for p in rig.marked(self.mark)]), [], text)

    def test_mpirun_is_killed(self):
        process = self.coming_up(3)
        process.kill()
        self.finish(process)

    def test_mpirun_is_terminated(self):
        process = self.coming_up(3)
        process.terminate()
        self.assertNotEqual(self.finish(process).status, 0)

    def test_no_module(self):
        result = self.finish(self.start_mpirun("-n", "2", RING, environment={"RZ_PMIX_MODULE": "/none"}))
        self.assertNotEqual(result.status, 0)
        self.assertRegex(result.err, "started through PMIx, for which this build has no module .*rzrun, or set RZ_ALONE=1")
        self.assertEqual(self.mpirun("-n", "2", RING, environment={"RZ_PMIX_MODULE": "/none", "RZ_ALONE": "1"}).out.count("ring of 1"), 2)

    def test_launchers_without_pmix(self):
        for variables, word in (({"PMI_RANK": "1", "PMI_SIZE": "4"}, "speaks PMI, and not PMIx"),
                                ({"SLURM_STEP_ID": "0", "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "4"}, "srun --mpi=pmix")):
            def alone(**more):
                return subprocess.run([RING], env={**os.environ, **variables, **more}, stderr=subprocess.PIPE, stdout=subprocess.PIPE,
                                      text=True, timeout=rig.HANG_S)
            done = alone()
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(word, done.stderr)
            self.assertEqual(alone(RZ_ALONE="1").returncode, 0)
            self.runs("-n", "2", RING, environment=variables)


if __name__ == "__main__":
    if not MPIRUN or b"Open" not in subprocess.run([MPIRUN, "--version"], stdout=subprocess.PIPE, timeout=rig.HANG_S).stdout:
        print("there is no mpirun of Open MPI: tools/setup --check installs it")
        sys.exit(77)
    if not os.path.exists(f"{rig.BUILD}/lib/rhizome/rhizome-pmix.so"):
        print("this build has no module for PMIx: RZ_PMIX")
        sys.exit(77)
    rig.main()
