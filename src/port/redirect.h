/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls of functions of libc by the program and its libraries are led to functions of ours: in the
 * tables by which each loaded object reaches functions of others. Only what means libc's own
 * function is led; what has that name in the program or another library is left alone. No name is
 * defined twice, nothing is loaded before the program, and a process in which this is not called
 * has not changed at all.
 */
#ifndef RZ_PORT_REDIRECT_H
#define RZ_PORT_REDIRECT_H

#include <stdbool.h>
#include <stdint.h>

struct rz_redirect {
    const char *name;  /* NULL: the end of a list */
    void (*to)(void);  /* called in its place */
    void (*was)(void); /* libc's function, set by rz_redirect_lead; NULL: it has none */
    /* NULL: any. Where libc has an older function of that name, too, which is left alone: the
     * version of the one that is meant. */
    const char *version;
    bool meant; /* set by rz_redirect_lead: the program means libc's function by the name */
};

struct rz_redirects {
    struct rz_redirect *calls;
    uint64_t loaded; /* 0 at first; how often objects had been loaded when they were led */
};

/* Looks up what the names mean, the first time, and leads the calls of all objects that are loaded
 * now, but for libc's own. To be called again when others may have been loaded: then it leads their
 * calls, too, and costs little if there are none. By one thread at a time for the same calls.
 * Without effect on processors other than x86-64. */
void rz_redirect_lead(struct rz_redirects *redirects);

#endif
