/* SPDX-License-Identifier: BSD-3-Clause */
/* Sorts the PINGs of a cycle by target, block by block, for any number of threads. */
#include "scale/post.h"

#include <stdlib.h>

/* Senders in a chunk: drawing and sorting stays in a processor's own cache. */
#define CHUNK_MAX UINT32_C(32768)

/* One thread's chunk of a block, sorted by range: range r has send descriptors[at[r] .. at[r + 1]).
 */
struct tray {
    uint32_t at[RZ_SCALE_CREW_MAX + 1];
    struct rz_scale_message *send_descs;
};

struct rz_scale_post {
    struct rz_scale_crew *crew;
    uint32_t n_members, size, chunk;
    uint64_t range_scale; /* range of a target = (target / 64 * range_scale) >> 32 */
    /* Two per thread: while slow threads still serve a block, fast ones draw the next. */
    struct tray trays[RZ_SCALE_CREW_MAX][2];
    rz_id *drawn[RZ_SCALE_CREW_MAX];
};

struct rz_scale_post *rz_scale_post_create(struct rz_scale_crew *crew, uint32_t n_members)
{
    struct rz_scale_post *post = calloc(1, sizeof(*post));
    if (!post) {
        return NULL;
    }
    uint32_t size = rz_scale_crew_size(crew), words = (n_members + 63) / 64;
    uint32_t chunk = (words + size - 1) / size * 64;
    post->crew = crew;
    post->n_members = n_members;
    post->size = size;
    post->chunk = chunk < CHUNK_MAX ? chunk : CHUNK_MAX;
    post->range_scale = ((uint64_t)size << 32) / words;
    for (uint32_t i = 0; i < size; i++) {
        post->drawn[i] = calloc(post->chunk, sizeof(rz_id));
        for (uint32_t b = 0; b < 2; b++) {
            struct tray *tray = &post->trays[i][b];
            tray->send_descs = calloc(post->chunk, sizeof(struct rz_scale_message));
            if (!post->drawn[i] || !tray->send_descs) {
                rz_scale_post_destroy(post);
                return NULL;
            }
        }
    }
    return post;
}

void rz_scale_post_destroy(struct rz_scale_post *post)
{
    for (uint32_t i = 0; i < post->size; i++) {
        free(post->drawn[i]);
        free(post->trays[i][0].send_descs);
        free(post->trays[i][1].send_descs);
    }
    free(post);
}

uint64_t rz_scale_post_bytes(const struct rz_scale_post *post)
{
    uint64_t sender = sizeof(rz_id) + 2 * sizeof(struct rz_scale_message);
    return sizeof(*post) + (uint64_t)post->size * post->chunk * sender;
}

static uint32_t range_of(const struct rz_scale_post *post, rz_id to)
{
    return (uint32_t)((to / 64 * post->range_scale) >> 32);
}

static void sort(const struct rz_scale_post *post, struct tray *tray, rz_id first, uint32_t count,
                 const rz_id *to)
{
    uint32_t next[RZ_SCALE_CREW_MAX] = {0};
    for (uint32_t i = 0; i < count; i++) {
        if (to[i] != RZ_ID_NONE) {
            next[range_of(post, to[i])]++;
        }
    }
    uint32_t all = 0;
    for (uint32_t r = 0; r < post->size; r++) {
        tray->at[r] = all;
        all += next[r];
        next[r] = tray->at[r];
    }
    tray->at[post->size] = all;
    for (uint32_t i = 0; i < count; i++) {
        if (to[i] != RZ_ID_NONE) {
            tray->send_descs[next[range_of(post, to[i])]++] =
                (struct rz_scale_message){first + i, to[i]};
        }
    }
}

static void fill(struct rz_scale_post *post, uint32_t self, uint64_t block, struct tray *tray,
                 const struct rz_scale_route *route, void *user)
{
    uint64_t first = (block * post->size + self) * post->chunk, end = first + post->chunk;
    first = first < post->n_members ? first : post->n_members;
    end = end < post->n_members ? end : post->n_members;
    route->draw(user, self, (rz_id)first, (rz_id)end, post->drawn[self]);
    sort(post, tray, (rz_id)first, (uint32_t)(end - first), post->drawn[self]);
}

static void collect(const struct rz_scale_post *post, const struct tray *tray,
                    const struct rz_scale_route *route, void *user)
{
    if (route->collect) {
        route->collect(user, tray->send_descs, tray->at[post->size]);
    }
}

void rz_scale_post_carry(struct rz_scale_post *post, uint32_t self,
                         const struct rz_scale_route *route, void *user)
{
    uint64_t block_senders = (uint64_t)post->size * post->chunk;
    uint64_t blocks = (post->n_members + block_senders - 1) / block_senders;
    for (uint64_t block = 0; block < blocks; block++) {
        uint32_t b = block & 1;
        fill(post, self, block, &post->trays[self][b], route, user);
        /* All of this block is sorted, and all of the block before is delivered. */
        rz_scale_crew_meet(post->crew);
        if (block > 0) {
            collect(post, &post->trays[self][!b], route, user);
        }
        for (uint32_t i = 0; i < post->size; i++) {
            const struct tray *tray = &post->trays[i][b];
            route->deliver(user, tray->send_descs + tray->at[self],
                           tray->at[self + 1] - tray->at[self]);
        }
    }
    rz_scale_crew_meet(post->crew);
    collect(post, &post->trays[self][(blocks - 1) & 1], route, user);
}
