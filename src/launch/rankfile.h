/* SPDX-License-Identifier: BSD-3-Clause */
/* A file that says on which host each rank starts: --rankfile. */
#ifndef RZ_LAUNCH_RANKFILE_H
#define RZ_LAUNCH_RANKFILE_H

#include "launch/layout.h"

struct rz_rankfile {
    char (*hosts)[64]; /* [n] by rank */
    uint32_t n;        /* 0: there is none */
};

/*
 * Reads lines of `rank N=HOST [slot=...]`, with #-comments, in any order; each rank from 0 on has
 * one line. slot= is accepted, as in files for Open MPI, and has no effect. False: *why, static
 * text.
 */
bool rz_rankfile_read(struct rz_rankfile *ranks, const char *file, const char **why);
void rz_rankfile_clear(struct rz_rankfile *ranks);

/* Appends each host as a node, with a slot for each of its ranks. False: *why, static text. */
bool rz_rankfile_add_nodes(const struct rz_rankfile *ranks, struct rz_launch_layout *layout,
                           const char **why);

/* Sets layout->given; the nodes are final. Those that get no rank become spares. False: a host is
 * none of the nodes, or (bound) has fewer slots than ranks: *why, static text. */
bool rz_rankfile_settle(const struct rz_rankfile *ranks, struct rz_launch_layout *layout,
                        bool bound, const char **why);

#endif
