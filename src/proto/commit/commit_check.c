#include "proto/commit/commit_check.h"

#include "proto/commit/commit_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static bool say(const struct rz_check_group *group,
                                                      const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(group->why, group->why_bytes, format, list);
    va_end(list);
    return false;
}

static const char *difference(const struct rz_commit *a, const struct rz_commit *b)
{
    size_t ranks = a->n_ranks * sizeof(rz_id);
    if (a->base != b->base || a->lost != b->lost)
        return "generation to restore";
    if (!a->lost && a->written_in != b->written_in)
        return "epoch in which it was written";
    if (memcmp(rz_commit_owner(a), rz_commit_owner(b), ranks) != 0)
        return "placement";
    if (a->opened == b->opened &&
        (memcmp(rz_commit_home_owner(a), rz_commit_home_owner(b), ranks) != 0 ||
         memcmp(rz_commit_home_buddy(a), rz_commit_home_buddy(b), ranks) != 0))
        return "holders";
    if (a->newest > b->newest + 1 || b->newest > a->newest + 1)
        return "generations committed, by more than one";
    return NULL;
}

bool rz_commit_check_uniform(const struct rz_check_group *group)
{
    for (rz_id i = 0; i < group->n_members; i++) {
        const struct rz_commit *a = group->state[i];
        for (rz_id j = 0; a && j < i; j++) {
            const struct rz_commit *b = group->state[j];
            const char *what = b && a->epoch == b->epoch ? difference(a, b) : NULL;
            if (what)
                return say(group, "S7-5: in epoch %u %u and %u differ: %s", a->epoch, j, i, what);
        }
    }
    return true;
}

static bool dead(const struct rz_commit *c, rz_id daemon)
{
    return daemon == RZ_ID_NONE || (rz_commit_daemons(c)[daemon] & DAEMON_AGREED);
}

bool rz_commit_check_holders(const struct rz_check_group *group)
{
    for (rz_id i = 0; i < group->n_members; i++) {
        const struct rz_commit *c = group->state[i];
        for (uint32_t rank = 0; c && c->epoch > 0 && rank < c->n_ranks; rank++) {
            if (rz_commit_buddy_of(c, rank) == rz_commit_owner(c)[rank])
                return say(group, "at %u rank %u is its own buddy", i, rank);
            if (!c->lost && dead(c, rz_commit_home_owner(c)[rank]) &&
                dead(c, rz_commit_home_buddy(c)[rank]))
                return say(group, "at %u nobody alive holds rank %u of generation %llu", i, rank,
                           (unsigned long long)c->base);
        }
    }
    return true;
}
