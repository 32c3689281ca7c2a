#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rzbench tune measures each algorithm, and writes rules that a job takes; a file that it cannot write is said."""
import os
import subprocess
import sys

BUILD, SOURCE = os.environ["RZ_TEST_BUILD"], os.environ["RZ_TEST_SOURCE"]
sys.path[:0] = [f"{SOURCE}/tests"]
import scratch  # noqa: E402
from patience import HANG_S  # noqa: E402


def run(*words, **environment):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=HANG_S, check=False, env={**os.environ, **environment})
    print(done.stdout)
    return done


tune = [sys.executable, "-B", f"{BUILD}/bin/rzbench", "tune", "--quick", "--repetitions", "1", "--ranks", "2,3", "--limit", f"{HANG_S // 3}s", "--rules"]
rules = scratch.folder("tune-") + "/rules"
made = run(*tune, rules)
assert made.returncode == 0, made.returncode
for title in ("2 ranks: one call, us", "3 ranks: one call, us", "| allreduce 65536 |", "| barrier 0 |", "The rules for RZ_COLL"):
    assert title in made.stdout, title
job = run(f"{BUILD}/bin/rzrun", "--oversubscribe", "-n", "3", f"{BUILD}/tests/coll_move", "1", RZ_COLL=f"@{rules}")
assert job.returncode == 0, job.returncode
unwritten = run(*tune, "/nowhere/rules")
assert unwritten.returncode == 1 and "cannot write '/nowhere/rules'" in unwritten.stdout, unwritten.returncode
