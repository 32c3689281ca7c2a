#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mpicc, mpicxx, mpiexec of an installation: they compile and run, say how in the words of MPICH and Open MPI, and may be moved."""
import os
import shutil

import install_rig as rig


class Wrappers(rig.InstallTest):
    def setUp(self):
        super().setUp()
        self.c = self.file("program.c", rig.PROGRAM)
        self.cxx = self.file("program.cc", rig.PROGRAM)

    def test_compile_and_run(self):
        sources = {"mpicc": self.c, "mpicc_abi": self.c}
        sources.update({name: self.cxx for name in ("mpicxx", "mpic++", "mpiCC", "mpicxx_abi")})
        for name, source in sources.items():
            with self.subTest(wrapper=name):
                self.does(f"{self.bin}/{name}", source, "-o", "program")
                self.does("./program")  # finds the library by itself
                os.remove(f"{self.work}/program")
        self.does(f"{self.bin}/mpicc", self.c, "-o", "program")
        for launcher in ("mpiexec", "mpirun", "rzrun"):
            self.runs_as_mpi("./program", 3, f"{self.bin}/{launcher}")

    def test_library_is_found_by_a_run_path_that_can_be_overruled(self):
        self.does(f"{self.bin}/mpicc", self.c, "-o", "program")
        dynamic = self.does("readelf", "-d", "program")
        self.assertIn("[libmpi_abi.so.1]", dynamic)
        self.assertRegex(dynamic, rf"RUNPATH.*\[{self.prefix}/lib")
        self.assertNotIn("(RPATH)", dynamic)

    def test_compile_and_link_apart(self):
        self.does(f"{self.bin}/mpicc", "-c", self.c, "-o", "program.o")
        self.does(f"{self.bin}/mpicc", "program.o", "-o", "program")
        self.does(f"{self.bin}/mpicc", "-E", self.c)
        self.does(f"{self.bin}/mpicc", "-x", "c", "-", "-o", "other", text=rig.PROGRAM)
        self.assertNotIn("-lmpi_abi", self.does(f"{self.bin}/mpicc", "-show", "-c", self.c))

    def test_shown_command_can_be_pasted(self):
        definition = """-DTEXT="a \\"b\\" $c `d` 'e' \\\\n" """.strip()
        source = self.file("quoted.c", "#include <stdio.h>\n" "int main(void) { return puts(TEXT) < 0; }\n")
        arguments = [definition, source, "-o", f"{self.work}/a $program"]
        for word in ("-show", "--show", "-showme", "--showme"):
            line = self.does(f"{self.bin}/mpicc", word, *arguments)
            self.assertEqual(line.count("\n"), 1)
            self.does("sh", "-c", line)
            pasted = self.does(f"{self.work}/a $program")
            self.does(f"{self.bin}/mpicc", *arguments)
            self.assertEqual(self.does(f"{self.work}/a $program"), pasted)
            self.assertIn('a "b" $c `d` \'e\'', pasted)

    def test_words_of_mpich(self):
        for compile_word, link_word in (("-compile_info", "-link_info"), ("-compile-info", "-link-info")):
            for wrapper, source in (("mpicc", self.c), ("mpicxx", self.cxx)):
                compiles = self.does(f"{self.bin}/{wrapper}", compile_word).strip()
                links = self.does(f"{self.bin}/{wrapper}", link_word).strip()
                self.assertNotIn("-lmpi_abi", compiles)
                self.does("sh", "-c", f"{compiles} -c {source} -o p.o && {links.replace(' -L', ' p.o -o p -L', 1)}")
                self.runs_as_mpi("./p")

    def test_words_of_open_mpi(self):
        for dash in ("-", "--"):
            def say(word):
                return self.does(f"{self.bin}/mpicc", f"{dash}showme:{word}").strip()
            self.does("sh", "-c", f"{say('command')} {say('compile')} {self.c} -o program {say('link')}")
            self.runs_as_mpi("./program")
            self.assertEqual(say("incdirs").strip('"'), f"{self.prefix}/include")
            self.assertTrue(say("libdirs").strip('"').startswith(f"{self.prefix}/lib"))
            self.assertEqual(say("libs"), "mpi_abi")
            self.assertRegex(say("version"), r"^mpicc: Rhizome \d+\.\d+\.\d+ \(Language: C\)$")
        self.assertIn("(Language: C++)", self.does(f"{self.bin}/mpiCC", "-showme:version"))

    def test_unknown_words_are_refused(self):
        self.assertIn("no -showme:linkk", self.does(f"{self.bin}/mpicc", "-showme:linkk", status=2))
        self.assertIn("-cc= wants", self.does(f"{self.bin}/mpicc", "-cc=", self.c, status=2))

    def test_other_compilers(self):
        def compiler(wrapper, *arguments, **environment):
            return self.does(f"{self.bin}/{wrapper}", "-showme:command", *arguments, environment=environment).strip()
        self.assertEqual(compiler("mpicc"), "cc")
        self.assertEqual(compiler("mpicxx"), "c++")
        for language, wrapper, flag in (("CC", "mpicc", "-cc=one"), ("CXX", "mpicxx", "-cxx=one")):
            every = {f"{whose}_{language}": whose for whose in ("OMPI", "MPICH", "RZ")}
            self.assertEqual(compiler(wrapper, flag, **every), "one")
            self.assertEqual(compiler(wrapper, **every), "RZ")
            del every[f"RZ_{language}"]
            self.assertEqual(compiler(wrapper, **every), "MPICH")
            del every[f"MPICH_{language}"]
            self.assertEqual(compiler(wrapper, **every), "OMPI")
        self.does(f"{self.bin}/mpicc", self.c, "-o", "program", environment={"RZ_CC": "env FROM=shell cc -g"})
        self.assertIn("no_such_compiler", self.does(f"{self.bin}/mpicc", "-cc=no_such_compiler", self.c, status=127))
        if shutil.which("clang"):
            self.assertIn("clang", self.does(f"{self.bin}/mpicc", "-cc=clang", "--version"))
            self.does(f"{self.bin}/mpicc", "-cc=clang", self.c, "-o", "program")
            self.runs_as_mpi("./program")

    def test_compiler_answers_for_itself(self):
        for word in ("--version", "-dumpversion", "-print-search-dirs"):
            self.assertEqual(self.does(f"{self.bin}/mpicc", word), self.does("cc", word))

    def test_by_a_link_from_elsewhere(self):
        os.symlink(f"{self.bin}/mpicc", f"{self.work}/cc_of_mpi")
        self.does("./cc_of_mpi", self.c, "-o", "program", environment={"CDPATH": "/"})
        self.runs_as_mpi("./program")

    def test_installation_may_be_moved(self):
        moved = f"{self.work}/another place"
        shutil.copytree(self.prefix, moved, symlinks=True)
        os.rename(self.prefix, f"{self.prefix}.away")
        try:
            self.does(f"{moved}/bin/mpicc", self.c, "-o", "program")
            self.runs_as_mpi("./program", 2, f"{moved}/bin/mpiexec")
            flags = self.does("pkg-config", "--libs", "mpi-c", environment={"PKG_CONFIG_PATH": self.pkgconfig(moved)})
            self.assertIn("another", flags)
            self.assertNotIn("pre\\ fix", flags)
        finally:
            os.rename(f"{self.prefix}.away", self.prefix)

    @staticmethod
    def pkgconfig(prefix):
        return next(folder for folder, _, files in os.walk(prefix) if "rhizome.pc" in files)

    def test_build_tree_in_place(self):
        self.does(f"{rig.BUILD}/bin/mpicc", self.c, "-o", "program")
        self.runs_as_mpi("./program", 2, f"{rig.BUILD}/bin/mpiexec")


rig.main()
