#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks of comd: comd_check.py RZRUN COMD CASE, where CASE is

lattice     the energy of the perfect lattice: against sums over shells, those against published constants
decompose   1 rank and 8 ranks over 2 nodes: the same energies, and here (same cells) the same bits
failure       a rank is killed: the same lines as the undisturbed run
breach      a step that is far too long is noticed

and more options are passed to comd (--eam)."""
import math
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../tests")
from patience import HANG_S  # noqa: E402

SMALL = ["-x", "8", "-y", "8", "-z", "8"]  # unit cells: two cut-offs for each of two ranks along an axis
# So hot that it is no crystal for long, and atoms change cells and ranks all the time; the edge is such that one rank
# has the same cells as two along an axis.
EDGE = "8" if "--eam" in sys.argv else "7"
HOT = ["-x", EDGE, "-y", EDGE, "-z", EDGE, "-N", "150", "--temperature", "20000"]
TWO_NODES = ["-n", "8", "--nodes", "2"]
# Kittel, Introduction to Solid State Physics, chapter 3: sums over the fcc lattice of (nearest distance / r)^n.
PUBLISHED_SUMS = {12: 12.13188, 6: 14.45392}
# What the documentation of CoMD prints as the initial energy of Lennard-Jones at 600 K, eV per atom.
PUBLISHED_START = -1.166063303478


def run(options, *arguments, status=0):
    """The lines of stdout; with another status than the one expected the check fails."""
    command = [sys.argv[1], "--oversubscribe", *options, sys.argv[2], *arguments, *sys.argv[4:]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S)
    if done.returncode != status:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode} instead of {status}:\n{done.stdout}{done.stderr}")
    return done.stdout.splitlines(), done.stderr


def energies(lines):
    return [float(found.group(1)) for line in lines if (found := re.match(r"step \d+ energy (\S+)", line))]


def expect(what, found, wanted, tolerance):
    """tolerance is relative."""
    print(f"{what}: {found!r}, expected {wanted!r}")
    if not abs(found - wanted) <= tolerance * abs(wanted):
        sys.exit(f"{what} differs by {abs(found / wanted - 1):.3g}, more than {tolerance:g}")


def shells(reach):
    """[(distance, atoms)] around an atom of the fcc lattice, distances in edges of the unit cell, up to reach."""
    most, count = int(2 * reach), {}
    squares = range(-most, most + 1)
    for i in squares:
        for j in squares:
            for k in squares:
                square = i * i + j * j + k * k
                if (i + j + k) % 2 == 0 and 0 < square <= 4 * reach * reach:
                    count[square] = count.get(square, 0) + 1
    return [(math.sqrt(square) / 2, atoms) for square, atoms in sorted(count.items())]


def infinite_sum(power, near):
    """Of r^-power, in edges; beyond the shells given, as if matter were continuous."""
    inside = sum(atoms for _, atoms in near) + 1
    radius = (3 * inside / (16 * math.pi)) ** (1 / 3)  # that holds as many atoms, four per unit cell
    return sum(atoms * r**-power for r, atoms in near) + 16 * math.pi * radius ** (3 - power) / (power - 3)


def lennard_jones(near, lattice, cutoff):
    """Energy of an atom; a pair's is 0 at the cut-off."""
    def pair(r):
        return 4 * 0.167 * ((2.315 / r) ** 12 - (2.315 / r) ** 6)
    return sum(atoms * (pair(r * lattice) - pair(cutoff)) for r, atoms in near if r * lattice < cutoff) / 2


def sutton_chen(near, lattice, cutoff):
    a, total = 3.61, {}
    for power in 9, 6:
        def cut(r):
            return (a / r) ** power - (a / cutoff) ** power * (1 - power * (r - cutoff) / cutoff)
        total[power] = sum(atoms * cut(r * lattice) for r, atoms in near if r * lattice < cutoff)
    return 0.012382 * (total[9] / 2 - 39.432 * math.sqrt(total[6]))


def at_rest(*arguments):
    lines, _ = run(["-n", "1"], *SMALL, "-N", "0", "--temperature", "0", *arguments)
    return energies(lines)[0]


def lattice():
    far = shells(14)
    sums = {power: infinite_sum(power, far) for power in (12, 9, 6)}
    for power, published in PUBLISHED_SUMS.items():
        expect(f"sum of (d/r)^{power}", sums[power] * 2 ** (-power / 2), published, 1e-6)
    # Lennard-Jones is at rest where d/dr of 2 e (A12 (s/d)^12 - A6 (s/d)^6) is 0: the published 1.09 s, -8.61 e.
    a12, a6 = PUBLISHED_SUMS[12], PUBLISHED_SUMS[6]
    spacing, cutoff = 2.315 * (2 * a12 / a6) ** (1 / 6), 3.8 * 2.315
    edge = spacing * math.sqrt(2)
    shifted = lennard_jones(far, edge, cutoff)
    uncut = 2 * 0.167 * (sums[12] * (2.315 / edge) ** 12 - sums[6] * (2.315 / edge) ** 6)
    found = at_rest("--lattice", repr(edge), "--cutoff", repr(cutoff))
    expect("energy at the equilibrium spacing, cut", found, shifted, 1e-12)
    expect("the same without cut, in e", (found - shifted + uncut) / 0.167, -a6 * a6 / (2 * a12), 1e-6)
    expect("energy of the default lattice", at_rest(), lennard_jones(far, 3.615, 2.5 * 2.315), 1e-12)
    expect("and at 600 K", energies(run(["-n", "1"], *SMALL, "-N", "0")[0])[0], PUBLISHED_START, 1e-12)
    # Sutton and Chen chose c and e such that copper is at rest at a and has its cohesive energy, 3.50 eV.
    expect("c from the lattice sums", 9 * sums[9] / (6 * math.sqrt(sums[6])), 39.432, 5e-5)
    expect("cohesion", 0.012382 * (sums[9] / 2 - 39.432 * math.sqrt(sums[6])), -3.50, 2e-3)
    expect("energy of Sutton-Chen", at_rest("--eam"), sutton_chen(far, 3.61, 1.95 * 3.61), 1e-12)


def decompose():
    one, _ = run(["-n", "1"], *HOT)
    eight, _ = run(TWO_NODES, *HOT)
    for alone, together in zip(energies(one), energies(eight), strict=True):
        expect("energy", together, alone, 1e-12)
    if one[-1] != eight[-1] or not one[-1].startswith("state "):
        sys.exit(f"1 rank ends with '{one[-1]}', 8 ranks with '{eight[-1]}'")


def failure():
    calm, _ = run(TWO_NODES, *HOT)
    killed, story = run([*TWO_NODES, "--story", "--inject", "kill rank 3 at iteration 125"], *HOT)
    if "rank 3" not in story:
        sys.exit(f"no process failed:\n{story}")
    # Rank 0 prints again what it had printed since the checkpoint: the same lines.
    if set(killed) != set(calm) or killed[-4:] != calm[-4:]:
        sys.exit("undisturbed:\n" + "\n".join(calm) + "\nwith a failure:\n" + "\n".join(killed))


def breach():
    _, said = run(["-n", "2"], *SMALL, "--dt", "60", "--print-every", "1", status=1)
    if "energy is not conserved" not in said:
        sys.exit(f"not noticed:\n{said}")


{"lattice": lattice, "decompose": decompose, "failure": failure, "breach": breach}[sys.argv[3]]()
