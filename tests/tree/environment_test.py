#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""docs/environment.md names each variable of the environment that the source reads or sets, and no other of ours."""
import glob
import os
import re
import sys

os.chdir(os.path.dirname(os.path.abspath(__file__)) + "/../..")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def main():
    source = "".join(read(path) for path in sorted(glob.glob("src/**/*.[ch]", recursive=True)))
    ours = set(re.findall(r'"(RZ_[A-Z0-9_]+)["=]', source))
    said = set(re.findall(r"`(RZ_[A-Z0-9_]+)`", read("docs/environment.md")))
    faults = [f"docs/environment.md: {name} is missing" for name in sorted(ours - said)]
    faults += [f"docs/environment.md: nothing reads {name}" for name in sorted(said - ours)]
    if len(ours) < 30:
        faults.append("the source has hardly any variable: is it looked for in the right way?")
    sys.exit("\n".join(faults) if faults else 0)


main()
