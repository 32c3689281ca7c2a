#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""arguments_complete.py MADE: every implemented function that can fail has a row of wrong arguments.

Reads the bindings of the ABI, the rows that were made (MADE) and those in tests/mpi/arguments_*.c.
A function without a row stands below with the reason; one that has a row, or is not implemented,
must not stand there.
"""

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parents[1] / "tools" / "abi"))

from abi_tables import Tables  # noqa: E402

NO_ARGUMENTS = "takes no argument that can be wrong"
ANY_VALUE = "every value of its arguments is right"
WITHOUT = {
    "MPI_Finalize": "tests/mpi/errhandlers_lifetime.c calls it twice",
    "MPI_Init_thread": "its variant MPI_Init is called twice, here and in tests/mpi/errhandlers_lifetime.c",
    "MPI_Abort": "does not return; a wrong communicator is in tests/mpi/errhandlers_lifetime.c",
    "MPIX_Reinit": "a null point is in tests/unit/abi",
    "MPIX_Reinit_async": "as MPIX_Reinit", "RZ_Reinit_failed": "as MPIX_Reinit",
    "MPIX_Reinit_cleanup_push": "a null handler is in tests/mpi/reinit_cleanup.c, as are calls in the wrong place",
    "MPIX_Reinit_cleanup_pop": ANY_VALUE,
    "MPIX_Reinit_mask": NO_ARGUMENTS, "MPIX_Reinit_unmask": NO_ARGUMENTS, "MPIX_Reinit_test": NO_ARGUMENTS,
    "MPI_Free_mem": "takes what MPI_Alloc_mem gave, which cannot be checked",
    "MPI_Pcontrol": ANY_VALUE,
    "MPI_Wtime": NO_ARGUMENTS, "MPI_Wtick": NO_ARGUMENTS,
    "MPI_Aint_add": ANY_VALUE, "MPI_Aint_diff": ANY_VALUE,
    "MPI_Buffer_flush": NO_ARGUMENTS,
}


def has_reason(name):
    """By name, or a conversion, which returns a handle or a number and no error."""
    return name in WITHOUT or re.search(r"_(toint|fromint)$|_Abi_|_f2c$|_c2f$|_f2f08|_f082", name)


def rows(made):
    """The functions that a row calls, by the texts of all of them."""
    texts = [Path(made).read_text(encoding="utf-8")]
    texts += [p.read_text(encoding="utf-8") for p in sorted(HERE.glob("arguments_*.c"))]
    return set(re.findall(r'ROW(?:_QUIET)?\([^"]*"((?:MPIX?|RZ)_\w+)"', "".join(texts)))


def main():
    tables = Tables()
    there = rows(sys.argv[1])
    implemented = {f.name for f in tables.functions + tables.extensions
                   if tables.binding(f) is not None}
    wrong = [f"{name} has no row in tests/mpi/arguments_*.c and no reason in {Path(__file__).name}"
             for name in sorted(implemented - there) if not has_reason(name)]
    wrong += [f"{name} has a row and a reason to have none" for name in sorted(there & set(WITHOUT))]
    wrong += [f"{name} is not implemented: no reason is needed"
              for name in sorted(set(WITHOUT) - implemented)]
    if len(there) < 400:
        wrong.append(f"only {len(there)} functions have rows: is {sys.argv[1]} whole?")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
