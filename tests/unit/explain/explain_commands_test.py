#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rzsim explain: its files are well formed, need no network and are the same again; wrong command lines are told so."""
import os
import re
import shutil
import subprocess
import sys
import unittest
import xml.etree.ElementTree
from html.parser import HTMLParser

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../..")
import scratch  # noqa: E402
from patience import HANG_S  # noqa: E402

RZSIM = os.environ["RZ_TEST_BUILD"] + "/bin/rzsim"
PROTOCOLS = ["agree", "ring", "spread", "gossip", "recover"]
SVG = "{http://www.w3.org/2000/svg}"
EMPTY = {"meta", "input"}  # elements without an end

CHROMIUM = shutil.which("chromium")
# What a reader does, and after each act the step that is shown and that of the slider.
KEYS = """<script>
const shown = () => document.querySelector(".frame.on").id.slice(6) + "/" + document.getElementById("slider").value, says = [shown()];
const press = key => { document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })); says.push(shown()); };
["ArrowRight", "ArrowRight", "ArrowLeft", "End", "ArrowRight", "Home"].forEach(press);
const slider = document.getElementById("slider"), act = change => { change(); says.push(shown()); };
act(() => { slider.value = 4; slider.dispatchEvent(new Event("input")); });
act(() => document.querySelectorAll(".list a")[2].click());
document.body.append(Object.assign(document.createElement("samp"), { textContent: says.join(" ") }));
</script>"""

REFUSALS = [
    ("explain", "name a protocol"),
    ("explain paxos", "no 'paxos'"),
    ("explain agree twice", "one word too many"),
    ("explain agree --members 1", "--members '1': it needs a whole number from 2"),
    ("explain agree --svg x --step 0", "--step '0': it needs a whole number from 1"),
    ("explain agree --members 32", "at most 31 members"),
    ("explain agree --members 4 --kill 4", "leave a member alive"),
    ("explain agree --plan soon", "no plan"),
    ("explain agree --step 1", "--step needs --svg"),
    ("explain agree --hmtl x", "did you mean '--html'?"),
]


