# SPDX-License-Identifier: BSD-3-Clause
"""Fortran: what a parameter of a C prototype is there, by rule; src/abi/tables/fortran.csv has the exceptions.

Both kinds of text are made from it: the C functions that a Fortran program calls (fortran_calls), and
mpif.h and the modules (abi_fortran_text).
"""

import csv
import re

from abi_tables import TABLES, Function, Parameter

# C handle -> the stem of its conversions, MPI_Comm_toint and MPI_Comm_fromint, and its null handle.
HANDLES = {
    "MPI_Comm": ("Comm", "MPI_COMM_NULL"), "MPI_Datatype": ("Type", "MPI_DATATYPE_NULL"),
    "MPI_Errhandler": ("Errhandler", "MPI_ERRHANDLER_NULL"), "MPI_File": ("File", "MPI_FILE_NULL"),
    "MPI_Group": ("Group", "MPI_GROUP_NULL"), "MPI_Info": ("Info", "MPI_INFO_NULL"),
    "MPI_Message": ("Message", "MPI_MESSAGE_NULL"), "MPI_Op": ("Op", "MPI_OP_NULL"),
    "MPI_Request": ("Request", "MPI_REQUEST_NULL"), "MPI_Session": ("Session", "MPI_SESSION_NULL"),
    "MPI_Win": ("Win", "MPI_WIN_NULL"),
}

# Types of this library: an address, which is an integer in Fortran, and what is the same in both languages.
OTHERS = {"RZ_Group_monitor": "monitor", "RZ_Group_monitor_state": "record"}

# Integers that are no default INTEGER.
KINDS = {"MPI_Aint": "MPI_ADDRESS_KIND", "MPI_Count": "MPI_COUNT_KIND",
         "MPI_Offset": "MPI_OFFSET_KIND", "size_t": "MPI_ADDRESS_KIND", "uint64_t": "MPI_COUNT_KIND"}

LOGICALS = {"flag", "reorder", "commute", "high", "periods", "remain_dims", "weighted"}

# Names of strings that a call gives: the most characters.
STRINGS = {
    "comm_name": "MPI_MAX_OBJECT_NAME", "type_name": "MPI_MAX_OBJECT_NAME",
    "win_name": "MPI_MAX_OBJECT_NAME", "string": "MPI_MAX_ERROR_STRING",
    "version": "MPI_MAX_LIBRARY_VERSION_STRING", "name": "MPI_MAX_PROCESSOR_NAME",
    "port_name": "MPI_MAX_PORT_NAME", "key": "MPI_MAX_INFO_KEY", "datarep": "MPI_MAX_DATAREP_STRING",
    "value": "MPI_MAX_INFO_VAL", "pset_name": "MPI_MAX_PSET_NAME_LEN",
}

# Handles by address that are read: those of calls that end or change an object. Others are results.
READ = re.compile(r"MPI_(\w+_(free|close|disconnect|finalize|commit)|Wait|Test|Start|Cancel|I?mrecv(_c)?)",
                  re.IGNORECASE)

# The lengths of arrays of handles, in order of precedence.
LENGTHS = ("incount", "count", "max_datatypes", "n")

# The results that are numbers of array items, which Fortran counts from 1.
INDICES = {"indx": r"MPI_(Waitany|Testany|Request_get_status_any)",
           "array_of_indices": r"MPI_(Waitsome|Testsome|Request_get_status_some)"}

# Procedures without a request that keep or need the address of a buffer: like those with one they take descriptors of buffers in mpi_f08.
KEEPS = re.compile(r"MPI_(Put|Get|(Get_)?accumulate|Fetch_and_op|Compare_and_swap|Win_(create|attach)|File_\w+_(begin|end)|Get_address|"
                   r"(\w+_)?(Buffer_attach|attach_buffer))(_c)?|RZ_Checkpoint_protect", re.IGNORECASE)

# Those of them that move one count of one datatype, which may be a derived one: the datatype can describe a section with gaps.
SECTIONS = re.compile(r"MPI_(I[bsr]?send|Irecv|Imrecv|[BSR]?send_init|Recv_init|Isendrecv(_replace)?|Ibcast|Bcast_init|"
                      r"R?(Put|Get|Accumulate|Get_accumulate)|File_i(read|write)\w*|File_\w+_begin)(_c)?", re.IGNORECASE)

