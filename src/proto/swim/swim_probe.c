/* SPDX-License-Identifier: BSD-3-Clause */
/* Pings: own ones, those requested from helpers, and those done for others. */
#include "proto/swim/swim_state.h"

#include "base/assert.h"

#include <string.h>

/* Lifeguard's buddy system: a suspected target learns of the suspicion by the ping, and can refute
 * in its answer. */
void rz_swim_probe_begin(struct rz_swim *swim, rz_time now, struct rz_actions *out)
{
    rz_time interval = swim->config.probe_interval * (1 + swim->health);
    swim->probe_at = now + interval;
    swim->target = rz_swim_next_target(swim);
    if (swim->target == RZ_ID_NONE) {
        return;
    }
    swim->phase = RZ_SWIM_DIRECT;
    swim->probe_seq = ++swim->seq;
    swim->n_helpers = 0;
    swim->indirect_at = now + swim->config.probe_timeout;
    const struct rz_swim_record *record = rz_swim_find(swim, swim->target);
    if (!record || record->state != RZ_SWIM_SUSPECT ||
        !(swim->config.lifeguard & RZ_SWIM_LIFEGUARD_BUDDY)) {
        rz_swim_send_to(swim, swim->target, RZ_SWIM_PING, swim->probe_seq, out);
        return;
    }
    rz_swim_update_write(rz_swim_items_of(swim),
                         &(struct rz_swim_update){.member = swim->target,
                                                  .from = swim->self,
                                                  .incarnation = record->incarnation,
                                                  .state = RZ_SWIM_SUSPECT});
    swim->to[0] = swim->target;
    swim->n_to = 1;
    rz_swim_send(swim, RZ_SWIM_PING, swim->probe_seq, 2, out);
}

void rz_swim_probe_indirectly(struct rz_swim *swim, rz_time now, struct rz_actions *out)
{
    swim->phase = RZ_SWIM_INDIRECT;
    swim->n_to = 0;
    rz_swim_draw(swim, swim->config.indirect_checks, swim->target, true, now);
    swim->n_helpers = swim->n_to;
    memcpy(swim->helpers, swim->to, sizeof(swim->helpers));
    if (swim->n_to > 0) {
        rz_swim_send(swim, RZ_SWIM_PING_REQUEST, swim->probe_seq, 0, out)->word[0] = swim->target;
    }
}

/* Helpers that do not even answer that they are alive are evidence of this member's own bad health.
 */
void rz_swim_probe_end(struct rz_swim *swim, rz_time now)
{
    if (swim->phase == RZ_SWIM_IDLE) {
        return;
    }
    swim->phase = RZ_SWIM_IDLE;
    uint32_t missing = swim->n_helpers == 0;
    for (uint32_t i = 0; i < swim->n_helpers; i++) {
        missing += swim->helpers[i] != RZ_ID_NONE;
    }
    rz_swim_health_add(swim, missing);
    const struct rz_swim_record *record = rz_swim_find(swim, swim->target);
    rz_swim_hear(swim,
                 &(struct rz_swim_update){.member = swim->target,
                                          .from = swim->self,
                                          .incarnation = record ? record->incarnation : 0,
                                          .state = RZ_SWIM_SUSPECT},
                 now);
}

/* If failure is final, a member that sends to one that considers it failed is told so. */
void rz_swim_on_ping(struct rz_swim *swim, const struct rz_message *message, struct rz_actions *out)
{
    if (!swim->config.final || !rz_swim_is_gone(swim, message->from)) {
        rz_swim_send_to(swim, message->from, RZ_SWIM_ACK, message->seq, out);
        return;
    }
    rz_swim_update_of(rz_swim_find(swim, message->from), rz_swim_items_of(swim));
    swim->to[0] = message->from;
    swim->n_to = 1;
    rz_swim_send(swim, RZ_SWIM_ACK, message->seq, 2, out);
}

void rz_swim_on_ping_request(struct rz_swim *swim, const struct rz_message *message, rz_time now,
                             struct rz_actions *out)
{
    rz_assert(swim->n_relays < swim->max);
    rz_id target = (rz_id)message->word[0];
    rz_swim_relays_of(swim)[swim->n_relays++] =
        (struct rz_swim_relay){.asker = message->from,
                               .target = target,
                               .asked = message->seq,
                               .seq = ++swim->seq,
                               .nack_at = now + swim->config.probe_timeout};
    rz_swim_send_to(swim, target, RZ_SWIM_PING, swim->seq, out);
}

static void relay_remove(struct rz_swim *swim, uint32_t at)
{
    struct rz_swim_relay *relays = rz_swim_relays_of(swim);
    swim->n_relays--;
    for (uint32_t i = at; i < swim->n_relays; i++) {
        relays[i] = relays[i + 1];
    }
}

/* Any answer to the own probe counts, direct or by a helper, until the interval is over. */
void rz_swim_on_ack(struct rz_swim *swim, const struct rz_message *message, struct rz_actions *out)
{
    if (swim->phase != RZ_SWIM_IDLE && message->seq == swim->probe_seq) {
        swim->phase = RZ_SWIM_IDLE;
        if (swim->health > 0) {
            swim->health--;
        }
        return;
    }
    const struct rz_swim_relay *relays = rz_swim_relays_of(swim);
    for (uint32_t i = 0; i < swim->n_relays; i++) {
        if (relays[i].seq != message->seq || relays[i].target != message->from) {
            continue;
        }
        struct rz_swim_relay relay = relays[i];
        relay_remove(swim, i);
        rz_swim_send_to(swim, relay.asker, RZ_SWIM_ACK, relay.asked, out);
        return;
    }
}

void rz_swim_on_nack(struct rz_swim *swim, const struct rz_message *message)
{
    if (swim->phase != RZ_SWIM_INDIRECT || message->seq != swim->probe_seq) {
        return;
    }
    for (uint32_t i = 0; i < swim->n_helpers; i++) {
        if (swim->helpers[i] == message->from) {
            swim->helpers[i] = RZ_ID_NONE;
        }
    }
}

/* Relays are stored in the order in which they began, and all wait equally long. */
bool rz_swim_relay_give_up(struct rz_swim *swim, rz_time now, struct rz_actions *out)
{
    if (rz_swim_relays_deadline(swim) > now) {
        return false;
    }
    struct rz_swim_relay relay = rz_swim_relays_of(swim)[0];
    relay_remove(swim, 0);
    rz_swim_send_to(swim, relay.asker, RZ_SWIM_NACK, relay.asked, out);
    return true;
}

rz_time rz_swim_relays_deadline(const struct rz_swim *swim)
{
    return swim->n_relays > 0 ? rz_swim_relays_of(swim)[0].nack_at : RZ_TIME_NEVER;
}
