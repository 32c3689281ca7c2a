#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""--help and the manual page say everything that the table of options holds, and render without a warning."""
import re
import shutil
import subprocess

import launch_rig as rig


def options_of_the_table():
    """Names and texts of the options, as the source has them."""
    with open(f"{rig.SOURCE}/src/launch/rzrun_options.c") as source:
        table = re.search(r"rz_cli_option table\[\] = \{(.*?)\n\};", source.read(), re.S).group(1)
    names = set()
    for entry in re.findall(r'\{"(-[^"]*)", (NULL|"-[^"]*")', table):
        names |= {name for names_of_it in entry if names_of_it != "NULL" for name in names_of_it.strip('"').split()}
    return names


class Pages(rig.LaunchTest):
    def test_help_names_every_option(self):
        text = self.runs("--help").out
        names = options_of_the_table()
        self.assertGreater(len(names), 20)
        for name in names | {"--help", "-h", "--version", "-V", "--man", "--completion"}:
            self.assertRegex(text, rf"(?m)^  .*(?<![\w-]){re.escape(name)}(?![\w-])")
        self.assertEqual(self.runs("-h").out, text)

    def test_help_fits_a_terminal(self):
        for line in self.runs("--help").out.splitlines():
            self.assertLessEqual(len(line), 100, line)
            self.assertEqual(line, line.rstrip())

    def test_help_names_every_exit_status(self):
        text = self.runs("--help").out
        with open(f"{rig.SOURCE}/src/outcome/exit_codes.h") as source:
            codes = re.findall(r'X\(\w+, (\d+), "([^"]*)"\)', source.read())
        self.assertGreater(len(codes), 5)
        for value, meaning in codes:
            self.assertRegex(text, rf"(?m)^  {value} +{re.escape(meaning)}")

    def test_version(self):
        self.assertRegex(self.runs("--version").out, r"^rzrun \(Rhizome\) \d+\.\d+\.\d+\n$")

    def test_every_command_has_help(self):
        for command in ("rzrun", "mpiexec", "rzps", "rztop", "rzdoctor", "rzsim", "rzbench"):
            path = f"{rig.BUILD}/bin/{command}"
            if shutil.which(path):
                result = self.runs("--help", rzrun=path)
                self.assertIn("usage", result.out)
                self.assertEqual(result.err, "")
                self.assertLessEqual(max(len(line) for line in result.out.splitlines()), 100, command)

    def test_manual_page(self):
        page = self.runs("--man").out
        with open(f"{rig.BUILD}/share/man/man1/rzrun.1") as installed:
            self.assertEqual(installed.read(), page)
        shown = None
        if shutil.which("groff"):
            shown = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-P-c"], input=page, text=True, capture_output=True)
            self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        if shutil.which("man"):
            path = self.file("rzrun.1", page)
            shown = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", path], text=True, capture_output=True)
            self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        if shown:
            plain = re.sub(r".\x08|\x1b\[[0-9;]*m", "", shown.stdout).replace("\u2010", "-").replace("\u2212", "-")
            for name in options_of_the_table():
                self.assertIn(name, plain)


rig.main()
