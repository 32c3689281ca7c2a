/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that appear whole or not at all: until the end they have no name, so that nothing is left
 * if the program is killed. Devices, pipes and links are written in place. */
#ifndef RZ_PORT_OUTFILE_H
#define RZ_PORT_OUTFILE_H

#include <stdbool.h>
#include <stdio.h>

struct rz_outfile {
    FILE *file;      /* to write to; NULL: not open */
    char *path;      /* where it will appear */
    char *temporary; /* its temporary name just before that; NULL: path is written in place */
    bool nameless;   /* it has no name yet, not even the temporary one */
};

/* False: *why. */
bool rz_outfile_open(struct rz_outfile *out, const char *path, const char **why);
/* good: makes it appear, if all could be written; else nothing is left. False: not good, or
 * *why. */
bool rz_outfile_close(struct rz_outfile *out, bool good, const char **why);

#endif
