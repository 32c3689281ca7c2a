#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a forge and editors read: each component has owners, and each path there exists; the workflow runs .ci/run alone; .editorconfig says what
.clang-format says. forge_test.py SOURCE"""
import configparser
import os
import re
import sys

SOURCE = sys.argv[1]
wrong = []


def text_of(name):
    with open(f"{SOURCE}/{name}", encoding="utf-8") as file:
        return file.read()


lines = [line.split() for line in text_of(".github/CODEOWNERS").splitlines() if line and not line.startswith("#")]
paths = [words[0] for words in lines]
wrong += [f"CODEOWNERS: {' '.join(words)}: a path and an owner" for words in lines if len(words) != 2 or not words[1].startswith("@")]
wrong += [f"CODEOWNERS: {path} does not exist" for path in paths if path != "*" and not os.path.isdir(SOURCE + path)]
wrong += [f"CODEOWNERS: nobody owns src/{name}" for name in os.listdir(f"{SOURCE}/src")
          if os.path.isdir(f"{SOURCE}/src/{name}") and f"/src/{name}/" not in paths]

runs = re.findall(r"^ *- run: (.*)$", text_of(".github/workflows/check.yml"), re.MULTILINE)
wrong += [] if runs and runs[-1] == ".ci/run" and "make" not in runs else [f"check.yml runs {runs}"]

editor = configparser.ConfigParser()
editor.read_string("[top]\n" + text_of(".editorconfig"))
for name, value in (("IndentWidth", editor["*"]["indent_size"]), ("ColumnLimit", editor["*.{c,h}"]["max_line_length"])):
    if not re.search(rf"^{name}: *{value}$", text_of(".clang-format"), re.MULTILINE):
        wrong.append(f".editorconfig: {value} is not the {name} of .clang-format")
print("\n".join(wrong))
sys.exit(bool(wrong))
