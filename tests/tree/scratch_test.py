#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A test's folder goes with the test, however that ends (tests/scratch.py)."""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/..")
from patience import HANG_S  # noqa: E402

TEST = f"""
import os, sys
sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r} + "/..")
import scratch
path = scratch.folder("scratch-test-")
os.mkdir(path + "/deep")
print(path, flush=True)
sys.stdin.read()
"""


def main():
    for how in ("killed", "ended"):
        test = subprocess.Popen([sys.executable, "-B", "-c", TEST], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        path = test.stdout.readline().strip()
        if not os.path.isdir(path + "/deep"):
            sys.exit(f"{path} is not there while the test runs")
        if how == "killed":
            test.kill()
        test.communicate()
        end = time.monotonic() + HANG_S
        while os.path.exists(path):
            if time.monotonic() > end:
                sys.exit(f"{path} is left behind by a test that was {how}")
            time.sleep(0.01)


main()
