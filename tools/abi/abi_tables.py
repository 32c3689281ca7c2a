# SPDX-License-Identifier: BSD-3-Clause
"""The tables of the ABI, read once and understood once."""

import csv
import re
from pathlib import Path

TABLES = Path(__file__).resolve().parents[2] / "src" / "abi" / "tables"

# MPI handle type -> (struct of the implementation, kind, the ABI's null handle).
HANDLES = {
    "MPI_Comm": ("rz_comm", "comm", "MPI_COMM_NULL"),
    "MPI_Group": ("rz_group", "group", "MPI_GROUP_NULL"),
    "MPI_Datatype": ("rz_datatype", "datatype", "MPI_DATATYPE_NULL"),
    "MPI_Op": ("rz_op", "op", "MPI_OP_NULL"),
    "MPI_Request": ("rz_request", "request", "MPI_REQUEST_NULL"),
    "MPI_Message": ("rz_matched", "matched", "MPI_MESSAGE_NULL"),
    "MPI_Info": ("rz_info", "info", "MPI_INFO_NULL"),
    "MPI_Session": ("rz_session", "session", "MPI_SESSION_NULL"),
    "MPI_Win": ("rz_win", "win", "MPI_WIN_NULL"),
    "MPI_Errhandler": ("rz_errhandler", "errhandler", "MPI_ERRHANDLER_NULL"),
    "MPI_File": ("rz_file", "file", "MPI_FILE_NULL"),
    "RZ_Group_monitor": ("rz_monitor", "monitor", "RZ_GROUP_MONITOR_NULL"),
}



def _comments(name):
    """{function: its comment, a list of lines}: a name at the start of a line, its comment indented below."""
    comments, mine = {}, None
    for line in (TABLES / name).read_text(encoding="utf-8").split("\n"):
        if re.fullmatch(r"\w+", line):
            mine = comments[line] = []
        elif mine is not None:
            mine.append(line[4:])
    return {name: "\n".join(lines).strip().split("\n") for name, lines in comments.items()}


INTEGER_VALUES = {"int", "MPI_Count", "MPI_Aint", "MPI_Offset"}


def wrap(text, width, margin=""):
    """Break a prototype or call after commas; the rest of its arguments stand under the first."""
    if len(margin + text) <= width:
        return margin + text
    head, rest = text.split("(", 1)
    indent = " " * (len(margin) + len(head) + 1)
    lines = [margin + head + "("]
    parts = rest.split(", ")
    for i, part in enumerate(parts):
        piece = part + ("," if i + 1 < len(parts) else "")
        fresh = lines[-1].endswith("(") or lines[-1] == indent
        if not fresh and len(lines[-1]) + 1 + len(piece) > width:
            lines.append(indent)
            fresh = True
        lines[-1] += piece if fresh else " " + piece
    return "\n".join(lines)


def fold(text, width=100):
    """Break lines of generated C that are too long at blanks, with a hanging indent."""
    out = []
    for line in text.split("\n"):
        indent = " " * (len(line) - len(line.lstrip()) + 4)
        while len(line) > width:
            at = line.rfind(" ", len(indent), width)
            if at < 0:
                break
            out.append(line[:at])
            line = indent + line[at + 1:]
        out.append(line)
    return "\n".join(out)


class Parameter:
    """One parameter of a prototype: its base type, stars and arrays separated from its name."""

    def __init__(self, text):
        self.text = text
        match = re.fullmatch(r"(.*?)(\w+)((?:\[\d*\])*)", text)
        self.type = match.group(1).strip().replace("* *", "**")
        self.name = match.group(2)
        self.array = match.group(3)

    @property
    def shape(self):
        """The type as C reads it in a parameter list: an array is a pointer."""
        return self.type + ("[]" if self.array else "")

    @property
    def base(self):
        return self.type.replace("const", "").replace("*", "").strip()

    @property
    def is_pointer(self):
        return "*" in self.type or bool(self.array)

    @property
    def is_const(self):
        return self.type.startswith("const")


class Function:
    def __init__(self, row):
        self.name = row["name"]
        self.returns = row["return_type"]
        self.interface = row["interface"]
        self.is_large = row["large_count_variant"] == "yes"
        self.deprecated = row["status"]
        self.variadic = row["parameters"].endswith("...")
        parameters = [] if row["parameters"] == "void" else row["parameters"].split(", ")
        self.parameters = [Parameter(p) for p in parameters if p != "..."]

    @property
    def arguments(self):
        # As pointers, for compilers look into what is written as an array: MPI_UNWEIGHTED is none.
        names = [re.sub(r"(\w*weights)\[\]", r"*\1", p.text) for p in self.parameters]
        names += ["..."] if self.variadic else []
        return ", ".join(names) or "void"

    @property
    def twin(self):
        """The name of the profiling twin: MPI_Send -> PMPI_Send."""
        return "P" + self.name

    def prototype(self, name=None):
        return f"{self.returns} {name or self.name}({self.arguments})"


