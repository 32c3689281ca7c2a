/* SPDX-License-Identifier: BSD-3-Clause */
/* The acceptor: promises and acceptances, and the vote that goes with the first promise. */
#include "proto/paxos/paxos_private.h"

#include "proto/mutation.h"
#include "base/assert.h"

void rz_paxos_ask_host(struct rz_paxos_instance *in, struct rz_actions *out)
{
    if (in->asked) {
        return;
    }
    in->asked = true;
    rz_paxos_tell_host(RZ_PAXOS_ASKED, in, out);
}

/* Two rules: a decided value is sent; a ballot lower than the promised one is refused. */
static bool turned_away(struct rz_paxos *paxos, const struct rz_paxos_instance *in,
                        const struct rz_message *message, bool check, struct rz_actions *out)
{
    uint64_t ballot = message->word[0];
    if (in->decided) {
        rz_paxos_reply(paxos, RZ_PAXOS_TOLD, in, message->from, (const uint64_t[2]){in->value},
                       out);
    } else if (check && ballot < in->promised) {
        rz_paxos_reply(paxos, RZ_PAXOS_REFUSED, in, message->from,
                       (const uint64_t[2]){ballot, in->promised}, out);
    } else {
        return false;
    }
    return true;
}

void rz_paxos_pay(struct rz_paxos *paxos, struct rz_paxos_instance *in, struct rz_actions *out)
{
    if (!in->owes) {
        return;
    }
    in->owes = false;
    struct rz_action *action = rz_paxos_send(paxos, RZ_PAXOS_PROMISE, in, out);
    uint32_t slot = out->count - 1;
    paxos->one[slot] = rz_paxos_ballot_owner(in->promised);
    action->to = &paxos->one[slot];
    action->n_to = 1;
    action->message.word[0] = in->promised;
    action->message.word[1] = in->vote;
    if (in->accepted != RZ_PAXOS_NO_BALLOT) {
        paxos->payload[0] = in->accepted;
        paxos->payload[1] = in->value;
        action->message.n_items = 2;
        action->items = paxos->payload;
    }
}

void rz_paxos_on_prepare(struct rz_paxos *paxos, struct rz_paxos_instance *in,
                         const struct rz_event *event, struct rz_actions *out)
{
    const struct rz_message *message = event->message;
    uint64_t ballot = message->word[0];
    if (turned_away(paxos, in, message, true, out)) {
        return;
    }
    rz_paxos_give_up(paxos, in, event->now);
    in->promised = ballot;
    in->top = ballot > in->top ? ballot : in->top;
    if (in->top == ballot) {
        in->proposal = message->word[1];
    }
    in->due = event->now + paxos->config.patience;
    in->owes = true;
    bool voting = paxos->config.votes && in->accepted == RZ_PAXOS_NO_BALLOT;
    if (voting && in->vote == RZ_PAXOS_UNKNOWN) {
        rz_paxos_ask_host(in, out);
    } else {
        rz_paxos_pay(paxos, in, out);
    }
}

void rz_paxos_on_accept(struct rz_paxos *paxos, struct rz_paxos_instance *in,
                        const struct rz_event *event, struct rz_actions *out)
{
    const struct rz_message *message = event->message;
    uint64_t ballot = message->word[0];
    bool check = !RZ_MUTATED(paxos->config.mutations, RZ_PAXOS_FORGET_PROMISE);
    if (turned_away(paxos, in, message, check, out)) {
        return;
    }
    rz_paxos_give_up(paxos, in, event->now);
    in->promised = ballot;
    in->accepted = ballot;
    in->value = message->word[1];
    in->top = ballot > in->top ? ballot : in->top;
    in->owes = false;
    in->due = event->now + paxos->config.patience;
    rz_paxos_reply(paxos, RZ_PAXOS_ACCEPTED, in, message->from, (const uint64_t[2]){ballot}, out);
}
