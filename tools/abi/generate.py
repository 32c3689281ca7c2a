#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""generate.py WHAT FILE ...: write generated parts of the MPI binding; FILE - is standard output."""

import sys
from pathlib import Path

sys.dont_write_bytecode = True  # the source tree stays as it is

import abi_impl  # noqa: E402
import abi_collectives  # noqa: E402
import abi_constants_test  # noqa: E402
import abi_entries  # noqa: E402
import abi_fortran_calls  # noqa: E402
import abi_fortran_text  # noqa: E402
import abi_header  # noqa: E402
from abi_tables import Tables  # noqa: E402

WHAT = {
    "mpi.h": abi_header.mpi,
    "mpi-ext.h": abi_header.mpi_ext,
    "impl_calls.h": abi_impl.header,
    "impl_weak.h": abi_entries.weak,
    "coll_plans.h": abi_collectives.plans,
    "coll_forms.c": abi_collectives.forms,
    "entries_bound.c": abi_entries.bound,
    "entries_unsupported.c": abi_entries.unsupported,
    "constants_test.c": abi_constants_test.source,
    "features_table.c": abi_entries.features,
    "mpifort_calls.c": abi_fortran_calls.source,
    "mpif.h": abi_fortran_text.mpif,
    "mpi_module.f90": abi_fortran_text.module_mpi,
    "mpi_f08_module.f90": abi_fortran_text.module_f08,
    "rhizome_module.f90": abi_fortran_text.rhizome_old,
    "rhizome_f08_module.f90": abi_fortran_text.rhizome_new,
    "mpi_ext_module.f90": abi_fortran_text.ext_old,
    "mpi_f08_ext_module.f90": abi_fortran_text.ext_new,
    "mpif-ext.h": abi_fortran_text.mpif_ext,
}


def write(text, file):
    if file == "-":
        sys.stdout.write(text)
        return
    path = Path(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main():
    whats, files = sys.argv[1::2], sys.argv[2::2]
    if not whats or len(whats) != len(files) or not set(whats) <= set(WHAT):
        sys.exit(f"usage: generate.py {{{' | '.join(WHAT)}}} FILE ...")
    for what, file in zip(whats, files):
        write(WHAT[what](Tables()), file)


if __name__ == "__main__":
    main()