class Binding:
    """How a function reaches its implementation.

    when: running, before (MPI_Init), world (between MPI_Init and MPI_Finalize), life (at any time,
    one thread after the other), any, tool (MPI_T: at any time, and errors are results only), or
    direct (src/abi has it whole). handles: what becomes
    of a handle argument by address: in, inout (null, or of an object that the result replaces),
    free (nulled), one, list (of requests); without a word it is a result; large=told: the last argument of that says whether the large-count variant was
    called. call: how the implementation is called, where that does not follow from the name.
    """

    def __init__(self, row):
        self.when = row["when"]
        self.handles = dict(pair.split("=") for pair in row["handles"].split() if pair)
        self.call = row["call"]
        self.tells_large = self.handles.pop("large", None) == "told"

    def told(self, function):
        """What a call adds to the user's arguments."""
        return [str(function.is_large).lower()] if self.tells_large else []


def _rows(name):
    with open(TABLES / name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


class Tables:
    def __init__(self):
        self.constants = _rows("abi_constants.csv")
        self.functions = [Function(row) for row in _rows("abi_functions.csv")]
        self.extensions = [Function(row) for row in _rows("extensions.csv")]
        self.comments = _comments("extensions.txt")
        self.by_name = {f.name: f for f in self.functions + self.extensions}
        rows = _rows("bindings.csv")
        self.bindings = {row["function"]: Binding(row) for row in rows}
        assert len(self.bindings) == len(rows), "a function is bound twice"
        self.chapters = [(int(r["order"]), r["chapter"], re.compile(r["pattern"], re.IGNORECASE))
                         for r in _rows("chapters.csv")]
        unknown = set(self.bindings) - set(self.by_name)
        assert not unknown, f"bindings of functions that do not exist: {sorted(unknown)}"

    def binding(self, function):
        """The binding of a function; a large-count or _x variant shares that of its plain form."""
        found = self.bindings.get(function.name)
        return found or self.bindings.get(self.plain_name(function.name))

    def chapter(self, function):
        """(order, title) of the chapter that a function is told under: the first that matches."""
        name = re.sub(r"^(?:MPIX?|RZ)_", "", self.plain_name(function.name))
        return next((order, title) for order, title, pattern in self.chapters
                    if pattern.fullmatch(name))

    @staticmethod
    def plain_name(name):
        return re.sub(r"(?<=[a-z])_[cx]$", "", name)

    def stands_alone(self, name):
        """Whether a large-count variant has an implementation function of its own: a row without a call."""
        found = self.bindings.get(name)
        return found is not None and not found.call and name != self.plain_name(name)

    def impl_name(self, function):
        """MPI_Comm_dup -> rzm_comm_dup; variants share the implementation function, unless they stand alone."""
        name = function.name
        plain = name if self.stands_alone(name) else self.plain_name(name)
        return "rzm_" + re.sub(r"^(?:MPIX?|RZ)_", "", plain).lower()

    def impl_types(self, function):
        """How the implementation sees each parameter: a list of (kind, parameter), one for all variants.

        Kinds: comm, group, ... (a handle in), out:comm (a handle out), count, out:count,
        inout:monitor (a handle in and out), inout:count, counts, requests, plain.
        """
        alone = self.stands_alone(function.name)
        narrow = function if alone else self.by_name[self.plain_name(function.name)]
        wide = self.by_name.get(narrow.name + "_c") or self.by_name.get(narrow.name + "_x")
        wide = None if wide and self.stands_alone(wide.name) else wide
        roles = self.binding(narrow).handles
        kinds = []
        for i, p in enumerate(narrow.parameters):
            other = wide.parameters[i] if wide else p
            kinds.append((self._kind(p, other, roles.get(p.name)), function.parameters[i]))
        return kinds

    @staticmethod
    def _kind(p, other, role):
        if p.base in HANDLES and p.type != "MPI_User_function *":
            kind = HANDLES[p.base][1]
            if not p.is_pointer:
                return kind
            if role in ("one", "list"):
                return "requests"
            if role in ("in", "free"):
                return kind
            if role == "inout":
                return "inout:" + kind
            if p.array or role == "later":
                return "plain"
            return "out:" + kind
        if p.shape == other.shape:
            return "plain"
        if not p.is_pointer:
            return "count" if p.base in INTEGER_VALUES else "plain"
        if p.is_const or p.array:
            return "counts"
        if "function" in p.type:
            return "plain"
        return "inout:count" if p.name == "position" else "out:count"
