# SPDX-License-Identifier: BSD-3-Clause
"""What is read from the record that rzrun writes (--report), and from lines of programs."""
import os
import re

from .run import leading_number


def contents(path):
    """Of a file; empty where there is none."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def take(path):
    """Its contents; the file goes, so that the next run finds none."""
    text = contents(path)
    if os.path.exists(path):
        os.unlink(path)
    return text


def events(text):
    """(event, {name: value}) of each whole line `event=... name=value ...`."""
    for line in text.split("\n")[:-1]:
        if line.startswith("event="):
            fields = dict(re.findall(r"(\w+)=(\S*)", line))
            yield fields.pop("event"), fields


def of_last_recovery(record, name):
    """The number `name` of the last recovery; None: there is none."""
    last = ([fields for event, fields in events(record) if event == "recovery"] or [{}])[-1]
    return leading_number(last[name]) if name in last else None


def of_times(line, word):
    """The number behind word in "total 1.2 application 0.9 ..."; None: there is none."""
    words = (line or "").split()
    return leading_number(words[words.index(word) + 1]) if word in words[:-1] else None


def first_value(text, name):
    """The value behind the colon of the first line `name : value`."""
    found = re.search(rf"(?m)^{name}\s*: *(.*)$", text)
    return found.group(1) if found else ""


def dimensions(ranks):
    """Ranks along each axis of a box: factors as near to each other as they come."""
    n = [1, 1, 1]
    while ranks > 1:
        factor = next(i for i in range(2, ranks + 1) if ranks % i == 0)  # prime, for it is the least
        n[n.index(min(n))] *= factor
        ranks //= factor
    return n


def size_text(size):
    return next(f"{size >> bits} {unit}" for unit, bits in (("MiB", 20), ("KiB", 10), ("B", 0)) if size >= 1 << bits)
