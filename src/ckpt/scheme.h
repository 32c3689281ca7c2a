/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the checkpoints of a job are kept, as the user requests it (rzrun --checkpoint SCHEME):
 *
 *   memory   each piece with the daemon of its rank only: survives the failure of processes, but of
 *            no node
 *   buddy    in addition a copy with another node
 *   xor:K    groups of K nodes; any one of a group may be lost
 *   rs:K+M   groups of K+M nodes; any M of a group may be lost (Reed-Solomon)
 *   file     only in files (--checkpoint-dir): survives the failure of all nodes
 *
 * This module converts between text and struct; proto/commit defines what a scheme means for the
 * pieces. Nothing here knows of jobs.
 */
#ifndef RZ_CKPT_SCHEME_H
#define RZ_CKPT_SCHEME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rz_scheme_kind {
    RZ_SCHEME_BUDDY,
    RZ_SCHEME_MEMORY,
    RZ_SCHEME_XOR,
    RZ_SCHEME_RS,
    RZ_SCHEME_FILE,
    RZ_SCHEME_COUNT
};

/* Bound of nodes in a group, data and parity. */
#define RZ_SCHEME_GROUP_MAX 32u

struct rz_scheme {
    enum rz_scheme_kind kind;
    /* XOR and RS: nodes of a group are data + parity; parity of them may be lost. Else 0. */
    uint32_t data, parity;
};

/* False: *why (static text) says what is wrong and what is allowed; *scheme is untouched. */
bool rz_scheme_parse(const char *text, struct rz_scheme *scheme, const char **why);

/* The largest text of a scheme, which rz_scheme_parse reads. */
#define RZ_SCHEME_TEXT_MAX 32
void rz_scheme_text(const struct rz_scheme *scheme, char text[RZ_SCHEME_TEXT_MAX]);

/* The least number of nodes that the scheme needs. */
uint32_t rz_scheme_nodes(const struct rz_scheme *scheme);

/* Whether numbers received in a message are a scheme. */
bool rz_scheme_valid(const struct rz_scheme *scheme);

#endif
