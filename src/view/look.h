/* SPDX-License-Identifier: BSD-3-Clause */
/* Asks the daemons of this machine for the status of their jobs (docs/status.md). */
#ifndef RZ_VIEW_LOOK_H
#define RZ_VIEW_LOOK_H

#include "port/local_socket.h"

#include <jansson.h>

/* The documents of the jobs whose number begins with prefix (NULL: all), of this user or of all
 * users; an array that the caller frees. A daemon that does not answer within two seconds is left
 * out, as are those that were not asked within six. RZ_ERR_SYSTEM: the sockets of this machine
 * cannot be listed. RZ_ERR_NO_MEMORY. */
rz_status_t rz_look(const char *prefix, bool all_users, json_t **jobs);

/* Adds to the document of a job what another one of the same job has in addition: processes, groups
 * and bytes of checkpoints of other nodes. page was returned by a daemon; its processes get the
 * number of its node. *job NULL: it becomes page. */
void rz_look_merge(json_t **job, json_t *page);

#endif
