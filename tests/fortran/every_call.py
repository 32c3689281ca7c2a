#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""every_call.py WAY FILE: a program that calls every procedure, MPI_X and PMPI_X, so that each interface is compiled and linked.

WAY: mpif.h, mpi or mpi_f08. The arguments are of the type that MPI says; the calls are not carried out.
"""

import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "abi"))

from abi_fortran import calls  # noqa: E402
from abi_fortran_text import Interface, old_name  # noqa: E402
from abi_tables import Tables  # noqa: E402

FUNCTIONS = {
    "copy_fn": "MPI_NULL_COPY_FN", "delete_fn": "MPI_NULL_DELETE_FN",
    "read_conversion_fn": "MPI_CONVERSION_FN_NULL", "write_conversion_fn": "MPI_CONVERSION_FN_NULL",
}


class Program:
    def __init__(self, way):
        self.way, self.new = way, way == "mpi_f08"
        self.variables = {}

    def variable(self, shape, dims):
        """A variable of that declaration, such as integer(MPI_COUNT_KIND) and (*)."""
        shape = "character(len=8)" if shape.startswith("character") else shape
        name = f"v{len(self.variables) + 1}"
        dims = re.sub(r"\*", "4", dims).replace("count", "4")
        return self.variables.setdefault((shape, dims), name)

    def function(self, item, interface):
        """A function of the user: any of its kind; without interfaces any will do."""
        if not self.new:
            return "nothing"
        kind = re.sub(r"[ *]", "", item.p.type)
        return "f_" + kind.lower()

    def argument(self, call, item, interface):
        if item.what == "procedure":
            return self.function(item, interface)
        line = next(line for line in interface.lines if line.split("::")[-1].split("(")[0].strip() == item.name)
        head, _, tail = line.partition(" :: ")
        dims = tail[len(item.name):]
        shape = head.split(", ")[0]
        if shape == "type(*)":
            return self.variable("double precision", "(*)")
        return self.variable(shape, dims)

    def call(self, call, name):
        interface = Interface(call, self.new)
        arguments = [self.argument(call, item, interface) for item in call.items]
        if call.name != "MPI_Pcontrol":
            arguments.append(self.variable("integer", ""))
        return "    call " + name + "( &\n      " + ", &\n      ".join(arguments) + ")\n" if arguments else f"    call {name}\n"


def functions():
    """Functions of the user with the interfaces that mpi_f08 and rhizome_f08 name."""
    import abi_fortran_text as text  # noqa: PLC0415
    out = []
    for template in re.findall(r"  subroutine (\w+\(.*?end subroutine\n)", text.callbacks() + text.POINTS, re.DOTALL):
        body = re.sub(r"    import ::.*\n", "", template)
        out.append("  subroutine f_" + body[:1].lower() + body[1:])
    return "".join(out)


def main():
    way, file = sys.argv[1:]
    program = Program(way)
    standard, mine = calls(Tables())
    for call in mine:
        if call.name == "MPIX_Reinit_cleanup_push":
            call.items = call.items[:1]
    lines = []
    for call in standard + (mine if way != "mpif.h" else []):
        if call.way == "function":
            continue
        large = not old_name(call)
        if large and not program.new:
            continue
        by_own_name = call.name in ("MPI_Op_create_c", "MPI_Register_datarep_c")
        name = re.sub(r"_c$", "", call.name) if large and not by_own_name else call.name
        lines.append(program.call(call, name))
        if call.has_twin:
            lines.append(program.call(call, "P" + name))
    head = {"mpif.h": "", "mpi": "  use mpi\n  use rhizome\n", "mpi_f08": "  use mpi_f08\n  use rhizome_f08\n"
            "  use, intrinsic :: iso_c_binding, only: c_ptr\n"}[way]
    declared = "".join(f"  {shape} :: {name}{dims}\n" for (shape, dims), name in program.variables.items())
    groups = [lines[i:i + 60] for i in range(0, len(lines), 60)]
    text = ("! SPDX-License-Identifier: BSD-3-Clause\n! Made by tests/fortran/every_call.py.\nmodule every\n"
            f"{head}  implicit none\n" + ("  include 'mpif.h'\n" if way == "mpif.h" else "") + "contains\n")
    for i, group in enumerate(groups):
        text += f"  subroutine part_{i}\n" + ("    external :: nothing\n" if not program.new else "") + declared + "".join(group) + "  end subroutine\n"
    text += (functions() if program.new else "") + "end module\n"
    if not program.new:
        text += "subroutine nothing\nend subroutine\n"
    text += "program every_call\n  use every\n  implicit none\n  if (command_argument_count() > 1000) then\n"
    text += "".join(f"    call part_{i}\n" for i in range(len(groups)))
    text += "  end if\n  print '(i0)', command_argument_count()\nend program\n"
    Path(file).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
