/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of a study, from one table: only the options that the study uses are accepted.
 */
#ifndef RZ_STUDY_OPTIONS_H
#define RZ_STUDY_OPTIONS_H

#include "cli/cli.h"
#include "study/study.h"

/* What the options fill: their target. */
struct rz_study_request {
    const struct rz_study *study;
    struct rz_study_options options;
    const char *csv, *plot; /* files to write, or NULL */
};

/* The study's own defaults. */
void rz_study_request_begin(struct rz_study_request *request, const struct rz_study *study);

/* The options of the study, with its defaults; NULL: those of all studies, for a manual page. Ends
 * with an entry without name and help; valid until the next call. */
const struct rz_cli_option *rz_study_cli_options(const struct rz_study *study);

/* Whether word (of a command line) is an option of other studies only; *why then says so, and lists
 * those of this one. */
bool rz_study_option_is_foreign(const struct rz_study *study, const char *word, const char **why);

/* Whether the options are consistent, once all are parsed. False: *why. */
bool rz_study_request_check(const struct rz_study_request *request, const char **why);

/* A count, from 2^10 on as a power of two if it is one; a time in a suitable unit. */
void rz_study_show_count(uint64_t count, char *out, size_t bytes);
void rz_study_show_time(rz_time time, char *out, size_t bytes);

#endif
