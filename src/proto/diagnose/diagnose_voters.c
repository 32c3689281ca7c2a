/* SPDX-License-Identifier: BSD-3-Clause */
/* When a member requests another set of voters. */
#include "proto/diagnose/diagnose_private.h"

#include "proto/mutation.h"

static bool votes(const struct rz_diagnose_voters *voters, rz_id k)
{
    return voters->set[k / 64] >> (k % 64) & 1;
}

/* The remaining voters cannot decide, or this member has no vote. */
static bool are_few(const struct rz_diagnose *diagnose, const struct rz_diagnose_voters *voters)
{
    uint32_t all = 0, in = 0;
    for (rz_id k = 0; k < diagnose->config.n_members; k++) {
        all += votes(voters, k);
        in += votes(voters, k) && rz_diagnose_has(diagnose, k);
    }
    return 2 * in <= all || !votes(voters, diagnose->self);
}

static bool is_another_group(const struct rz_diagnose *diagnose,
                             const struct rz_diagnose_voters *voters)
{
    rz_id k = 0;
    while (k < diagnose->config.n_members && votes(voters, k) == rz_diagnose_has(diagnose, k)) {
        k++;
    }
    return k < diagnose->config.n_members;
}

bool rz_diagnose_asks_for_voters(const struct rz_diagnose *diagnose,
                                 struct rz_diagnose_voters *voters)
{
    uint32_t own = diagnose->peers[diagnose->self].counter;
    bool back = own > voters->own && own % 2 == 0, another = is_another_group(diagnose, voters);
    voters->own = own;
    if (!another || !voters->differs) {
        voters->since = diagnose->interval;
    }
    voters->differs = another;
    if (voters->asked || own % 2 == 1 ||
        RZ_MUTATED(diagnose->config.mutations, RZ_DIAGNOSE_KEEP_VOTERS)) {
        return false;
    }
    voters->asked = back || are_few(diagnose, voters) ||
                    diagnose->interval - voters->since >= diagnose->config.patience;
    return voters->asked;
}

void rz_diagnose_take_voters(struct rz_diagnose_voters *voters, uint32_t number)
{
    voters->number = number;
    voters->asked = voters->differs = false;
}
