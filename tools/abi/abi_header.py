# SPDX-License-Identifier: BSD-3-Clause
"""mpi.h and mpi-ext.h."""

import textwrap
from itertools import groupby

from abi_tables import wrap

MPI_HEAD = """\
/*
 * The MPI 5.0 standard ABI. Binaries built with any header of this ABI run with this library.
 *
 * At the end stand names that programs expect beside the ABI: those of Fortran's handles
 * (rhizome/f2c.h) and of ULFM (mpi-ext.h). Define RZ_STRICT_ABI to have the ABI alone.
 */
#ifndef MPI_H_ABI
#define MPI_H_ABI

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

"""

# The ABI has no values for these: programs written for ULFM use them with mpi.h alone. The values are those of MPICH (MPIX_).
ULFM_CLASSES = {
    "MPI_ERR_PROC_FAILED": 101,
    "MPI_ERR_PROC_FAILED_PENDING": 102,
    "MPI_ERR_REVOKED": 103,
}
ULFM_TITLE = "/* Fault tolerance (ULFM): not of the ABI; the values of MPICH, below MPI_ERR_LASTCODE. */\n"

CLOSE = """\
#ifdef __cplusplus
}
#endif

"""
TAIL = CLOSE + "#endif\n"

# After all of mpi.h, as both of them include it.
EXPECTED = """\
#ifndef RZ_STRICT_ABI
#include <mpi-ext.h>
#include <rhizome/f2c.h>
#endif

"""

EXTENSION_HEAD = """\
/*
 * What Rhizome offers beside MPI 5.0: global restart, user-level failure mitigation (ULFM) under
 * the MPIX_ names that Open MPI and MPICH use. What no other library has begins with RZ_: repaired
 * communicators, incarnations, and dynamic groups of recommended processes.
 */
#ifndef RHIZOME_MPI_EXT_H
#define RHIZOME_MPI_EXT_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RHIZOME 1

/* What programs for ULFM in Open MPI ask before they use it. */
#define OMPI_HAVE_MPI_EXT 1
#define OMPI_HAVE_MPI_EXT_FTMPI 1
#define OMPI_HAVE_MPIX_COMM_GET_FAILED 1
#define OMPI_HAVE_MPIX_COMM_ACK_FAILED 1
#define OMPI_HAVE_MPIX_COMM_IAGREE 1
#define OMPI_HAVE_MPIX_COMM_ISHRINK 1

/* The same for mpi4py, which asks the names above of Open MPI alone. */
#define PyMPI_HAVE_MPIX_ERR_REVOKED 1
#define PyMPI_HAVE_MPIX_ERR_PROC_FAILED 1
#define PyMPI_HAVE_MPIX_ERR_PROC_FAILED_PENDING 1
#define PyMPI_HAVE_MPIX_Comm_revoke 1
#define PyMPI_HAVE_MPIX_Comm_is_revoked 1
#define PyMPI_HAVE_MPIX_Comm_get_failed 1
#define PyMPI_HAVE_MPIX_Comm_ack_failed 1
#define PyMPI_HAVE_MPIX_Comm_agree 1
#define PyMPI_HAVE_MPIX_Comm_iagree 1
#define PyMPI_HAVE_MPIX_Comm_shrink 1
#define PyMPI_HAVE_MPIX_Comm_ishrink 1

/* Numbers, not the names of mpi.h: programs define those names as these ones. */
@ULFM@
/* Attribute of communicators: an int, whether a failure is an error of calls and not the end. */
#define MPIX_FT 599
#define MPI_FT 599

/* How this process came to its restart point. */
typedef enum MPIX_Reinit_state_t {
    MPIX_REINIT_NEW = 1,      /* for the first time */
    MPIX_REINIT_REINITED = 2, /* again: it survived a failure and was rolled back */
    MPIX_REINIT_RESTARTED = 3 /* as a new process in the place of one that failed */
} MPIX_Reinit_state_t;

/* The main loop of a program that recovers by global restart; MPIX_Reinit returns its result. */
typedef int (*MPIX_Restart_point)(int argc, char **argv, MPIX_Reinit_state_t state);

/*
 * The same, told which processes failed: the ranks in MPI_COMM_WORLD of the processes that were started again
 * since the restart point was entered before, ascending. The array is the library's, until the
 * restart point is entered again.
 */
typedef int (*RZ_Restart_point_failed)(int argc, char **argv, MPIX_Reinit_state_t state,
                                       int num_failed, int *failed);

/* What a roll-back runs before it goes to the restart point; must not communicate. */
typedef void (*MPIX_Cleanup_handler)(MPIX_Reinit_state_t state, void *arg);

/* What processes that test one another know: a dynamic group of those that answer in time. */
typedef struct RZ_ABI_Group_monitor *RZ_Group_monitor;
#define RZ_GROUP_MONITOR_NULL ((RZ_Group_monitor)0)

/*
 * The communicator that RZ_Group_monitor_round gives is the monitor's: it ends at the next round,
 * and with the monitor. MPI_Comm_free and MPI_Comm_disconnect of it are MPI_ERR_COMM. Its error
 * handler is MPI_ERRORS_RETURN until the program sets another one.
 *
 * members of RZ_Group_monitor_get_round may be NULL where only number and size are asked for.
 */

/* Why a process is in the group, or is not. */
#define RZ_GROUP_RECOMMENDED 1 /* in: it answers in time */
#define RZ_GROUP_SLOW 2        /* out: it does not */
#define RZ_GROUP_FAILED 3        /* out: it has failed */
#define RZ_GROUP_COOLING 4     /* out, but it answers in time again */

/* What is known of a process here. */
typedef struct RZ_Group_monitor_state {
    int why;          /* RZ_GROUP_RECOMMENDED and so on */
    int passed;       /* tests in a row that it has answered in time since it is out */
    MPI_Count events; /* how often it fell out or came back */
    double test_time; /* seconds that its last test took; NAN: none was answered */
    double threshold; /* seconds that its next test may take; NAN: not tested by this process */
} RZ_Group_monitor_state;

/* What a process does when it is tested, in a thread of the library, without MPI; returns 0. */
typedef int (*RZ_Group_monitor_test_function)(void *extra_state);

/* Told in an MPI call that `rank` is now this: RZ_GROUP_RECOMMENDED and so on. */
typedef void (*RZ_Group_monitor_change_function)(int rank, int why, void *extra_state);

/* The spelling of the first implementation. */
#define OMPI_REINIT_NEW MPIX_REINIT_NEW
#define OMPI_REINIT_REINITED MPIX_REINIT_REINITED
#define OMPI_REINIT_RESTARTED MPIX_REINIT_RESTARTED
#define OMPI_reinit_state_t MPIX_Reinit_state_t
#define OMPI_Reinit_state MPIX_Reinit_state

"""

