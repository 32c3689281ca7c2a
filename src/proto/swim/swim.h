/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SWIM: failure detection by random probing, and its dissemination by gossip (Das, Gupta, Motivala,
 * DSN 2002), with suspicion, incarnation numbers and the parameters of memberlist, and with the
 * three parts of Lifeguard (Dadgar, Phillips, Currey, 2017).
 *
 * Once per probe_interval a member pings another one; each of the others is pinged once in each
 * traversal of a random order. If there is no answer after probe_timeout, indirect_checks other
 * members are asked to ping it. If there is no answer at all by the end of the interval, the target
 * is suspected. Suspicions, failures and refutations travel on pings and answers and in packets of
 * their own. A suspected member that hears of it refutes with a higher incarnation; one that does
 * not refute is declared failed.
 *
 * Evidence about a member is ordered: by incarnation, and within one incarnation alive < suspect <
 * failed < left; the greatest wins, whatever the order of arrival. With `final`, failed and left
 * win over everything, and a member that hears of its own failure is told FENCED instead of
 * refuting it.
 *
 * Messages may be lost, duplicated and late. Accuracy is probabilistic.
 *
 * Memory grows with the members ever suspected, failed or left, not with all members: a member that
 * was never reported has no record, and the order of probing is a computed keyed permutation.
 * docs/protocols/swim.md says what is certain and what is reconstruction.
 */
#ifndef RZ_PROTO_SWIM_H
#define RZ_PROTO_SWIM_H

#include <rhizome/protocol.h>

/* A member's state as another one sees it, in the order in which evidence of one incarnation wins.
 */
enum rz_swim_state { RZ_SWIM_ALIVE, RZ_SWIM_SUSPECT, RZ_SWIM_FAILED, RZ_SWIM_LEFT };

/* The parts of Lifeguard. */
enum rz_swim_lifeguard {
    RZ_SWIM_LIFEGUARD_PROBE = 1,     /* local health aware probe: a member that fails at probing, or
                                        must refute, probes less often */
    RZ_SWIM_LIFEGUARD_SUSPICION = 2, /* local health aware suspicion: an isolated observer waits
                                        longer than a corroborated one */
    RZ_SWIM_LIFEGUARD_BUDDY =
        4, /* buddy system: a ping to a suspected member tells it of the suspicion */
    RZ_SWIM_LIFEGUARD_ALL = 7
};

/* Deliberate faults, which prove that the checkers find them; 0 in production. */
enum rz_swim_mutation {
    RZ_SWIM_STALE_INCARNATION = 1, /* evidence of a higher incarnation does not raise the stored one
                                      if the state is unchanged */
    RZ_SWIM_KEEP_TIMER = 2,        /* a newer Alive leaves the timer of the suspicion running */
    RZ_SWIM_TIE_ALIVE = 4,         /* Alive wins over Suspect of the same incarnation */
    RZ_SWIM_FIRST_COMES = 8,       /* a failed member stays failed, despite newer evidence */
    RZ_SWIM_FORGE = 16,            /* an observer raises the incarnation of the reported */
    RZ_SWIM_SELF_SUSPECT = 32,     /* evidence about the own id is processed like any other */
    RZ_SWIM_ENDLESS = 64,          /* news are sent without limit */
    RZ_SWIM_MUTE = 128,            /* a suspected member does not refute */
    RZ_SWIM_NO_TIMER = 256         /* suspicions never end in a failure */
};

struct rz_swim_config {
    uint32_t n_members;                    /* >= 1, < 2^31 */
    uint32_t view;                         /* written into every message; others are dropped */
    rz_time probe_interval, probe_timeout; /* 0 < timeout < interval */
    uint32_t indirect_checks;              /* k; <= RZ_SWIM_TARGETS_MAX */
    uint32_t suspicion_mult;               /* >= 1 */
    uint32_t suspicion_max_mult;           /* of LIFEGUARD_SUSPICION; >= 1 */
    uint32_t retransmit_mult;              /* lambda; >= 1 */
    uint32_t gossip_nodes;                 /* <= RZ_SWIM_TARGETS_MAX */
    rz_time gossip_interval;               /* > 0 */
    rz_time gossip_to_failed; /* the failed still get packets for this long: they may be alive, and
                                 refute */
    rz_time push_pull_interval; /* between full state exchanges, scaled with members; 0: never */
    uint32_t
        awareness_max;  /* of LIFEGUARD_PROBE: upper bound of the factor by which intervals grow */
    uint32_t lifeguard; /* enum rz_swim_lifeguard */
    uint32_t updates_max; /* in one message; 0: as many as 1400 bytes hold */
    uint32_t records_max; /* initial number of records; grows by RZ_NEED; 0: 2 */
    bool final;           /* failure is final: see above */
    uint32_t mutations;   /* enum rz_swim_mutation, or 0 */
};

#define RZ_SWIM_TARGETS_MAX 8

/* memberlist's parameter sets, and LAN scaled to the caller's probe interval; with all of
 * Lifeguard, without `final`, view 0. */
