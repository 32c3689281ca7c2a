#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""constants_test.py TABLES PROGRAM...: every constant, size and offset that compiled programs see is that of the tables."""
import csv
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/..")
from patience import HANG_S  # noqa: E402


def expected(tables):
    with open(f"{tables}/abi_constants.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            plain = row["kind"].startswith(("error_class", "string_size", "version", "int:", "handle:", "pointer:"))
            if plain or row["name"].startswith(("sizeof", "offsetof")):
                yield row["name"], int(row["value"], 0)


def main():
    tables, *programs = sys.argv[1:]
    wanted = dict(expected(tables))
    faults = []
    for program in programs:
        text = subprocess.run([program], check=True, capture_output=True, text=True, timeout=HANG_S).stdout
        seen = {name: int(value) for name, value in (line.rsplit(" ", 1) for line in text.splitlines())}
        faults += [f"{program}: {name} is {seen.get(name)}, not {wanted.get(name)}"
                   for name in sorted(wanted.keys() | seen.keys()) if wanted.get(name) != seen.get(name)]
    if len(wanted) < 365:
        faults.append(f"the tables have only {len(wanted)} constants")
    sys.exit("\n".join(faults) if faults else 0)


main()