# A later version of that implementation tells the restart point which processes failed: both forms are taken.
REINIT_FORMS = """\
/*
 * OMPI_Reinit takes a restart point of either form: MPIX_Restart_point or RZ_Restart_point_failed,
 * which later versions of the first implementation have.
 */
#ifdef __cplusplus
extern "C++" {
inline int OMPI_Reinit(int argc, char **argv, MPIX_Restart_point point)
{
    return MPIX_Reinit(argc, argv, point);
}

inline int OMPI_Reinit(int argc, char **argv, RZ_Restart_point_failed point)
{
    return RZ_Reinit_failed(argc, argv, point);
}
}
#elif defined(__GNUC__) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L)
#ifdef __GNUC__ /* also in C99, without a word */
#define RZ_GENERIC __extension__ _Generic
#else
#define RZ_GENERIC _Generic
#endif
#define OMPI_Reinit(argc, argv, point)                                                             \\
    RZ_GENERIC((point), RZ_Restart_point_failed: RZ_Reinit_failed, default: MPIX_Reinit)(          \\
        argc, argv, point)
#else
#define OMPI_Reinit MPIX_Reinit
#endif

"""

INTEGER_KINDS = ("error_class", "string_size", "version", "int:")
POINTER_KINDS = ("handle:", "pointer:")
# Constants of these prefixes make up an enumeration type of that name.
ENUMS = {"MPI_T_CB_REQUIRE_": "MPI_T_cb_safety", "MPI_T_SOURCE_": "MPI_T_source_order"}


def _enum_of(name):
    return next((enum for prefix, enum in ENUMS.items() if name.startswith(prefix)), None)


def integer_constants(tables):
    """(name, value) of every constant that is an integer."""
    for row in tables.constants:
        if row["kind"].startswith(INTEGER_KINDS):
            yield row["name"], row["value"]


