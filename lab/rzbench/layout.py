# SPDX-License-Identifier: BSD-3-Clause
"""How a report is kept short: a table without the columns that say the same in all rows, and commands without what was already told."""
import re

LONG = 4  # so many words are worth a number, or three dots
COUNT = re.compile(r"(?<= -n )\d+|(?<=--nodes )\d+")  # what differs from table to table, and stands in their titles
EXPLAINED = ("In commands `...` stands for the last words of the first one, and (1), (2) for the words that followed it above; with other numbers of "
             "ranks and nodes they are the same.")


def line_of(cells):
    return "| " + " | ".join(cells) + " |"


def grid(title, heads, rows):
    """A table of text, the last column being n, the number of repetitions. A column that is the same in all rows goes above it, n into the title."""
    same = [i for i in range(1, len(heads)) if len({row[i] for row in rows}) == 1 and (len(rows) > 1 or heads[i] == "n")]
    same = same if len(same) < len(heads) - 1 else same[-1:]
    n = len(heads) - 1 if heads[-1] == "n" else None
    told = "; ".join(f"{heads[i]}: {rows[0][i]}" for i in same if i != n)
    kept = [i for i in range(len(heads)) if i not in same]
    lines = ["", f"### {title}" + (f" (n = {rows[0][n]})" if n in same else ""), ""] + ([f"In all rows: {told}.", ""] if told else [])
    lines += [line_of([heads[i] for i in kept]), "|" + "---|" * len(kept), *(line_of([row[i] for i in kept]) for row in rows)]
    return "\n".join(lines) + "\n"


class Commands:
    """What a report has told of commands."""

    def __init__(self):
        self.told, self.launchers, self.explained = set(), [], False

    def launched(self, words):
        """The words in front of `-n`, by their number where they are many and were told."""
        end = words.index("-n") if "-n" in words else 0
        if end < LONG:
            return words
        known = tuple(words[:end])
        if known in self.launchers:
            return [f"({self.launchers.index(known) + 1})", *words[end:]]
        self.launchers.append(known)
        return [f"({len(self.launchers)})", *words]

    def lines(self, commands):
        """commands: each the words of one, as a reader can type them; none that was told with other numbers of ranks."""
        out, first = [], None
        for words in commands:
            first = first or words
            sign = COUNT.sub("N", " ".join(words))
            if sign in self.told:
                continue
            self.told.add(sign)
            common = 0
            while words is not first and common < min(len(words), len(first)) - 1 and words[-1 - common] == first[-1 - common]:
                common += 1
            out.append(self.launched([*words[:len(words) - common], "..."] if common >= LONG else words))
        text = "".join(f"    {' '.join(words)}\n" for words in out)
        if not text:
            return ""
        explain = not self.explained and re.search(r"^    \(|\.\.\.$", text, re.M)
        self.explained |= bool(explain)
        return f"\n{EXPLAINED}\n\n{text}" if explain else f"\n{text}"