def run(*words, status=0):
    done = subprocess.run([RZSIM, *words], capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode == status, f"rzsim {' '.join(words)}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done


class Page(HTMLParser):
    """Checks that elements nest; collects ids, references and the elements that have attributes of interest."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.references, self.loads, self.labels = [], [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids += [attributes["id"]] if "id" in attributes else []
        self.references += [attributes["href"]] if "href" in attributes else []
        self.loads += [value for name, value in attributes.items() if name in ("src", "srcset", "data")]
        if tag in ("button", "input"):
            self.labels.append(attributes.get("aria-label", attributes.get("id")))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in EMPTY:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> within {self.open}"
        self.open.pop()


class Explain(unittest.TestCase):
    def setUp(self):
        self.folder = scratch.folder("explain-test-")

    def read(self, name):
        with open(f"{self.folder}/{name}", encoding="utf-8") as file:
            return file.read()

    def test_refusals(self):
        for line, what in REFUSALS:
            with self.subTest(line=line):
                done = run(*line.split(), status=2)
                self.assertIn(what, done.stderr)
                self.assertEqual((len(done.stderr.splitlines()), done.stdout), (1, ""))

    def test_files(self):
        for protocol in PROTOCOLS:
            with self.subTest(protocol=protocol):
                line = ["explain", protocol, "--kill", "2"]
                files = ["--svg", f"{self.folder}/a.svg", "--html", f"{self.folder}/a.html", "--timeline", f"{self.folder}/t.svg"]
                self.assertEqual(run(*line, *files).stdout, "")
                first = [self.read(name) for name in ("a.svg", "a.html", "t.svg")]
                run(*line, *files)
                self.assertEqual([self.read(name) for name in ("a.svg", "a.html", "t.svg")], first)
                for name in ("a.svg", "t.svg"):
                    root = xml.etree.ElementTree.fromstring(self.read(name))
                    self.assertEqual(root.tag, SVG + "svg")
                    heads = {marker.get("id") for marker in root.iter(SVG + "marker")}
                    used = set(re.findall(r"url\(#(\w+)\)", self.read(name)))
                    self.assertTrue(used and used <= heads, (used, heads))
                self.check_page(first[1], run(*line).stdout)

    def check_page(self, text, steps):
        page = Page(text)
        self.assertEqual(page.open, [])
        self.assertEqual(len(page.ids), len(set(page.ids)), "an id twice")
        self.assertEqual(page.loads, [])
        self.assertEqual([r for r in page.references if r[1:] not in page.ids], [])
        self.assertNotIn("http:", text.replace("http://www.w3.org", ""))
        self.assertNotIn("https:", text)
        self.assertIn("default-src 'none'", text)
        self.assertTrue(all(page.labels))
        count = len(re.findall(r"^ *\d+\. ", steps, re.M))
        self.assertEqual(len([i for i in page.ids if i.startswith("frame-")]), count)

    @unittest.skipUnless(CHROMIUM, "there is no chromium")
    def test_the_slider_and_the_keys(self):
        path = f"{self.folder}/a.html"
        run("explain", "agree", "--members", "7", "--kill", "3", "--html", path)
        with open(path, "r+", encoding="utf-8") as file:
            page = file.read()
            file.seek(0)
            file.write(page.replace("</body>", KEYS + "</body>"))
        done = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync",
                               f"--user-data-dir={self.folder}/profile", "--dump-dom", f"file://{path}"], capture_output=True, text=True, timeout=HANG_S)
        found = re.search(r"<samp>(.*?)</samp>", done.stdout)
        self.assertTrue(found, done.stderr[-2000:])
        self.assertEqual(found[1].split(), "1/1 2/2 3/3 2/2 5/5 5/5 1/1 4/4 3/3".split())

    def test_one_step(self):
        run("explain", "agree", "--kill", "0", "--svg", f"{self.folder}/one.svg", "--step", "2")
        self.assertIn("Members 1 and 2 combine", self.read("one.svg").replace("</text>", " ").replace("2.  ", ""))
        done = run("explain", "agree", "--kill", "0", "--svg", f"{self.folder}/none.svg", "--step", "99", status=1)
        self.assertIn("has 5 steps", done.stderr)
        self.assertFalse(os.path.exists(f"{self.folder}/none.svg"))

    def test_the_printed_command_gives_the_same_run(self):
        for protocol in PROTOCOLS:
            text = run("explain", protocol, "--kill", "2", "--seed", "5").stdout
            words = text.splitlines()[-1].split("rzsim ")[1].split()
            self.assertEqual(run(*words).stdout, text)

    def test_a_file_that_cannot_be_written(self):
        done = run("explain", "agree", "--html", f"{self.folder}/none/a.html", status=1)
        self.assertEqual(done.stderr.count("none/a.html"), 1, done.stderr)
        self.assertEqual(os.listdir(self.folder), [])

    def test_the_pictures_of_the_documents(self):
        """docs/explain.md names the command of each picture: it draws the file that is there. RZ_UPDATE=1 writes them."""
        source = os.environ["RZ_TEST_SOURCE"]
        with open(source + "/docs/explain.md", encoding="utf-8") as file:
            pictures = re.findall(r"<!-- picture: (.*) -->\n!\[[^]]*\]\((\S+)\)", file.read())
        self.assertGreaterEqual(len(pictures), 5)
        for command, path in pictures:
            with self.subTest(command=command):
                run(*command.split(), f"{self.folder}/made.svg")
                if os.environ.get("RZ_UPDATE"):
                    shutil.copy(f"{self.folder}/made.svg", f"{source}/docs/{path}")
                with open(f"{source}/docs/{path}", encoding="utf-8") as file:
                    self.assertEqual(file.read(), self.read("made.svg"), f"docs/{path} is old: RZ_UPDATE=1 ctest -R rzsim_explain")

    def test_help(self):
        self.assertTrue(all(len(line) <= 100 for line in run("explain", "--help").stdout.splitlines()))


unittest.main()
