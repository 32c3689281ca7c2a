#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Parts of different versions, and programs of another MPI, are refused with a message."""
import os
import shutil
import subprocess

import launch_rig as rig


class Versions(rig.LaunchTest):
    def beside(self, daemon):
        """A copy of rzrun with this daemon beside it."""
        shutil.copy(rig.RZRUN, f"{self.folder}/rzrun")
        if daemon:
            shutil.copy(daemon, f"{self.folder}/rzd")
        return f"{self.folder}/rzrun"

    def test_daemon_of_another_version(self):
        for nodes in ("1", "3"):
            result = self.runs("--nodes", nodes, "/bin/true", rzrun=self.beside(rig.program("launch_other_daemon")),
                               status=rig.NO_START)
            self.assertIn("version 4711", result.err)
            self.assertIn("install one version everywhere", result.err)

    def test_daemon_that_talks_nonsense(self):
        result = self.runs("/bin/true", rzrun=self.beside(rig.program("launch_other_daemon")), status=rig.NO_START,
                           environment={"RZ_TEST_NONSENSE": "1"})
        self.assertIn("another version", result.err)

    def test_no_daemon(self):
        result = self.runs("/bin/true", rzrun=self.beside(None), status=rig.NO_START)
        self.assertIn("rzd", result.err)
        self.assertIn("No such file", result.err)

    def test_daemon_that_ends_at_once(self):
        result = self.runs("--nodes", "2", "/bin/true", rzrun=self.beside("/bin/false"), status=rig.NO_START)
        self.assertIn("ended before it was ready", result.err)

    def test_library_of_another_version(self):
        result = self.run_it("-n", "2", rig.program("launch_other_library"))
        self.assertEqual(result.status, 3, result.err)  # what the helper returns after a refusal
        self.assertEqual(result.out.count("refused: the library speaks another version"), 2, result.out)

    def test_process_without_the_key(self):
        result = self.run_it(rig.program("launch_other_library"), "key")
        self.assertEqual(result.status, 3, result.err)
        self.assertIn("did not prove", result.out)

    def test_program_of_another_mpi(self):
        source = self.file("alone.c", "#include <mpi.h>\nint main(int c, char **v) { MPI_Init(&c, &v); return MPI_Finalize(); }\n")
        for compiler in ("mpicc.openmpi", "mpicc.mpich"):
            if not shutil.which(compiler):
                continue
            with self.subTest(compiler=compiler):
                subprocess.run([compiler, source, "-o", f"{self.folder}/alone"], check=True)
                environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
                result = self.run_it("-n", "2", "--mpi", "rhizome", f"{self.folder}/alone", environment=environment)
                self.assertIn("the library of another MPI", result.err)
                self.assertIn("Rhizome's mpicc", result.err)

    def test_program_of_ours_in_a_job_of_another_mpi(self):
        """At once, and with the remedy; also where the inherited descriptor was closed, and by a script."""
        program = rig.program("launch_waits")
        for mpi in ("pmi1", "pmix"):
            for line in ([program, "receive"], ["/bin/sh", "-c", f"exec {program} receive 3<&- 4<&- 5<&-"]):
                with self.subTest(mpi=mpi, line=line):
                    result = self.run_it("-n", "2", "--mpi", mpi, *line)
                    self.assertNotEqual(result.status, 0)
                    self.assertIn("start it without --mpi, or with --mpi rhizome", result.err)
                    self.assertNotIn("no answer within the bound", result.err)

    def test_program_of_no_mpi_is_no_news(self):
        self.assertEqual(self.runs("-n", "2", "/bin/true").err, "")


rig.main()
