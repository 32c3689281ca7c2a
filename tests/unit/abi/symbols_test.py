#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""symbols_test.py NM LIBRARY [HEADER...]: what a library shows.

Each function of the tables and its twin, MPI_X weak, and those of rhizome/f2c.h; each RZ_ function that the headers declare;
nothing foreign.
"""

import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools" / "abi"))
sys.dont_write_bytecode = True
from abi_tables import Tables  # noqa: E402


def symbols(nm, which, library):
    """name -> kind of nm."""
    command = [nm, "-D", which, library]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {line.split()[-1]: line.split()[-2] for line in text.splitlines()}


def declared(headers):
    text = "".join(Path(header).read_text(encoding="utf-8") for header in headers)
    return re.findall(r"^\w[\w *]*\b(RZ_\w+)\(", text, re.MULTILINE)


def of_fortran():
    """MPI_Comm_f2c and so on: the functions of rhizome/f2c.h."""
    text = (Path(__file__).resolve().parents[3] / "include" / "rhizome" / "f2c.h").read_text(encoding="utf-8")
    kinds = re.findall(r"^RZ_F2C\((\w+),", text, re.MULTILINE)
    return {f"MPI_{kind}_{way}" for kind in kinds for way in ("f2c", "c2f")} | set(re.findall(r"^RZ_F2C_INLINE int (MPI_\w+)\(", text, re.MULTILINE))


# A variable that tools set (docs/debugging.md).
OF_DEBUGGERS = {"MPIR_debug_gate"}


def main():
    nm, library, *headers = sys.argv[1:]
    shown = symbols(nm, "--defined-only", library)
    functions = Tables().functions + Tables().extensions
    twins = {f.twin for f in functions} | {f"P{name}" for name in of_fortran()}
    names = {f.name for f in functions} | of_fortran()
    wanted = names | twins | set(declared(headers))
    faults = [f"{name} is missing" for name in sorted(wanted) if name not in shown]
    faults += [f"{name} is not weak" for name in sorted(names) if shown.get(name, "W") != "W"]
    faults += [f"{name} is weak" for name in sorted(twins) if shown.get(name, "T") != "T"]
    foreign = [name for name in shown if not name.startswith("RZ_") and name not in OF_DEBUGGERS]
    faults += [f"{name} should not show" for name in foreign if name not in names | twins]
    undefined = symbols(nm, "--undefined-only", library)
    faults += [f"{name} is undefined" for name, kind in undefined.items() if name.startswith("rz") and kind != "w"]
    sys.exit("\n".join(faults) if faults else 0)


main()
