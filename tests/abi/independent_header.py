#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""independent_header.py TABLES FOLDER: writes what another MPI of this ABI would bring along, from the tables of facts alone.

FOLDER/mpi.h declares types, constants and functions; FOLDER/abi_facts.h lists the constants and predefined handles, so that a
program can look at each. Nothing of tools/abi or of Rhizome's own mpi.h is used.
"""
import csv
import os
import sys

INTEGERS = ("error_class", "string_size", "version", "int:")
ADDRESSES = ("handle:", "pointer:")
# Types that are enumerations in the prototypes; their values are integers in the table.
ENUMERATIONS = {"MPI_T_cb_safety": "MPI_T_CB_REQUIRE_", "MPI_T_source_order": "MPI_T_SOURCE_"}


def rows(tables, name):
    with open(f"{tables}/{name}.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def type_of(row):
    """The C type of a constant that is an address: handle:MPI_Comm -> MPI_Comm, pointer:void* -> void*."""
    return row["kind"].split(":", 1)[1].split("(")[0]


def declarations(facts):
    out = []
    for row in facts:
        name, kind, value = row["name"], row["kind"], row["value"]
        if kind == "typedef" and not value.startswith("("):
            out.append(f"typedef {value} {name};")
        elif kind == "struct" and value.startswith("{"):
            out.append(f"typedef struct {value} {name};")
        elif kind == "handle_type":
            out.append(f"typedef {value.split('(')[0].strip()} {name};")
    for name, prefix in ENUMERATIONS.items():
        values = [f"{row['name']} = {row['value']}" for row in facts if row["name"].startswith(prefix)]
        out.append(f"typedef enum {{ {', '.join(values)} }} {name};")
    for row in facts:
        if row["kind"] == "callback_typedef":
            result, parameters = row["value"].split(" ", 1)
            out.append(f"typedef {result} {row['name']}{parameters};")
        elif row["kind"] == "callback_typedef_alias":
            out.append(f"typedef {row['value']} {row['name']};")
    return out


def constants(facts):
    for row in facts:
        if any(row["name"].startswith(prefix) for prefix in ENUMERATIONS.values()):
            continue
        if row["kind"].startswith(INTEGERS):
            yield f"#define {row['name']} ({row['value']})"
        elif row["kind"].startswith(ADDRESSES):
            yield f"#define {row['name']} (({type_of(row)}){row['value']})"


def header(tables):
    facts, functions = rows(tables, "abi_constants"), rows(tables, "abi_functions")
    out = ["#ifndef ANOTHER_MPI_H", "#define ANOTHER_MPI_H", "#include <stddef.h>", "#include <stdint.h>",
           "#ifdef MPI_H_ABI", "#error the header of Rhizome stands in the way", "#endif"]
    out += declarations(facts) + list(constants(facts))
    for f in functions:
        for prefix in ("", "P"):
            out.append(f"{f['return_type']} {prefix}{f['name']}({f['parameters'] or 'void'});")
    return "\n".join(out + ["#endif", ""])


def fact_lists(tables):
    facts = rows(tables, "abi_constants")
    integers = [r for r in facts if r["kind"].startswith(INTEGERS)]
    addresses = [r for r in facts if r["kind"].startswith(ADDRESSES)]
    out = ["/* X(name): constants that are integers, and those that are addresses. */", "#define ABI_INTEGERS(X) \\"]
    out += [f"    X({r['name']}) \\" for r in integers] + ["", "#define ABI_ADDRESSES(X) \\"]
    out += [f"    X({r['name']}) \\" for r in addresses] + [""]
    for kind in sorted({type_of(r) for r in addresses if r["kind"].startswith("handle:")}):
        out.append(f"#define ABI_HANDLES_OF_{kind}(X) \\")
        out += [f"    X({r['name']}, {r['value']}) \\" for r in addresses
                if r["kind"].startswith("handle:") and type_of(r) == kind]
        out.append("")
    return "\n".join([*out, ""])


def main():
    tables, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    for name, text in (("mpi.h", header(tables)), ("abi_facts.h", fact_lists(tables))):
        with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
            file.write(text)


main()
