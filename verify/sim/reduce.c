/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exhaustive mode with fewer states: differences that the scenario claims to be irrelevant are
 * omitted. docs/protocols/exploration.md explains why that is sound; here each claim is checked
 * where it is used.
 */
#include "sim/explorer.h"

#include <string.h>

/* ---- messages ---- */

struct rz_sim_packet *rz_reduce_packet(const struct rz_explorer *x, struct rz_sim_packet *packet)
{
    const struct rz_sim_claims *claims = &x->sim->scenario->claims;
    if (x->whole || !claims->simplify) {
        return packet;
    }
    struct rz_message message = packet->message;
    claims->simplify(&message);
    struct rz_sim_packet *simple = rz_sim_packet_of_message(&message, packet->items);
    rz_protocol_message_release(packet);
    return simple;
}

bool rz_reduce_copy(const struct rz_explorer *x, const struct rz_flight *flight)
{
    if (x->whole || !x->sim->scenario->claims.copies_void || flight->packet->is_call) {
        return false;
    }
    for (uint32_t i = 0; i < x->n_flights; i++) {
        const struct rz_flight *other = &x->flights[i];
        if (other->packet == flight->packet && other->to == flight->to &&
            other->earliest == flight->earliest && other->latest == flight->latest) {
            return true;
        }
    }
    return false;
}

bool rz_reduce_check_copy(const struct rz_explorer *x, rz_id member,
                          const struct rz_sim_packet *packet)
{
    struct rz_sim *sim = x->sim;
    if (x->whole || !sim->scenario->claims.copies_void || packet->is_call || !sim->alive[member] ||
        rz_world_check_void(sim, member, packet)) {
        return true;
    }
    return rz_sim_say(sim, "claimed to be void, but is not: a second copy from %u to %u",
                      packet->message.from, member);
}

bool rz_reduce_flights(struct rz_explorer *x)
{
    struct rz_sim *sim = x->sim;
    const struct rz_sim_claims *claims = &sim->scenario->claims;
    for (uint32_t i = x->n_flights; i-- > 0 && !x->whole && claims->message_void;) {
        const struct rz_flight *flight = &x->flights[i];
        const struct rz_sim_packet *packet = flight->packet;
        if (packet->is_call ||
            !claims->message_void(sim, flight->to, &packet->message, packet->items)) {
            continue;
        }
        if (!rz_world_check_void(sim, flight->to, packet)) {
            return rz_sim_say(sim, "claimed to be void, but is not: a message from %u to %u",
                              packet->message.from, flight->to);
        }
        rz_explorer_forget(x, i);
    }
    return true;
}

/* ---- news of failures ---- */

bool rz_reduce_to_news(const struct rz_explorer *x)
{
    const struct rz_sim *sim = x->sim;
    if (x->whole || !sim->scenario->claims.news_first) {
        return false;
    }
    for (rz_id id = 0; id < sim->n; id++) {
        if (sim->pending[(size_t)id * sim->row_words]) {
            return true;
        }
    }
    return false;
}

/* Executes the choice with this identity, if it is still possible. False: a property does not hold.
 */
static bool apply_identity(struct rz_explorer *x, uint64_t identity)
{
    size_t first = x->n_choices;
    uint32_t active, n = rz_explorer_choices(x, &active);
    bool safe = true, found = false;
    for (uint32_t i = 0; i < n && !found; i++) {
        struct rz_choice choice = x->choices[first + i];
        found = choice.identity == identity;
        if (found) {
            safe = rz_explorer_apply(x, &choice);
        }
    }
    x->n_choices = first;
    return safe;
}

/* The state after first, then second, if second is possible then. What first sends is lost if
 * second is the crash of the same member: otherwise no member would get a message of that step. */
static bool state_after(struct rz_explorer *x, const struct rz_choice *first,
                        struct rz_choice second, uint64_t *hash)
{
    uint64_t sent = rz_explorer_sent_by(x, second.member);
    rz_explorer_save(x, first);
    bool safe = rz_explorer_apply(x, first);
    if (second.kind == RZ_CHOOSE_CRASH && second.member == first->member) {
        second.what += rz_explorer_sent_by(x, second.member) - sent;
    }
    rz_explorer_save(x, &second);
    safe = safe && apply_identity(x, rz_choice_identity(&second));
    *hash = rz_explorer_hash(x);
    rz_explorer_undo(x, &second);
    rz_explorer_undo(x, first);
    return safe;
}

/* Whether news and other lead to the same state in either order; if other includes these news along
 * with further ones: whether they may be delivered one by one. */
static bool commute(struct rz_explorer *x, const struct rz_choice *news, struct rz_choice other)
{
    uint64_t one, two;
    struct rz_choice rest = other;
    if (other.kind == RZ_CHOOSE_TELL && other.member == news->member) {
        rest.bits &= ~news->bits;
    }
    if (!state_after(x, news, rest, &one) || !state_after(x, &other, *news, &two)) {
        return false;
    }
    return one == two || rz_sim_say(x->sim,
                                    "claimed to commute, but do not: news of a failure to %u, and "
                                    "something that happens to %u",
                                    news->member, other.member);
}

/* Whether the news commute with all possible next events, and still do after one more failure or
 * piece of news elsewhere: these cause events that do not exist yet. */
static bool commute_with_all(struct rz_explorer *x, const struct rz_choice *news, bool further)
{
    size_t top = x->n_choices;
    uint32_t active, n = rz_explorer_choices(x, &active);
    bool holds = true;
    for (uint32_t i = 0; i < n && holds; i++) {
        struct rz_choice other = x->choices[top + i];
        if (other.identity == news->identity) {
            continue;
        }
        holds = commute(x, news, other);
        bool brings =
            other.kind == RZ_CHOOSE_CRASH ? other.bits == 0 : other.kind == RZ_CHOOSE_TELL;
        if (!holds || !further || !brings || other.member == news->member) {
            continue;
        }
        rz_explorer_save(x, &other);
        holds = rz_explorer_apply(x, &other) && commute_with_all(x, news, false);
        rz_explorer_undo(x, &other);
    }
    x->n_choices = top;
    return holds;
}

bool rz_reduce_check_news(struct rz_explorer *x)
{
    if (!rz_reduce_to_news(x)) {
        return true;
    }
    struct rz_choice news = x->choices[x->n_choices - 1];
    x->trying = true;
    bool holds = commute_with_all(x, &news, true);
    x->trying = false;
    return holds;
}
