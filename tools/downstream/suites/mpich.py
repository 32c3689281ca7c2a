# SPDX-License-Identifier: BSD-3-Clause
"""MPICH's own tests (test/mpi), by their lists: C and the three ways of Fortran."""
import os
import re
import shlex

from ..suite import Case, Expected, Suite

LEFT_OUT = {"cxx", "perf", "impls", "ckpoint", "manual"}  # C++ is gone from MPI; figures; what only MPICH has; not run by MPICH either
NOT_LISTED = ["ft"]  # programs of ULFM: the list of folders leaves them out, for MPICH expects most of them to fail
# Those that acknowledge or repair all failures: rzrun ends with 0 (docs/exit-status.md), MPICH's mpiexec with the status of the rank.
ACKNOWLEDGED = {"ft/agree", "ft/agree_shrink", "ft/anysource", "ft/revoke_shrink", "ft/shrink"}
# Options of its mpiexec that have a counterpart here.
OPTIONS = {"-disable-auto-cleanup": ["--on-failure", "continue"]}
GOOD = re.compile(r"\s*(No [Ee]rrors|Test Passed|FORTRAN STOP.*|)\s*")


def no_errors(run):
    """As its runtests: `No Errors`, nothing else, and status 0."""
    bad = next((line.strip() for line in run.output.splitlines() if not GOOD.fullmatch(line)), "")
    if bad:
        return bad
    return no_errors_acknowledged(run)


def unsaid(run):
    return "" if re.search(r"^\s*No [Ee]rrors\s*$", run.output, re.M) else f"no word of success, exit status {run.status}"


def no_errors_any_status(run):
    """TestStatusNoErrors: success is said, and the exit status is not 0, for a test that ends its ranks."""
    return unsaid(run) or ("" if run.status != 0 else "exit status 0")


def no_errors_acknowledged(run):
    """The same for a test whose ranks acknowledge that another one has ended: the exit status is 0."""
    return unsaid(run) or ("" if run.status == 0 else f"exit status {run.status}")


def must_fail(run):
    """TestStatus, TestErrFatal: the job ends with another status than 0."""
    return "" if run.status != 0 else "exit status 0"


RESULTS = {"TestStatusNoErrors": no_errors_any_status, "TestStatus": must_fail, "TestErrFatal": must_fail}


def list_of(folder):
    """testlist of the build, or that of the sources."""
    path = f"{folder}/testlist"
    if not os.path.isfile(path):
        return []
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = [re.sub(r"#.*", "", line).split() for line in file]
    return [words for words in lines if words]


def case_of(root, folder, words, seen):
    ranks = int(words[1]) if len(words) > 1 else 2
    options = {}
    for word in words[2:]:
        key, _, value = word.partition("=")
        options.setdefault(key, []).append(value)
    arguments = options.get("arg", [])
    program = words[0]
    base = os.path.normpath(os.path.join(folder, os.path.dirname(program)))
    path = os.path.relpath(os.path.join(folder, program), root)
    name = " ".join([path, str(ranks), *arguments, *options.get("env", [])])
    seen[name] = seen.get(name, 0) + 1
    if seen[name] > 1:
        return None  # the same line again
    launched = [word for value in options.get("mpiexecarg", []) for word in OPTIONS.get(value, shlex.split(value))]
    result = options.get("resultTest", [""])[0]
    wrong = no_errors_acknowledged if path in ACKNOWLEDGED else RESULTS.get(result, no_errors)
    limit_s = float(options.get("timeLimit", ["180"])[0])
    environment = dict(value.partition("=")[::2] for value in options.get("env", []))
    if limit_s < 180 and result == "TestErrFatal":  # its runtests sets it for all; here for the test that waits for the launcher to end it
        environment["MPIEXEC_TIMEOUT"] = str(int(limit_s))
    return Case(name, base, [f"./{os.path.basename(program)}", *arguments], ranks, max(300.0, limit_s),
                environment, launched, wrong,
                rewind=not re.search("spawn|^ft/", name) and wrong is no_errors)


def cases(root):
    found, seen = [], {}

    def walk(folder):
        for words in list_of(folder):
            inner = os.path.join(folder, words[0])
            if os.path.isdir(inner):
                if words[0] not in LEFT_OUT:
                    walk(inner)
            elif case := case_of(root, folder, words, seen):
                found.append(case)
    walk(root)
    for folder in NOT_LISTED:
        walk(os.path.join(root, folder))
    return found


