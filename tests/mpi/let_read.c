/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each rank lets the other ranks of its node read its memory, as Yama (ptrace_scope 1) wants it:
 * by prctl it names one process, and that process and its descendants may; or any process, where
 * another launcher has started the ranks (`let_read any`). The call is looked at here, in the place
 * of the C library's, for most kernels that run tests have no Yama; whether one that has it then
 * permits the reading is not seen.
 */
#include <mpi.h>

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "check.h"

enum { NOBODY, ANYBODY = -1 };
static int named = NOBODY; /* by the newest call */

/* Also for the calls of the MPI library. */
__attribute__((visibility("default"))) int prctl(int option, ...)
{
    static int (*real)(int, ...);
    unsigned long word[4];
    va_list more;
    va_start(more, option);
    for (int i = 0; i < 4; i++) {
        word[i] = va_arg(more, unsigned long);
    }
    va_end(more);
    if (option == PR_SET_PTRACER) {
        named = word[0] == PR_SET_PTRACER_ANY ? ANYBODY : (int)word[0];
    }
    real = real ? real : (int (*)(int, ...))dlsym(RTLD_NEXT, "prctl");
    return real(option, word[0], word[1], word[2], word[3]);
}

static int parent_of(int pid)
{
    char path[64], line[512];
    int parent = 0;
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (file && fgets(line, sizeof(line), file)) {
        sscanf(strrchr(line, ')') + 1, " %*c %d", &parent);
    }
    if (file) {
        fclose(file);
    }
    return parent;
}

static int is_daemon(int pid)
{
    char path[64], name[16] = "";
    snprintf(path, sizeof(path), "/proc/%d/comm", pid);
    FILE *file = fopen(path, "r");
    int read_it = file && fgets(name, sizeof(name), file);
    if (file) {
        fclose(file);
    }
    return read_it && strcmp(name, "rzd\n") == 0;
}

/* The named process is the daemon that has started this one, and so all others of the node. */
static int names_its_daemon(void)
{
    return is_daemon(named) && parent_of(getpid()) == named;
}

/* let_read daemon|any [ROUNDS] */
int main(int argc, char **argv)
{
    int any = argc > 1 && strcmp(argv[1], "any") == 0;
    int rounds = argc > 2 ? atoi(argv[2]) : 1;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < rounds; i++) {
        /* Twice: an image may begin between the two looks of one. */
        CHECK(any ? named == ANYBODY : names_its_daemon() || names_its_daemon());
        usleep(2000);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return MPI_Finalize();
}
