#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""arguments_rows.py FILE: the rows of the tests of argument errors that follow from the types.

From the prototypes of the ABI: every implemented function is called once for each thing that can
be wrong with one of its arguments by the argument's kind (a null, foreign or freed handle, a null
pointer, a negative count, a rank, root or tag out of bounds), all others being good.
What is wrong by meaning rather than by kind stands in tests/mpi/arguments_*.c.
"""

import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "abi"))

from abi_tables import Tables  # noqa: E402

# Type of handle -> member of struct good, error class, a handle of another kind.
HANDLES = {
    "MPI_Comm": ("comm", "MPI_ERR_COMM", "good.group"),
    "MPI_Group": ("group", "MPI_ERR_GROUP", "good.comm"),
    "MPI_Datatype": ("datatype", "MPI_ERR_TYPE", "MPI_COMM_SELF"),
    "MPI_Op": ("op", "MPI_ERR_OP", "good.datatype"),
    "MPI_Request": ("request", "MPI_ERR_REQUEST", "good.comm"),
    "MPI_Message": ("message", "MPI_ERR_REQUEST", "good.persistent"),
    "MPI_Info": ("info", "MPI_ERR_INFO", "MPI_INT"),
    "MPI_Session": ("session", "MPI_ERR_SESSION", "good.comm"),
    "MPI_Win": ("win", "MPI_ERR_WIN", "good.group"),
    "MPI_Errhandler": ("errhandler", "MPI_ERR_ERRHANDLER", "good.info"),
    "MPI_File": ("file", "MPI_ERR_FILE", "good.comm"),
    "RZ_Group_monitor": ("monitor", "MPI_ERR_ARG", "good.comm"),
}

# Functions that no row breaks: they cannot be called here, or end the program.
NEVER = {"MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Abort", "MPIX_Reinit",
         "MPI_Free_mem", "MPI_Pcontrol",
         "MPIX_Reinit_async", "RZ_Reinit_failed", "MPIX_Reinit_cleanup_push", "MPIX_Reinit_cleanup_pop"}

# Of pointers to functions and the like NULL means something, or nothing is looked at.
NULL_IS_FINE = {"argc", "argv", "status", "array_of_statuses", "extra_state", "base", "copy_fn",
                "delete_fn", "comm_copy_attr_fn", "comm_delete_attr_fn", "type_copy_attr_fn",
                "type_delete_attr_fn", "win_copy_attr_fn", "win_delete_attr_fn", "sourceweights", "destweights", "weights", "pset_name",
                # MPI_BOTTOM; arrays of which nothing is needed.
                "location", "read_conversion_fn", "write_conversion_fn", "array_of_addresses", "array_of_large_counts",
                # What stands there instead: MPI_ARGV_NULL, MPI_ARGVS_NULL, MPI_ERRCODES_IGNORE.
                "argv", "array_of_argv", "array_of_errcodes", "members"}

# Of MPI_Comm_spawn_multiple: a good value, and bad ones.
COMMANDS = {
    "array_of_commands": ('(char *[]){"key"}', [("NULL", "MPI_ERR_ARG"), ("(char *[]){NULL}", "MPI_ERR_ARG")]),
    "array_of_argv": ("NULL", []),
    "array_of_maxprocs": ("good.ones", [("NULL", "MPI_ERR_ARG"), ("good.negative", "MPI_ERR_ARG")]),
    "array_of_info": ("(MPI_Info[]){MPI_INFO_NULL}",
                      [("NULL", "MPI_ERR_ARG"), ("&gone.info", "MPI_ERR_INFO"),
                       ("(MPI_Info[]){(MPI_Info)MPI_INT}", "MPI_ERR_INFO")]),
}

FUNCTIONS = {
    "user_fn": "reduce_nothing", "query_fn": "query_nothing", "free_fn": "free_nothing",
    "cancel_fn": "cancel_nothing", "comm_errhandler_fn": "note_comm_error",
    "session_errhandler_fn": "note_session_error", "file_errhandler_fn": "note_file_error",
    "win_errhandler_fn": "note_win_error", "dtype_file_extent_fn": "extent_nothing",
    "read_conversion_fn": "NULL", "write_conversion_fn": "NULL", "test": "NULL", "function": "NULL",
}

GOOD_INTS = {
    "n": "1", "ndims": "2", "nnodes": "1", "maxdims": "2", "n_edges": "1", "partitions": "2", "length": "1", "split_type":
    "MPI_COMM_TYPE_SHARED", "order": "MPI_ORDER_C", "typeclass": "MPI_TYPECLASS_INTEGER",
    "comm_keyval": "good.comm_keyval", "keyval": "good.comm_keyval",
    "type_keyval": "good.type_keyval", "win_keyval": "good.win_keyval", "lock_type": "MPI_LOCK_SHARED",
    "assert": "0", "target_disp": "0", "target_rank": "0", "errorcode": "MPI_ERR_RANK", "errorclass": "MPI_ERR_RANK",
    "root": "0", "p": "6", "r": "4", "insize": "64", "outsize": "64", "extent": "8", "valuelen": "16",
}

# What a negative number is an error of; names that are not here may be negative.
NEGATIVE = {
    "count": "COUNT", "sendcount": "COUNT", "recvcount": "COUNT", "incount": "COUNT",
    "outcount": "COUNT", "blocklength": "ARG", "n": "ARG", "nnodes": "ARG", "size": "ARG",
    "insize": "ARG", "outsize": "ARG", "maxdims": "ARG", "maxindex": "ARG", "maxedges": "ARG",
    "maxneighbors": "ARG", "maxindegree": "ARG", "maxoutdegree": "ARG", "max_integers": "ARG",
    "max_addresses": "ARG", "max_datatypes": "ARG", "max_large_counts": "ARG", "indegree": "ARG",
    "outdegree": "ARG", "valuelen": "ARG", "color": "ARG", "direction": "DIMS", "ndims": "ARG",
    "num_to_ack": "ARG", "maxprocs": "ARG", "partitions": "ARG", "length": "ARG", "progress": "ARG", "v": "ARG", "disp_unit": "DISP",
    "origin_count": "COUNT", "target_count": "COUNT", "result_count": "COUNT",
}
# Arrays of handles.
ARRAYS = {"MPI_Datatype": "types", "MPI_Comm": "comms"}
RANKS = {"dest", "source", "rank", "local_leader", "remote_leader", "target_rank"}
TAGS = {"tag", "sendtag", "recvtag"}
KEYVALS = {"comm_keyval", "keyval", "type_keyval", "win_keyval"}
BUFFERS = {"buf", "buffer", "sendbuf", "recvbuf", "inbuf", "outbuf", "inoutbuf", "origin_addr", "result_addr"}
BUFFER_TYPES = {"datatype", "sendtype", "recvtype", "sendtypes", "recvtypes", "origin_datatype", "target_datatype",
                "result_datatype"}
COUNT_ARRAYS = {"sendcounts": "COUNT", "recvcounts": "COUNT", "array_of_blocklengths": "ARG"}
REQUESTS_MAY_BE_NULL = re.compile(r"MPI_(Wait|Test|Request_get_status|Parrived)")


def comm_of(name):
    """The good communicator of a function."""
    if re.match(r"MPI_(Cart(dim)?_(coords|rank|shift|sub|get)|I?neighbor_)", name, re.IGNORECASE):
        return "good.cart"
    if re.match(r"MPI_Graph(dims_get|_get|_neighbors)", name):
        return "good.graph"
    if name.startswith("MPI_Dist_graph_neighbors"):
        return "good.dist_graph"
    if re.match(r"MPI_(Intercomm_merge|Comm_remote)", name):
        return "good.inter"
    return "good.comm"


class Rows:
    """The rows of one function."""

    def __init__(self, tables, function):
        self.function = function
        self.name = function.name
        self.stem = re.sub(r"^(?:MPIX?|RZ)_", "", tables.plain_name(function.name))
        self.wide = function.name != tables.plain_name(function.name)
        self.roles = tables.binding(function).handles
        self.names = {p.name for p in function.parameters}
        self.used = {}

    def is_input(self, p):
        """Whether a handle by address is read."""
        return self.roles.get(p.name) in ("in", "inout", "free", "one", "list") or p.is_const

    # ---- good arguments ----

    def good(self, p):
        if p.name in COMMANDS:
            return COMMANDS[p.name][0]
        if p.base in HANDLES and "function" not in p.type:
            return self.good_handle(p)
        if p.name in FUNCTIONS:
            wide = "_c" if self.wide and p.name == "user_fn" else ""
            return FUNCTIONS[p.name] + wide
        if not p.is_pointer:
            return "0" if p.name in RANKS | TAGS else GOOD_INTS.get(p.name, "1")
        return self.good_pointer(p)

    def good_handle(self, p):
        member = HANDLES[p.base][0]
        if p.base == "MPI_Request" and p.array:
            return "good.requests"
        if p.array:
            items = ARRAYS[p.base]
            return f"good.{items}" if p.is_const else f"out.{items}"
        if p.is_pointer and not self.is_input(p):
            return f"&out.{member}"
        value = f"good.{member}"
        if p.base == "MPI_Comm":
            value = "MPI_COMM_WORLD" if p.name == "peer_comm" else comm_of(self.name)
        elif p.base == "MPI_Request":
            value = "good.persistent"
        elif p.base == "MPI_Datatype" and self.names & BUFFERS:
            value = "MPI_INT"  # NULL is MPI_BOTTOM to datatypes of the program
        elif p.name == "remote_group":
            value = "good.other_group"
        elif p.base == "MPI_Errhandler" and self.stem.startswith("Session"):
            value = "good.session_errhandler"
        elif p.base == "MPI_Win" and self.stem in ("Win_attach", "Win_detach"):
            value = "good.dynamic"
        elif p.base == "MPI_Errhandler" and self.stem.startswith("Win"):
            value = "good.win_errhandler"
        elif p.base == "MPI_Errhandler" and self.stem.startswith("File"):
            value = "good.file_errhandler"
        return ("&" if p.is_pointer else "") + value

    def good_pointer(self, p):
        if p.base == "MPI_Status":
            place = "good" if p.is_const or self.stem.startswith("Status_set") else "out"
            return f"{place}.statuses" if p.array or "array" in p.name else f"&{place}.status"
        if p.base == "RZ_Group_monitor_state":
            return "&out.state"
        if p.base == "char":
            if p.base == "char" and not p.is_const:
                return "NULL" if p.name == "argv" else "out.text"
            return '"external32"' if p.name == "datarep" else '"key"'
        if "void" in p.type:
            return self.good_void(p)
        if p.name == "ranges":
            return "good.ranges"
        if p.name in KEYVALS:
            read = "free" in self.name
            return f"&good.{'comm' if p.name == 'keyval' else p.name.split('_')[0]}_keyval" if read \
                else "&out.number"
        if p.array:
            return self.good_array(p)
        if p.name in ("pset_len", "buflen"):
            return "&out.length"
        kind = {"int": "number", "MPI_Count": "count", "MPI_Aint": "aint", "MPI_Offset": "count"}.get(p.base)
        if kind is None:
            return "NULL"
        n = self.used[kind] = self.used.get(kind, 0) + 1
        if p.name == "flag":
            return "&out.flag"
        return f"&out.{kind}{n if n > 1 else ''}"

    def good_array(self, p):
        if p.is_const or (p.name == "dims" and self.stem == "Dims_create"):
            zeros = re.search(r"displs|displacements|ranks|edges|sources|destinations|starts|coords",
                              p.name)
            if p.base == "int":
                return "good.zeros" if zeros else "good.ones"
            return {"MPI_Count": "good.wide_ones", "MPI_Aint": "good.wide_zeros"}[p.base]
        if p.base != "int":
            return "out.aints" if p.base == "MPI_Aint" else "(MPI_Count *)out.aints"
        n = self.used["numbers"] = self.used.get("numbers", 0) + 1
        return f"out.numbers{min(n, 3) if n > 1 else ''}"

    def good_void(self, p):
        if p.name in ("sendbuf", "inbuf", "location", "compare_addr", "base") or (p.is_const and p.name == "buf"):
            return "good.buffer"
        if p.name in ("baseptr", "buffer_addr") or (p.name == "attribute_val"
                                                    and "get" in self.name.lower()):
            return "&out.pointer"
        return "out.buffer" if p.name in BUFFERS else "NULL"

    # ---- bad ones: (argument, error class, name it goes by) ----

    def bad(self, p):
        if p.name in COMMANDS:
            return COMMANDS[p.name][1]
        if p.base in HANDLES and "function" not in p.type:
            return self.bad_handle(p)
        if p.is_pointer:
            return self.bad_pointer(p)
        return self.bad_number(p)

    def bad_handle(self, p):
        member, error, foreign = HANDLES[p.base]
        if p.array and not self.is_input(p):
            return [("NULL", "MPI_ERR_ARG")]
        if p.array:
            items = ARRAYS.get(p.base, "requests")
            return [("NULL", "MPI_ERR_ARG"), (f"good.bad_{items}", error)]
        if p.is_pointer and not self.is_input(p):
            return [("NULL", "MPI_ERR_ARG")]
        values = [f"({p.base}){foreign}", f"gone.{member}", f"({p.base})(uintptr_t)0xfff"]
        info_may_be_null = p.base == "MPI_Info" and not self.stem.startswith("Info_")
        request_may_be_null = p.base == "MPI_Request" and REQUESTS_MAY_BE_NULL.match(self.name)
        has_null_name = self.stem in ("Comm_get_name", "Type_get_name", "Win_get_name") or \
            re.fullmatch("File_(get|set|call)_errhandler", self.stem)
        if not (info_may_be_null or request_may_be_null or has_null_name) and self.roles.get(p.name) != "inout":
            values.append(f"null.{member}")
        if p.base == "MPI_Datatype" and p.name in BUFFER_TYPES and self.names & BUFFERS:
            values.append("good.uncommitted")
        if not p.is_pointer:
            return [(v, error) for v in values]
        return [("NULL", "MPI_ERR_ARG")] + [(f"&({p.base}){{{v}}}", error) for v in values]

    def bad_pointer(self, p):
        if p.name in COUNT_ARRAYS:
            wide = "" if p.base == "int" else "wide_"
            return [("NULL", "MPI_ERR_ARG"),
                    (f"good.{wide}negative", "MPI_ERR_" + COUNT_ARRAYS[p.name])]
        if p.name in BUFFERS and not (p.name == "result_addr" and "result_count" not in self.names):
            null = [("NULL", "MPI_ERR_BUFFER")]
            in_place = p.name not in ("sendbuf", "recvbuf") or \
                not re.search(r"(?i)gather|scatter|alltoall|reduce|scan", self.name)
            in_place = in_place or "eighbor" in self.name
            if "attach" in self.name or re.fullmatch("File_.*_end", self.stem):
                return []
            return null + ([("MPI_IN_PLACE", "MPI_ERR_BUFFER")] if in_place else [])
        if p.base == "MPI_Status" and not (p.is_const or self.stem.startswith("Status_")):
            return []
        if p.name == "attribute_val" and "get" not in self.name.lower():
            return []
        if p.name in NULL_IS_FINE and not (p.name == "pset_name" and p.is_const) \
                and p.base != "MPI_Status" and self.stem != "Topo_test":
            return []
        if p.name in KEYVALS and "free" in self.name:
            other = "comm" if p.name == "type_keyval" else "type"
            return [("NULL", "MPI_ERR_ARG"), ("&(int){MPI_KEYVAL_INVALID}", "MPI_ERR_KEYVAL"),
                    (f"&(int){{good.{other}_keyval}}", "MPI_ERR_KEYVAL")]
        return [("NULL", "MPI_ERR_ARG")]

    def bad_number(self, p):
        if self.stem.startswith("Status_"):
            return []
        if p.name in TAGS:
            receives = p.name == "recvtag" or (p.name == "tag" and "source" in self.names
                                               and "dest" not in self.names)
            return [("-5" if receives else "MPI_ANY_TAG", "MPI_ERR_TAG"),
                    ("0x40000000", "MPI_ERR_TAG")]
        if p.name == "rank" and "darray" in self.name:
            return [("-1", "MPI_ERR_ARG"), ("7", "MPI_ERR_ARG")]
        if p.name in RANKS:
            return [("-9", "MPI_ERR_RANK"), ("7", "MPI_ERR_RANK")]
        if p.name == "root":
            return [("-1", "MPI_ERR_ROOT"), ("1", "MPI_ERR_ROOT")]
        if p.name in KEYVALS:
            other = "comm" if p.name == "type_keyval" else "type"
            return [("MPI_KEYVAL_INVALID", "MPI_ERR_KEYVAL"),
                    (f"good.{other}_keyval", "MPI_ERR_KEYVAL")]
        if p.name in NEGATIVE and not (p.name == "count" and p.base == "MPI_Status"):
            dims = self.stem in ("Dims_create", "Cart_create", "Cart_map")
            sized = self.stem.startswith("Win_") and p.name == "size"
            return [("-3", "MPI_ERR_" + ("DIMS" if dims else "SIZE" if sized else NEGATIVE[p.name]))]
        return []

    # ---- the whole ----

    def text(self):
        arguments = [self.good(p) for p in self.function.parameters]
        out = []
        for i, p in enumerate(self.function.parameters):
            for value, error in self.bad(p):
                call = ", ".join(arguments[:i] + [value] + arguments[i + 1:])
                out.append(f'    ROW({error}, "{self.name}", "{p.name}",\n'
                           f"        {self.name}({call}));\n")
        return "".join(out)


def can_be_called(tables, f):
    return (tables.binding(f) is not None and f.interface != "MPI_T" and f.returns == "int"
            and f.name not in NEVER and not re.search(r"_(toint|fromint)$|_Abi_|_f2c|_c2f", f.name))


def source(tables):
    calls, out = [], ['/* Made by tests/mpi/arguments_rows.py. */\n#include <stdint.h>\n'
                      '#include <mpi-ext.h>\n#include "arguments.h"\n']
    for f in tables.functions + tables.extensions:
        text = Rows(tables, f).text() if can_be_called(tables, f) else ""
        if text:
            out.append(f"\nstatic void rows_of_{f.name}(void)\n{{\n{text}}}\n")
            calls.append(f"    rows_of_{f.name}();\n")
    out.append("\nvoid rows_made(void)\n{\n" + "".join(calls) + "}\n")
    return "".join(out)


def main():
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} FILE")
    Path(sys.argv[1]).write_text(source(Tables()), encoding="utf-8")


if __name__ == "__main__":
    main()
