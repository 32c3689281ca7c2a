/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files that rzrun has brought to this host before the job began (rzrun --preload): programs,
 * their libraries, data. They lie in a folder of this daemon alone, below TMPDIR or /tmp, which is
 * removed when all processes of the node have ended, as the scratch folder is (scratch.h). The
 * daemon holds the folder by a lock: what was left over, because daemon and keeper were killed at
 * once, is removed by the next daemon of this user on this host. Where other users could exchange
 * the folder (port/own_path) none is made.
 *
 * Functions that return a text return NULL where all went well, else one clause that says what
 * went wrong and what helps; it is valid until the next call.
 */
#ifndef RZ_DAEMON_PRELOADED_H
#define RZ_DAEMON_PRELOADED_H

#include "daemon/state/scratch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rz_preloaded_file;
struct XXH3_state_s;

struct rz_preloaded {
    char folder[RZ_SCRATCH_PATH_MAX]; /* "": none was chosen */
    int held;                         /* holds the folder; -1: it is not made */
    struct rz_preloaded_file *files;  /* [n]: the last one may not be whole yet */
    uint32_t n;
    uint64_t bytes; /* of all files, so far */
    struct {
        int fd; /* -1: no file is being written */
        uint64_t left;
        struct XXH3_state_s *sum;
    } now;
    char why[768];
};

void rz_preloaded_open(struct rz_preloaded *preloaded);

/* Chooses the name of the folder, so that the keeper can be told before the folder is made. */
const char *rz_preloaded_choose(struct rz_preloaded *preloaded);
const char *rz_preloaded_make(struct rz_preloaded *preloaded);

/* A file comes: its name, which is no path; its permissions; its size. Then its content, then the
 * checksum (XXH3, 64 bits) of what was sent. */
const char *rz_preloaded_begin(struct rz_preloaded *preloaded, const char *name, uint32_t mode,
                               uint64_t bytes);
const char *rz_preloaded_part(struct rz_preloaded *preloaded, const void *part, size_t bytes);
const char *rz_preloaded_end(struct rz_preloaded *preloaded, uint64_t checksum);

/* The path of the executable file that was brought under the name of this program, of which the
 * last component counts; NULL: there is none. */
const char *rz_preloaded_program(const struct rz_preloaded *preloaded, const char *program);

/* Removes the folder, and frees. */
void rz_preloaded_close(struct rz_preloaded *preloaded);

/* Removes what earlier daemons of this user on this host have left over. */
void rz_preloaded_sweep(void);

#endif