# Those that look at the first element alone, or at the address alone.
FIRSTS = re.compile(r"MPI_(Fetch_and_op|Compare_and_swap|File_\w+_end|Get_address)(_c)?", re.IGNORECASE)

# The other ones with a request: how many blocks of each buffer they use, as expressions of C; a buffer that MPI ignores has none.
ROOT, LEAF = "rz_mpifort_is_root(c_comm, *root)", "rz_mpifort_is_leaf(c_comm, *root)"
PEERS, MEMBERS = "rz_mpifort_peers(c_comm)", "rz_mpifort_members(c_comm)"
IN_PLACE = "rz_mpifort_address(sendbuf->base_addr) == MPI_IN_PLACE"
AT_ROOT = f"{ROOT} ? {PEERS} : 0"
SOURCES, DESTINATIONS = (f"rz_mpifort_degree(c_comm, RZ_MPIFORT_{side})" for side in ("SOURCES", "DESTINATIONS"))
BLOCKS = [(re.compile(rf"MPI_I?({pattern})(_init)?(_c)?", re.IGNORECASE), blocks) for pattern, blocks in (
    ("allgatherv?", {"sendbuf": "1", "recvbuf": PEERS}), ("alltoall[vw]?", {"sendbuf": PEERS, "recvbuf": PEERS}),
    ("gatherv?", {"sendbuf": LEAF, "recvbuf": AT_ROOT}), ("scatterv?", {"sendbuf": AT_ROOT, "recvbuf": LEAF}),
    ("reduce", {"sendbuf": LEAF, "recvbuf": ROOT}), ("allreduce|scan|exscan", {"sendbuf": "1", "recvbuf": "1"}),
    # In place the receive buffer has the data of all members.
    ("reduce_scatter(_block)?", {"sendbuf": MEMBERS, "recvbuf": f"{IN_PLACE} ? {MEMBERS} : 1"}),
    ("neighbor_allgatherv?", {"sendbuf": "1", "recvbuf": SOURCES}), ("neighbor_alltoall[vw]?", {"sendbuf": DESTINATIONS, "recvbuf": SOURCES}),
    ("p(send|recv)", {"buf": "*partitions"}))]

# Count and datatype of a buffer.
COUNTED = {"buf": ("count", "datatype"), "buffer": ("count", "datatype"), "sendbuf": ("sendcount", "sendtype"),
           "recvbuf": ("recvcount", "recvtype"), "origin_addr": ("origin_count", "origin_datatype"),
           "result_addr": ("result_count", "result_datatype")}

WEIGHTS = {"weights", "sourceweights", "destweights"}

# The checkpoint calls are no part of a table: include/rhizome/checkpoint.h.
CHECKPOINTS = [
    ("RZ_Checkpoint_protect", "int id, void *memory, size_t bytes"),
    ("RZ_Checkpoint_protect_win", "int id, MPI_Win win"),
    ("RZ_Checkpoint_region_bytes", "int id, size_t *bytes"),
    ("RZ_Checkpoint", "uint64_t *generation"), ("RZ_Restore", "uint64_t *generation"),
    ("RZ_Progress_mark", "uint64_t iteration"), ("RZ_Alive", "void"),
]


class Exceptions:
    """src/abi/tables/fortran.csv: patterns of functions and parameters, and what holds for them."""

    def __init__(self):
        with open(TABLES / "fortran.csv", newline="", encoding="utf-8") as file:
            self.rows = [(re.compile(row["function"]), re.compile(row["parameter"]), row["rule"].split())
                         for row in csv.DictReader(file)]
        self.used = set()

    def of(self, function, parameter=""):
        rules = []
        for i, (f, p, rule) in enumerate(self.rows):
            if f.fullmatch(function) and p.fullmatch(parameter):
                self.used.add(i)
                rules += rule
        return rules


