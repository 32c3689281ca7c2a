#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The build tree is usable in place, and what `cmake --install` makes works wherever it is moved to."""
import os
import shutil
import subprocess

import launch_rig as rig

RING = f"{rig.SOURCE}/apps/ring/ring.c"
PROJECT = """cmake_minimum_required(VERSION 3.22)
project(user C)
find_package(rhizome REQUIRED)
add_executable(ring ring.c)
target_link_libraries(ring PRIVATE rhizome::mpi_abi)
"""


class Tree(rig.LaunchTest):
    def call(self, *line, **variables):
        done = subprocess.run(line, capture_output=True, text=True, timeout=rig.HANG_S,
                              env=dict(os.environ, RZ_TEST_MARK=self.mark, **variables))
        self.assertEqual(done.returncode, 0, f"{line}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def ring_runs(self, bin_folder, ring):
        for nodes in ("1", "2"):
            out = self.call(f"{bin_folder}/rzrun", "-n", "4", "--nodes", nodes, ring)
            self.assertIn("ring of 4: token 40 after 10 rounds", out)
        self.assertIn("ring of 1: token 10", self.call(ring))  # without a launcher: alone

    def test_build_tree(self):
        ring = f"{self.folder}/ring"
        self.call(f"{rig.BUILD}/bin/mpicc", "-Wall", "-Werror", "-o", ring, RING)
        self.ring_runs(f"{rig.BUILD}/bin", ring)
        self.assertIn("ring of 2", self.call(f"{rig.BUILD}/bin/mpiexec", "-n", "2", ring))

    def installed(self):
        first, moved = f"{self.folder}/first", f"{self.folder}/moved here"
        self.call("cmake", "--install", rig.BUILD, "--prefix", first)
        os.rename(first, moved)
        return moved

    def libraries(self, prefix):
        found = [folder for folder, _, files in os.walk(prefix) if "libmpi_abi.so" in files]
        self.assertEqual(len(found), 1, f"one libmpi_abi.so in {prefix}")
        return found[0]

    def test_installed_and_moved(self):
        plain = f"{self.folder}/plain"
        os.rename(self.installed(), plain)
        ring = f"{self.folder}/ring"
        self.call(f"{plain}/bin/mpicc", "-Wall", "-Werror", "-o", ring, RING)
        needed = self.call("ldd", ring)
        self.assertIn(f"{self.libraries(plain)}/libmpi_abi.so.1", needed)
        self.ring_runs(f"{plain}/bin", ring)
        self.assertIn("ring of 2", self.call(f"{plain}/bin/mpiexec", "-n", "2", ring))
        for folder, _, files in os.walk(f"{plain}/libexec"):
            for app in files:
                self.assertNotIn("not found", self.call("ldd", f"{folder}/{app}"))
        self.assertTrue(os.path.exists(f"{plain}/share/man/man1/rzrun.1"))

    def test_pkg_config_and_cmake(self):
        plain = f"{self.folder}/plain"
        os.rename(self.installed(), plain)
        library = self.libraries(plain)
        flags = self.call("pkg-config", "--cflags", "--libs", "rhizome", PKG_CONFIG_PATH=f"{library}/pkgconfig").split()
        ring = f"{self.folder}/ring"
        self.call("cc", RING, *flags, f"-Wl,-rpath,{library}", "-o", ring)
        self.ring_runs(f"{plain}/bin", ring)
        shutil.copy(RING, self.folder)
        self.file("CMakeLists.txt", PROJECT)
        self.call("cmake", "-S", self.folder, "-B", f"{self.folder}/b", f"-DCMAKE_PREFIX_PATH={plain}")
        self.call("cmake", "--build", f"{self.folder}/b")
        self.ring_runs(f"{plain}/bin", f"{self.folder}/b/ring")

    def test_a_blank_in_the_prefix(self):
        moved = self.installed()
        ring = f"{self.folder}/ring"
        self.call(f"{moved}/bin/mpicc", "-o", ring, RING)
        self.ring_runs(f"{moved}/bin", ring)


rig.main()
