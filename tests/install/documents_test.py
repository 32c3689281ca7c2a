#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""An installation has the licence, a manual page of each command, the documents, and examples that their README builds and runs."""
import os
import re
import shutil

import install_rig as rig

COMMANDS = ("rzrun", "rzps", "rzdoctor")  # of every build


class Documents(rig.InstallTest):
    def setUp(self):
        super().setUp()
        self.documents = f"{self.prefix}/share/doc/rhizome"

    def read(self, path):
        with open(path, encoding="utf-8") as file:
            return file.read()

    def test_licence(self):
        self.assertEqual(self.read(f"{self.documents}/LICENSE"), self.read(f"{rig.SOURCE}/LICENSE"))

    def test_a_manual_page_of_each_command(self):
        for command in COMMANDS:
            page = self.read(f"{self.prefix}/share/man/man1/{command}.1")
            self.assertRegex(page, rf'(?mi)^\.TH "?{command}"? ')
            self.assertIn(".SH OPTIONS", page)

    def test_documents(self):
        index = self.read(f"{self.documents}/docs/README.md")
        pages = re.findall(r"\]\(([a-z-]+\.md)\)", index)
        self.assertGreater(len(pages), 15)
        for page in pages:
            self.assertEqual(self.read(f"{self.documents}/docs/{page}"), self.read(f"{rig.SOURCE}/docs/{page}"))
        self.assertFalse(os.path.exists(f"{self.documents}/docs/reports"))

    def test_the_index_has_each_document(self):
        index = self.read(f"{rig.SOURCE}/docs/README.md")
        for page in sorted(os.listdir(f"{rig.SOURCE}/docs")):
            if page.endswith(".md") and page != "README.md":
                self.assertIn(f"]({page})", index)

    def test_examples_are_built_and_run_as_their_readme_says(self):
        examples = f"{self.work}/examples"
        shutil.copytree(f"{self.documents}/examples", examples)
        blocks = re.findall(r"(?ms)^```\n(.*?)^```$", self.read(f"{examples}/README.md"))
        path = {"PATH": f"{self.bin}:{os.environ['PATH']}"}
        lines = [line for block in blocks for line in block.splitlines()]
        self.assertGreater(len(lines), 8)
        said = {line: self.does("sh", "-c", line, folder=examples, environment=path) for line in lines}
        runs = [out for line, out in said.items() if line.startswith("rzrun")]
        self.assertIn("token", runs[0])
        self.assertIn("residual", runs[1])


rig.main()