enum rz_swim_profile { RZ_SWIM_LAN, RZ_SWIM_WAN, RZ_SWIM_LOCAL };
struct rz_swim_config rz_swim_config_of(enum rz_swim_profile profile, uint32_t n_members);
struct rz_swim_config rz_swim_config_scaled(rz_time probe_interval, uint32_t n_members);

/*
 * RZ_EVENT_FAILURE: the members in ids have failed, by another detector; own id: fenced.
 *
 * RZ_EVENT_CALL, call = RZ_SWIM_LEAVE: tell the others that the coming silence is no failure; then
 * be silent for ever (reported as TOLD_LEFT of the own id).
 *
 * RZ_EVENT_CALL, call = RZ_SWIM_HOLD: the host knows why the member arg[0], if it is suspected,
 * does not answer: it is not declared failed here before arg[1] from now.
 */
enum rz_swim_call { RZ_SWIM_LEAVE, RZ_SWIM_HOLD };

/*
 * RZ_ACTION_NOTIFY, what = the state that another member has here now: arg[0] = member, arg[1] =
 * its incarnation, arg[2] = the member that reports it. Changes that cancel out within one step are
 * not reported. RZ_SWIM_TOLD_LEFT of the own id: all messages are sent, the member may stop.
 * RZ_SWIM_FENCED: others consider this member failed, and failure is final: the host stops it at
 * once.
 */
enum rz_swim_notice {
    RZ_SWIM_TOLD_ALIVE, /* refuted: no longer suspected, or failed */
    RZ_SWIM_TOLD_SUSPECT,
    RZ_SWIM_TOLD_FAILED,
    RZ_SWIM_TOLD_LEFT,
    RZ_SWIM_FENCED
};

/* Items: news in pairs, first member + (reporting member << 32), then incarnation + (state << 32).
 * seq is the asker's number; answers repeat it. */
enum rz_swim_message {
    RZ_SWIM_PING,
    RZ_SWIM_ACK,
    RZ_SWIM_PING_REQUEST, /* word[0] = the member to ping */
    RZ_SWIM_NACK,         /* from a helper: the target did not answer, but the helper is alive */
    RZ_SWIM_GOSSIP,
    RZ_SWIM_PULL, /* all records of the sender; answered by PUSH, all records of the other */
    RZ_SWIM_PUSH,
    RZ_SWIM_MESSAGE_COUNT
};

struct rz_swim;

size_t rz_swim_size(const struct rz_swim_config *config);
void rz_swim_init(struct rz_swim *swim, const struct rz_swim_config *config, rz_id self,
                  rz_time now, uint64_t seed);

/* At most one SEND per step; more by RZ_MORE. */
enum rz_more rz_swim_step(struct rz_swim *swim, const struct rz_event *event,
                          struct rz_actions *out);
rz_time rz_swim_deadline(const struct rz_swim *swim);
uint64_t rz_swim_hash(const struct rz_swim *swim);
void rz_swim_grow(struct rz_swim *swim, size_t bytes);

/* ---- accessors ---- */

/* This member's knowledge of another one. */
struct rz_swim_view {
    enum rz_swim_state state;
    uint32_t incarnation;
    uint32_t observers; /* of a suspect: how many members reported it, including the first */
    uint32_t timers;    /* running for it: 1 for a suspect, else 0 */
    rz_time expires_at; /* of a suspect: declared failed then; else RZ_TIME_NEVER */
    bool queued;        /* news about it must still be sent */
    uint32_t sent;      /* how often the latest news about it were sent */
};
struct rz_swim_view rz_swim_look(const struct rz_swim *swim, rz_id member);

/* The suspect with that number, counted from 0; RZ_ID_NONE: there are fewer. */
rz_id rz_swim_suspect(const struct rz_swim *swim, uint32_t number);

uint32_t rz_swim_incarnation(const struct rz_swim *swim); /* the own one */
uint32_t rz_swim_health(const struct rz_swim *swim);      /* Lifeguard's health score; 0: healthy */
bool rz_swim_silent(const struct rz_swim *swim);          /* has left, or is fenced */
bool rz_swim_leaving(const struct rz_swim *swim);
uint32_t rz_swim_records(const struct rz_swim *swim); /* members with a record */
uint32_t rz_swim_timers(const struct rz_swim *swim);  /* of suspicions, running */
uint32_t rz_swim_limit(const struct rz_swim *swim);   /* how often news are sent at most */
/* The length of a suspicion that this many members share (1: its originator alone). */
rz_time rz_swim_patience(const struct rz_swim *swim, uint32_t observers);

/* ---- the arithmetic (swim_log.c, swim_order.c) ---- */

/* Logarithms of x >= 1 in units of 2^-32, at most 2^-31 too small and never too large. */
uint64_t rz_swim_log2(uint64_t x);
uint64_t rz_swim_log10(uint64_t x);
/* The least d with 10^d >= x; exact. */
uint32_t rz_swim_ceil_log10(uint64_t x);

/* The i-th of a permutation of 0..n-1, drawn by key; i < n. */
uint32_t rz_swim_order(uint64_t key, uint32_t n, uint32_t i);

#endif
