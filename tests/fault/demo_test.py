#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/demo, small: plain lines into a file; on a terminal lines for each node and rank, which leave the terminal as it was.

    RZ_TEST_BUILD=build tests/fault/demo_test.py
"""
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/..")
from patience import HANG_S  # noqa: E402

BUILD = os.path.abspath(os.environ.get("RZ_TEST_BUILD", "build"))
SOURCE = os.path.dirname(os.path.abspath(__file__)) + "/../.."
DEMO = [sys.executable, "-B", f"{SOURCE}/tools/demo"]
SURVIVED = "and the same answer to the last bit."
# So large that the job still runs when a fault of one of its last iterations comes late, beside other work.
SIZE = "48 48 48"
OURS = {"A", "J"}  # what the display may send: cursor up, erase to the end


def surroundings(size):
    return dict(os.environ, DEMO_BUILD=BUILD, DEMO_SIZE=size)


def shapes(text):
    """The lines without what differs from run to run: numbers, the build tree, and how a failure was noticed."""
    lines = [re.sub(r"noticed by [a-z ]+", "noticed by _ ", re.sub(r"\S*/apps/", "", line)) for line in text.splitlines()]
    return [re.sub(r"\d[\d.]*(e-?\d+)?", "#", line).strip() for line in lines if line]


def readme_block():
    with open(f"{SOURCE}/README.md", encoding="utf-8") as file:
        return re.search(r"```\n(1\. Without faults.*?)```", file.read(), re.DOTALL).group(1)


class Demo(unittest.TestCase):
    def test_plain_lines(self):
        done = subprocess.run(DEMO, env=surroundings(SIZE), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=HANG_S)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn(SURVIVED, done.stdout)
        self.assertIn("node 2 failed", done.stdout)
        self.assertNotIn("\033", done.stdout)
        self.assertEqual(shapes(done.stdout), shapes(readme_block()), "README.md does not show what the demo prints")

    def on_a_terminal(self, size, until=None):
        """Runs it on a terminal of its own, and ends it by SIGTERM once `until` was shown; (status, all that was shown)."""
        ours, its = pty.openpty()
        before = termios.tcgetattr(its)
        shown = ""
        with subprocess.Popen(DEMO, env=dict(surroundings(size), COLUMNS="100", LINES="40"), stdin=its, stdout=its, stderr=its,
                              start_new_session=True) as demo:
            while demo.poll() is None or shown == "":
                shown += self.read(ours)
                if until and re.search(until, shown):
                    demo.send_signal(signal.SIGTERM)
                    until = None
        shown += self.read(ours)
        self.assertEqual(termios.tcgetattr(its), before)
        os.close(its)
        os.close(ours)
        self.assertEqual(set(re.findall(r"\033\[?[0-9;?]*(.)", shown)), OURS, shown)
        return demo.returncode, shown

    @staticmethod
    def read(terminal):
        ready, _, _ = select.select([terminal], [], [], 0.1)
        return os.read(terminal, 65536).decode(errors="replace") if ready else ""

    def test_a_line_for_each_node_and_rank(self):
        status, shown = self.on_a_terminal(SIZE)
        self.assertEqual(status, 0, shown)
        self.assertIn(SURVIVED, shown)
        for what in [f"node {node}  runs" for node in range(4)] + [f"rank {rank}  " for rank in range(8)]:
            self.assertIn(what, shown)

    def test_a_signal_ends_the_job_too(self):
        status, shown = self.on_a_terminal("96 96 96", until="rank 7 .* iteration [1-9]")
        self.assertEqual(status, 128 + signal.SIGTERM, shown)
        self.assertNotIn(SURVIVED, shown)


if __name__ == "__main__":
    unittest.main(verbosity=2)
