/* SPDX-License-Identifier: BSD-3-Clause */
/* Local health: a tester to which most members seem slow doubts itself, within a limit. */
#include "proto/diagnose/diagnose_private.h"

#include "proto/mutation.h"

void rz_diagnose_condemn(struct rz_diagnose *diagnose, rz_id k)
{
    struct rz_diagnose_peer *peer = &diagnose->peers[k];
    peer->okrun = 0;
    if (peer->counter % 2 == 1) {
        return;
    }
    rz_diagnose_set(diagnose, k, peer->counter + 1);
    peer->event = true;
}

void rz_diagnose_fail(struct rz_diagnose *diagnose, rz_id k)
{
    if (diagnose->config.health_max == 0) {
        rz_diagnose_condemn(diagnose, k);
    } else {
        diagnose->peers[k].failed = true;
    }
}

void rz_diagnose_recover(struct rz_diagnose *diagnose)
{
    diagnose->n_assessed = diagnose->n_failed = 0;
    diagnose->health = diagnose->doubts = 0;
}

/* Members tested by this one: those assessed, and those whose test is still under way. */
static uint32_t count_tested(const struct rz_diagnose *diagnose)
{
    uint32_t n = diagnose->n_assessed;
    for (rz_id k = 0; k < diagnose->config.n_members; k++) {
        n += diagnose->peers[k].pending && rz_diagnose_has(diagnose, k);
    }
    return n;
}

/* Whether the doubt holds: not after health_max in a row, because all others may have failed. */
static bool doubt(struct rz_diagnose *diagnose, uint32_t n_tested, struct rz_actions *out)
{
    uint32_t health_max = diagnose->config.health_max;
    bool always = RZ_MUTATED(diagnose->config.mutations, RZ_DIAGNOSE_DOUBT_ALWAYS);
    bool holds = diagnose->doubts < health_max || always;
    struct rz_action *notice = rz_diagnose_emit(out, RZ_ACTION_NOTIFY);
    notice->what = RZ_DIAGNOSE_DOUBT;
    notice->arg[0] = diagnose->n_failed;
    notice->arg[1] = n_tested;
    notice->arg[3] = !holds;
    if (holds) {
        diagnose->doubts++;
        diagnose->health += diagnose->health < health_max;
    } else {
        rz_diagnose_recover(diagnose);
    }
    notice->arg[2] = diagnose->health;
    return holds;
}

/* An interval with tests under way is no sign of health: otherwise, whenever some of the failed
 * tests end later, the members that answer would remove the doubts caused by the others. */
void rz_diagnose_settle(struct rz_diagnose *diagnose, struct rz_actions *out)
{
    if (diagnose->config.health_max == 0) {
        return;
    }
    uint32_t n_tested = count_tested(diagnose);
    bool holds = false;
    if (diagnose->n_failed > 1 && 2 * diagnose->n_failed > n_tested) {
        holds = doubt(diagnose, n_tested, out);
    } else if (n_tested > 0 && n_tested == diagnose->n_assessed) {
        diagnose->doubts = 0;
        diagnose->health -= diagnose->health > 0;
    }
    diagnose->n_assessed = diagnose->n_failed = 0;
    for (rz_id k = 0; k < diagnose->config.n_members; k++) {
        bool failed = diagnose->peers[k].failed;
        diagnose->peers[k].failed = false;
        if (failed && !holds) {
            rz_diagnose_condemn(diagnose, k);
        }
    }
}
