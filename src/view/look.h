/* SPDX-License-Identifier: BSD-3-Clause */
/* Asks the daemons of this machine for the status of their jobs (docs/status.md). Running out of
 * memory ends the program, which is a tool (base/no_memory.h). */
#ifndef RZ_VIEW_LOOK_H
#define RZ_VIEW_LOOK_H

#include "port/local_socket.h"

#include <jansson.h>

/* Appends to the array `pages` the document of each daemon of the jobs whose number begins with
 * prefix (NULL: all), of this user or of all users; each is what the socket's owner says of its own
 * job, and has `uid`, the owner, if it is another user. A daemon that is silent for two seconds is
 * left out, as is what has not answered after six. A page of another user that is none of a job, or
 * takes too much memory (docs/bounds.md), is passed over: a document without a job says so, see
 * rz_look_words. RZ_ERR_SYSTEM: the sockets of this machine cannot be listed. */
rz_status_t rz_look(const char *prefix, bool all_users, json_t *pages);

/* The user of a job, also if it is the one that looks. */
unsigned rz_look_owner(const json_t *job);

/* An array of one document for each job, sorted by their numbers, made of the documents of its
 * daemons, which it changes: texts and names of fields are made printable (base/printable.h). A job
 * is one of a user. A node counts once, however often its document is there: a machine may have
 * several names. */
json_t *rz_look_jobs(json_t *pages);

/* Which of the jobs of rz_look_jobs is meant. This user's jobs come first; those of others count
 * only if this user has none there: any user may claim any number, and any age. */
struct rz_look_choice {
    const json_t *job;    /* borrowed; NULL: none, or not one alone */
    const json_t *two[2]; /* the first two that fit */
    size_t n;             /* how many fit */
};

/* named: the jobs are those whose number begins as it was given, and one alone must be there.
 * Otherwise of this user's jobs the newest is chosen, and one of others if it is alone. */
struct rz_look_choice rz_look_choose(const json_t *jobs, bool named);

/* The job of this number and user (-1: the one that asks); borrowed, or NULL. */
const json_t *rz_look_find(const json_t *jobs, const char *number, json_int_t uid);

/* The user of a document, if it is not the one that asks; or -1. */
json_int_t rz_look_user(const json_t *job);

/* What is to be said of pages that were passed over: an array of printable texts, one of each user
 * and host. */
json_t *rz_look_words(const json_t *pages);

#endif
