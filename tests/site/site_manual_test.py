#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Manual pages: one for each command and for each function that is not of the standard; groff and mandoc find nothing wrong."""
import csv
import os
import re
import shutil
import subprocess
import sys
import unittest

BUILD = os.environ["RZ_TEST_BUILD"]
SOURCE = os.environ["RZ_TEST_SOURCE"]
sys.path.insert(0, SOURCE + "/tests")
sys.path.insert(0, SOURCE + "/tools/abi")
from patience import HANG_S  # noqa: E402
import manual  # noqa: E402

PUBLIC = sorted(name for name in os.listdir(SOURCE + "/include/rhizome") if name.endswith(".h"))
HEADERS = [f"{BUILD}/include:mpi-ext.h", *(f"{SOURCE}/include:rhizome/{name}" for name in PUBLIC)]
MAN = BUILD + "/share/man"


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def extensions():
    with open(SOURCE + "/src/abi/tables/extensions.csv", newline="", encoding="utf-8") as file:
        return [row["name"] for row in csv.DictReader(file)]


def pages():
    """Those with text of their own: others are names of the same page (.so)."""
    found = [f"{MAN}/{section}/{name}" for section in ("man1", "man3") for name in sorted(os.listdir(f"{MAN}/{section}")) if name != "made"]
    return [page for page in found if not read(page).startswith(".so ")]


class Manual(unittest.TestCase):
    def setUp(self):
        self.functions = {f.name: f for header in HEADERS for f in manual.functions_of(header)}

    def test_each_function_has_a_page(self):
        declared = set(extensions())
        for header in PUBLIC:
            declared |= set(re.findall(r"^int (RZ_\w+)\(", read(f"{SOURCE}/include/rhizome/{header}"), re.M))
        self.assertGreater(len(declared), 45)
        self.assertEqual(declared, set(self.functions))
        self.assertEqual(declared, {name[:-2] for name in os.listdir(MAN + "/man3") if name.endswith(".3")})

    def test_each_function_is_described(self):
        """A sentence, and for all but the simplest each parameter and what is returned. tools/abi: extensions.txt has the comments."""
        for name, function in self.functions.items():
            with self.subTest(function=name):
                self.assertTrue(function.paragraphs, "no comment: src/abi/tables/extensions.txt, or the header")
                self.assertRegex(function.summary(), r"^[a-z].*[^.:,;]$")
                arguments = re.findall(r"(\w+)(?:\[\])?(?=[,)])", function.prototype.split("(", 1)[1])
                described = [parameter for parameter, _ in function.parameters]
                self.assertEqual([p for p in described if p not in arguments], [], "no such argument")
                if name in extensions():
                    self.assertEqual(described, [a for a in arguments if a != "void"])
                    self.assertTrue(function.result)

    def test_comments_are_of_functions(self):
        names = re.findall(r"^(\w+)$", read(SOURCE + "/src/abi/tables/extensions.txt"), re.M)
        self.assertEqual(sorted(names), sorted(extensions()))

    def test_the_guides_exist(self):
        for function in self.functions.values():
            self.assertTrue(os.path.exists(f"{SOURCE}/docs/{function.guide}"), function.guide)

    def check(self, *command):
        found = ""
        for page in pages():
            done = subprocess.run([*command, page], capture_output=True, text=True, timeout=HANG_S)
            lines = [line for line in done.stderr.splitlines() + (done.stdout.splitlines() if "lint" in command else [])
                     if "missing date" not in line]  # on purpose: the same source makes the same page on each day
            found += "".join(line + "\n" for line in lines)
        self.assertEqual(found, "")

    @unittest.skipUnless(shutil.which("groff"), "no groff")
    def test_groff_finds_nothing(self):
        self.check("groff", "-man", "-Tutf8", "-ww")

    @unittest.skipUnless(shutil.which("mandoc"), "no mandoc")
    def test_mandoc_finds_nothing(self):
        self.check("mandoc", "-T", "lint", "-W", "warning")

    @unittest.skipUnless(shutil.which("groff"), "no groff")
    def test_prose_fits_a_terminal(self):
        """Only tables, which begin two columns further right than paragraphs, are wider than 80 columns."""
        for page in pages():
            shown = subprocess.run(["groff", "-man", "-Tutf8", "-P-cbou", page], capture_output=True, text=True, timeout=HANG_S).stdout
            self.assertEqual([line for line in shown.splitlines() if len(line) > 80 and not line.startswith(" " * 9)], [], page)

    def test_other_names_lead_to_a_page(self):
        for name in os.listdir(MAN + "/man1"):
            other = re.match(r"\.so (\S+)", read(f"{MAN}/man1/{name}"))
            self.assertTrue(not other or os.path.exists(f"{MAN}/{other.group(1)}"), name)

    def test_commands(self):
        for command in ("rzrun", "rzps", "rzdoctor", "rzsim", "rztop", "rzbench"):
            self.assertRegex(read(f"{MAN}/man1/{command}.1"), r"^\.TH ")


unittest.main()
