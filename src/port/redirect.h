/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls of functions of libc by the program and its libraries are led to functions of ours: in the
 * tables by which each loaded object reaches functions of others. No name is defined twice, nothing
 * is loaded before the program, and a process in which this is not called has not changed at all.
 */
#ifndef RZ_PORT_REDIRECT_H
#define RZ_PORT_REDIRECT_H

#include <stdbool.h>

struct rz_redirect {
    const char *name;  /* NULL: the end of a list */
    void (*to)(void);  /* called in its place */
    void (*was)(void); /* what was meant before, set by rz_redirect_find; NULL: nothing */
};

/* Looks up what the names of the list mean. To be called before rz_redirect_calls. */
void rz_redirect_find(struct rz_redirect *list);

/* Leads the calls of all objects that are loaded now, but for libc's own. To be called again when
 * objects were loaded (rz_redirect_is_old). By one thread at a time. Without effect on processors
 * other than x86-64. */
void rz_redirect_calls(const struct rz_redirect *list);

/* Whether objects have been loaded since the last rz_redirect_calls. */
bool rz_redirect_is_old(void);

#endif
