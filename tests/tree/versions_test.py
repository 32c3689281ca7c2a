#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""docs/versions.md names the versions of protocols, files and schemas that the source has, and the change log the version of the build."""
import glob
import os
import re
import sys

os.chdir(os.path.dirname(os.path.abspath(__file__)) + "/../..")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def main():
    page, faults = read("docs/versions.md"), []
    source = "".join(read(path) for path in sorted(glob.glob("src/**/*.[ch]", recursive=True)))
    numbers = dict(re.findall(r"(?m)^#define (RZ_\w+_VERSION) (\d+)u?$", source))
    for name, number in re.findall(r"`(RZ_\w+_VERSION)`: (\d+)", page):
        if numbers.get(name) != number:
            faults.append(f"docs/versions.md: {name} is {numbers.get(name)}, not {number}")
    for name in re.findall(r"(?m)^#define (RZ_\w+_VERSION) ", "".join(read(path) for path in glob.glob("src/wire/*.h"))):
        if f"`{name}`" not in page:
            faults.append(f"docs/versions.md: {name} is missing")
    schemas = set(re.findall(r"rhizome\.[a-z]+\.\d+", source))
    if (said := set(re.findall(r"rhizome\.[a-z]+\.\d+", page))) != schemas:
        faults.append(f"docs/versions.md: the schemas are {sorted(schemas)}, not {sorted(said)}")
    version = re.search(r"project\(rhizome VERSION ([\d.]+)", read("CMakeLists.txt"))[1]
    newest = re.search(r"(?m)^## (\S+) \(\d{4}-\d\d-\d\d\)$", read("CHANGELOG.md"))
    if not newest or newest[1] != version:
        faults.append(f"CHANGELOG.md: the first version is not {version}, which CMakeLists.txt says")
    sys.exit("\n".join(faults) if faults else 0)


main()
