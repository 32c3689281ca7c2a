#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The RPM, the recipe for Spack, the module file and the Containerfile, as far as their tools are here.

By hand: RZ_TEST_BUILD=build tests/packages/recipes_test.py Rpm
"""
import glob
import os
import re
import runpy
import shutil
import subprocess
import sys
import types
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/..")
import scratch  # noqa: E402
from patience import HANG_S  # noqa: E402

BUILD = os.path.abspath(os.environ.get("RZ_TEST_BUILD", "build"))
SOURCE = os.path.abspath(os.environ.get("RZ_TEST_SOURCE", os.path.dirname(os.path.abspath(__file__)) + "/../.."))


def read(path):
    with open(f"{SOURCE}/{path}", encoding="utf-8") as file:
        return file.read()


class Recipe(unittest.TestCase):
    def does(self, *command, status=0):
        done = subprocess.run(command, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=HANG_S)
        self.assertEqual(done.returncode, status, f"{command}:\n{done.stdout}")
        return done.stdout


@unittest.skipUnless(shutil.which("rpmbuild") and shutil.which("git"), "there is no rpmbuild")
class Rpm(Recipe):
    PACKAGES = ("rhizome", "rhizome-devel", "rhizome-doc", "rhizome-libs", "rhizome-tools")

    @classmethod
    def setUpClass(cls):
        cls.out = scratch.folder("rpm-test-")
        done = subprocess.run([f"{SOURCE}/tools/rpm", "--build", BUILD, "--out", cls.out], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=HANG_S)
        if done.returncode != 0:
            raise RuntimeError(done.stdout)
        cls.files = [path for path in sorted(glob.glob(f"{cls.out}/*.rpm")) if not path.endswith(".src.rpm")]

    def test_contents(self):
        said = {self.does("rpm", "-qp", "--queryformat", "%{NAME}", path): self.does("rpm", "-qpl", path).split() for path in self.files}
        self.assertEqual(tuple(sorted(said)), self.PACKAGES)
        for package, file in (("rhizome", "/usr/bin/rzrun"), ("rhizome-devel", "/usr/bin/mpicc.rhizome"), ("rhizome-tools", "/usr/bin/rzsim"),
                              ("rhizome", "/usr/share/zsh/site-functions/_rzrun"), ("rhizome-doc", "/usr/share/doc/rhizome/docs/tutorial.md")):
            self.assertIn(file, said[package])
        self.assertTrue(any(file.endswith("/rhizome/lib/libmpi_abi.so.1") for file in said["rhizome-libs"]))
        every = []
        for path in self.files:
            lines = self.does("rpm", "-qp", "--queryformat", "[%{FILEMODES:perms} %{FILENAMES}\n]", path).splitlines()
            every += [line.split(" ", 1)[1] for line in lines if not line.startswith("d")]
        self.assertEqual(sorted(every), sorted(set(every)), "no file is in two packages")

    def test_what_they_need(self):
        for path in self.files:
            self.assertNotRegex(self.does("rpm", "-qp", "--requires", path), r"libmpi_abi|libuc[pst]")

    def test_comes_and_goes(self):
        root = f"{self.out}/root"
        os.makedirs(root)
        rpm = ["rpm", "--root", root, "--dbpath", "/var/lib/rpm"] if os.geteuid() == 0 else None
        if not rpm:
            self.skipTest("to install an RPM in a folder needs root")
        self.does(*rpm, "--install", "--nodeps", *self.files)
        self.assertIn("rzrun (Rhizome)", self.does(os.path.join(root, os.path.relpath(self.rzrun(root), root)), "--version"))
        self.does(*rpm, "--erase", "--nodeps", *self.PACKAGES)
        left = [os.path.relpath(path, root) for path in glob.glob(f"{root}/**", recursive=True) if os.path.isfile(path) or os.path.islink(path)]
        self.assertEqual([path for path in left if not path.startswith("var/lib/rpm/")], [])
        self.assertFalse(glob.glob(f"{root}/usr/lib*/rhizome"))

    @staticmethod
    def rzrun(root):
        return glob.glob(f"{root}/usr/lib*/rhizome/bin/rzrun")[0]

    def test_asks_for_what_the_build_looks_for(self):
        with open(f"{self.out}/rhizome.spec", encoding="utf-8") as file:
            spec = file.read()
        wanted = re.findall(r"pkg_check_modules\(\w+ REQUIRED IMPORTED_TARGET (.*)\)", read("CMakeLists.txt"))
        self.assertGreater(len(wanted), 6)
        for name in " ".join(wanted).split():
            if name != "cmocka":
                self.assertIn(f"pkgconfig({name})", spec)


class Spack(Recipe):
    """Spack is not here: the recipe runs against a stand-in of what it imports."""

    def test_recipe(self):
        said = {"version": [], "variant": [], "depends_on": [], "provides": []}
        stand_in = types.ModuleType("spack.package")
        for name in ("license", "conflicts", "generator", "join_path", *said):
            setattr(stand_in, name, lambda *words, name=name, **more: said.get(name, []).append(words))
        stand_in.CMakePackage = type("CMakePackage", (), {
            "define": lambda self, name, value: name, "define_from_variant": lambda self, name, variant: (name, variant)})
        sys.modules.update({"spack": types.ModuleType("spack"), "spack.package": stand_in})
        recipe = runpy.run_path(f"{SOURCE}/packaging/spack/packages/rhizome/package.py")["Rhizome"]()
        arguments, cmake = recipe.cmake_args(), read("CMakeLists.txt")
        options = set(re.findall(r"(?m)^(?:option|set)\((RZ_\w+)", cmake))
        for argument in arguments:
            self.assertIn(argument if isinstance(argument, str) else argument[0], options)
        self.assertEqual({argument[1] for argument in arguments if not isinstance(argument, str)}, {words[0] for words in said["variant"]})
        self.assertEqual(said["version"][0][0], re.search(r"project\(rhizome VERSION ([\d.]+)", cmake)[1])


@unittest.skipUnless(shutil.which("modulecmd") or os.path.exists("/usr/lib/x86_64-linux-gnu/modulecmd.tcl"), "there are no environment modules")
class Module(Recipe):
    def test_load_and_unload(self):
        folder = scratch.folder("module-test-")
        prefix = f"{folder}/pre fix"
        self.does("cmake", "--install", BUILD, "--prefix", prefix)
        said = self.does("bash", "-c", f'''
            . /etc/profile.d/modules.sh
            module use "{prefix}/share/rhizome/modulefiles"
            before=$(env | grep PATH | sort)
            module load rhizome || exit 1
            type -P mpicc; echo "$MPI_HOME"; echo "$LD_LIBRARY_PATH"; man -w rzrun
            module unload rhizome || exit 1
            [ "$before" = "$(env | grep PATH | sort)" ] && echo as before''')
        self.assertEqual(said.splitlines()[:2], [f"{prefix}/bin/mpicc", prefix])
        self.assertEqual(said.splitlines()[2].split(":")[0], f"{prefix}/lib")
        self.assertEqual(said.splitlines()[3:], [f"{prefix}/share/man/man1/rzrun.1", "as before"])


class Container(Recipe):
    def test_instructions(self):
        text = re.sub(r"\\\n", " ", read("packaging/Containerfile"))
        words = [line.split()[0] for line in text.splitlines() if line.strip() and not line.startswith("#")]
        self.assertLessEqual(set(words), {"FROM", "COPY", "WORKDIR", "RUN", "ENV", "USER", "CMD"})
        self.assertEqual(words[0], "FROM")
        for command in re.findall(r"(?m)^RUN (.*)$", text):
            self.does("sh", "-n", "-c", command)
        for option in re.findall(r"-D(RZ_\w+)=", text):
            self.assertIn(option, read("CMakeLists.txt"))

    def test_has_the_libraries_that_the_commands_need(self):
        with open("/etc/os-release", encoding="utf-8") as file:
            if 'VERSION_ID="12"' not in file.read() or not shutil.which("dpkg-query"):
                self.skipTest("the image is one of Debian 12, and this is another system")
        installed = re.search(r"(?s)FROM debian:12-slim\n(RUN .*?)\nCOPY", read("packaging/Containerfile"))[1].split()
        needed = "".join(self.does("ldd", f"{BUILD}/bin/{name}") for name in ("rzrun", "rzd", "rzps", "rzgateway", "rztop")
                         if os.path.exists(f"{BUILD}/bin/{name}"))
        for path in sorted(set(re.findall(r"=> (/\S+)", needed)) - set(re.findall(rf"=> ({BUILD}\S+)", needed))):
            owner = re.search(r"(?m)^([\w.+-]+)[:,]", self.does("sh", "-c", f"dpkg-query -S '*{os.path.basename(path)}'"))[1]
            priority = self.does("sh", "-c", f"dpkg-query -W -f '${{Priority}} ${{Source}}\\n' {owner}")
            if not re.match(r"required|.*(glibc|libcap|systemd|gcc)", priority) and owner not in installed:
                depends = self.does("sh", "-c", "dpkg-query -W -f '${Depends}\\n' " + " ".join(w for w in installed if w.startswith("lib")))
                self.assertIn(owner, depends)


unittest.main(verbosity=2)
