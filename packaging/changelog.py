#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the change log of a package from CHANGELOG.md, of which each `## VERSION (DATE)` is a version and each `* ` an entry.

    changelog.py debian|rpm MAINTAINER [REVISION]      REVISION: what follows the version, such as 1~deb12 (1)
"""
import datetime
import os
import re
import sys
import textwrap

SOURCE = os.path.dirname(os.path.abspath(__file__)) + "/.."


def versions():
    """(version, date, entries) of each version, the newest first."""
    with open(f"{SOURCE}/CHANGELOG.md", encoding="utf-8") as file:
        parts = re.split(r"(?m)^## +", file.read())[1:]
    for part in parts:
        head = re.match(r"(\d+\.\d+\.\d+) \((\d{4}-\d\d-\d\d)\)\n", part)
        if not head:
            sys.exit(f"CHANGELOG.md: a version is written as `## 1.2.3 (2026-01-31)`, not as {part.splitlines()[0]!r}")
        entries = [" ".join(entry.split()) for entry in re.split(r"(?m)^\* ", part[head.end():])[1:]]
        yield head[1], datetime.date.fromisoformat(head[2]), [re.sub(r"\[([^]]*)\]\([^)]*\)|[`*]", r"\1", e) for e in entries]


def main():
    kind, maintainer = sys.argv[1:3]
    revision = sys.argv[3] if len(sys.argv) > 3 else "1"
    for version, date, entries in versions():
        if kind == "debian":
            print(f"rhizome ({version}-{revision}) unstable; urgency=medium\n")
            for entry in entries:
                print(textwrap.fill(entry, 78, initial_indent="  * ", subsequent_indent="    ", break_on_hyphens=False))
            print(f"\n -- {maintainer}  {date:%a, %d %b %Y} 00:00:00 +0000\n")
        else:
            print(f"* {date:%a %b %d %Y} {maintainer} - {version}-{revision}")
            for entry in entries:
                print(textwrap.fill(entry.replace("%", "%%"), 78, initial_indent="- ", subsequent_indent="  "))
            print()


main()
