#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The examples of global restart in the documents, as they stand, under failures: the answer is the one without any.

    examples.py --build BUILD reinit|header|tutorial

In those of docs/reinit.md and of include/rhizome/checkpoint.h each line `...` is filled in by a call of example.h; nothing else is
added but the headers that the second one does without.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/..")
from patience import HANG_S  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = f"{HERE}/../.."
RANKS, LAST = 4, 50
FILLED_IN = ["example_begins(x, N);", "example_works(x, N, iteration);", "example_ends(x, N, iteration);"]
HEADERS = "#include <mpi.h>\n#include <mpi-ext.h>\n#include <rhizome/checkpoint.h>\nenum { N = 1000, LAST = %d };\n" % LAST

# FAILS of example.h, and RZ_KILL_AT: before the first checkpoint, between two, in the last iteration, after the last checkpoint.
FAILURES = [("2@0", None), ("0@3", None), ("1@9", None), ("0@10", None), ("3@27", None), (f"2@{LAST - 1}", None),
          ("1@0 2@14 3@49", None), ("", "point-over@0"), ("", "point-over@3"), ("2@5", "point-over@1"),
          ("", "stored@1"), ("", "stored:2@0"), ("3@33", "restored@0")]


def text_of(name):
    with open(f"{ROOT}/{name}") as file:
        return file.read()


def example_of(words):
    """The code of docs/reinit.md, or of the header's head comment: its lines that stand further in."""
    if words == "reinit":
        return next(block for block in re.findall(r"^```c\n(.*?)^```$", text_of("docs/reinit.md"), re.M | re.S) if "MPIX_Reinit(" in block)
    comment = text_of("include/rhizome/checkpoint.h").split("#ifndef", 1)[0]
    return HEADERS + "".join(re.findall(r"^ \*    ( .*\n)", comment, re.M))


def filled_in(code):
    gaps = re.findall(r"^ *\.\.\.", code, re.M)
    if len(gaps) != len(FILLED_IN):
        sys.exit(f"not so: the example has {len(gaps)} gaps")
    for call in FILLED_IN:
        code = re.sub(r"^( *)\.\.\.;?", rf"\g<1>{call}", code, count=1, flags=re.M)
    return code


def compile_it(options, source, program, *words):
    command = [f"{options.build}/bin/mpicc", "-Wall", "-Werror", *words, "-o", program, source]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"not so: {' '.join(command)}\n{done.stdout}")


def answer(options, program, ranks, fails="", kill_at=None):
    """What it prints; None, and the reason said, if it does not end well or no process failed although one should."""
    command = [f"{options.build}/bin/rzrun", "--oversubscribe", "-n", str(ranks), "--nodes", "2", "--hang-report", "5s", "--story",
               "-x", f"FAILS={fails}"] + (["-x", f"RZ_KILL_AT={kill_at}"] if kill_at else []) + [program]
    environment = {name: value for name, value in os.environ.items() if name != "RZ_RANK"}
    try:
        job = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", timeout=HANG_S,
                             check=False, env=environment)
    except subprocess.TimeoutExpired as late:
        print(f"not so: it hung: {' '.join(command)}\n{(late.stderr or b'').decode(errors='replace')}")
        return None
    if job.returncode != 0:
        print(f"not so: status {job.returncode}: {' '.join(command)}\n{job.stdout}{job.stderr}")
        return None
    failures = sum(job.stderr.count(words) for words in (" failed; noticed", " failed with "))
    if failures < len(fails.split()) + bool(kill_at):
        print(f"not so: {failures} failures: {' '.join(command)}\n{job.stderr}")
        return None
    return job.stdout


def compare(wanted, found, what):
    if found is not None and found != wanted:
        print(f"not so: {what}: {found.strip()!r}, and undisturbed it is {wanted.strip()!r}")
    return found == wanted


def with_failures(options, folder):
    source, program = f"{folder}/example.c", f"{folder}/example"
    with open(source, "w") as file:
        file.write(filled_in(example_of(options.example)))
    compile_it(options, source, program, "-include", f"{HERE}/example.h")
    wanted = answer(options, program, RANKS)
    good = wanted is not None and f"after {LAST} iterations" in wanted
    for fails, kill_at in FAILURES:
        good &= compare(wanted, answer(options, program, RANKS, fails, kill_at), f"FAILS={fails} RZ_KILL_AT={kill_at}")
    return good


def tutorial(options, folder):
    """Step 9 in which rank 2 burns out in its first step, its sixth, its last and never, alone and with other failures."""
    program, good = f"{folder}/step9", True
    for step in (99, 0, 5, 9):
        compile_it(options, f"{ROOT}/apps/tutorial/step9_reinit.c", program, f"-DBURNS_OUT_IN={step}")
        for kill_at in (None, "point-over@0", "stored:3@4"):
            found = answer(options, program, 6, kill_at=kill_at)
            good &= compare("6 processes say that pi is 3.141593\n", found, f"burnt out in step {step}, RZ_KILL_AT={kill_at}")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("example", choices=("reinit", "header", "tutorial"))
    parser.add_argument("--build", default="build")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="example-") as folder:
        good = (tutorial if options.example == "tutorial" else with_failures)(options, folder)
    sys.exit(not good)


main()
