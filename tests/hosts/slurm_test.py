#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs in allocations of a real slurm (hosts.py): by salloc and sbatch, nodes and slots from the allocation, the loss of a rank and
of a host, an srun that is killed. Skipped (77) without root, sshd or slurm."""
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import jobs  # noqa: E402
from jobs import BAD_LINE, COMD, HANG_S, HELD, HPCCG, NO_START, PREEMPTED, RZRUN, SIZE, await_true, result_of, state_of  # noqa: E402


class InSlurm(jobs.JobsTest):
    N, SLURM, RANKS = 3, True, 6

    def run_it(self, words, *more, k=0):
        done = self.rig.run(k, ["salloc", *words, RZRUN, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=HANG_S)
        return done.returncode, done.stdout, "".join(line for line in done.stderr.splitlines(True) if not line.startswith("salloc:"))

    def test_nodes_and_slots_of_the_allocation(self):
        status, out, err = self.run_it(["-N3", "-n5", "--no-kill"], "sh", "-c", 'echo "$(hostname)"')
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(sorted(set(out.split())), ["h1", "h2", "h3"])
        self.assertEqual(len(out.split()), 5)

    def test_some_nodes_of_the_allocation(self):
        status, out, err = self.run_it(["-N3", "-n3", "--no-kill"], "--host", "h3:2", "-n", "2", "hostname")
        self.assertEqual((status, out, err), (0, "h3\nh3\n", ""))

    def test_a_program_that_must_be_brought(self):
        script = "/tmp/script"
        self.rig.run(0, ["sh", "-c", f"printf '#!/bin/sh\\necho $(hostname) $0\\n' > {script}; chmod 755 {script}"])
        status, out, err = self.run_it(["-N2", "-n2", "--no-kill"], "--preload", script)
        self.rig.run(0, ["rm", script])
        self.assertEqual((status, err), (0, ""))
        self.assertRegex("\n".join(sorted(out.splitlines())), r"\Ah1 \S+/rhizome-preload-h1-\w+/script\nh2 \S+/rhizome-preload-h2-\w+/script\Z")

    def test_exit_status(self):
        self.assertEqual(self.run_it(["-N2", "-n2"], "sh", "-c", "exit 9")[0], 9)

    def test_starts_that_fail(self):
        status, _, err = self.run_it(["-N2", "-n2", "--no-kill"], "--prefix", "/none", "hostname")
        self.assertEqual(status, NO_START, err)
        self.assertRegex(err, r"h1: .*h2: .*srun ended with status 127.*--prefix")
        status, _, err = self.run_it(["-N1", "-n1"], "--host", "h1,nosuch", "hostname")
        self.assertEqual(status, NO_START, err)
        self.assertRegex(err, "nosuch: srun: error: ")
        done = self.rig.run(0, [RZRUN, "--launcher", "slurm", "hostname"], stderr=subprocess.PIPE, text=True, timeout=HANG_S)
        self.assertEqual(done.returncode, BAD_LINE)
        self.assertIn("SLURM_JOB_ID is not set", done.stderr)

    def test_a_batch_script(self):
        script = "/run/rig/home/job.sh"
        self.rig.run(0, ["sh", "-c", f"printf '#!/bin/sh\\n#SBATCH -N3 -n6 --no-kill\\nexec {RZRUN} {HPCCG} {' '.join(SIZE)}\\n' > {script}"],
                     timeout=HANG_S)
        done = self.rig.run(0, ["sh", "-c", f"cd /run/rig/home && sbatch --wait -o out {script} >/dev/null; echo status $?; cat out; rm -f out job.sh"],
                            stdout=subprocess.PIPE, text=True, timeout=HANG_S)
        self.assertEqual(done.stdout.splitlines()[0], "status 0", done.stdout)
        self.assertEqual(result_of(done.stdout), self.expected)

    def test_preempted_and_requeued(self):
        """The script of docs/clusters.md; slurm delays a job that was requeued, so the delay is taken away."""
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/clusters.md"), encoding="utf-8") as file:
            script = re.search(r"^#!/bin/sh\n.*?requeue.*?(?=^```)", file.read(), re.MULTILINE | re.DOTALL)[0]
        first = f"""test "$SLURM_RESTART_COUNT" || set -- --inject '{HELD}'\n"""
        script = script.replace("-N4 -n16", "-N3 -n8").replace("rzrun ", f'{first}{RZRUN} "$@" ', 1).replace("./program", " ".join(COMD))
        script = script.replace("--checkpoint-dir checkpoints --restart --signal-checkpoint USR1", f"{' '.join(PREEMPTED)} --restart")
        home = "/run/rig/home"
        self.rig.run(0, ["sh", "-c", f"cat > {home}/job.sh"], input=script, text=True, timeout=HANG_S)
        job = self.answer(f"cd {home}; sbatch --parsable -o out job.sh").strip()
        self.await_checkpoint()
        self.answer(f"scancel --batch --signal=USR1 {job}")
        self.assertTrue(await_true(lambda: "Restarts=1" in self.answer(f"scontrol show job {job}")), self.answer(f"cat {home}/out"))
        self.answer(f"scontrol update JobId={job} StartTime=now")
        self.assertTrue(await_true(lambda: "JobState=COMPLETED" in self.answer(f"scontrol show job {job}")), self.answer(f"cat {home}/out"))
        said = self.answer(f"cat {home}/out; rm {home}/out {home}/job.sh")
        self.assertRegex(said, r"SIGUSR1 ended the job after checkpoint \d+ was written")
        self.assertEqual(said.count("step 0 "), 1, said)
        self.assertLessEqual(set(state_of(self.undisturbed(COMD, 8))), set(said.splitlines()))

    def answer(self, command):
        return self.rig.run(0, ["sh", "-c", command], stdout=subprocess.PIPE, text=True, timeout=HANG_S).stdout

    def test_a_rank_and_a_host_are_lost(self):
        status, out, err = self.run_it(["-N3", "-n12", "--no-kill"], "-n", "6", "--map-by", "node", "--story", "--inject",
                                       "kill rank 3 at iteration 40", "--inject", "kill node 2 at iteration 90", HPCCG, *SIZE)
        self.assertEqual((status, result_of(out)), (0, self.expected), err)
        self.assertRegex(err, "rank 3 on node 0 failed")
        self.assertRegex(err, "node 2 failed")

    def by_pmix(self, *words, nodes=3, ranks=6):
        """A program that srun starts itself."""
        done = self.rig.run(0, ["srun", f"-N{nodes}", f"-n{ranks}", "--mpi=pmix", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, timeout=HANG_S)
        return done.returncode, done.stdout, done.stderr

    @unittest.skipUnless(jobs.HAS_PMIX, "this build has no module for PMIx")
    def test_started_through_pmix(self):
        for distribution in ("block", "cyclic"):
            status, out, err = self.by_pmix("--distribution", distribution, jobs.RING)
            self.assertEqual(status, 0, err)
            self.assertRegex(out, "ring of 6: token 60 after 10 rounds")
            self.assertEqual(err.count("started through PMIx, not by rzrun"), 1, err)

    @unittest.skipUnless(jobs.HAS_PMIX, "this build has no module for PMIx")
    def test_survivors_of_a_process_that_pmix_has_started(self):
        status, out, err = self.by_pmix(jobs.SHRINK)
        self.assertNotEqual(status, 0, err)  # one was killed
        for rank, number in ((0, 0), (1, 1), (3, 2), (4, 3), (5, 4)):
            self.assertIn(f"rank {rank}: I am rank {number} of 5 now; our numbers add up to 10\n", out, err)

    def test_srun_without_pmix(self):
        done = self.rig.run(0, ["srun", "-N2", "-n2", "--mpi=none", jobs.RING], stderr=subprocess.PIPE, text=True, timeout=HANG_S)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("use srun --mpi=pmix or rzrun", done.stderr)

    def test_srun_is_killed(self):
        """The tasks of the step are ended by slurm then, or go on: the job ends in order, with a line, or as if nothing was."""
        process = self.rig.start(0, ["salloc", "-N2", "-n2", "--no-kill", RZRUN, "sh", "-c", "echo up; sleep 3; echo over"],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        text = b""
        while text.count(b"up\n") < 2:
            got = os.read(process.stdout.fileno(), 4096)
            self.assertTrue(got, text)
            text += got
        self.rig.run(0, ["pkill", "-KILL", "-x", "srun"], timeout=HANG_S)
        out, err = process.communicate(timeout=HANG_S)
        self.assertTrue((process.returncode, out) == (0, b"over\nover\n") or (process.returncode != 0 and b"rzrun: " in err), (out, err))

    def test_slurmctld_restarts(self):
        """With its whole host, which is not that of rzrun: the job does not notice."""
        process = self.rig.start(1, ["salloc", "-N3", "-n12", "--no-kill", RZRUN, "-n", "6", "--map-by", "node", "--inject",
                                     "stop rank 0 at iteration 60 for 3s", HPCCG, *SIZE],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.await_ranks_on(3)
        self.rig.power_off(0)
        self.rig.boot(0)
        out, err = process.communicate(timeout=HANG_S)
        self.assertEqual((process.returncode, result_of(out)), (0, self.expected), err)
        self.assertEqual(self.run_it(["-N1", "-n1"], "hostname")[0], 0)

    def test_z_a_host_loses_power(self):
        """The last test: slurm knows of it half a minute later."""
        process = self.rig.start(0, ["salloc", "-N3", "-n12", "--no-kill", RZRUN, "-n", "6", "--map-by", "node", "--story", "--inject",
                                     "stop rank 0 at iteration 60 for 3s", HPCCG, *SIZE],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.await_ranks_on(3)
        self.rig.power_off(3)
        try:
            out, err = process.communicate(timeout=HANG_S)
        finally:
            self.rig.boot(3)
        self.assertEqual((process.returncode, result_of(out)), (0, self.expected), err)
        self.assertRegex(err, "node 2 failed; noticed by silence")


if __name__ == "__main__":
    jobs.main(slurm=True)
