# SPDX-License-Identifier: BSD-3-Clause
"""A program to save: an interpreter with generators, exceptions, regular expressions, imports, an open file."""
import collections
import hashlib
import importlib
import json
import random
import re
import sys

random.seed(7)
entries, out = collections.OrderedDict(), open("script.txt", "w", encoding="ascii")
MODULES = ("decimal", "fractions", "statistics", "difflib", "textwrap", "csv", "zlib", "bz2", "sqlite3")


def tree(n):
    return {"n": n, "k": [tree(n - 1) for _ in range(2)]} if n else random.random()


def numbers():
    while True:
        yield random.getrandbits(64)


source, digest = numbers(), hashlib.sha256()
for i in range(400):
    entries[next(source)] = tree(random.randrange(8))
    if len(entries) > 50:
        entries.popitem(last=False)
    text = json.dumps(list(entries.values())[-1])
    digest.update(re.sub(r"\d\.", "#", text).encode())
    out.write(text + "\n")
    try:
        raise ValueError(i)
    except ValueError as e:
        digest.update(str(e).encode())
    name = MODULES[i % len(MODULES)]
    try:
        sys.modules.pop(name, None)
        digest.update(importlib.import_module(name).__name__.encode())
    except ImportError:
        pass
    if i % 100 == 0:
        print(i, digest.hexdigest(), flush=True)
out.close()
with open("script.txt", encoding="ascii") as file:
    print("end", digest.hexdigest(), len(file.read()))
