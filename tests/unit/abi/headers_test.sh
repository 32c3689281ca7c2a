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

# Libraries of the field take Fortran's handles, from mpi.h alone.
cat > "$work/f2c.c" <<'END'
#include <mpi.h>
int main(void)
{
    MPI_Fint f = MPI_Comm_c2f(MPI_COMM_WORLD), words[MPI_F_STATUS_SIZE];
    MPI_Status status;
    MPI_F08_status f08;
    if (MPI_Status_f2c(MPI_F_STATUS_IGNORE, &status) == MPI_SUCCESS || MPI_Status_c2f08(&status, MPI_F08_STATUS_IGNORE) == MPI_SUCCESS) {
        return 1;
    }
    status.MPI_SOURCE = 7;
    MPI_Status_c2f(&status, words);
    MPI_Status_f2f08(words, &f08);
    MPI_Status_f082f(&f08, words);
    return MPI_Comm_f2c(f) != MPI_COMM_WORLD || MPI_Type_f2c(MPI_Type_c2f(MPI_INT)) != MPI_INT || words[MPI_F_SOURCE] != 7;
}
END

# ULFM from mpi.h alone; mpi4py asks PyMPI_HAVE_MPIX_.
cat > "$work/ulfm.c" <<'END'
#include <mpi.h>
#if !OMPI_HAVE_MPI_EXT_FTMPI || !defined(MPIX_ERR_PROC_FAILED) || !PyMPI_HAVE_MPIX_Comm_shrink || !PyMPI_HAVE_MPIX_ERR_REVOKED
#error "ULFM is not announced"
#endif
#define MPI_Comm_shrink MPIX_Comm_shrink
int main(int argc, char **argv)
{
    MPI_Comm comm = MPI_COMM_NULL;
    (void)argv;
    return argc > 9 ? MPIX_Comm_revoke(comm) + MPI_Comm_shrink(comm, &comm) : 0;
}
END

strict="-Wall -Wextra -Werror -pedantic"
for program in names binding reinit f2c ulfm; do
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

# What mpi.h does by itself gives no warning, not even one of those that a program may ask for.
printf '#include <mpi.h>\n' > "$work/plain.cc"
"$bin/mpicxx" -std=c++11 $strict -Wold-style-cast -Wconversion -Wshadow -Wundef -Wredundant-decls -fsyntax-only "$work/plain.cc"

# The strict header has the ABI alone: a binding of Fortran has names of its own.
cat > "$work/strict.c" <<'END'
#include <mpi.h>
#if defined(MPIX_ERR_REVOKED) || defined(OMPI_HAVE_MPI_EXT) || defined(MPI_F_STATUS_IGNORE)
#error "more than the ABI"
#endif
typedef long MPI_Fint;
MPI_Comm MPI_Comm_f2c(MPI_Fint f);
MPI_Comm MPI_Comm_f2c(MPI_Fint f) { return MPI_Comm_fromint((int)f); }
int main(void) { return 0; }
END
"$bin/mpicc" -DRZ_STRICT_ABI $strict "$work/strict.c" -o "$work/strict"
# What the header adds needs nothing of C99, and no library but that of the ABI.
"$bin/mpicc" -std=c89 -Wall -Wextra -Werror "$work/f2c.c" -o "$work/f2c"
"$work/f2c"
RZ_CC=gcc "$bin/mpicc" -std=gnu89 -O0 "$work/f2c.c" -o "$work/f2c"
"$work/f2c"
# Configure scripts and CMake ask the linker, with a declaration of their own.
for name in MPI_Comm_f2c MPI_Comm_c2f MPI_Info_f2c MPI_Status_f2c PMPI_Type_c2f MPIX_Comm_revoke MPIX_Comm_shrink; do
    printf 'char %s();\nint main(void) { return %s() == 0; }\n' $name $name > "$work/probe.c"
    "$bin/mpicc" -w "$work/probe.c" -o "$work/probe"
done
# With a program in Fortran, the IGNOREs of Fortran are known.
if [ -x "$bin/mpifort" ]; then
    cat > "$work/ignored.c" <<'END'
#include <mpi.h>
void ignored_(MPI_Fint *status, int *so);
void ignored_(MPI_Fint *status, int *so)
{
    MPI_Status c_status;
    *so = status == MPI_F_STATUS_IGNORE && MPI_Status_f2c(status, &c_status) == MPI_ERR_ARG;
}
END
    printf 'program p\nuse mpi\ninteger :: so, real(MPI_STATUS_SIZE)\nexternal :: ignored\n%s\n%s\n%s\n%s\nend program\n' \
        'call ignored(MPI_STATUS_IGNORE, so)' "if (so /= 1) error stop 'MPI_STATUS_IGNORE is unknown'" \
        'call ignored(real, so)' "if (so /= 0) error stop 'a status is ignored'" > "$work/ignore.f90"
    "$bin/mpicc" $strict -c "$work/ignored.c" -o "$work/ignored.o"
    (cd "$work" && "$bin/mpifort" -w ignore.f90 ignored.o -o ignore && ./ignore)
fi