REMOVED = "it uses {}, which MPI 3.0 removed (MPI 5.0: *Removed Interfaces*)"
EXTENSION = "it uses {}, an extension of MPICH"
POINTERS = "it takes handles for numbers ({}); handles of the standard ABI are pointers"
EXPECTED = [
    Expected("attr/attrerr(comm)? 1",
             "`MPI_Comm_dup` fails because a copy callback did, and the test wants `MPI_COMM_NULL`; its own comment: \"Another interpretation is to leave d2 "
             "unchanged on error\""),
    Expected("attr/attrerrtype 1|attr/keyval_double_free.*",
             "it sets the error handler of `MPI_COMM_WORLD` alone; an error that is related to no communicator, window, file or session is raised on "
             "`MPI_COMM_SELF` (MPI 5.0, 9.3, since MPI 4.0)"),
    Expected("coll/oplxor .*", "it applies `MPI_LXOR` to `MPI_FLOAT`; MPI 5.0, 6.9.2 has the logical operations for \"C integer, Logical\" alone"),
    Expected("coll/nonblocking[23] .*", POINTERS.format("`int *sendtypes`")),
    Expected("datatype/pack_external 1", POINTERS.format("as cases of a `switch`")),
    Expected("datatype/typename 1",
             "it wants another name for `MPI_C_COMPLEX` than for `MPI_C_FLOAT_COMPLEX`; MPI 5.0, 3.2.2: \"as a synonym\", one handle in the ABI"),
    Expected("datatype/(lbub_oldapi|typename_oldapi|struct_no_real_types|simple_size_extent_oldapi|indexed_misc_oldapi|transpose_pack_oldapi) 1",
             REMOVED.format("`MPI_LB`, `MPI_Type_extent` or `MPI_Type_ub`")),
    Expected("errhan/commcall_oldapi 2", REMOVED.format("`MPI_Errhandler_create`")),
    Expected("errhan/adderr 1", EXTENSION.format("`MPIX_Delete_error_class`, in MPI 4.1 `MPI_Remove_error_class`")),
    Expected("errors/comm/unmatched .*",
             "it wants an error of `MPI_Comm_free` where a message was never received, a check of MPICH since 4.1; MPI 5.0, 7.4.3 has none: \"Any pending "
             "operations that use this communicator will complete normally\""),
    Expected("errors/comm/too_many_i?comms.*",
             "it wants that 200,000 communicators cannot be there at a time, as in MPICH; here they can, and make the test last for minutes", sometimes=True),
    Expected("errors/coll/(.*length|noalias.*) .*",
             "it wants an error where counts do not fit, or buffers are the same; MPI 5.0, 9.3: an implementation \"cannot or may choose not to handle some "
             "errors that occur during MPI calls\"; a rank that expects one may wait for others that do not call", sometimes=True),
    Expected("mpi_t/qmpi_test .*", EXTENSION.format("`QMPI_Context`")),
    Expected("mpi_t/cvarwrite 1",
             "it writes \"an arbitrary value\" to each control variable, and takes no error; MPI 5.0, 15.3.6 allows `MPI_T_ERR_CVAR_SET_NOT_NOW`"),
    Expected("pt2pt/p?scancel(_unmatch|2)? 2",
             "it wants each `MPI_Cancel` of a send to succeed, which MPICH's own list does not expect (`xfail`); MPI 5.0, 3.8.4: \"either the cancellation "
             "succeeds, or the communication succeeds, but not both\""),
    Expected("part/nonblocking_pready 2",
             "it sends with `MPI_DATATYPE_NULL`; MPI 5.0, 2.5.1: \"A null handle argument is an erroneous IN argument in MPI calls, unless an exception is "
             "explicitly stated\""),
    Expected("rma/win_shared_noncontig_put 4",
             "it wants a null pointer for the segment of a rank that gave a size of 0; MPI 5.0, 12.2.3 says nothing of its address"),
    Expected("rma/win_info 4",
             "it wants `no_locks` to change once the window is there; MPI 5.0, 12.2.7: \"an implementation may ignore hints issued in this call that it would "
             "have accepted in a creation call\""),
    Expected("ft/(bcast|agree) 4 .*",
             "it sums its errors by an `MPI_Reduce` over all ranks, of which one has failed, and takes what is in the buffer for the sum though the call "
             "returned an error", sometimes=True),
    Expected("ft/revoke_shrink 4 .*",
             "it wants the sum over all ranks from an `MPI_Allreduce` that raised an error because one of them had failed, which MPICH's own list does not "
             "expect (`xfail`)"),
    Expected("pt2pt/sendself .*-type=.*", "its list names the program by a path of MPICH's own build folder"),
    Expected("pt2pt/sendflood 8", "700,000 round trips of eight ranks: minutes on two busy processors", sometimes=True),
]


SUITE = Suite(
    name="mpich", package="mpich", what="MPICH's test/mpi: C, mpif.h, mpi, mpi_f08", cases=lambda folder: cases(f"{folder}/test/mpi"),
    build="""
cd test/mpi
./configure --with-mpi="$MPI_ROOT" --enable-fortran=all --disable-cxx
make -k noinst_PROGRAMS= all || true
for list in $(find . -name testlist); do
    folder=$(dirname "$list")
    [ -f "$folder/Makefile" ] || continue
    make -k -C "$folder" $(sed 's/#.*//' "$list" | awk 'NF >= 1 && $1 !~ /\\// { print $1 }' | sort -u |
        while read -r name; do [ -d "$folder/$name" ] || echo "$name"; done) </dev/null || true
done
""",
    expected=EXPECTED)
