/* SPDX-License-Identifier: BSD-3-Clause */
/* The name of the scratch folder, and its removal. */
#include "daemon/state/scratch.h"

#include <ftw.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* How often the removal is tried: a process of another node may write into the folder meanwhile,
 * but cannot make a new one. */
#define LOOKS_MAX 100
#define FILES_OPEN_MAX 8

void rz_scratch_choose(char path[RZ_SCRATCH_PATH_MAX], uint64_t job, uint32_t node)
{
    uint64_t number;
    randombytes_buf(&number, sizeof(number));
    snprintf(path, RZ_SCRATCH_PATH_MAX, "/dev/shm/rhizome-%llu-%u-%016llx", (unsigned long long)job,
             node, (unsigned long long)number);
}

rz_status_t rz_scratch_make(const char *path)
{
    return mkdir(path, 0700) == 0 ? RZ_OK : RZ_ERR_SYSTEM;
}

static int forget(const char *path, const struct stat *facts, int kind, struct FTW *place)
{
    (void)facts, (void)place;
    if (kind == FTW_DP) {
        rmdir(path);
    } else {
        unlink(path);
    }
    return 0;
}

void rz_scratch_remove(const char *path)
{
    struct stat facts;
    for (int look = 0; look < LOOKS_MAX && *path; look++) {
        if (lstat(path, &facts) != 0 || !S_ISDIR(facts.st_mode) || facts.st_uid != geteuid()) {
            return;
        }
        nftw(path, forget, FILES_OPEN_MAX, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    }
}
