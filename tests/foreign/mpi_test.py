#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs of Open MPI and MPICH, compiled by their mpicc, under rzrun: they run, on one node and several, and end as a user expects.
Skipped (77) where there is no other MPI."""
import glob
import gzip
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import foreign_rig
from foreign_rig import NOT_ASKED, rig

HERE = os.path.dirname(os.path.abspath(__file__))
COMPILERS = {name: path for name in ("openmpi", "mpich") if (path := shutil.which(f"mpicc.{name}"))}
NETNS = os.geteuid() == 0


class Mpi(foreign_rig.ForeignTest):
    @classmethod
    def setUpClass(cls):
        cls.built = tempfile.mkdtemp(prefix="launch-test-")
        cls.addClassCleanup(shutil.rmtree, cls.built, ignore_errors=True)
        for name, compiler in COMPILERS.items():
            subprocess.run([compiler, "-O1", f"{HERE}/foreign_mpi.c", "-o", f"{cls.built}/{name}"], check=True)

    def each(self):
        for name in COMPILERS:
            with self.subTest(mpi=name):
                yield f"{self.built}/{name}"

    def test_ring(self):
        layouts = [("1", []), ("4", []), ("4", ["--nodes", "2"]), ("7", ["--nodes", "3", "--map-by", "node"])]
        layouts += [("6", ["--nodes", "3", "--adapter", "netns"])] if NETNS else []
        for program in self.each():
            for n, layout in layouts:
                result = self.job("-n", n, *layout, program)
                self.assertEqual(result.out, f"ring of {n}: token {n}, sum {sum(range(int(n)))}\n")
                self.assertEqual(result.err, "")

    def test_openshmem(self):
        """Its programs request liboshmem: they are processes of one job, too. (Debian's crashes in shmem_finalize, also under oshrun:
        the status is not looked at.)"""
        compiler = shutil.which("oshcc")
        if not compiler or not glob.glob("/usr/lib/*/openmpi/lib/openmpi3/mca_spml_ucx.so"):
            self.skipTest("there is no OpenSHMEM of Open MPI here")
        with open(f"{self.folder}/pe.c", "w") as out:
            out.write("#include <stdio.h>\n#include <shmem.h>\n"
                      "int main(void) { shmem_init(); printf(\"pe %d of %d\\n\", shmem_my_pe(), shmem_n_pes()); shmem_finalize(); return 0; }\n")
        subprocess.run([compiler, f"{self.folder}/pe.c", "-o", f"{self.folder}/pe"], check=True, capture_output=True)
        result = self.run_it("--oversubscribe", "-n", "2", f"{self.folder}/pe", environment=foreign_rig.AS_ROOT)
        self.assertEqual(sorted(result.out.splitlines()), ["pe 0 of 2", "pe 1 of 2"])

    def test_behind_a_library(self):
        """The program requests a library which requests MPI, and is itself started by a wrapper."""
        with open(f"{self.folder}/main.c", "w") as out:
            out.write("int inner_main(int, char **); int main(int n, char **words) { return inner_main(n, words); }\n")
        for name, compiler in COMPILERS.items():
            with self.subTest(mpi=name):
                inner, program = f"{self.folder}/libinner-{name}.so", f"{self.folder}/outer-{name}"
                subprocess.run([compiler, "-shared", "-fPIC", "-Dmain=inner_main", f"{HERE}/foreign_mpi.c", "-o", inner], check=True)
                subprocess.run(["cc", f"{self.folder}/main.c", inner, f"-Wl,-rpath,{self.folder}", "-Wl,--allow-shlib-undefined",
                                "-o", program], check=True)
                self.assertEqual(self.job("-n", "3", program).out, "ring of 3: token 3, sum 3\n")
                self.assertEqual(self.job("-n", "3", "/usr/bin/env", "A=b", f"{self.built}/{name}").out, "ring of 3: token 3, sum 3\n")

    def test_script_that_loads_another_mpi(self):
        """It does not show before it runs: the user is told that each rank is alone."""
        libraries = [path for name in ("libmpi.so.40", "libmpich.so.12") for path in glob.glob(f"/usr/lib/*/{name}")]
        for library in libraries[:1]:
            script = f"import ctypes, os, time\nctypes.CDLL('{library}')\nwhile not os.path.exists('{self.folder}/go'): time.sleep(0.02)\n"
            process = self.start("-n", "2", sys.executable, "-c", script)
            said = process.stderr.readline().decode()
            self.file("go", "")
            self.assertEqual(self.finish(process).status, 0)
            self.assertRegex(said, r"^rzrun: rank 0 has loaded libmpi.*: each of the processes is alone.* --mpi pm")

    def test_spare_nodes(self):
        for program in self.each():
            self.assertIn("ring of 2", self.job("-n", "2", "--nodes", "3", "--spares", "1", program).out)

    def test_killed(self):
        for program in self.each():
            result = self.job("-n", "4", "--nodes", "2", program, "kill", status=137)
            self.assertIn(f"rzrun: rank 1 was killed by signal 9 (Killed); {NOT_ASKED}\n", result.err)

    def test_exit_without_finalize(self):
        for program in self.each():
            result = self.job("-n", "3", program, "exit", status=3)
            self.assertIn("rzrun: rank 1 exited with status 3 before MPI_Finalize", result.err)

    def test_abort(self):
        for program in self.each():
            result = self.job("-n", "4", "--nodes", "2", program, "abort", status=42)
            self.assertIn("rzrun: rank 1 ended the job: MPI_Abort\n", result.err)

    def test_node_lost(self):
        for program in self.each():
            result = self.job("-n", "4", "--nodes", "2", "--inject", "kill node 1 at 300ms", program, "wait", status=137)
            self.assertIn(f"rzrun: node 1 was lost; {NOT_ASKED}\n", result.err)

    def test_several_programs(self):
        for program in self.each():
            result = self.job("-n", "2", program, "program", ":", "-n", "1", program, "program")
            self.assertEqual(sorted(result.out.splitlines()), ["rank 0: program 0", "rank 1: program 0", "rank 2: program 1"])

    def test_names(self):
        for program in self.each():
            result = self.job("-n", "4", "--nodes", "2", program, "names")
            self.assertEqual(sorted(result.out.splitlines()), [f"rank {rank}: a-port-of-rank-0" for rank in range(4)])

    def test_connect(self):
        if "openmpi" in COMPILERS:  # MPICH's transport of Debian (UCX) has no ports
            self.assertEqual(self.job("-n", "4", "--nodes", "2", f"{self.built}/openmpi", "connect").out, "connected to 2\n")

    def test_spawn(self):
        if "openmpi" in COMPILERS:  # MPICH of Debian cannot spawn, for its transport has no ports
            for n, layout in ((2, []), (4, ["--nodes", "3"]), *([(4, ["--nodes", "3", "--adapter", "netns"])] if NETNS else [])):
                result = self.job("-n", str(n), *layout, f"{self.built}/openmpi", "spawn")
                ranks, whole = n * (n + 1) // 2, n * (n + 1) // 2 + 3
                said = [f"met: sum {ranks} of the others, {whole} of all {n + 2}"] * 2 + [f"met: sum 3 of the others, {whole} of all {n + 2}"] * 2
                self.assertEqual(sorted(result.out.splitlines()), sorted(said), result.err)
                self.assertEqual(result.err, "")

    def test_spawn_by_pmi1(self):
        for n, nodes in ((1, 1), (3, 2)):
            result = self.job("-n", str(n), "--nodes", str(nodes), "--mpi", "pmi1", sys.executable, "-B", f"{HERE}/pmi1_client.py")
            words = (("first word", 0), ("second", 1), ("second", 1))
            said = [f"child {i} of 3: {word}, program {k}, in /, a-port, PMI_SPAWNED=1" for i, (word, k) in enumerate(words)]
            self.assertEqual(sorted(result.out.splitlines()), [*said, "spawned: rc 0"], result.err)

    def test_gateway_is_killed(self):
        """It takes its node's processes with it, not the daemon."""
        for program in self.each():
            process = self.begin("-n", "4", "--nodes", "2", program, "wait")
            os.kill(self.gateways()[0].pid, signal.SIGKILL)
            result = self.finish(process)
            self.assertEqual(result.status, 137, result.err)
            self.assertRegex(result.err, r"is killed: the gateway of node [01] \(--mpi\) has failed\n")

    def test_rzrun_is_killed(self):
        for program in self.each():
            process = self.begin("-n", "4", "--nodes", "2", program, "wait")
            process.kill()
            self.finish(process)

    def test_signal(self):
        for program in self.each():
            process = self.begin("-n", "2", program, "wait")
            process.terminate()
            self.assertEqual(self.finish(process).status, 143)

    def test_timeout(self):
        for program in self.each():
            result = self.job("-n", "2", "--timeout", "3", program, "wait", status=rig.TIMED_OUT)
            self.assertIn("uses another MPI, whose waits are not known here", result.err)

    def test_detached(self):
        for program in self.each():
            number = self.job("--detach", "-n", "3", "--nodes", "2", program).out.split()[-1]
            self.assertIn("ring of 3", self.runs("--attach", number).out)

    def test_hpcc(self):
        """A benchmark that Debian has as a package, linked to its Open MPI."""
        hpcc, inputs = shutil.which("hpcc"), glob.glob("/usr/share/doc/hpcc/examples/*hpccinf.txt*")
        if not hpcc or not inputs:
            self.skipTest("there is no hpcc")
        with (gzip.open if inputs[0].endswith(".gz") else open)(inputs[0], "rt") as file:
            text = re.sub(r"^\d+( +Ns)$", r"120\1", file.read(), flags=re.MULTILINE)
        self.file("hpccinf.txt", text)
        self.job("-n", "4", "--nodes", "2", "--wdir", self.folder, hpcc)
        with open(f"{self.folder}/hpccoutf.txt", encoding="utf-8") as file:
            self.assertIn("\nSuccess=1\n", file.read())

    def test_library_is_not_served_if_told_so(self):
        for program in self.each():
            result = self.job("-n", "2", "--mpi", "rhizome", program)
            self.assertIn("the library of another MPI", result.err)

    def test_two_mpis_in_one_job(self):
        programs = [f"{self.built}/{name}" for name in COMPILERS]
        if len(programs) == 2:
            self.assertIn("linked to different MPIs", self.job("-n", "1", programs[0], ":", "-n", "1", programs[1], status=2).err)
        self.assertIn("linked to different MPIs", self.job("-n", "1", programs[0], ":", "-n", "1", "/bin/true", status=2).err)

    def test_a_wrong_choice(self):
        self.assertIn("it is `auto`, `rhizome`, `pmix` or `pmi1`", self.job("--mpi", "pmi2", "/bin/true", status=2).err)

    def test_parameters_of_open_mpi(self):
        if "openmpi" in COMPILERS:
            show = [sys.executable, "-c", "import os; print(os.environ['OMPI_MCA_btl'], os.environ['PMIX_RANK'])"]
            self.assertEqual(self.job("-n", "1", "--mca", "btl", "tcp,self", "--mpi", "pmix", *show).out, "tcp,self 0\n")


if not COMPILERS:
    print("there is no mpicc.openmpi and no mpicc.mpich")
    sys.exit(77)
rig.main()
