/* SPDX-License-Identifier: BSD-3-Clause */
/* Evidence about a member, received or own: which evidence wins, and its effects. All of it is
 * processed by rz_swim_hear, so that there is one rule. */
#include "proto/swim/swim_state.h"

#include "base/assert.h"

__extension__ typedef unsigned __int128 wide_t;

/* ---- suspicions ---- */

rz_time rz_swim_patience(const struct rz_swim *swim, uint32_t observers)
{
    rz_time least = swim->patience_least, most = swim->patience_most;
    uint32_t confirmed = observers - 1;
    if (confirmed >= swim->confirmations) {
        return least;
    }
    uint64_t share = (rz_swim_log2(confirmed + 1) << 28) / rz_swim_log2(swim->confirmations + 1);
    return most - (rz_time)(((wide_t)(most - least) * share) >> 28);
}

static void find_first_timer(struct rz_swim *swim)
{
    const uint32_t *timers = rz_swim_timers_of(swim);
    swim->expires_at = RZ_TIME_NEVER;
    for (uint32_t i = 0; i < swim->n_timers; i++) {
        rz_time at = rz_swim_record_at(swim, timers[i])->expires_at;
        if (at < swim->expires_at) {
            swim->expires_at = at;
        }
    }
}

static void timer_start(struct rz_swim *swim, uint32_t number, rz_id observer, rz_time now)
{
    struct rz_swim_record *record = rz_swim_record_at(swim, number);
    rz_assert(swim->n_timers < swim->max);
    record->observers[0] = observer;
    record->n_observers = 1;
    record->expires_at = rz_swim_mutant(swim, RZ_SWIM_NO_TIMER) ? now + (RZ_TIME_NEVER - now) / 2
                                                                : now + rz_swim_patience(swim, 1);
    rz_swim_timers_of(swim)[swim->n_timers++] = number;
    find_first_timer(swim);
}

static void timer_stop(struct rz_swim *swim, uint32_t number)
{
    uint32_t *timers = rz_swim_timers_of(swim);
    uint32_t left = 0;
    for (uint32_t i = 0; i < swim->n_timers; i++) {
        if (timers[i] != number) {
            timers[left++] = timers[i];
        }
    }
    swim->n_timers = left;
    rz_swim_record_at(swim, number)->expires_at = RZ_TIME_NEVER;
    find_first_timer(swim);
}

/* Another member reports the same: independent confirmations shorten the wait (Lifeguard). */
static void confirm(struct rz_swim *swim, uint32_t number, rz_id observer, rz_time now)
{
    struct rz_swim_record *record = rz_swim_record_at(swim, number);
    if (record->n_observers > swim->confirmations) {
        return;
    }
    for (uint32_t i = 0; i < record->n_observers; i++) {
        if (record->observers[i] == observer) {
            return;
        }
    }
    rz_assert(record->n_observers < RZ_SWIM_OBSERVERS_MAX);
    record->observers[record->n_observers++] = observer;
    if (!rz_swim_mutant(swim, RZ_SWIM_NO_TIMER)) {
        record->expires_at = record->changed_at + rz_swim_patience(swim, record->n_observers);
    }
    record->from = observer;
    find_first_timer(swim);
    rz_swim_queue_put(swim, number, now);
}

/* ---- evidence about the own id ---- */

void rz_swim_fence(struct rz_swim *swim)
{
    swim->fenced = swim->silent = true;
}

void rz_swim_health_add(struct rz_swim *swim, uint32_t by)
{
    uint32_t most = swim->config.awareness_max > 0 ? swim->config.awareness_max - 1 : 0;
    if (!(swim->config.lifeguard & RZ_SWIM_LIFEGUARD_PROBE)) {
        return;
    }
    swim->health = most - swim->health < by ? most : swim->health + by;
}

/* A suspicion in an older incarnation is already refuted. The new incarnation must also win over
 * what other members may have received. */
static void hear_about_self(struct rz_swim *swim, const struct rz_swim_update *update, rz_time now)
{
    if (swim->leaving) {
        return;
    }
    if (swim->config.final && update->state >= RZ_SWIM_FAILED) {
        rz_swim_fence(swim);
        return;
    }
    if (update->incarnation < swim->incarnation ||
        (update->state == RZ_SWIM_ALIVE && update->incarnation == swim->incarnation) ||
        rz_swim_mutant(swim, RZ_SWIM_MUTE)) {
        return;
    }
    swim->incarnation = update->incarnation + 1;
    rz_swim_health_add(swim, 1);
    uint32_t number = rz_swim_provide(swim, swim->self);
    rz_swim_record_at(swim, number)->incarnation = swim->incarnation;
    rz_swim_queue_put(swim, number, now);
}

