# SPDX-License-Identifier: BSD-3-Clause
"""ROMIO's tests of files (in the sources of MPICH)."""
import re

from ..suite import Case, Expected, Suite

# Ranks and arguments as its own runtests has them; F stands for the file.
TESTS = {
    "simple": (4, "-fname F"), "async": (4, "-fname F"), "async-multiple": (4, "-fname F"), "atomicity": (4, "-fname F"), "coll_test": (4, "-fname F"),
    "excl": (4, "-fname F"), "creat_excl": (4, "-fname F"), "file_info": (4, "-fname F"), "i_noncontig": (2, "-fname F"), "noncontig": (2, "-fname F"),
    "noncontig_coll": (2, "-fname F"), "noncontig_coll2": (4, "-fname F"), "aggregation1": (4, "-h -f F"), "aggregation2": (4, "F"),
    "hindexed": (4, "F"), "misc": (4, "-fname F"), "large_file": (1, "-fname F"), "shared_fp": (4, "-fname F"), "ordered_fp": (4, "-fname F"),
    "split_coll": (4, "-fname F"), "psimple": (4, "-fname F"), "error": (1, "-fname F"), "status": (1, "-fname F"), "types_with_zeros": (2, "F"),
    "darray_read": (4, "F"), "big_extents": (4, "F"), "coll_perf": (4, "-fname F"), "perf": (4, "-fname F"), "large_array": (4, "-fname F"),
    "external32": (1, "F")}
SPEAK = {"coll_perf", "perf", "large_array", "external32", "large_file"}  # they print other things than success
NEED_SPACE = {"large_array", "coll_perf"}  # files of many gigabytes


def wrong_of(name):
    def wrong(run):
        if run.status != 0:
            return f"exit status {run.status}"
        if re.search(r"[1-9]\d* errors|[Ee]rror:", run.output):
            return re.search(r".*([1-9]\d* errors|[Ee]rror:).*", run.output).group(0)
        return "" if name in SPEAK or re.search(r"No [Ee]rrors", run.output) else "no word of success"
    return wrong


def cases(folder):
    tests = f"{folder}/src/mpi/romio/test"
    for name, (ranks, words) in TESTS.items():
        if name not in NEED_SPACE:
            file = f"rz-file-{name}"
            yield Case(name, tests, [f"./{name}", *(file if word == "F" else word for word in words.split())], ranks, wrong=wrong_of(name))


SUITE = Suite(
    name="romio", package="mpich", what="ROMIO's tests of files", cases=lambda folder: list(cases(folder)),
    expected=[Expected("error", "its source: \"This test is designed for ROMIO specifically and tests for a specific error message\": it wants the word "
                       "*displacement*, and ours says `disp`"),
              Expected("async|i_noncontig", "it uses `MPIO_Request`, a type of ROMIO that MPI has never had"),
              Expected("noncontig|noncontig_coll|noncontig_coll2", "it uses `MPI_LB`, which MPI 3.0 removed (MPI 5.0, 17.1: *Removed Interfaces*)")],
    build="""
cd src/mpi/romio/test
for name in misc large_file; do sed 's/@LL@/%lld/g; s/%%lld/%lld/g' $name.c.in >$name.c; done
for source in *.c; do mpicc $CFLAGS -w -o "${source%.c}" "$source" -lm || true; done
""")
