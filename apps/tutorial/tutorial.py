#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""docs/tutorial.md and the programs in this folder: listings are the text of the files, outputs are what the programs print.

    tutorial.py check --build BUILD [STEP...]   all listings, and the runs of these steps (all): 1 if anything differs
    tutorial.py write --build BUILD             puts listings and outputs into the document

In the document a line `<!-- listing: FILE NAME -->` stands above a block with what stands in FILE between `/* [NAME] */` and
`/* [end] */`; a line `<!-- run: STEP -->` above a block of commands (`$ ...`), each followed by what it prints. Ranks print
in any order: their lines stand sorted. How many ranks still say that they are ended by an error, before they are, differs
from run to run: of what the library itself says, the rank does not count, nor how often it is said.
"""
import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../tests")
from patience import HANG_S  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = f"{HERE}/../../docs/tutorial.md"
BLOCK = re.compile(r"^<!-- (listing|run): (.*?) -->\n```(\w*)\n(.*?)^```$", re.M | re.S)


def listing(words):
    name, mark = words.split()
    with open(f"{HERE}/{name}") as file:
        found = re.findall(rf"^ */\* \[{mark}\] \*/\n(.*?)^ */\* \[end\] \*/$", file.read(), re.M | re.S)
    if len(found) != 1:
        sys.exit(f"{name} has {len(found)} parts [{mark}]")
    return textwrap.dedent(found[0])


def shell(line, build, folder):
    """What a command prints, error output first; `echo $?` is answered by the caller."""
    environment = dict(os.environ, PATH=f"{os.path.abspath(build)}/bin:{os.environ['PATH']}")
    environment.pop("RZ_RANK", None)
    try:
        done = subprocess.run(shlex.split(line), cwd=folder, env=environment, capture_output=True, text=True, errors="replace",
                              timeout=HANG_S)
    except subprocess.TimeoutExpired:
        sys.exit(f"{line}: it hung")
    return done.returncode, "".join(sorted(done.stderr.splitlines(True)) + sorted(done.stdout.splitlines(True)))


def run(block, build, folder):
    """The block with the present output of its commands."""
    text, status = "", 0
    for line in block.splitlines():
        if not line.startswith("$ "):
            continue
        text += line + "\n"
        if line == "$ echo $?":
            text += f"{status}\n"
        else:
            status, printed = shell(line[2:], build, folder)
            text += printed
    return text


def alike(block):
    """What must not differ."""
    lines = []
    for line in block.splitlines():
        if line.startswith("rhizome: "):
            line = re.sub(r"at rank \d+", "at rank N", line)
            if line in lines:
                continue
        lines.append(line)
    return lines


def wanted(kind, words, block, build, folder, steps):
    if kind == "listing":
        return listing(words)
    return run(block, build, folder) if not steps or words in steps else block


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("check", "write"))
    parser.add_argument("steps", nargs="*")
    parser.add_argument("--build", default="build")
    options = parser.parse_intermixed_args()
    with open(PAGE) as file:
        page = file.read()
    differs, blocks = [], BLOCK.findall(page)
    unknown = set(options.steps) - {words for kind, words, *_ in blocks if kind == "run"}
    if unknown or not blocks:
        sys.exit(f"the tutorial has no run of {', '.join(unknown)}")
    with tempfile.TemporaryDirectory(prefix="tutorial-") as folder:
        for name in os.listdir(HERE):
            os.symlink(f"{HERE}/{name}", f"{folder}/{name}")

        def fresh(match):
            kind, words, language, block = match.groups()
            now = wanted(kind, words, block, options.build, folder, options.steps)
            if alike(now) != alike(block):
                differs.append(f"{kind} {words}: the document says\n{block}and it is\n{now}")
            return f"<!-- {kind}: {words} -->\n```{language}\n{now}```"
        page = BLOCK.sub(fresh, page)
    if options.what == "write":
        with open(PAGE, "w") as file:
            file.write(page)
    else:
        print("".join(differs) + f"{len(blocks)} blocks, {len(differs)} differ")
    sys.exit(options.what == "check" and bool(differs))


main()
