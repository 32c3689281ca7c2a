/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Folders and files of this user alone, in places that others may reach, too.
 *
 * "Ours" is what belongs to the effective user and can be written by no one else. A path is walked
 * folder by folder. Each folder above the last must belong to root or to us, and if all may write
 * into it, it must be sticky (/tmp), so that others cannot exchange what is ours. A group that may
 * write into it is trusted (folders of projects). A link counts only if root or we made it. Below
 * the last folder no link is followed. New folders get mode 0700, new files 0600, whatever the
 * umask lets.
 *
 * Results: RZ_OK; RZ_ERR_NOT_FOUND: there is no such thing; RZ_ERR_INVALID: it is not ours;
 * RZ_ERR_SYSTEM: errno. *why is set whenever the result is not RZ_OK: what is wrong, with its name.
 */
#ifndef RZ_PORT_OWN_PATH_H
#define RZ_PORT_OWN_PATH_H

#include "base/status.h"

#include <stdbool.h>

struct rz_own_why {
    char text[512];
};

/* Opens a folder, which must be ours if `ours`, else fit to hold what is ours. */
rz_status_t rz_own_walk(const char *path, bool ours, int *fd, struct rz_own_why *why);

/* The functions below look up the last name of `path` in the open folder `at`; the rest of the path
 * is for messages. */

/* Opens a folder, which must be ours. make: makes it if there is none. */
rz_status_t rz_own_enter(int at, const char *path, bool make, int *fd, struct rz_own_why *why);

/* Creates a file for writing. What has this name is removed first: an earlier try left it. */
rz_status_t rz_own_create(int at, const char *path, int *fd, struct rz_own_why *why);

/* Opens a file of any kind for reading, without waiting for the other end of a pipe. writes: for
 * writing, too, and creates it if there is none. */
rz_status_t rz_own_open(int at, const char *path, bool writes, int *fd, struct rz_own_why *why);

#endif
