/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages: ESTIMATE word[0] = round | heard << 16 | members << 32, word[1] = and: what the sender
 * has gathered before this round, and the members that it heard in the round before. DECISION:
 * word[0] = members << 32, word[1] = and.
 */
#include "proto/rounds/rounds.h"

#include "proto/mutation.h"
#include "base/assert.h"
#include "base/random.h"

#include <string.h>

enum rz_rounds_message { RZ_ROUNDS_ESTIMATE, RZ_ROUNDS_DECISION, RZ_ROUNDS_MESSAGE_COUNT };

struct estimate {
    uint64_t and;
    uint16_t members; /* the members whose proposals are in it */
    uint16_t heard;   /* the members that its owner heard in the round before */
    uint32_t zero;
};

/* No member ends a round without this one, so no message is more than one round ahead: two boxes
 * suffice. */
struct box {
    struct estimate from[RZ_ROUNDS_MEMBERS_MAX];
    uint32_t received; /* bit set of the estimates present */
    uint32_t zero;
};

struct rz_rounds {
    struct rz_rounds_config config;
    rz_id self;
    uint32_t round;  /* 0: not proposed yet */
    uint32_t failed; /* bit set */
    uint32_t stopped, decided;
    uint32_t n_to;
    rz_id to[RZ_ROUNDS_MEMBERS_MAX];
    struct estimate own;
    struct box box[2]; /* of round r in r % 2 */
};

static bool rounds_mutated(const struct rz_rounds *rounds, enum rz_rounds_mutation mutation)
{
    return RZ_MUTATED(rounds->config.mutations, mutation);
}

static uint32_t all_members(const struct rz_rounds *rounds)
{
    return (UINT32_C(1) << rounds->config.n_members) - 1;
}

size_t rz_rounds_size(const struct rz_rounds_config *config)
{
    (void)config;
    return sizeof(struct rz_rounds);
}

void rz_rounds_init(struct rz_rounds *rounds, const struct rz_rounds_config *config, rz_id self,
                    rz_time now, uint64_t seed)
{
    (void)now;
    (void)seed;
    rz_assert(config->n_members >= 1 && config->n_members <= RZ_ROUNDS_MEMBERS_MAX);
    rz_assert(self < config->n_members);
    memset(rounds, 0, sizeof(*rounds));
    rounds->config = *config;
    rounds->self = self;
}

static void learn_failures(struct rz_rounds *rounds, uint32_t failed)
{
    rounds->failed |= failed & all_members(rounds);
    if (rounds->failed >> rounds->self & 1) {
        rounds->stopped = 1;
    }
}

static void rounds_send(struct rz_rounds *rounds, enum rz_rounds_message type,
                        struct rz_actions *out)
{
    rounds->n_to = 0;
    for (rz_id id = 0; id < rounds->config.n_members; id++) {
        if (id != rounds->self && !(rounds->failed >> id & 1)) {
            rounds->to[rounds->n_to++] = id;
        }
    }
    if (rounds->n_to == 0) {
        return;
    }
    rz_assert(out->count < out->max);
    uint64_t word = type == RZ_ROUNDS_ESTIMATE
                        ? (uint64_t)rounds->round | (uint64_t)rounds->own.heard << 16
                        : 0;
    out->v[out->count++] = (struct rz_action){
        .kind = RZ_ACTION_SEND,
        .to = rounds->to,
        .n_to = rounds->n_to,
        .message = {.protocol = RZ_PROTOCOL_ROUNDS,
                    .type = (uint8_t)type,
                    .view = rounds->config.view,
                    .from = rounds->self,
                    .origin = rounds->self,
                    .seq = 1,
                    .word = {word | (uint64_t)rounds->own.members << 32, rounds->own.and }},
    };
}

/* The decision is in rounds->own. */
static void rounds_decide(struct rz_rounds *rounds, struct rz_actions *out)
{
    rounds->decided = 1;
    if (!rounds_mutated(rounds, RZ_ROUNDS_NO_TELLING)) {
        rounds_send(rounds, RZ_ROUNDS_DECISION, out);
    }
    rz_assert(out->count < out->max);
    out->v[out->count++] =
        (struct rz_action){.kind = RZ_ACTION_NOTIFY,
                           .what = RZ_ROUNDS_DECIDED,
                           .arg = {rounds->own.and, rounds->own.members, rounds->round}};
}

/*
 * Whether every member heard in this round had heard the same members as this one in the round
 * before, and exactly these were heard again. Then all of them began this round with the same
 * estimate, all living members are among them, and no other member is heard any more: the estimate
 * cannot change. The own observation alone is not sufficient (RZ_ROUNDS_OWN_EYES): while failure
 * reports lag, another member may still hear a member that is known failed here.
 */
static bool quiet(const struct rz_rounds *rounds, const struct box *box, uint32_t heard)
{
    if (rounds->round < 2 && !rounds_mutated(rounds, RZ_ROUNDS_ONE_EARLY)) {
        return false;
    }
    if (heard != rounds->own.heard) {
        return false;
    }
    for (rz_id id = 0; id < rounds->config.n_members; id++) {
        if (id != rounds->self && heard >> id & 1 && box->from[id].heard != heard &&
            !rounds_mutated(rounds, RZ_ROUNDS_OWN_EYES)) {
            return false;
        }
    }
    return true;
}

/* Ends the current round if no member is waited for any more. Only members count that are not known
 * failed now: a message of a failed one may have arrived here alone. */
