/* SPDX-License-Identifier: BSD-3-Clause */
/* Open addressing; never more than half full. */
#include "mpi/rewind/seen_files.h"

#include "base/random.h"

struct rz_seen_file *rz_seen_place(struct rz_seen_files *seen, uint64_t device, uint64_t inode)
{
    uint64_t at = rz_mix(device, inode);
    while (seen->slot[at % RZ_SEEN_SLOTS].inode != 0 &&
           (seen->slot[at % RZ_SEEN_SLOTS].inode != inode ||
            seen->slot[at % RZ_SEEN_SLOTS].device != device)) {
        at++;
    }
    return &seen->slot[at % RZ_SEEN_SLOTS];
}

void rz_seen_add(struct rz_seen_files *seen, const struct rz_seen_file *file, uint64_t moment)
{
    struct rz_seen_file *place = rz_seen_place(seen, file->device, file->inode);
    if (place->inode == 0 && seen->n == RZ_SEEN_MAX) {
        seen->others = moment + 1;
        return;
    }
    seen->n += place->inode == 0;
    *place = *file;
}

void rz_seen_forget(struct rz_seen_files *seen)
{
    if (seen->n > 0) {
        *seen = (struct rz_seen_files){.n = 0};
    }
}
