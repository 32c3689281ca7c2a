/* SPDX-License-Identifier: BSD-3-Clause */
/* The spool of a detached job: a growing ring of pointers to frames, from which the oldest are
 * dropped to keep the bound. */
#include "daemon/launcher/spool.h"

#include <stdlib.h>
#include <string.h>

struct kept {
    void *frame;
    size_t n;
    uint64_t before, output; /* bytes of output in all frames before this one, and in this one */
};

/* The approximate overhead of an allocation. */
#define KEPT_BYTES (sizeof(struct kept) + 16)

struct rz_spool {
    uint64_t bytes_max, bytes;
    struct kept *ring; /* [room], a power of two; frame number i is at i % room */
    uint64_t room, first, end;
    uint64_t output; /* bytes of output in all frames ever put */
};

rz_status_t rz_spool_open(struct rz_spool **result, uint64_t bytes_max)
{
    struct rz_spool *spool = calloc(1, sizeof(*spool));
    if (!spool) {
        return RZ_ERR_NO_MEMORY;
    }
    spool->bytes_max = bytes_max;
    *result = spool;
    return RZ_OK;
}

static struct kept *kept_at(const struct rz_spool *spool, uint64_t number)
{
    return &spool->ring[number & (spool->room - 1)];
}

static void drop_first_kept(struct rz_spool *spool)
{
    struct kept *kept = kept_at(spool, spool->first++);
    spool->bytes -= kept->n + KEPT_BYTES;
    free(kept->frame);
}

static bool make_room_to_keep(struct rz_spool *spool)
{
    if (spool->end - spool->first < spool->room) {
        return true;
    }
    uint64_t room = spool->room ? 2 * spool->room : 64;
    struct kept *ring = calloc(room, sizeof(*ring));
    if (!ring) {
        return false;
    }
    for (uint64_t i = spool->first; i < spool->end; i++) {
        ring[i & (room - 1)] = *kept_at(spool, i);
    }
    free(spool->ring);
    spool->ring = ring;
    spool->room = room;
    return true;
}

rz_status_t rz_spool_put(struct rz_spool *spool, const void *frame, size_t n, uint64_t output)
{
    uint64_t before = spool->output;
    spool->output += output;
    while (spool->first < spool->end && spool->bytes + n + KEPT_BYTES > spool->bytes_max) {
        drop_first_kept(spool);
    }
    void *copy = make_room_to_keep(spool) ? malloc(n) : NULL;
    if (!copy) {
        return RZ_ERR_NO_MEMORY;
    }
    memcpy(copy, frame, n);
    *kept_at(spool, spool->end++) =
        (struct kept){.frame = copy, .n = n, .before = before, .output = output};
    spool->bytes += n + KEPT_BYTES;
    return RZ_OK;
}

bool rz_spool_next(const struct rz_spool *spool, struct rz_spool_place *place, const void **frame,
                   size_t *n, uint64_t *missed)
{
    if (place->frame < spool->first) {
        place->frame = spool->first;
    }
    if (place->frame >= spool->end) {
        return false;
    }
    const struct kept *kept = kept_at(spool, place->frame++);
    *missed = kept->before - place->bytes;
    place->bytes = kept->before + kept->output;
    *frame = kept->frame;
    *n = kept->n;
    return true;
}

void rz_spool_close(struct rz_spool *spool)
{
    if (!spool) {
        return;
    }
    while (spool->first < spool->end) {
        drop_first_kept(spool);
    }
    free(spool->ring);
    free(spool);
}
