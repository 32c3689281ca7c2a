/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The roll call: a daemon that misses another asks all whether they are there, before it says so.
 * What it misses is held for failed only where those that answer are a quorum without it, and only
 * if it is still silent after as long again as they took to answer.
 */
#include "base/random.h"
#include "proto/mutation.h"
#include "proto/emit.h"
#include "proto/recover/recover_state.h"

/* What a roll call knows of a daemon. */
enum {
    CALL_ASKED = 1,
    CALL_HEARD = 2,    /* since it was asked */
    CALL_SUSPECT = 4,  /* silent, as the detector here finds */
    CALL_FOR_GOOD = 8, /* and what comes from it does not change that */
    CALL_REPORT = 16   /* the host has to be told that it is held for failed */
};

static void recover_send(struct rz_recover *r, const rz_id *to, uint32_t n_to,
                         enum rz_recover_message type, struct rz_actions *out)
{
    if (n_to == 0) {
        return;
    }
    struct rz_action *action = rz_emit(out, RZ_ACTION_SEND);
    action->to = to;
    action->n_to = n_to;
    action->message = (struct rz_message){.protocol = RZ_PROTOCOL_RECOVER,
                                          .type = (uint8_t)type,
                                          .view = r->view,
                                          .from = r->self,
                                          .origin = r->self};
}

/* ---- which daemons are there ---- */

const uint8_t *rz_recover_answers(const struct rz_recover *r)
{
    const uint8_t *daemons = rz_recover_daemons(r), *call = rz_recover_call(r);
    uint8_t *votes = rz_recover_at(r, r->scratch_at);
    for (rz_id d = 0; d < r->n_daemons; d++) {
        bool asked = call[d] & (CALL_ASKED | CALL_SUSPECT);
        if (d == r->self) {
            votes[d] = RZ_VOTE_LIVE;
        } else if (!asked || (daemons[d] & (DAEMON_GONE | DAEMON_PROOF))) {
            votes[d] = RZ_VOTE_GONE;
        } else if ((call[d] & CALL_HEARD) && !(call[d] & CALL_SUSPECT) &&
                   !rz_recover_daemon_failed(r, d)) {
            votes[d] = RZ_VOTE_LIVE;
        } else {
            votes[d] = RZ_VOTE_SILENT;
        }
    }
    return votes;
}

static void end_call(struct rz_recover *r)
{
    uint8_t *call = rz_recover_call(r);
    r->asking = false;
    r->report_at = RZ_TIME_NEVER;
    for (rz_id d = 0; d < r->n_daemons; d++) {
        bool report = (call[d] & CALL_SUSPECT) && !rz_recover_daemon_failed(r, d);
        r->n_reports += report;
        call[d] = report ? CALL_REPORT : call[d] & CALL_REPORT;
    }
    r->n_suspects = 0;
}

void rz_recover_count_answers(struct rz_recover *r, rz_time now)
{
    if (!r->asking) {
        return;
    }
    if (!rz_recover_has_quorum(rz_recover_answers(r), r->n_daemons, r->tie_breaker)) {
        r->report_at = RZ_TIME_NEVER;
        return;
    }
    if (r->report_at == RZ_TIME_NEVER) {
        r->report_at = now + (now - r->call_began);
    }
    if (r->n_suspects == 0 || now >= r->report_at) {
        end_call(r);
    }
}

static void forget_suspect(struct rz_recover *r, rz_id daemon)
{
    uint8_t *call = &rz_recover_call(r)[daemon];
    if (*call & CALL_SUSPECT) {
        r->n_suspects--;
    }
    *call &= (uint8_t) ~(CALL_SUSPECT | CALL_FOR_GOOD);
}

void rz_recover_hear(struct rz_recover *r, rz_id daemon, rz_time now)
{
    if (!r->asking || daemon >= r->n_daemons) {
        return;
    }
    uint8_t *call = &rz_recover_call(r)[daemon];
    *call |= CALL_HEARD;
    if (!(*call & CALL_FOR_GOOD)) {
        forget_suspect(r, daemon);
    }
    rz_recover_count_answers(r, now);
}

void rz_recover_suspect_failed(struct rz_recover *r, rz_id daemon, rz_time now)
{
    forget_suspect(r, daemon);
    rz_recover_count_answers(r, now);
}

/* ---- asking ---- */

