#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""docs/start.md and docs/ulfm.md: their programs and commands do what they say, with an installation; and tools/first-quarter finds what is not so."""
import importlib.machinery
import importlib.util
import shutil
import subprocess
import sys
import unittest

import install_rig as rig
import scratch

sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("first_quarter", rig.SOURCE + "/tools/first-quarter")
tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("first_quarter", loader))
loader.exec_module(tool)


class Start(rig.InstallTest):
    def runs(self, page):
        done = subprocess.run([rig.SOURCE + "/tools/first-quarter", "--page", f"{rig.SOURCE}/docs/{page}", "--prefix", self.prefix,
                               "--transcript", self.folder + "/seen"],
                              capture_output=True, text=True, timeout=rig.HANG_S, env=rig.clean_environment())
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        self.assertEqual(done.stderr, "")
        with open(self.folder + "/seen", encoding="utf-8") as file:
            return file.read()

    def test_start(self):
        self.assertGreaterEqual(self.runs("start.md").count("pi is about 3.141592654"), 3)

    def test_ulfm(self):
        self.assertIn("by 2 of 4", self.runs("ulfm.md"))


class Tool(unittest.TestCase):
    def test_lines_in_their_order(self):
        output = "first\nrank 3: a process has failed (x)\nlast\n"
        self.assertEqual(tool.missing_lines(["first", "rank ...: a process ...", "last"], output), [])
        self.assertEqual(tool.missing_lines(["last", "first", "none"], output), ["first", "none"])

    def test_a_story_has_an_order_of_its_own(self):
        page = ["  0.2 s  node 1 failed", "     agreed after ... ms", "pi is 3"]
        self.assertEqual(tool.missing_lines(page, "pi is 3\n  0.2 s  node 1 failed\n     agreed after 7 ms\n"), [])
        self.assertEqual(tool.missing_lines(page, "pi is 3\n     agreed after 7 ms\n  0.2 s  node 1 failed\n"), page[1:2])

    def test_statuses(self):
        commands = [("a", ["out"]), ("b", []), ("echo $?", ["3"]), ("c", []), ("d", [])]
        output = "\x010\nout\n\n\x01=0\n\x011\n\n\x01=3\n\x012\n3\n\n\x01=0\n\x013\n\n\x01=4\n"
        wrong, shown, left_out = tool.compare(output, commands)
        self.assertEqual(wrong, ["c: status 4"])
        self.assertEqual(shown, "$ a\nout\n$ b\n$ echo $?\n3\n$ c\n")
        self.assertEqual(left_out, ["d"])

    def test_pages_of_a_job(self):
        self.assertEqual(tool.ran("\x010\n\n\x01=0\n\x012\n\n", [("a", []), ("b", []), ("c", [])]), ["a", "c"])
        folder = scratch.folder("pages-test-")
        self.assertEqual(tool.open_pages(folder, ["rzrun --report-html none.html ./pi", "ls"]), ["none.html: there is no such page"])
        with open(f"{folder}/no.html", "w", encoding="ascii") as file:
            file.write("<h1>Report of a job</h1>")
        wrong = ["no.html: the browser does not show a job"] if shutil.which("chromium") else []
        self.assertEqual(tool.open_pages(folder, ["rzrun --report-html no.html ./pi"]), wrong)

    def test_a_page(self):
        script, commands = tool.script_of(tool.PAGE)
        self.assertGreater(len(commands), 8)
        self.assertEqual(subprocess.run(["sh", "-n"], input=script, text=True).returncode, 0)
        self.assertTrue({"pi.c", "pi_safe.c after pi.c"} <= {block.what for block in tool.blocks(tool.PAGE) if block.kind == "file"})


rig.main()
