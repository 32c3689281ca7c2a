#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""exports_test.py SOURCE LIBRARY: the library's name, and exactly the ABI, its twins, the extensions and the functions of Fortran's handles show, which all
are in the list of what versions have promised.

The 438 functions that mpi4py cannot be loaded without are among them.
"""
import csv
import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/..")
from patience import HANG_S  # noqa: E402


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=HANG_S).stdout


def table(source, name):
    with open(f"{source}/src/abi/tables/{name}.csv", newline="", encoding="utf-8") as file:
        return {row["name"] for row in csv.DictReader(file)}


def of_fortran(source):
    """MPI_Comm_f2c and so on: the functions of rhizome/f2c.h."""
    with open(f"{source}/include/rhizome/f2c.h", encoding="utf-8") as file:
        text = file.read()
    kinds = re.findall(r"^RZ_F2C\((\w+),", text, re.MULTILINE)
    return {f"MPI_{kind}_{way}" for kind in kinds for way in ("f2c", "c2f")} | set(re.findall(r"^RZ_F2C_INLINE int (MPI_\w+)\(", text, re.MULTILINE))


def promised(source):
    """What the library has shown since some version: the list of the Debian package, with the version of each name."""
    with open(f"{source}/packaging/debian/librhizome1.symbols", encoding="utf-8") as file:
        part = re.search(r"(?ms)^libmpi_abi\.so\.1 .*?\n(.*?)^lib", file.read())
    return dict(re.findall(r"(?m)^ (\w+)@Base (\S+)$", part[1]))


def main():
    source, library = sys.argv[1:]
    faults = []
    dynamic = output("readelf", "-d", library)
    if "soname: [libmpi_abi.so.1]" not in dynamic:
        faults.append("the SONAME is not libmpi_abi.so.1")
    faults += [f"it needs {name}" for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic) if re.search(r"uc[pst]|mpi", name)]

    functions = table(source, "abi_functions")
    if len(functions) != 664:
        faults.append(f"the table has {len(functions)} functions, not 664")
    functions |= table(source, "extensions") | of_fortran(source)
    ours = {"RZ_Feature"}
    for path in set(glob.glob(f"{source}/include/rhizome/*.h")) - {f"{source}/include/rhizome/tasks.h"}:  # a library of its own
        with open(path, encoding="utf-8") as header:
            ours |= set(re.findall(r"^\w[\w *]*\b(RZ_\w+)\(", header.read(), re.MULTILINE))
    variables = {"MPIR_debug_gate"}  # debuggers set it
    wanted = variables | functions | {f"P{name}" for name in functions} | ours
    before = promised(source)
    faults += [f"{name} is gone: programs may call it since {before[name]}. To take it away is another SONAME (docs/versions.md)"
               for name in sorted(before.keys() - wanted)]
    faults += [f"{name} is new: packaging/debian/librhizome1.symbols needs the line ` {name}@Base VERSION`, of the version that it comes with"
               for name in sorted(wanted - before.keys())]

    shown = {}
    for line in output("readelf", "--dyn-syms", "-W", library).splitlines():
        fields = line.split()
        if len(fields) >= 8 and fields[4] in ("GLOBAL", "WEAK") and fields[6] not in ("UND", "Ndx"):
            shown[fields[7]] = (fields[3], fields[4], fields[5])
    faults += [f"{name} is missing" for name in sorted(wanted - shown.keys())]
    faults += [f"{name} should not show" for name in sorted(shown.keys() - wanted)]
    faults += [f"{name} has a version: programs of another MPI would not find it" for name in shown if "@" in name]
    for name in wanted & shown.keys():
        kind, binding, visibility = shown[name]
        if kind != ("OBJECT" if name in variables else "FUNC") or visibility != "DEFAULT":
            faults.append(f"{name} is {kind}, {visibility}")
        if (binding == "WEAK") != (name in functions):
            faults.append(f"{name} is {binding}: MPI_X is weak, so that a tool can take its place, PMPI_X is not")
    sys.exit("\n".join(faults) if faults else 0)


main()