/* The suspect, and all others; among many a sample, other members another one. */
static uint32_t choose_asked(struct rz_recover *r, rz_id *to)
{
    uint32_t step = 1 + (r->n_daemons - 1) / RZ_RECOVER_ASKED_MAX, n = 0;
    for (uint32_t ahead = 1; ahead < r->n_daemons; ahead++) {
        rz_id d = (rz_id)(((uint64_t)r->self + ahead) % r->n_daemons);
        bool suspect = rz_recover_call(r)[d] & CALL_SUSPECT;
        if (ahead % step > 0 && !suspect) {
            continue;
        }
        rz_recover_call(r)[d] |= CALL_ASKED;
        if (!rz_recover_daemon_failed(r, d)) { /* else a voter, perhaps, that does not answer */
            to[n++] = d;
        }
    }
    return n;
}

static void begin_call(struct rz_recover *r, enum rz_recover_message type, rz_time now,
                       struct rz_actions *out)
{
    if (r->asking) {
        return;
    }
    rz_id *to = rz_recover_at(r, r->asked_ids_at);
    r->asking = true;
    r->call_began = now;
    r->report_at = RZ_TIME_NEVER;
    recover_send(r, to, choose_asked(r, to), type, out);
    struct rz_action *notice = rz_emit(out, RZ_ACTION_NOTIFY);
    notice->what = RZ_RECOVER_ASKING;
}

void rz_recover_suspect(struct rz_recover *r, rz_id daemon, bool for_good, rz_time now,
                        struct rz_actions *out)
{
    if (r->stopped || daemon >= r->n_daemons || daemon == r->self ||
        rz_recover_daemon_failed(r, daemon) || (rz_recover_call(r)[daemon] & CALL_REPORT)) {
        return;
    }
    if (RZ_MUTATED(r->mutations, RZ_RECOVER_HASTY)) {
        rz_recover_call(r)[daemon] |= CALL_REPORT;
        r->n_reports++;
        return;
    }
    uint8_t *call = &rz_recover_call(r)[daemon];
    r->n_suspects += !(*call & CALL_SUSPECT);
    *call |= CALL_SUSPECT | (for_good ? CALL_FOR_GOOD : 0);
    *call &= (uint8_t)~CALL_HEARD;
    begin_call(r, RZ_RECOVER_DOUBT, now, out);
    rz_recover_count_answers(r, now);
}

void rz_recover_roll_call_message(struct rz_recover *r, const struct rz_message *message,
                                  rz_time now, struct rz_actions *out)
{
    rz_id from = message->from;
    if (r->stopped || message->view != r->view || from >= r->n_daemons || from == r->self ||
        rz_recover_daemon_failed(r, from)) {
        return;
    }
    if (message->type != RZ_RECOVER_HERE) {
        r->asker = from;
        recover_send(r, &r->asker, 1, RZ_RECOVER_HERE, out);
    }
    if (message->type == RZ_RECOVER_DOUBT) {
        begin_call(r, RZ_RECOVER_ASK, now, out);
    }
    rz_recover_hear(r, from, now);
}

/* ---- what comes of it ---- */

void rz_recover_give_report(struct rz_recover *r, struct rz_actions *out)
{
    uint8_t *call = rz_recover_call(r);
    rz_id d = 0;
    while (!(call[d] & CALL_REPORT)) {
        d++;
    }
    call[d] &= (uint8_t)~CALL_REPORT;
    r->n_reports--;
    struct rz_action *notice = rz_emit(out, RZ_ACTION_NOTIFY);
    notice->what = RZ_RECOVER_REPORT;
    notice->arg[0] = d;
}

bool rz_recover_asking(const struct rz_recover *r)
{
    return r->asking;
}

rz_time rz_recover_report_at(const struct rz_recover *r)
{
    return r->asking && r->n_suspects > 0 ? r->report_at : RZ_TIME_NEVER;
}

uint64_t rz_recover_hash_call(const struct rz_recover *r, uint64_t h)
{
    if (!r->asking && r->n_reports == 0) {
        return h;
    }
    h = rz_mix(rz_mix(rz_mix(h, r->asking), r->call_began), r->report_at);
    for (rz_id d = 0; d < r->n_daemons; d++) {
        h = rz_mix(h, rz_recover_call(r)[d]);
    }
    return h;
}
