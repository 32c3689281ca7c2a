#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The site: links and anchors of the documents and of the pages, what the reference must have, and that wrong ones are found."""
import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = os.environ["RZ_TEST_BUILD"]
SOURCE = os.environ["RZ_TEST_SOURCE"]
sys.path.insert(0, SOURCE + "/tests")
sys.dont_write_bytecode = True
import scratch  # noqa: E402
from patience import HANG_S  # noqa: E402

loader = importlib.machinery.SourceFileLoader("site_tool", SOURCE + "/tools/site")
site = importlib.util.module_from_spec(importlib.util.spec_from_loader("site_tool", loader))
loader.exec_module(site)


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=HANG_S)


class Documents(unittest.TestCase):
    def test_links_and_anchors_of_the_documents(self):
        self.assertEqual(site.check_documents(), [])

    def test_anchors(self):
        text = "# The `RZ_X` call\n## A & B\n## A & B\n```\n# no heading\n```\n"
        self.assertEqual(site.anchors_of(text), {"the-rz_x-call", "a--b", "a--b-1"})

    def test_links_in_code_are_none(self):
        self.assertEqual(site.LINK.findall(site.without_code("`[a](b)` and\n```\n[c](d)\n```\n[e](f.md#g)")), [("", "e", "f.md#g")])

    def test_options_of_a_manual_page(self):
        page = site.manual_page('.TH X 1 "" ""\n.SH OPTIONS\n.SS Of x\n.TP\n.B \\-\\-how a|b\nWhat <it> does.\n')
        self.assertIn("| <code>--how a&#124;b</code> | What &lt;it&gt; does. |", page)


@unittest.skipUnless(shutil.which("mkdocs"), "no mkdocs")
class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.out = scratch.folder("site-test-") + "/site"
        cls.done = run(SOURCE + "/tools/site", "--build", BUILD, "--out", cls.out)

    def page(self, name):
        with open(f"{self.out}/{name}.html", encoding="utf-8") as file:
            return file.read()

    def test_it_is_made_and_its_links_are_right(self):
        self.assertEqual((self.done.returncode, self.done.stderr), (0, ""))

    def test_each_document_has_a_page(self):
        for name in os.listdir(SOURCE + "/docs"):
            if name.endswith(".md") and name != "README.md":
                self.assertTrue(os.path.exists(f"{self.out}/{name[:-3]}.html"), name)

    def test_each_option_is_in_the_reference(self):
        for command in (name for name in site.COMMANDS if os.path.exists(f"{BUILD}/bin/{name}")):
            options = set(re.findall(r"^ +(?:-\w+(?: \w+)?, )*(--[\w-]+)", run(f"{BUILD}/bin/{command}", "--help").stdout, re.M))
            page = self.page(f"reference/{command}")
            self.assertTrue(options)
            self.assertEqual([option for option in sorted(options) if option not in page], [])

    def test_each_function_and_variable_is_in_the_reference(self):
        functions, variables = self.page("reference/functions"), self.page("reference/variables")
        for name in os.listdir(BUILD + "/share/man/man3"):
            if name.endswith(".3"):
                self.assertIn(f'id="{name[:-2].lower()}"', functions)
        for name in ("RZ_NET", "RZ_COLL", "rz_lease_ns", "rz_messages_sent", "rz_epoch"):
            self.assertIn(f"<code>{name}</code>", variables)

    def test_moving_pictures(self):
        self.assertIn('href="explain/agree.html"', self.page("explain"))
        self.assertIn('type="range"', self.page("explain/agree"))

    @unittest.skipUnless(shutil.which("chromium"), "no chromium")
    def test_the_search_of_pages_that_are_opened_as_files(self):
        with tempfile.TemporaryDirectory() as profile:
            for words, there in (("MPIX_Comm_agree", 'href="./reference/functions.html#mpix_comm_agree"'), ("--report-html", 'href="./report-html.html'),
                                 ("nothinglikethis", "<p>No results found</p>")):
                shown = run("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync",
                            f"--user-data-dir={profile}", "--virtual-time-budget=60000", "--dump-dom", f"file://{self.out}/search.html?q={words}").stdout
                results = shown.partition('id="mkdocs-search-results"')[2].partition("</section>")[0]
                self.assertIn(there, results, words)

    def test_a_wrong_link_is_found(self):
        path = f"{self.out}/tutorial.html"
        with open(path, encoding="utf-8") as file:
            text = file.read()
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text + '<a href="none.html">x</a><a href="index.html#none">y</a><script src="https://example.org/x.js"></script>')
            self.assertEqual(site.check_site(self.out), ["tutorial.html: loads https://example.org/x.js", "tutorial.html: there is no none.html",
                                                         "tutorial.html: index.html has no #none"])
        finally:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)


unittest.main()