class Item:
    """One parameter as Fortran sees it.

    what: handle, handles, integer, integers, status, statuses, string, choice, pointer (an address as a result),
    procedure, attribute (an address by value, or a result), state (extra_state), monitor (an address, by value or not), record (a derived type).
    intent: in, out or inout.
    """

    def __init__(self, function, p, rules):
        self.name, self.base = p.name, p.base
        self.p = p
        self.logical = (p.name in LOGICALS and "integer" not in rules and p.base == "int")
        self.what = self.kind_of(p)
        if "pointer" in rules:
            self.what = "pointer"
        self.intent = next((r for r in rules if r in ("in", "out", "inout")), None) or self.intent_of(function, p)
        self.later = "later" in rules  # written after the call has returned
        self.one_based = bool(re.fullmatch(INDICES.get(p.name, "(?!)"), function.name))

    @staticmethod
    def kind_of(p):
        if "function" in p.type or p.type.endswith(("_point", "_handler", "_failed")):
            return "procedure"
        if p.base in HANDLES:
            return "handles" if p.array else "handle"
        if p.base in OTHERS:
            return OTHERS[p.base]
        if p.base == "MPI_Status":
            return "statuses" if p.array or p.name.startswith("array_of") else "status"
        if p.base == "char":
            return "string" if p.type.count("*") + p.array.count("[") < 2 else "strings"
        if p.base == "void":
            if p.name == "baseptr":
                return "pointer"
            return {"attribute_val": "attribute", "extra_state": "state"}.get(p.name, "choice")
        return "integers" if p.array else "integer"

    def intent_of(self, function, p):
        if not p.is_pointer or p.is_const or self.what in ("procedure", "state", "strings"):
            return "in"
        if self.what in ("handle", "handles") and READ.match(function.name):
            first = next(q for q in function.parameters if q.base in HANDLES and q.is_pointer)
            return "inout" if p is first else "out"
        if self.what == "choice":
            return "inout"
        return "out"


class Call:
    """One procedure of Fortran. way: generated, hand (src/mpifort has it) or function."""

    def __init__(self, function, exceptions):
        rules = exceptions.of(function.name)
        self.function = function
        self.name = function.name
        self.has_twin = self.name not in dict(CHECKPOINTS)  # PMPI_X beside MPI_X
        self.way = next((r for r in rules if r in ("hand", "function", "none")), "generated")
        self.items = []
        for p in function.parameters:
            its = exceptions.of(function.name, p.name)
            if "absent" not in its:
                self.items.append(Item(function, p, its))

    @property
    def symbol(self):
        return self.name.lower() + "_"

    @property
    def described(self):
        """The buffers of which mpi_f08 passes a descriptor: a copy made for the time of the call would not do."""
        request = self.item("request")
        keeps = KEEPS.fullmatch(self.name) or (request and request.intent == "out")
        return [i for i in self.items if i.what == "choice"] if keeps else []

    @property
    def section_way(self):
        """What becomes of a section with gaps: a datatype describes it; first: its first element is enough; blocks: a bounce buffer stands for
        it; or it is refused."""
        return ("datatype" if SECTIONS.fullmatch(self.name) else "first" if FIRSTS.fullmatch(self.name) else "blocks" if self.blocks else "refused")

    @property
    def blocks(self):
        return next((blocks for pattern, blocks in BLOCKS if pattern.fullmatch(self.name)), {}) if self.described and self.item("request") else {}

    @property
    def described_symbol(self):
        return self.name.lower() + "_described_"

    def item(self, name):
        return next((i for i in self.items if i.name == name), None)


def checkpoint_functions():
    rows = [{"name": name, "return_type": "int", "interface": "MPI", "large_count_variant": "",
             "status": "", "parameters": text} for name, text in CHECKPOINTS]
    return [Function(row) for row in rows]


def calls(tables):
    """All procedures: those of MPI, and those of the module rhizome."""
    exceptions = Exceptions()
    standard = [f for f in tables.functions if f.interface != "MPI_T" and
                not re.search(r"_(toint|fromint)$|_Abi_|MPI_(Conversion_fn|Info_null)", f.name)]
    mine = tables.extensions + checkpoint_functions()
    made = [[c for c in (Call(f, exceptions) for f in group) if c.way != "none"]
            for group in (standard, mine)]
    unused = [r for i, r in enumerate(exceptions.rows) if i not in exceptions.used]
    assert not unused, f"fortran.csv: rows for nothing: {[r[0].pattern for r in unused]}"
    return made


__all__ = ["calls", "Call", "Item", "HANDLES", "KINDS", "STRINGS", "LENGTHS", "WEIGHTS", "COUNTED", "IN_PLACE", "Parameter"]
