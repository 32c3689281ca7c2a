# SPDX-License-Identifier: BSD-3-Clause
"""MPICH's own tests (test/mpi), by their lists: C and the three ways of Fortran."""
import os
import re
import shlex

from ..suite import Case, Expected, Suite

LEFT_OUT = {"cxx", "perf", "impls", "ft", "ckpoint", "manual"}  # C++ is gone from MPI; figures; what only MPICH has; not run by MPICH either
# Options of its mpiexec that have a counterpart here.
OPTIONS = {"-disable-auto-cleanup": ["--on-failure", "continue"]}
GOOD = re.compile(r"\s*(No [Ee]rrors|Test Passed|FORTRAN STOP.*|)\s*")


def no_errors(run):
    """As its runtests: `No Errors`, nothing else, and status 0."""
    bad = next((line.strip() for line in run.output.splitlines() if not GOOD.fullmatch(line)), "")
    if bad:
        return bad
    if not re.search(r"^\s*No [Ee]rrors\s*$", run.output, re.M):
        return f"no word of success, exit status {run.status}"
    return "" if run.status == 0 else f"exit status {run.status}"


def no_errors_any_status(run):
    """TestStatusNoErrors: success is said, and the exit status is not 0, for a test that ends its ranks."""
    if not re.search(r"^\s*No [Ee]rrors\s*$", run.output, re.M):
        return f"no word of success, exit status {run.status}"
    return "" if run.status != 0 else "exit status 0"


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
    name = " ".join([os.path.relpath(os.path.join(folder, program), root), str(ranks), *arguments, *options.get("env", [])])
    seen[name] = seen.get(name, 0) + 1
    if seen[name] > 1:
        return None  # the same line again
    launched = [word for value in options.get("mpiexecarg", []) for word in OPTIONS.get(value, shlex.split(value))]
    wrong = RESULTS.get(options.get("resultTest", [""])[0], no_errors)
    limit_s = float(options.get("timeLimit", ["180"])[0])
    return Case(name, base, [f"./{os.path.basename(program)}", *arguments], ranks, max(300.0, limit_s),
                dict(value.partition("=")[::2] for value in options.get("env", [])), launched, wrong,
                rewind="spawn" not in name and wrong is no_errors)


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
    return found


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
    expected=[])