/* ---- which evidence wins ---- */

/* The order of evidence: the greater number wins. It is total, so that the winner of any set does
 * not depend on the order of arrival. */
static uint64_t weight(const struct rz_swim *swim, enum rz_swim_state state, uint32_t incarnation)
{
    uint64_t gone = swim->config.final && state >= RZ_SWIM_FAILED;
    return gone << 34 | (uint64_t)incarnation << 2 | state;
}

static bool wins(const struct rz_swim *swim, const struct rz_swim_update *update,
                 const struct rz_swim_record *record)
{
    enum rz_swim_state state = record ? (enum rz_swim_state)record->state : RZ_SWIM_ALIVE;
    uint32_t incarnation = record ? record->incarnation : 0;
    if (rz_swim_mutant(swim, RZ_SWIM_FIRST_COMES) && state >= RZ_SWIM_FAILED) {
        return false;
    }
    if (rz_swim_mutant(swim, RZ_SWIM_STALE_INCARNATION) && update->state == state &&
        state != RZ_SWIM_ALIVE) {
        return false;
    }
    if (rz_swim_mutant(swim, RZ_SWIM_TIE_ALIVE) && state == RZ_SWIM_SUSPECT &&
        update->state == RZ_SWIM_ALIVE && update->incarnation == incarnation) {
        return true;
    }
    return weight(swim, update->state, update->incarnation) > weight(swim, state, incarnation);
}

static void accept_update(struct rz_swim *swim, const struct rz_swim_update *update, rz_time now)
{
    uint32_t number = rz_swim_provide(swim, update->member);
    struct rz_swim_record *record = rz_swim_record_at(swim, number);
    if (record->state == RZ_SWIM_SUSPECT &&
        !(rz_swim_mutant(swim, RZ_SWIM_KEEP_TIMER) && update->state == RZ_SWIM_ALIVE)) {
        timer_stop(swim, number);
    }
    rz_swim_record_set(swim, record, update->state);
    record->incarnation = update->incarnation;
    if (rz_swim_mutant(swim, RZ_SWIM_FORGE) && update->from == swim->self) {
        record->incarnation++;
    }
    record->from = update->from;
    record->changed_at = now;
    if (update->state == RZ_SWIM_SUSPECT) {
        timer_start(swim, number, update->from, now);
    }
    rz_swim_queue_put(swim, number, now);
}

void rz_swim_hear(struct rz_swim *swim, const struct rz_swim_update *update, rz_time now)
{
    if (update->member == swim->self && !rz_swim_mutant(swim, RZ_SWIM_SELF_SUSPECT)) {
        hear_about_self(swim, update, now);
        return;
    }
    const struct rz_swim_record *record = rz_swim_find(swim, update->member);
    if (wins(swim, update, record)) {
        accept_update(swim, update, now);
    } else if (record && update->state == RZ_SWIM_SUSPECT && record->state == RZ_SWIM_SUSPECT &&
               update->incarnation == record->incarnation) {
        confirm(swim, rz_swim_number_of(swim, update->member), update->from, now);
    }
}

void rz_swim_hold(struct rz_swim *swim, rz_id member, rz_time until)
{
    struct rz_swim_record *record = rz_swim_find(swim, member);
    if (record && record->state == RZ_SWIM_SUSPECT && record->expires_at < until) {
        record->expires_at = until;
        find_first_timer(swim);
    }
}

void rz_swim_expire(struct rz_swim *swim, rz_time now)
{
    for (uint32_t i = 0; i < swim->n_timers;) {
        uint32_t number = rz_swim_timers_of(swim)[i];
        struct rz_swim_record *record = rz_swim_record_at(swim, number);
        if (record->expires_at > now) {
            i++;
            continue;
        }
        uint32_t left = swim->n_timers;
        rz_swim_hear(swim,
                     &(struct rz_swim_update){.member = record->member,
                                              .from = swim->self,
                                              .incarnation = record->incarnation,
                                              .state = RZ_SWIM_FAILED},
                     now);
        if (swim->n_timers == left) {
            timer_stop(swim, number);
        }
    }
}
