/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Case files: for each failure a JSON document that names the observer and its evidence, and says
 * when each daemon learnt of it and how it was repaired. docs/cases.md describes the fields.
 * Written into the folder that `rzrun --cases` names, and rewritten atomically whenever something
 * important is added.
 */
#ifndef RZ_LAUNCH_CASES_H
#define RZ_LAUNCH_CASES_H

#include "launch/timeline.h"
#include "launch/traces.h"
#include "wire/launch_messages.h"

#include <rhizome/types.h>

#include <jansson.h>
#include <stdbool.h>

struct rz_cases;

/* Makes the folder where it does not exist; NULL: documents are kept, and no files written. before:
 * cases of earlier attempts of the job. NULL: *why (static text). */
struct rz_cases *rz_cases_open(const char *folder, uint64_t job, uint32_t before, const char **why);

/* From now on case files hold events of these traces, which exist until the cases are closed. */
void rz_cases_trace(struct rz_cases *cases, const struct rz_traces *traces);

/* Writes the last events of all traces into WHAT-NUMBER.json: the job is aborted, or hangs. */
void rz_cases_dump(struct rz_cases *cases, const char *what, uint32_t number, const char *why);

/* The documents as they are now, without their traces, in a list that the caller frees; they stay
 * valid after the end, but must not be changed. */
json_t *rz_cases_documents(const struct rz_cases *cases);

/* The number of the last case. */
uint32_t rz_cases_count(const struct rz_cases *cases);

/* by: the reporting node. */
void rz_cases_event(struct rz_cases *cases, uint32_t by, const struct rz_launch_event *event);

/* A process was started, possibly in the place of a failed one. */
void rz_cases_started(struct rz_cases *cases, const struct rz_launch_started *started);

/* A recovery is over: its timeline goes into the case of each failure that it repaired. */
void rz_cases_recovered(struct rz_cases *cases, const struct rz_recovery_times *times);

/* A node gives up for this cause. */
void rz_cases_stopping(struct rz_cases *cases, uint32_t node, const char *reason);

/* The job has ended with this status: failures that are not repaired now remain so. Frees
 * everything. False: not all files could be written; *why. */
bool rz_cases_close(struct rz_cases *cases, int status, const char **why);

#endif