def pointer_constants(tables):
    """(name, C type, value) of every constant that is a handle or an address."""
    for row in tables.constants:
        kind = row["kind"]
        if kind.startswith(POINTER_KINDS):
            ctype = kind.split(":")[1].replace("(alias)", "")
            yield row["name"], ctype.replace("*", " *", 1), row["value"]


def _types(tables):
    out = []
    for row in tables.constants:
        name, kind, value = row["name"], row["kind"], row["value"]
        if kind == "typedef" and name != "MPI_Fint":
            out.append(f"typedef {value} {name};\n")
        elif kind == "handle_type":
            struct = value.split("*")[0].strip()
            out.append(f"typedef {struct} *{name};\n")
        elif kind == "struct" and value.startswith("{"):
            fields = [field.strip() for field in value.strip("{}").split(";")]
            fields = "".join(f"    {field};\n" for field in fields if field)
            out.append(f"\ntypedef struct {name} {{\n{fields}}} {name};\n\n")
    for prefix, enum in ENUMS.items():
        members = [(n, v) for n, v in integer_constants(tables) if n.startswith(prefix)]
        body = ",\n".join(f"    {n} = {v}" for n, v in members)
        out.append(f"\ntypedef enum {enum} {{\n{body}\n}} {enum};\n")
    out.append("\n")
    for row in tables.constants:
        if row["kind"] == "callback_typedef":
            returns, arguments = row["value"].split(" (", 1)
            out.append(wrap(f"typedef {returns} {row['name']}({arguments};", 100) + "\n")
        elif row["kind"] == "callback_typedef_alias":
            out.append(f"typedef {row['value']} {row['name']};\n")
    return "".join(out) + "\n"


def _value(row):
    kind = row["kind"]
    if kind.startswith(POINTER_KINDS):
        ctype = kind.split(":")[1].replace("(alias)", "").replace("*", " *", 1)
        return f"(({ctype}){row['value']})"
    if kind == "int:MPI_Offset":
        return f"((MPI_Offset){row['value']})"
    return f"({row['value']})" if row["value"].startswith("-") else row["value"]


def _group(row):
    return row["kind"].replace("(alias)", "").split(":")[-1].rstrip("*").replace("_", " ")


def _constants(tables):
    wanted = [row for row in tables.constants
              if row["kind"].startswith(INTEGER_KINDS + POINTER_KINDS)]
    out = []
    for title, rows in groupby((row for row in wanted if not _enum_of(row["name"])), _group):
        out.append(f"/* {title} */\n")
        out += [f"#define {row['name']} {_value(row)}\n" for row in rows]
        out.append("\n")
    return "".join(out)


def _comment(lines):
    """A comment of documentation, of at most 100 columns; a paragraph that begins with @ hangs."""
    text, out = "", []
    for line in [*lines, ""]:
        if text and (not line.strip() or line.startswith("@")):
            hang = "  " if text.startswith("@") else ""
            out += textwrap.wrap(text, 96, subsequent_indent=hang, break_on_hyphens=False)
            text = ""
        if line.strip():
            text = f"{text} {line.strip()}".strip()
        else:
            out.append("")
    return "/**\n" + "".join(f" * {line}".rstrip() + "\n" for line in out[:-1]) + " */\n"


def _prototypes(functions, comments=None):
    """With comments, {function: lines}: a blank line between two functions."""
    said = comments or {}
    plain = ("\n\n" if comments else "\n").join((_comment(said[f.name]) if f.name in said else "") + wrap(f.prototype() + ";", 100) for f in functions)
    twins = "".join(wrap(f.prototype(f.twin) + ";", 100) + "\n" for f in functions)
    return f"{plain}\n\n/* The same for tools that stand between program and library. */\n{twins}\n"


def mpi(tables):
    ulfm = ULFM_TITLE + "".join(f"#define {n} {v}\n" for n, v in ULFM_CLASSES.items()) + "\n"
    return (MPI_HEAD + _types(tables) + _constants(tables) + ulfm
            + _prototypes(tables.functions) + CLOSE + EXPECTED + "#endif\n")


def mpi_ext(tables):
    ulfm = "".join(f"#define {n.replace('MPI_', 'MPIX_')} {v}\n" for n, v in ULFM_CLASSES.items())
    return EXTENSION_HEAD.replace("@ULFM@\n", ulfm + "\n") + _prototypes(tables.extensions, tables.comments) + REINIT_FORMS + TAIL
