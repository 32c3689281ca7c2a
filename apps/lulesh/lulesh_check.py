#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks of lulesh: lulesh_check.py RZRUN LULESH CASE, where CASE is

known       iterations and energy of the origin as published for LULESH 2.0
decompose   1, 8 and 27 ranks on the same mesh, and other regions: the same bits
conserve    the error of the energy goes down with the length of the step
failure       a rank and a node are killed: the same lines as the undisturbed run
wrong       command lines, numbers of ranks and steps that cannot be: one line that says so"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../tests")
from patience import HANG_S  # noqa: E402

# -s: iterations, energy of the origin's element; as known for LULESH 2.0 on one rank.
PUBLISHED = {5: (72, 7.853665e+03), 10: (231, 2.720531e+04)}
EIGHT = ["-n", "8", "--nodes", "4"]
WRONG = [  # ranks, arguments, status, what is said
    (2, [], 2, "2 ranks cannot be a cube; start 1, 8, 27"),
    (9, [], 2, "9 ranks cannot be a cube; start 1, 8, 27"),
    (8, ["-s"], 2, "-s wants a value"),
    (1, ["-s", "0"], 2, "-s '0' is not a whole number from 1 to 1000"),
    (1, ["-s", "-5"], 2, "-s '-5' is not a whole number from 1 to 1000"),
    (1, ["-s", "5.5"], 2, "-s '5.5' is not a whole number from 1 to 1000"),
    (1, ["-s", ""], 2, "-s '' is not a whole number from 1 to 1000"),
    (1, ["-i", "99999999999999999999"], 2, "-i '99999999999999999999' is not a whole number"),
    (1, ["--regions", "0"], 2, "--regions '0' is not a whole number from 1 to 1000"),
    (1, ["--dt", "nan"], 2, "--dt 'nan' is not a number from 1e-12 to 0.01"),
    (1, ["--no-such"], 2, "unknown option '--no-such'"),
    (1, ["-s", "5", "--dt", "0.003"], 1, "no volume left: the step of 0.003 is too long"),
    (8, ["-s", "2", "--dt", "0.0018"], 1, "energy is not conserved"),
]


def run(options, *arguments, status=0):
    """The lines of stdout, and stderr; with another status than the one expected the check fails."""
    command = [sys.argv[1], "--oversubscribe", *options, sys.argv[2], *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S)
    if done.returncode != status:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode} instead of {status}:\n{done.stdout}{done.stderr}")
    return done.stdout.splitlines(), done.stderr


def value(lines, name):
    return next(line for line in lines if line.startswith(name + " ")).removeprefix(name + " ")


def known():
    for edge, (iterations, energy) in PUBLISHED.items():
        lines, _ = run(["-n", "1"], "-s", str(edge))
        found = int(value(lines, "iterations")), float(value(lines, "origin energy"))
        print(f"-s {edge}: {found}, published {iterations, energy}")
        if found[0] != iterations or f"{found[1]:.6e}" != f"{energy:.6e}":
            sys.exit("not as published")


def decompose():
    for edge, ranks in (10, {1: 10, 8: 5}), (6, {1: 6, 8: 3, 27: 2}):
        results = {n: run(["-n", str(n), "--nodes", str(min(n, 3))], "-s", str(size))[0] for n, size in ranks.items()}
        results["regions"] = run(["-n", "1"], "-s", str(edge), "--regions", "3", "--cost", "4")[0]
        for name in "mesh", "iterations", "origin energy", "MaxAbsDiff", "state":
            found = {n: value(lines, name) for n, lines in results.items()}
            print(f"{name}: {found}")
            if len(set(found.values())) != 1:
                sys.exit(f"{name} depends on the number of ranks or regions")


def conserve():
    drifts = []
    for dt in "4e-5", "2e-5", "1e-5":
        lines, _ = run(["-n", "1"], "-s", "4", "--dt", dt, "--print-every", "1")
        drifts.append(float(value(lines, "drift")))
    print(f"drift {drifts}")
    for coarse, fine in zip(drifts, drifts[1:]):
        if not 1.9 < coarse / fine < 2.1:
            sys.exit("the error of the energy does not go with the length of the step")


def failure():
    calm, _ = run(EIGHT, "-s", "5")
    killed, story = run([*EIGHT, "--story", "--inject", "kill rank 3 at iteration 110",
                         "--inject", "kill node 2 at iteration 190"], "-s", "5")
    for victim in "rank 3", "node 2":
        if victim not in story:
            sys.exit(f"{victim} did not crash:\n{story}")
    if sum(line.startswith("step 0 ") for line in killed) != 1:
        sys.exit("it began again at the beginning, not at a checkpoint:\n" + "\n".join(killed))
    # Rank 0 prints again what it had printed since the checkpoint: the same lines.
    if set(killed) != set(calm) or killed[-8:] != calm[-8:]:
        sys.exit("undisturbed:\n" + "\n".join(calm) + "\nwith failures:\n" + "\n".join(killed))


def wrong():
    for ranks, arguments, status, words in WRONG:
        _, said = run(["-n", str(ranks)], *arguments, status=status)
        print(f"{ranks} ranks {arguments}: {said}")
        own = re.findall(r"^lulesh: .*$", said, re.MULTILINE)
        if words not in said or (status == 2 and len(own) != 1):
            sys.exit(f"expected one line with '{words}'")
    lines, said = run(["-n", "8"], "--help")
    if said or sum("usage: lulesh" in line for line in lines) != 1:
        sys.exit(f"--help: {lines}{said}")


{"known": known, "decompose": decompose, "conserve": conserve, "failure": failure, "wrong": wrong}[sys.argv[3]]()
