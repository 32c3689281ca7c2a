/* SPDX-License-Identifier: BSD-3-Clause */
/* A list: a node has one keeper in each epoch, so there are few pairs. */
#include "daemon/service/mark_keepers.h"

#include "base/no_memory.h"

#include <stdlib.h>

static struct rz_mark_pair *find_pair(const struct rz_mark_keepers *keepers, rz_id owner,
                                      rz_id keeper)
{
    for (uint32_t i = 0; i < keepers->n; i++) {
        if (keepers->pairs[i].owner == owner && keepers->pairs[i].keeper == keeper) {
            return &keepers->pairs[i];
        }
    }
    return NULL;
}

void rz_mark_keepers_note(struct rz_mark_keepers *keepers, rz_id owner, rz_id keeper,
                          uint64_t moment)
{
    struct rz_mark_pair *pair = find_pair(keepers, owner, keeper);
    if (keeper == RZ_ID_NONE) {
        return;
    }
    if (!pair) {
        struct rz_mark_pair *more = realloc(keepers->pairs, (keepers->n + 1) * sizeof(*more));
        rz_need_memory(more, "for the keepers of files");
        keepers->pairs = more;
        pair = &more[keepers->n++];
        *pair = (struct rz_mark_pair){.owner = owner, .keeper = keeper, .moment = moment};
    }
    pair->moment = moment > pair->moment ? moment : pair->moment;
}

void rz_mark_keepers_drop(struct rz_mark_keepers *keepers, rz_id owner, rz_id keeper)
{
    struct rz_mark_pair *pair = find_pair(keepers, owner, keeper);
    if (pair) {
        *pair = keepers->pairs[--keepers->n];
    }
}

bool rz_mark_keepers_has(const struct rz_mark_keepers *keepers, rz_id owner, rz_id keeper,
                         uint64_t moment)
{
    const struct rz_mark_pair *pair = find_pair(keepers, owner, keeper);
    return pair && pair->moment >= moment;
}

const struct rz_mark_pair *rz_mark_keepers_lost(const struct rz_mark_keepers *keepers,
                                                const struct rz_membership *membership,
                                                uint64_t since)
{
    for (uint32_t i = 0; i < keepers->n; i++) {
        const struct rz_mark_pair *pair = &keepers->pairs[i];
        if (pair->moment >= since && rz_membership_node_has_failed(membership, pair->owner) &&
            rz_membership_node_has_failed(membership, pair->keeper)) {
            return pair;
        }
    }
    return NULL;
}

void rz_mark_keepers_forget(struct rz_mark_keepers *keepers, uint64_t oldest)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < keepers->n; i++) {
        if (keepers->pairs[i].moment >= oldest) {
            keepers->pairs[kept++] = keepers->pairs[i];
        }
    }
    keepers->n = kept;
}

void rz_mark_keepers_clear(struct rz_mark_keepers *keepers)
{
    free(keepers->pairs);
    *keepers = (struct rz_mark_keepers){.n = 0};
}
