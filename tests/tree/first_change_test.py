#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""docs/first-change.md, followed step by step in a copy of the tree: the test that it names passes, fails with its first change, and passes
with both. first_change_test.py SOURCE"""
import os
import re
import shutil
import subprocess
import sys

SOURCE = os.path.abspath(sys.argv[1])
sys.path.insert(0, f"{SOURCE}/tests")
import scratch  # noqa: E402
from patience import HANG_S  # noqa: E402


def copy_of_the_tree():
    folder = scratch.folder("first-change-test-") + "/rhizome"
    names = subprocess.run(["git", "-C", SOURCE, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], check=True, capture_output=True,
                           text=True).stdout.split("\0")
    for name in names:
        if os.path.isfile(f"{SOURCE}/{name}"):
            os.makedirs(os.path.dirname(f"{folder}/{name}"), exist_ok=True)
            shutil.copy(f"{SOURCE}/{name}", f"{folder}/{name}")
    return folder


def must(good, what, output=""):
    if not good:
        sys.exit(f"docs/first-change.md: {what}\n{output}")


def main():
    tree = copy_of_the_tree()
    with open(f"{tree}/docs/first-change.md", encoding="utf-8") as file:
        page = file.read()
    commands = re.findall(r"^    (make one TEST=\S+)$", page, re.MULTILINE)
    changes = re.findall(r"^```diff\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    must(len(commands) == 1 and len(changes) == 2, f"{len(commands)} commands and {len(changes)} changes")
    for i, passes in enumerate((True, False, True)):
        if i > 0:
            done = subprocess.run(["git", "apply", "-"], cwd=tree, input=changes[i - 1], capture_output=True, text=True, check=False)
            must(done.returncode == 0, f"change {i} does not fit", done.stderr)
        done = subprocess.run(commands[0].split(), cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=2 * HANG_S,
                              check=False)
        must((done.returncode == 0) == passes, f"after {i} changes the test ends with {done.returncode}", done.stdout)
        line_is_told = re.search(r"quantity_test\.c:\d+", done.stdout) is not None
        must(("100% tests passed" in done.stdout) == passes and line_is_told != passes, f"after {i} changes something else is printed", done.stdout)


main()
