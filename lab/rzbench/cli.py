# SPDX-License-Identifier: BSD-3-Clause
"""A command line from one table: parsing, --help, the manual page and completion, laid out as src/cli does it for the commands in C."""
import argparse
import re
import sys
from typing import Callable, NamedTuple, Optional

from .completion import SHELLS, completion

USAGE, UNWRITTEN = 2, 9  # exit status after a bad command line, and where standard output could not be written
WIDTH, INDENT = 96, 30


class Option(NamedTuple):
    names: str  # "-r, --repetitions"
    argument: Optional[str]  # None: it takes none
    help: str
    take: Callable = str  # the value; ArgumentTypeError: one clause that says what is wrong


COMMON = ("Other", [Option("-h, --help", None, "Print this text."), Option("-V, --version", None, "Print the version."),
                    Option("--man", None, "Print the manual page as man(7) source."),
                    Option("--completion", "bash|zsh", "Print what completes command lines in this shell.")])


class Out:
    """What is written to until that fails; the failure is kept."""

    def __init__(self, file):
        self.failure = None
        try:
            self.file = open(file, "wb", buffering=0, closefd=not isinstance(file, int))
        except OSError as failure:
            self.failure = failure

    def write(self, text):
        rest = memoryview(text.encode("utf-8", "surrogateescape"))
        try:
            while rest and not self.failure:
                rest = rest[self.file.write(rest):]
        except OSError as failure:
            self.failure = failure


class Cli(NamedTuple):
    name: str
    version: str
    summary: str
    synopsis: str
    description: str
    words: dict  # what the first word can be, and what that means
    groups: list  # (heading, options)
    epilogue: str

    def options(self):
        return [option for _, options in (*self.groups, COMMON) for option in options]

    def refuse(self, message):
        sys.stderr.write(f"{self.name}: {message} ({self.name} --help lists everything)\n")
        sys.exit(USAGE)

    def parse(self, words):
        """The values of all options by name, and in `words` what is none. --help and its like end here."""
        parser = argparse.ArgumentParser(self.name, add_help=False, allow_abbrev=False)
        parser.error = self.refuse
        parser.add_argument("words", nargs="*")
        for option in (option for _, options in self.groups for option in options):
            more = {"type": option.take, "metavar": option.argument} if option.argument else {"action": "store_true"}
            parser.add_argument(*option.names.split(", "), **more)
        pages = (lambda _: self.help(), lambda _: f"{self.name} (Rhizome) {self.version}\n", lambda _: self.manual(),
                 lambda shell: completion(self, shell))
        for option, page in zip(COMMON[1], pages):
            more = {"choices": SHELLS, "metavar": option.argument} if option.argument else {"nargs": 0}
            parser.add_argument(*option.names.split(", "), action=Page, const=(self, page), **more)
        return parser.parse_intermixed_args(words)

    def finish(self, out, status):
        """The exit status of a command whose standard output is `out`."""
        if out.failure:
            sys.stderr.write(f"{self.name}: standard output cannot be written: {out.failure.strerror}\n")
        return UNWRITTEN if out.failure else status

    def tables(self):
        """What --help and the manual page list: headings, and what is below each."""
        return ("What is measured", [Option(word, None, text) for word, text in self.words.items()]), *self.groups, COMMON

    def help(self):
        lines = [f"{self.name}: {self.summary}", "", f"usage: {self.name} {self.synopsis}", "", *wrapped(self.description, "", 0)]
        for heading, options in self.tables():
            lines += ["", heading]
            for names, argument, text, _ in options:
                first = f"  {names} {argument or ''}".rstrip()
                if len(first) >= INDENT - 1:
                    lines.append(first)
                    first = ""
                lines += wrapped(text, first.ljust(INDENT), INDENT)
        return "\n".join(lines) + f"\n\n{self.epilogue}\n"

    def manual(self):
        lines = [f".TH {self.name.upper()} 1 \"\" \"Rhizome {self.version}\"", ".SH NAME", f"{self.name} \\- {harmless(self.summary)}", ".SH SYNOPSIS",
                 f".B {self.name}", harmless(self.synopsis), ".SH DESCRIPTION", harmless(self.description), ".SH OPTIONS"]
        for heading, options in self.tables():
            lines.append(f".SS {harmless(heading)}")
            for names, argument, text, _ in options:
                lines += [".TP", f".B {harmless(f'{names} {argument}' if argument else names)}", harmless(text)]
        return "\n".join([*lines, ".SH NOTES", *notes(self.epilogue), ""])


class Page(argparse.Action):
    """Writes a page, and ends the command."""

    def __call__(self, _parser, _values, value, _name=None):
        (cli, page), out = self.const, Out(1)
        out.write(page(value))
        sys.exit(cli.finish(out, 0))


def wrapped(text, first, indent):
    """Lines of at most WIDTH columns; the first one begins with `first`, each other with blanks."""
    line, lines = first, []
    for word in text.split():
        if len(line) > indent and len(line) + 1 + len(word) > WIDTH:
            lines.append(line)
            line = " " * indent
        line += (" " if len(line) > indent else "") + word
    return [*lines, line]


def notes(text):
    """Paragraphs, which are filled; lines that begin with a blank are a table, and stay as they are."""
    lines, table, paragraph = [], False, False
    for line in text.split("\n"):
        if not line:
            paragraph = True
            continue
        if table != line.startswith(" "):
            table = not table
            lines.append(".nf" if table else ".fi")
        if paragraph:
            lines.append(".PP")
            paragraph = False
        lines.append(harmless(line))
    return lines + [".fi"] * table


def harmless(text):
    """Text in which man(7) sees neither requests nor escapes."""
    return re.sub(r"(?m)^(?=[.'])", r"\\&", text.replace("\\", "\\e").replace("-", "\\-"))


# ---- values as people write them

UNITS = {"h": 3600, "m": 60, "s": 1, "ms": 1e-3, "us": 1e-6}
DURATION = "".join(rf"(\d+(\.\d*)?{unit})?" for unit in UNITS)  # 300s, 10m, 1h30m: larger units first


def taking(why, pattern, turn=str, good=lambda value: True):
    """Takes text of that pattern, turned into its value, if that is good."""
    def take(text):
        value = turn(text) if re.fullmatch(pattern, text) else None
        if value is None or not good(value):
            raise argparse.ArgumentTypeError(why)
        return value
    return take


def seconds(text):
    return sum(float(count) * UNITS[unit] for count, unit in re.findall(r"([\d.]+)([a-z]+)", text))


def numbers(text):
    return [int(word) for word in text.split(",")]
