/* SPDX-License-Identifier: BSD-3-Clause */
/* The names, types and values are those of the MPIR document. Tools write and read them from
 * outside, so all are volatile, exported from rzrun (mpir.symbols), and kept by strip. */
#include "launch/mpir.h"

#include "base/no_memory.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MPIR_EXPORT __attribute__((visibility("default"), used))

/* Section 5.3: of each process, by its rank. */
typedef struct {
    char *host_name;
    char *executable_name;
    int pid;
} MPIR_PROCDESC;

enum { MPIR_NULL, MPIR_DEBUG_SPAWNED, MPIR_DEBUG_ABORTING };

MPIR_EXPORT MPIR_PROCDESC *volatile MPIR_proctable;
MPIR_EXPORT volatile int MPIR_proctable_size;
MPIR_EXPORT volatile int MPIR_being_debugged;
MPIR_EXPORT volatile int MPIR_debug_state = MPIR_NULL;
MPIR_EXPORT char *volatile MPIR_debug_abort_string;
/* That these exist says: this is the starter and no rank; its output is all that ranks print. */
MPIR_EXPORT volatile int MPIR_i_am_starter;
MPIR_EXPORT volatile int MPIR_forward_output;

static uint32_t mpir_awaited; /* ranks without a process yet */

/* Never inlined, and with an effect that no compiler removes: tools set a breakpoint here. */
MPIR_EXPORT __attribute__((noinline)) void *MPIR_Breakpoint(void);
void *MPIR_Breakpoint(void)
{
    __asm__ volatile("" ::: "memory");
    return NULL;
}

void rz_mpir_begin(uint32_t n_ranks)
{
    rz_mpir_end();
    MPIR_PROCDESC *table = calloc(n_ranks, sizeof(*table));
    rz_need_memory(table, "for the table of processes");
    MPIR_proctable = table;
    MPIR_proctable_size = (int)n_ranks;
    mpir_awaited = n_ranks;
}

void rz_mpir_end(void)
{
    MPIR_PROCDESC *table = MPIR_proctable;
    int n = MPIR_proctable_size;
    MPIR_proctable_size = 0;
    MPIR_proctable = NULL;
    for (int i = 0; i < n; i++) {
        free(table[i].host_name);
        free(table[i].executable_name);
    }
    free(table);
}

bool rz_mpir_started(uint32_t rank, const char *host, const char *executable, uint32_t pid)
{
    char here[256] = "localhost";
    if (rank >= (uint32_t)MPIR_proctable_size) {
        return false; /* a spawned process: the interface has no place for it */
    }
    MPIR_PROCDESC *entry = &MPIR_proctable[rank];
    bool first = entry->pid == 0;
    if (!host) {
        gethostname(here, sizeof(here) - 1);
    }
    free(entry->host_name);
    free(entry->executable_name);
    entry->host_name = strdup(host ? host : here);
    entry->executable_name = strdup(executable);
    rz_need_memory(entry->host_name && entry->executable_name, "for the table of processes");
    entry->pid = (int)pid;
    return first && --mpir_awaited == 0;
}

void rz_mpir_tell_started(void)
{
    MPIR_debug_state = MPIR_DEBUG_SPAWNED;
    MPIR_Breakpoint();
}

void rz_mpir_tell_aborting(const char *why)
{
    if (!MPIR_being_debugged || MPIR_debug_state != MPIR_DEBUG_SPAWNED) {
        return;
    }
    MPIR_debug_abort_string = strdup(why);
    MPIR_debug_state = MPIR_DEBUG_ABORTING;
    MPIR_Breakpoint();
}

bool rz_mpir_is_debugged(void)
{
    return MPIR_being_debugged != 0;
}