static bool end_round(struct rz_rounds *rounds, struct rz_actions *out)
{
    struct box *box = &rounds->box[rounds->round % 2];
    uint32_t self = UINT32_C(1) << rounds->self;
    if ((box->received | rounds->failed | self) != all_members(rounds)) {
        return false;
    }
    uint32_t fenced = rounds_mutated(rounds, RZ_ROUNDS_NO_FENCE) ? 0 : rounds->failed;
    uint32_t heard = (box->received & ~fenced) | self;
    bool last = quiet(rounds, box, heard) || rounds->round == rounds->config.n_members;
    for (rz_id id = 0; id < rounds->config.n_members; id++) {
        if (id == rounds->self || !(heard >> id & 1)) {
            continue;
        }
        rounds->own.and &= box->from[id].and;
        rounds->own.members |= box->from[id].members;
    }
    rounds->own.heard = (uint16_t)heard;
    memset(box, 0, sizeof(*box));
    if (last) {
        rounds_decide(rounds, out);
        return false;
    }
    rounds->round++;
    rounds_send(rounds, RZ_ROUNDS_ESTIMATE, out);
    return true;
}

static bool rounds_hears(const struct rz_rounds *rounds, const struct rz_message *message)
{
    if (message->view != rounds->config.view || message->type >= RZ_ROUNDS_MESSAGE_COUNT) {
        return false;
    }
    if (message->from >= rounds->config.n_members || message->from == rounds->self) {
        return false;
    }
    uint64_t round = message->word[0] & 0xFFFF, heard = message->word[0] >> 16 & 0xFFFF;
    bool estimates = message->type == RZ_ROUNDS_ESTIMATE;
    if (estimates ? round == 0 || round > rounds->config.n_members : (round | heard) != 0) {
        return false;
    }
    if (((heard | message->word[0] >> 32) & ~(uint64_t)all_members(rounds)) != 0) {
        return false;
    }
    return !(rounds->failed >> message->from & 1) || rounds_mutated(rounds, RZ_ROUNDS_NO_FENCE);
}

static void rounds_on_receive(struct rz_rounds *rounds, const struct rz_message *message,
                              struct rz_actions *out)
{
    struct estimate estimate = {.and = message->word[1],
                                .members = (uint16_t)(message->word[0] >> 32),
                                .heard = (uint16_t)(message->word[0] >> 16)};
    uint32_t round = (uint32_t)(message->word[0] & 0xFFFF);
    if (message->type == RZ_ROUNDS_DECISION) {
        /* No living member is left out of a decision, so this one has proposed. */
        if (rounds->round == 0) {
            return;
        }
        rounds->own = estimate;
        rounds_decide(rounds, out);
        return;
    }
    if (round != rounds->round && round != rounds->round + 1) {
        return;
    }
    struct box *box = &rounds->box[round % 2];
    box->from[message->from] = estimate;
    box->received |= UINT32_C(1) << message->from;
    learn_failures(rounds, ~(uint32_t)estimate.heard);
}

enum rz_more rz_rounds_step(struct rz_rounds *rounds, const struct rz_event *event,
                            struct rz_actions *out)
{
    rz_assert(out->count == 0 && out->max >= RZ_ACTIONS_MIN);
    if (rounds->stopped || rounds->decided) {
        return RZ_DONE;
    }
    if (event->kind == RZ_EVENT_RECEIVE) {
        if (!rounds_hears(rounds, event->message)) {
            return RZ_DONE;
        }
        rounds_on_receive(rounds, event->message, out);
    } else if (event->kind == RZ_EVENT_FAILURE) {
        for (uint32_t i = 0; i < event->n_ids; i++) {
            learn_failures(rounds, UINT32_C(1) << event->ids[i]);
        }
    } else if (event->kind == RZ_EVENT_CALL) {
        rz_assert(event->call == RZ_ROUNDS_PROPOSE && rounds->round == 0);
        rounds->round = 1;
        rounds->own = (struct estimate){.and = event->arg[0],
                                        .members = (uint16_t)(1u << rounds->self),
                                        .heard = (uint16_t)all_members(rounds)};
        rounds_send(rounds, RZ_ROUNDS_ESTIMATE, out);
    }
    while (rounds->round > 0 && !rounds->decided && !rounds->stopped && end_round(rounds, out)) {
        ;
    }
    return RZ_DONE;
}

rz_time rz_rounds_deadline(const struct rz_rounds *rounds)
{
    (void)rounds;
    return RZ_TIME_NEVER;
}

static uint64_t hash_estimate(uint64_t hash, const struct estimate *estimate)
{
    return rz_mix(rz_mix(hash, estimate->and), estimate->members | (uint32_t)estimate->heard << 16);
}

uint64_t rz_rounds_hash(const struct rz_rounds *rounds)
{
    uint64_t hash = rz_mix(rounds->self, rounds->round | (uint64_t)rounds->failed << 32);
    hash = hash_estimate(rz_mix(hash, rounds->stopped | rounds->decided << 1), &rounds->own);
    for (uint32_t i = 0; i < 2; i++) {
        const struct box *box = &rounds->box[i];
        hash = rz_mix(hash, box->received);
        for (rz_id id = 0; id < rounds->config.n_members; id++) {
            if (box->received >> id & 1) {
                hash = hash_estimate(hash, &box->from[id]);
            }
        }
    }
    return hash;
}

void rz_rounds_grow(struct rz_rounds *rounds, size_t bytes)
{
    (void)rounds;
    (void)bytes;
    rz_assert(!"the state never grows");
}

struct rz_rounds_decision rz_rounds_decision(const struct rz_rounds *rounds)
{
    return (struct rz_rounds_decision){.made = rounds->decided,
                                       .and = rounds->own.and,
                                       .members = rounds->own.members,
                                       .round = rounds->round};
}

uint32_t rz_rounds_failed(const struct rz_rounds *rounds)
{
    return rounds->failed;
}
