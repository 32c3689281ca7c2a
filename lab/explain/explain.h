/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of a protocol, recorded step by step, and shown as text, SVG and HTML. */
#ifndef RZ_EXPLAIN_EXPLAIN_H
#define RZ_EXPLAIN_EXPLAIN_H

#include <rhizome/types.h>

#include <stdio.h>

struct rz_explain_subject; /* a protocol that can be explained */

/* By its name; NULL: there is none. */
const struct rz_explain_subject *rz_explain_find(const char *name);
/* i = 0, 1, ... until NULL. */
const struct rz_explain_subject *rz_explain_at(size_t i);
const char *rz_explain_name(const struct rz_explain_subject *subject);
uint32_t rz_explain_members_max(const struct rz_explain_subject *subject);

struct rz_explain_options {
    const struct rz_explain_subject *subject;
    uint32_t members; /* 0: the subject's */
    uint32_t kill;    /* so many fail, drawn by the seed; UINT32_MAX: the subject's */
    uint64_t seed;
    const char
        *plan; /* the failures, as rzsim replay takes them, instead of kill; NULL: none given */
};

struct rz_explain; /* a recorded run */

/* Runs and records. NULL: *why, which is valid until the next call. The caller destroys it. */
struct rz_explain *rz_explain_run(const struct rz_explain_options *options, const char **why);
void rz_explain_destroy(struct rz_explain *explain);

uint32_t rz_explain_steps(const struct rz_explain *explain);

/* Each writes to out; errors are in its error indicator. step counts from 1. */
void rz_explain_print(const struct rz_explain *explain, FILE *out);
void rz_explain_draw_step(const struct rz_explain *explain, uint32_t step, FILE *out);
void rz_explain_draw_sheet(const struct rz_explain *explain, FILE *out);
void rz_explain_draw_timeline(const struct rz_explain *explain, FILE *out);
void rz_explain_draw_page(const struct rz_explain *explain, FILE *out);

#endif
