#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The programs of this folder, compiled as a user compiles them, in three spellings, and run on one node and on three.

    suite.py --build BUILD PROGRAM...       without a program: all
    suite.py --build BUILD mutants          with a library that is wrong in one way or another (mutants.c): is it noticed?

A run is good if rzrun ends with the status that the table names, each survivor has said once that all is correct,
and no process has said anything else. A bad one is shown with the commands that repeat it.
"""
import argparse
import collections
import os
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/..")
from patience import HANG_S  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
HUNG = "it hung"
BOUND_S = int(os.environ.get("ULFM_BOUND_S", HANG_S))
# Failures come with proof here: with more patience a loaded machine does not add some that only seem to be.
PATIENT = ["--hb-timeout", "5s"]
HANGS, HANGING_S = {12}, 5  # mutants that are noticed by hanging, and how long one is waited for; all others by a check
SPELLINGS = {"today's names": [], "names of the first generation": ["-DSPELL_OLD"], "classes of mpi.h": ["-DSPELL_PLAIN"]}
STRICT = ["-O2", "-Wall", "-Wextra", "-Werror"]
ONE, THREE = ["-n", "6"], ["-n", "6", "--nodes", "3"]
KILLED = 128 + 9

# options of rzrun, arguments, survivors, exit status: a failure that the program has acknowledged, by a call that told
# it of the failure, is none of the job's; one that it has only run into is.
Case = collections.namedtuple("Case", "options arguments survivors status")


def cases(survivors, status, *arguments, where=(ONE, THREE)):
    return [Case(options, list(arguments), survivors, status) for options in where]


NINE = (["-n", "9"], ["-n", "9", "--nodes", "3"])
TABLE = {
    "error_returns": cases(5, KILLED),
    "handler_lists_the_failed": cases(4, 0),
    "undisturbed_pairs": cases(5, KILLED),
    "revoke_on_error": cases(5, 0),
    "uniform_construction": cases(3, 0),
    "wildcard": cases(4, 0),
    "insulation": cases(5, 0),
    "transactions": cases(3, 0),
    "bag_of_tasks": cases(5, 0, where=NINE),
    "until_one_is_left": cases(1, 0, "1") + cases(1, 0, "2", where=NINE),
    "jacobi": cases(3, 0),
    "buddy": cases(5, 0, "shrink"),
    "buddy_spawn": cases(6, 0, "spawn"),
    "respawn_in_order": cases(6, 0),
    "respawn_endless": cases(6, 0, "12", "1", "spawn"),
    "replace_endless": cases(6, 0, "12", "1", "replace"),
}
# The program that must notice each mutant.
MUTANTS = {1: "error_returns", 2: "undisturbed_pairs", 3: "uniform_construction", 4: "uniform_construction", 5: "revoke_on_error",
           6: "revoke_on_error", 7: "wildcard", 8: "wildcard", 9: "revoke_on_error", 10: "handler_lists_the_failed", 11: "transactions",
           12: "wildcard"}
PROGRAM_OF = {"buddy_spawn": "buddy", "replace_endless": "respawn_endless"}


def compile_program(build, name, spelling, folder, mutant=0):
    """The program's path; None, and the compiler's messages are shown, if it does not compile."""
    source = PROGRAM_OF.get(name, name)
    path = f"{folder}/{source}{''.join(SPELLINGS[spelling])}{mutant or ''}"
    line = [f"{build}/bin/mpicc", "-std=gnu11", *STRICT, *SPELLINGS[spelling], "-o", path, f"{HERE}/{source}.c"]
    if mutant:
        line += [f"-DMUTANT={mutant}", "-Wno-unused-function", f"{HERE}/mutants.c"]
    done = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        print(f"{name}, {spelling}: does not compile\n{shlex.join(line)}\n{done.stdout}")
        return None
    return path


def assess(case, done, name):
    """What is wrong with a run; None: nothing."""
    said = f"{name}: correct"
    lines = done.stdout.splitlines()
    if done.returncode == 124:
        return HUNG
    if "not so" in done.stderr:
        return "a check was not so"
    if lines.count(said) != case.survivors or len(lines) != case.survivors:
        return f"{lines.count(said)} survivors have said that all is well, not {case.survivors}"
    if done.returncode != case.status:
        return f"exit status {done.returncode}, not {case.status}"
    return None


def run_case(build, more, path, name, case):
    line = [f"{build}/bin/rzrun", "--oversubscribe", "--timeout", f"{BOUND_S}s", *PATIENT, *case.options, *more,
            path, *case.arguments]
    done = subprocess.run(line, capture_output=True, text=True, errors="replace", timeout=2 * BOUND_S)
    wrong = assess(case, done, PROGRAM_OF.get(name, name))
    if wrong:
        print(f"{name} {shlex.join(case.options + case.arguments)}: {wrong}\nagain: {shlex.join(line)}\n{done.stdout}{done.stderr}"
              f"(compiled by {sys.argv[0]} --build {build} --keep {os.path.dirname(path)} {name})")
    return wrong is None


def mutants(build, folder):
    """How many are not noticed."""
    survive = 0
    for mutant, name in MUTANTS.items():
        path = compile_program(build, name, "today's names", folder, mutant)
        bound_s = HANGING_S if mutant in HANGS else BOUND_S
        line = [f"{build}/bin/rzrun", "--oversubscribe", "--timeout", f"{bound_s}s", *PATIENT, *ONE, path,
                *TABLE[name][0].arguments]
        done = subprocess.run(line, capture_output=True, text=True, errors="replace", timeout=2 * BOUND_S)
        wrong = assess(TABLE[name][0], done, PROGRAM_OF.get(name, name))
        noticed = wrong is not None and (wrong == HUNG) == (mutant in HANGS)
        print(f"mutant {mutant:2}, {name}: {wrong or 'nothing'}{'' if noticed else ', NOT NOTICED, but should be'}")
        survive += not noticed
    return survive


def headers(build):
    """features.c, in C and in C++; and a program that includes mpi.h alone and gets the rest on the command line."""
    good = True
    for words in (["mpicc", "-std=c99"], ["mpicc", "-std=gnu17"], ["mpicxx", "-std=c++11", "-xc++"], ["mpicxx", "-std=c++20", "-xc++"]):
        line = [f"{build}/bin/{words[0]}", *words[1:], "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"{HERE}/features.c"]
        done = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            print(f"{shlex.join(line)}\n{done.stdout}")
            good = False
    line = [f"{build}/bin/mpicc", "-include", "mpi-ext.h", *STRICT, "-fsyntax-only", "-xc", "-"]
    text = "#include <mpi.h>\nint main(void) { return MPIX_Comm_revoke(MPI_COMM_NULL) == MPIX_ERR_REVOKED; }\n"
    return subprocess.run(line, input=text, text=True).returncode == 0 and good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", help="build tree (build)")
    parser.add_argument("--keep", metavar="FOLDER", help="compile into this folder, and leave it there")
    parser.add_argument("--options", default="", help="more of rzrun's, for instance '--agree twophase'")
    parser.add_argument("--times", type=int, default=1, help="each run so many times (1)")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=f"headers, mutants, {', '.join(TABLE)}")
    options = parser.parse_intermixed_args()
    bad = runs = 0
    with tempfile.TemporaryDirectory(prefix="ulfm-suite-") as folder:
        if options.keep:
            os.makedirs(folder := options.keep, exist_ok=True)
        for name in options.programs or ["headers", *TABLE, "mutants"]:
            if name == "mutants":
                runs, bad = runs + len(MUTANTS), bad + mutants(options.build, folder)
                continue
            if name == "headers":
                runs, bad = runs + 1, bad + (not headers(options.build))
                continue
            for spelling in SPELLINGS:
                path = compile_program(options.build, name, spelling, folder)
                for case in TABLE[name] * options.times:
                    runs, bad = runs + 1, bad + (path is None or not run_case(options.build, shlex.split(options.options), path, name, case))
    print(f"{runs} runs, {bad} wrong")
    sys.exit(1 if bad else 0)


main()
