#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# headers_test.sh BUILD: what programs in the field do with mpi.h and mpi-ext.h compiles in C and C++ without a warning.
set -eu
bin=$1/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Names that programs for ULFM give their own functions, after the tutorial of its authors.
cat > "$work/names.c" <<'END'
#include <mpi.h>
#include <mpi-ext.h>
static int MPIX_Comm_replace(MPI_Comm comm, MPI_Comm *newcomm)
{
    return MPIX_Comm_shrink(comm, newcomm);
}
static int MPIX_Comm_spawn_replace(MPI_Comm comm) { return comm == MPI_COMM_NULL; }
static int app_needs_repair(MPI_Comm comm) { return MPIX_Comm_spawn_replace(comm); }
static void verbose_errhandler(MPI_Comm *comm, int *error, ...) { (void)comm, (void)error; }
int main(void)
{
    MPI_Errhandler handler;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_create_errhandler(verbose_errhandler, &handler);
    return MPIX_Comm_replace(MPI_COMM_WORLD, &comm) + app_needs_repair(comm);
}
END

# Bindings define one name of a class as the other, in either direction, and ask what there is.
cat > "$work/binding.c" <<'END'
#include <mpi.h>
#include <mpi-ext.h>
#undef MPI_ERR_REVOKED
#define MPI_ERR_REVOKED MPIX_ERR_REVOKED
#undef MPIX_ERR_PROC_FAILED
#define MPIX_ERR_PROC_FAILED MPI_ERR_PROC_FAILED
#if !OMPI_HAVE_MPI_EXT_FTMPI || !OMPI_HAVE_MPIX_COMM_GET_FAILED || !OMPI_HAVE_MPIX_COMM_ACK_FAILED || !OMPI_HAVE_MPIX_COMM_ISHRINK
#error "a part of ULFM is not announced"
#endif
#if MPI_ERR_REVOKED > MPI_ERR_LASTCODE || MPIX_ERR_PROC_FAILED_PENDING > MPI_ERR_LASTCODE
#error "a class above MPI_ERR_LASTCODE"
#endif
int main(void)
{
    char texts[MPI_ERR_LASTCODE + 1] = {0};
    texts[MPI_ERR_REVOKED] = texts[MPIX_ERR_PROC_FAILED] = 1;
    return texts[MPI_ERR_REVOKED] - texts[MPIX_ERR_PROC_FAILED];
}
END

# Both forms of a restart point.
cat > "$work/reinit.c" <<'END'
#include <mpi.h>
#include <mpi-ext.h>
static int plain(int argc, char **argv, OMPI_reinit_state_t state)
{
    (void)argc, (void)argv;
    return state == OMPI_REINIT_NEW;
}
static int told(int argc, char *argv[], OMPI_reinit_state_t state, int num_failed_procs, int *failed_procs)
{
    return plain(argc, argv, state) + (num_failed_procs > 0 ? failed_procs[0] : 0);
}
int main(int argc, char **argv)
{
    return OMPI_Reinit(argc, argv, plain) + OMPI_Reinit(argc, argv, told) + OMPI_Reinit(argc, argv, &told);
}
END

# Libraries of the field take Fortran's handles.
cat > "$work/f2c.c" <<'END'
#include <mpi.h>
#include <rhizome/f2c.h>
int main(void)
{
    MPI_Fint f = MPI_Comm_c2f(MPI_COMM_WORLD);
    return MPI_Comm_f2c(f) != MPI_COMM_WORLD;
}
END

strict="-Wall -Wextra -Werror -pedantic"
for program in names binding reinit f2c; do
    for language in c99 c11; do
        "$bin/mpicc" -std=$language $strict -c "$work/$program.c" -o "$work/c.o"
    done
    cp "$work/$program.c" "$work/$program.cc"
    "$bin/mpicxx" -std=c++11 $strict -c "$work/$program.cc" -o "$work/cc.o"
    if command -v clang > /dev/null; then
        for language in c99 c11; do
            RZ_CC=clang "$bin/mpicc" -std=$language $strict -c "$work/$program.c" -o "$work/clang.o"
        done
    fi
done
# A header of C++ may stand between braces of "C".
printf 'extern "C" {\n#include <mpi.h>\n#include <mpi-ext.h>\n}\nint main() { return 0; }\n' > "$work/braces.cc"
"$bin/mpicxx" $strict -c "$work/braces.cc" -o "$work/braces.o"
