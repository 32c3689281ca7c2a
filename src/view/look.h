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

/* An array of one document for each job, sorted by their numbers, made of the documents of its
 * daemons, which it changes: texts and names of fields are made printable (base/printable.h). A job
 * is one of a user. A node counts once, however often its document is there: a machine may have
 * several names. */
json_t *rz_look_jobs(json_t *pages);

/* What is to be said of pages that were passed over: an array of printable texts, one of each user
 * and host. */
json_t *rz_look_words(const json_t *pages);

#endif
