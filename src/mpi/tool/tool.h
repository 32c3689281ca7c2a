/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tools interface, MPI_T. Its functions return codes of their own (MPI_T_ERR_*), run no error
 * handler and may be called at any time by any thread. The entry points hold the engine lock.
 *
 * The variables are in tables: settings (tool_cvar.c), counters and states (tool_pvar.c). There are
 * no events.
 */
#ifndef RZ_MPI_TOOL_H
#define RZ_MPI_TOOL_H

#include "mpi/impl.h"

/* MPI_T_init_thread was called more often than MPI_T_finalize. */
bool rz_tool_runs(void);

/* The first statement of a function of MPI_T. */
#define RZ_TOOL_BEGIN()                                                                            \
    do {                                                                                           \
        if (!rz_tool_runs()) {                                                                     \
            return MPI_T_ERR_NOT_INITIALIZED;                                                      \
        }                                                                                          \
    } while (0)

/*
 * Returns text as MPI_T does: *length is the size of buffer on entry, and on return the size that
 * the text needs, including its null. length NULL: the text is not requested; buffer NULL or
 * *length 0: only the length is set.
 */
void rz_tool_give_text(const char *text, char *buffer, int *length);

static inline void rz_tool_give_int(int value, int *to)
{
    if (to) {
        *to = value;
    }
}

/* The values of a variable that is an enumeration: items[i] is the name of i. */
struct MPI_ABI_T_enum {
    const char *name;
    const char *const *items;
    int n;
};

/* The categories; the number of variables and the category of each follow. */
enum rz_tool_category {
    RZ_TOOL_ALL, /* contains the other categories, and no variable */
    RZ_TOOL_JOB,
    RZ_TOOL_TRANSPORT,
    RZ_TOOL_MESSAGES,
    RZ_TOOL_FAILURES,
    RZ_TOOL_CATEGORIES
};
int rz_tool_cvars(void);
int rz_tool_pvars(void);
enum rz_tool_category rz_tool_cvar_category(int index);
enum rz_tool_category rz_tool_pvar_category(int index);

#endif
