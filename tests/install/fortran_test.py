#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mpifort of an installation: it compiles and runs programs of the three ways outside the tree, and has the words of MPICH and Open MPI."""
import os
import shutil
import unittest

import install_rig as rig

BODY = """
  integer :: rank, n, total, ierror
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, n, ierror)
  call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  print '(a, i0, a, i0, a, i0)', 'rank ', rank, ' of ', n, ', sum ', total
  call MPI_Finalize(ierror)
end program
"""
# In the fixed form: columns 7 to 72.
FIXED = BODY.replace("\n  ", "\n      ").replace("MPI_SUM, ", "MPI_SUM,\n     & ").replace("', rank", "',\n     & rank").replace("end pro", "      end pro")
SOURCES = {
    "old.f": "      program old\n      implicit none\n      include 'mpif.h'\n" + FIXED,
    "module.f90": "program new\n  use mpi\n  use rhizome\n  implicit none" + BODY,
    "f08.f90": "program f08\n  use mpi_f08\n  use rhizome_f08\n  implicit none" + BODY,
}


@unittest.skipUnless(os.path.exists(f"{rig.BUILD}/bin/mpifort"), "a build without Fortran")
class Fortran(rig.InstallTest):
    def setUp(self):
        super().setUp()
        self.sources = {name: self.file(name, text) for name, text in SOURCES.items()}

    def test_compile_and_run(self):
        for wrapper in ("mpifort", "mpif77", "mpif90", "mpifort_abi"):
            for name, source in self.sources.items():
                with self.subTest(wrapper=wrapper, source=name):
                    self.does(f"{self.bin}/{wrapper}", source, "-o", "program")
                    self.runs_as_mpi("./program", 3, f"{self.bin}/mpiexec")

    def test_compile_and_link_apart(self):
        self.does(f"{self.bin}/mpifort", "-c", self.sources["f08.f90"], "-o", "program.o")
        self.does(f"{self.bin}/mpifort", "program.o", "-o", "program")
        self.runs_as_mpi("./program", 2, f"{self.bin}/mpiexec")

    def test_words(self):
        def say(word):
            return self.does(f"{self.bin}/mpifort", word).strip()
        self.does("sh", "-c", f"{say('-showme:command')} {say('-showme:compile')} {self.sources['module.f90']} -o program {say('-showme:link')}")
        self.runs_as_mpi("./program", 2, f"{self.bin}/mpiexec")
        self.assertEqual(say("-showme:libs"), "mpifort_abi mpi_abi")
        self.assertIn("(Language: Fortran)", say("-showme:version"))
        self.assertTrue(say("-compile_info").startswith("gfortran -I"))
        self.does("sh", "-c", self.does(f"{self.bin}/mpifort", "-show", self.sources["old.f"], "-o", "shown"))
        self.runs_as_mpi("./shown", 2, f"{self.bin}/mpiexec")
        self.assertEqual(self.does(f"{self.bin}/mpifort", "-showme:command", environment={"MPICH_FC": "other"}).strip(), "other")
        self.assertEqual(self.does(f"{self.bin}/mpifort", "-fc=one", "-showme:command").strip(), "one")

    def test_installation_may_be_moved(self):
        moved = f"{self.work}/another place"
        shutil.copytree(self.prefix, moved, symlinks=True)
        self.does(f"{moved}/bin/mpifort", self.sources["f08.f90"], "-o", "program")
        self.runs_as_mpi("./program", 2, f"{moved}/bin/mpiexec")


rig.main()
