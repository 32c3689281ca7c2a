#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rzrun --report-html: the page of a job that loses a rank, and the page of a large one that a unit test makes. Where chromium is
installed it opens both: the script must run, and the keys must work. RZ_PICTURES=FOLDER keeps pictures of them there."""
import json
import os
import re
import shutil
import subprocess
import tempfile

import launch_rig as rig

CHROMIUM = shutil.which("chromium")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]
TEXT, GRAPHIC = 4.5, 3.0  # the least contrasts that the guidelines for accessible pages ask for (WCAG 2.1, AA)

# Keys, as a user would press them, and what the page then says of the chosen rank; the last one shows the whole job again.
KEYS = """<script>
const says = [], press = key => { lanes.dispatchEvent(new KeyboardEvent("keydown", { key, cancelable: true })); says.push($("said").textContent); };
for (const key of ["ArrowDown", "ArrowDown", "+", "ArrowRight", "-", "0"]) press(key);
const pair = key => { heat.dispatchEvent(new KeyboardEvent("keydown", { key, cancelable: true })); return $("pair").textContent; };
const traffic = pairs.length ? ["ArrowDown", "ArrowDown", "ArrowRight", "PageDown", "Home"].map(pair) : [];
$("by-messages").onclick();
const pressed = $("by-messages").getAttribute("aria-pressed"), tables = $("tables").querySelectorAll("tbody tr").length;
document.body.append(make("output", JSON.stringify({ says, from, until, span, chosen, traffic, pressed, tables, height: heat.height })));
</script>"""


def read(path):
    with open(path, encoding="ascii") as file:
        return file.read()


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1))


def browse(path, *options):
    """What the page has become once its scripts have run."""
    with tempfile.TemporaryDirectory() as profile:
        return subprocess.run([CHROMIUM, *FLAGS, f"--user-data-dir={profile}", *options, f"file://{path}"], capture_output=True, text=True,
                              timeout=rig.HANG_S, env=dict(os.environ, HOME=profile)).stdout


def luminance(color):
    parts = [int(color[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


class ReportHtml(rig.LaunchTest):
    def job(self, *options):
        path = f"{self.folder}/job.html"
        run = self.run_it("--oversubscribe", "-n", "4", "--nodes", "2", "--report-html", path, *options, f"{rig.BUILD}/apps/hpccg",
                              "16", "16", "16", "--iterations", "60", "--checkpoint-every", "5")
        return run, path

    def open_in_browser(self, path, name):
        if not CHROMIUM:
            return
        pressed = f"{self.folder}/pressed.html"
        with open(pressed, "w", encoding="ascii") as file:
            file.write(read(path).replace("</body>", KEYS + "</body>"))
        page = browse(pressed, "--dump-dom")
        found = re.search(r"<output>(.*?)</output>", page, re.S)
        self.assertTrue(found, "the page's script has failed")
        told = json.loads(found.group(1).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
        self.assertEqual((told["from"], told["until"], told["chosen"]), (0, told["span"], 1))
        self.assertRegex(told["says"][0], r"^rank 0 at .+: .*(incarnation|failed|ended|begun)")
        self.assertRegex(told["says"][1], r"^rank 1 at ")
        group = r"(rank \d+|ranks \d+\u2013\d+)"
        for said, expected in zip(told["traffic"], ("{0} to {0}", "{1} to {0}", "{1} to {1}", ".* to .*", "{0} to {0}"), strict=True):
            first, second = ("ranks 0\u201315", "ranks 16\u201331") if "ranks" in said else ("rank 0", "rank 1")
            self.assertRegex(said, "^" + expected.format(first, second) + ": ")
            self.assertRegex(said, f"^{group} to {group}: (nothing|[\\d\u2009]+ messages?, [\\d.]+ [kMGT]?B(, [\\d.]+ [kMGT]?B each)?)$")
        self.assertGreater(told["traffic"][3].count("message"), 0)
        self.assertEqual(told["pressed"], "true")
        self.assertGreater(told["tables"], 4)
        self.assertGreater(told["height"], 100)
        if os.environ.get("RZ_PICTURES"):
            picture = f"{os.environ['RZ_PICTURES']}/{name}"
            browse(path, "--window-size=1280,1700", f"--screenshot={picture}.png")
            browse(path, "--window-size=1280,1700", "--blink-settings=preferredColorScheme=0", f"--screenshot={picture}-dark.png")

    def test_a_job_that_loses_a_rank(self):
        run, path = self.job("--inject", "kill rank 3 at iteration 20")
        self.assertEqual(run.status, 0, run.err)
        page = read(path)
        data = data_of(page)
        self.assertEqual(data["schema"], "rhizome.report.1")
        self.assertEqual((data["ranks"], len(data["nodes"]), data["left_out"]), (4, 2, 0))
        self.assertTrue(data["command"].startswith("rzrun --oversubscribe -n 4 --nodes 2 --report-html "), data["command"])
        self.assertIn(" --inject 'kill rank 3 at iteration 20' ", data["command"])
        self.assertTrue(data["command"].endswith("/apps/hpccg 16 16 16 --iterations 60 --checkpoint-every 5"), data["command"])
        self.assertEqual([(a["status"], a["cause"]) for a in data["attempts"]], [(0, "")])
        lives = sorted((slot, incarnation, end) for slot, incarnation, _, _, _, _, end in data["lives"])
        self.assertEqual([life[:2] for life in lives], [(0, 1), (1, 1), (2, 1), (3, 1), (3, 2)])
        self.assertEqual(lives[3][2], "failed")
        for _, _, _, begun, joined, ended, _ in data["lives"]:
            self.assertTrue(0 <= begun <= joined <= ended <= data["seconds"] + 1, data["lives"])
        (recovery,) = data["recoveries"]
        self.assertEqual((recovery["way"], recovery["epoch"], recovery["failures"]), ("reinit", 2, 1))
        self.assertLess(recovery["from"], recovery["until"])
        self.assertIn("agree", recovery["phases_ms"])
        (case,) = data["cases"]
        self.assertEqual((case["what"], case["rank"], case["done"]), ("process", 3, "global restart"))
        self.assertNotIn("trace", case)
        self.assertTrue(data["checkpoints"])
        self.assertTrue(all(size > 0 for _, _, size in data["checkpoints"]))
        self.assertTrue(any(v for v in data["samples"]["most"]))
        self.assertTrue(any("rank 3 (incarnation 1)" in text for _, _, text in data["events"]))
        self.assertFalse(os.path.exists(f"{self.folder}/case-0001.json"))
        self.assertEqual(data["traffic"]["group_ranks"], 1)
        self.assertEqual([len(row) > 0 for row in data["traffic"]["rows"]], [True] * 4 + [False])
        self.open_in_browser(path, "report")

    def test_a_stopped_rank_is_unknown(self):
        """It does not run, although its calls do not wait; the others are known all the time."""
        path = f"{self.folder}/stopped.html"
        run = self.run_it("--oversubscribe", "-n", "3", "--nodes", "3", "--hb-timeout", "30s", "--report-html", path, "--timeout", "7s",
                          "--inject", "stop rank 1 at 1s for 4s", rig.program("launch_waits"), "compute")
        self.assertEqual(run.status, 124, run.err)
        samples = data_of(read(path))["samples"]
        width = samples["bin_seconds"]
        unknown = [max((len(dots) for dots in re.findall(r"\.+", waits.strip("."))), default=0) * width for waits in samples["waits"]]
        self.assertGreater(unknown[1], 2, samples)
        self.assertLess(max(unknown[0], unknown[2]), 1, samples)

    def test_a_hang_report_is_in_it(self):
        path = f"{self.folder}/hang.html"
        run = self.run_it("-n", "2", "--timeout", "2", "--report-html", path, rig.program("launch_waits"), "receive")
        self.assertEqual(run.status, rig.TIMED_OUT)
        data = data_of(read(path))
        self.assertEqual(data["attempts"][0]["status"], rig.TIMED_OUT)
        (hang,) = data["hangs"]
        self.assertIn("MPI_Recv", hang["text"])
        self.assertIn("a cycle", hang["text"])
        for row in data["samples"]["waits"]:
            self.assertRegex(row, r"^\.*\d{3,}\.*$", "time between two looks is not known")
            self.assertIn("99", row, "a rank that waits all the time")

    def test_a_long_command_line_is_cut(self):
        path = f"{self.folder}/long.html"
        self.assertEqual(self.run_it("-n", "1", "--report-html", path, "true", "a b" * 3000).status, 0)
        command = data_of(read(path))["command"]
        self.assertEqual((len(command), command[-3:]), (4000, "..."))

    def rows(self, how, *options):
        path = f"{self.folder}/sends.html"
        run = self.run_it("--oversubscribe", "-n", "2", *options, "--report-html", path, rig.program("launch_sends"), how)
        traffic = data_of(read(path))["traffic"]
        self.assertEqual(traffic["group_ranks"], 1)
        return run, traffic["rows"]

    def test_messages_are_counted_exactly(self):
        for options in ((), ("--nodes", "2"), ("--no-ft",)):
            run, rows = self.rows("all", *options)
            self.assertEqual(run.status, 0, run.err)
            self.assertEqual(rows, [[1, 3 + 4, 300 + 64], [0, 1, 200000, 1, 1, 7], []], options)

    def test_collectives_by_cells_are_counted(self):
        """Of a hundred reductions on one node most have no messages, but cells; to agree on these the ranks exchange a little."""
        run, rows = self.rows("reduce")
        self.assertEqual(run.status, 0, run.err)
        for rank in (0, 1):
            to, messages, size = rows[rank]
            self.assertEqual(to, 1 - rank)
            self.assertTrue(100 <= messages <= 102 and 800 <= size <= 900, rows)

    def test_messages_of_a_process_that_fails_are_counted(self):
        for options in ((), ("--nodes", "2")):
            run, rows = self.rows("killed", *options)
            self.assertNotEqual(run.status, 0)
            self.assertEqual(rows[1], [0, 5, 50], options)

    def test_a_large_job(self):
        for kind in ("", "huge"):
            path = f"{self.folder}/large{kind}.html"
            subprocess.run([rig.program("launch_html_report"), path, *kind.split()], check=True, timeout=rig.HANG_S)
            self.assertLess(os.path.getsize(path), 5_000_000)
            self.open_in_browser(path, "report-large" + kind)

    def test_the_page_needs_no_network_and_can_be_read(self):
        page = read(f"{rig.SOURCE}/src/launch/report.html")
        self.assertNotRegex(page, r"https?://|//[a-z]+\.|@import|<link|<img|<iframe|fetch\(|XMLHttp|WebSocket|\bsrc=")
        self.assertIn("default-src 'none'", page)
        ids = re.findall(r'\bid="([\w-]+)"', page)
        self.assertEqual(len(ids), len(set(ids)))
        for reference in re.findall(r'aria-(?:labelledby|describedby)="([\w-]+)"', page) + re.findall(r'\$\("([\w-]+)"\)', page):
            self.assertIn(reference, ids)
        schemes = re.findall(r":root \{(.*?)\}", page, re.S)
        self.assertEqual(len(schemes), 2)
        for scheme in schemes:
            color = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", scheme))
            for text, back in (("ink", "paper"), ("ink", "panel"), ("soft", "paper"), ("soft", "panel"), ("link", "panel"), ("bad", "paper"),
                               ("bad", "badback"), ("soft", "badback"), ("good", "goodback"), ("soft", "goodback"), ("dead", "panel")):
                self.assertGreaterEqual(contrast(color[text], color[back]), TEXT, (text, back))
            for graphic in ("run", "dead", "lost", "curve", "mark", "focus", "few", "many"):
                self.assertGreaterEqual(contrast(color[graphic], color["paper"]), GRAPHIC, graphic)
            self.assertGreaterEqual(contrast(color["run"], color["wait"]), 2.0)
            self.assertGreaterEqual(contrast(color["few"], color["many"]), GRAPHIC)

    def test_bad_command_lines(self):
        for words in (["--report-html", f"{self.folder}/none/x.html"], ["--report-html", f"{self.folder}/x.html", "--detach"]):
            run = self.run_it("-n", "1", *words, "true")
            self.assertEqual(run.status, rig.BAD_LINE)
            self.assertIn("--report-html", run.err)
        self.assertEqual([name for name in os.listdir(self.folder) if "html" in name], [])


if __name__ == "__main__":
    rig.main()
