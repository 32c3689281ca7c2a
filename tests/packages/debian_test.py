#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The packages of Debian, made of this build: every file has a package, lintian finds no error, and they come and go in a copy of this system.

By hand: RZ_TEST_BUILD=build tests/packages/debian_test.py
"""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/..")
import scratch  # noqa: E402
from patience import HANG_S  # noqa: E402

BUILD = os.path.abspath(os.environ.get("RZ_TEST_BUILD", "build"))
SOURCE = os.path.abspath(os.environ.get("RZ_TEST_SOURCE", os.path.dirname(os.path.abspath(__file__)) + "/../.."))
SKIPPED = 77


def run(*command, **more):
    done = subprocess.run(command, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=HANG_S,
                          errors="replace", **more)
    return done.returncode, done.stdout


def must(*command):
    status, said = run(*command)
    print(said, flush=True)
    if status != 0:
        sys.exit(f"exit status {status} of {' '.join(command)}")


def main():
    work = scratch.folder("packages-test-")
    must("cmake", "--install", BUILD, "--prefix", f"{work}/tree")
    must(sys.executable, "-B", f"{SOURCE}/packaging/split.py", f"{work}/tree", "--check")
    shutil.rmtree(f"{work}/tree")

    missing = [tool for tool in ("git", "dpkg-buildpackage", "dh", "lintian", "chrpath", "unshare") if not shutil.which(tool)]
    if missing or os.geteuid() != 0:
        print("only the list of contents was tested: the packages need root, and", ", ".join(missing) or "nothing else")
        sys.exit(SKIPPED)
    os.makedirs(f"{work}/out")
    must(f"{SOURCE}/tools/deb", "--build", BUILD, "--out", f"{work}/out")
    status, said = run(f"{SOURCE}/tools/in-root", "/", f"{work}/probe", work, "true")
    if status != 0:
        print("the packages were made, and not installed: this system cannot hold a copy of itself:", said)
        sys.exit(SKIPPED)
    must(f"{SOURCE}/tools/try-packages", "/", f"{work}/out", "--offline")


main()
