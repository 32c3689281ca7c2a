#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# wrappers_test.sh BUILD: mpicc and its variants, in place, compile C and C++ without a warning.
set -eu
bin=$1/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat > "$work/program.c" <<'END'
#include <mpi.h>
#include <mpi-ext.h>
static int point(int argc, char **argv, OMPI_reinit_state_t state)
{
    (void)argc, (void)argv;
    return state == OMPI_REINIT_NEW ? 0 : 1;
}
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int error = MPIX_Reinit(argc, argv, point);
    MPI_Finalize();
    return error == MPI_ERR_PROC_FAILED;
}
END
cp "$work/program.c" "$work/program.cc"
"$bin/mpicc" -std=c99 -pedantic -Wall -Wextra -Wstrict-prototypes -Werror -c "$work/program.c" -o "$work/c.o"
"$bin/mpicc_abi" -std=c11 -Wall -Wextra -Werror -c "$work/program.c" -o "$work/c11.o"
"$bin/mpicxx" -std=c++11 -pedantic -Wall -Wextra -Werror -c "$work/program.cc" -o "$work/cc.o"
if command -v clang > /dev/null; then
    RZ_CC=clang "$bin/mpicc" -Wall -Wextra -Werror -c "$work/program.c" -o "$work/clang.o"
fi
"$bin/mpicc" -show program.c -o program | grep -q -- '-lmpi_abi$'
if "$bin/mpicc" -show -c program.c | grep -q -- ' -l'; then
    echo "mpicc -c must not link" >&2
    exit 1
fi
"$bin/mpicc" -showme:link | grep -q rpath
"$bin/mpicc" --version > "$work/version"
# An argument with a blank stays one argument.
"$bin/mpicc" "-DTEXT=\"a b\"" -c "$work/program.c" -o "$work/blank.o"
if [ -e "$1/lib/libmpi_abi.so" ]; then
    "$bin/mpicc" "$work/program.c" -o "$work/program"
    readelf -d "$work/program" | grep -q 'NEEDED.*libmpi_abi.so.1'
fi
