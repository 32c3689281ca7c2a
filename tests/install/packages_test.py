#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pkg-config, find_package(MPI) and find_package(rhizome) find an installation, and what they say builds programs that run."""
import os

import install_rig as rig

# As in a project that knows nothing of Rhizome: a program in C and one in C++, run by ctest.
FIND_MPI = """
cmake_minimum_required(VERSION 3.16)
project(user LANGUAGES C CXX)
find_package(MPI REQUIRED COMPONENTS C CXX)
enable_testing()
foreach(language c cc)
  add_executable(${language}_program program.${language})
  add_test(NAME ${language}_program COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 3 ${MPIEXEC_PREFLAGS}
                                            $<TARGET_FILE:${language}_program> ${MPIEXEC_POSTFLAGS})
  set_tests_properties(${language}_program PROPERTIES PASS_REGULAR_EXPRESSION "rank 2 of 3, sum 3")
endforeach()
target_link_libraries(c_program PRIVATE MPI::MPI_C)
target_link_libraries(cc_program PRIVATE MPI::MPI_CXX)
message(STATUS "found: ${MPI_C_VERSION};${MPI_CXX_VERSION};${MPIEXEC_EXECUTABLE};${MPI_C_LIBRARIES}")
"""

FIND_RHIZOME = """
cmake_minimum_required(VERSION 3.16)
project(user LANGUAGES C)
find_package(rhizome 0.1 REQUIRED)
add_executable(c_program program.c)
target_link_libraries(c_program PRIVATE rhizome::mpi_abi)
"""


class Packages(rig.InstallTest):
    def setUp(self):
        super().setUp()
        self.c = self.file("program.c", rig.PROGRAM)
        self.file("program.cc", rig.PROGRAM)
        self.lib = next(folder for folder, _, files in os.walk(self.prefix) if "libmpi_abi.so.1" in files)

    def project(self, text, *settings, **environment):
        self.file("CMakeLists.txt", text)
        out = self.does("cmake", "-S", self.work, "-B", f"{self.work}/out", *settings, environment=environment)
        self.does("cmake", "--build", f"{self.work}/out")
        return out

    def test_pkg_config(self):
        for name in ("rhizome", "mpi-c", "mpi-cxx"):
            where = {"PKG_CONFIG_PATH": f"{self.lib}/pkgconfig"}
            self.does("sh", "-c", f'eval "cc program.c -o program $(pkg-config --cflags --libs {name})"', environment=where)
            self.runs_as_mpi("./program")
        self.assertRegex(self.does("pkg-config", "--modversion", "rhizome", environment=where), r"^\d+\.\d+\.\d+$")

    def found_by_cmake(self, *settings, **environment):
        out = self.project(FIND_MPI, *settings, **environment)
        self.assertIn(f"found: 5.0;5.0;{self.bin}/mpiexec;{self.lib}/libmpi_abi.so", out)
        self.assertIn("100% tests passed", self.does("ctest", "--output-on-failure", folder=f"{self.work}/out"))
        for program in ("c_program", "cc_program"):
            self.runs_as_mpi(f"{self.work}/out/{program}")

    def test_find_mpi_by_path(self):
        self.found_by_cmake(PATH=f"{self.bin}:{os.environ['PATH']}")

    def test_find_mpi_by_home(self):
        self.found_by_cmake(f"-DMPI_HOME={self.prefix}")

    def test_find_mpi_by_compiler(self):
        self.found_by_cmake(f"-DMPI_C_COMPILER={self.bin}/mpicc", f"-DMPI_CXX_COMPILER={self.bin}/mpicxx",
                            f"-DMPIEXEC_EXECUTABLE={self.bin}/mpiexec")

    def test_find_mpi_where_the_wrapper_is_the_compiler(self):
        self.file("CMakeLists.txt", FIND_MPI)
        path = f"{self.bin}:{os.environ['PATH']}"
        self.does("cmake", "-S", ".", "-B", "out", environment={"CC": "mpicc", "CXX": "mpicxx", "PATH": path})
        self.does("cmake", "--build", "out")
        self.runs_as_mpi("out/c_program")

    def test_find_rhizome(self):
        self.project(FIND_RHIZOME, f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.runs_as_mpi(f"{self.work}/out/c_program")

    def test_find_rhizome_in_the_build_tree(self):
        self.project(FIND_RHIZOME, f"-Drhizome_DIR={rig.BUILD}/lib/cmake/rhizome")
        self.runs_as_mpi(f"{self.work}/out/c_program", 2, f"{rig.BUILD}/bin/mpiexec")

    def test_another_version_is_not_taken(self):
        self.file("CMakeLists.txt", FIND_RHIZOME.replace("rhizome 0.1 ", "rhizome 99 "))
        out = self.does("cmake", "-S", ".", "-B", "out", f"-DCMAKE_PREFIX_PATH={self.prefix}", status=1)
        self.assertIn("rhizome", out)


rig.main()
