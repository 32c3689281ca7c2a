/* SPDX-License-Identifier: BSD-3-Clause */
/* Internal to exhaustive mode: a world with its flights, choices and undo (explorer.c); the search
 * (explore.c). */
#ifndef RZ_SIM_EXPLORER_H
#define RZ_SIM_EXPLORER_H

#include "sim/visited.h"
#include "sim/world.h"

/* One message or call in flight to one member. */
struct rz_flight {
    struct rz_sim_packet *packet;
    rz_id to;
    uint32_t order;   /* of ordered calls: their position in the member's queue */
    rz_time sent;     /* timed scenarios: when it was sent; it arrives */
    rz_time earliest; /* not before, */
    rz_time latest;   /* and not after; NEVER: any time */
};

enum rz_choice_kind {
    RZ_CHOOSE_ARRIVAL,
    RZ_CHOOSE_TELL,
    RZ_CHOOSE_TICK,
    RZ_CHOOSE_TIME, /* from now on no member steps */
    RZ_CHOOSE_CRASH,
    RZ_CHOOSE_CONDEMN, /* view_changes.c: the member fails in this tick, and messages are lost with
                          it */
    RZ_CHOOSE_VIEW_CHANGE /* view_changes.c: the turn of the next member */
};

/* A possible next event. */
struct rz_choice {
    enum rz_choice_kind kind;
    rz_id member;
    uint32_t flight; /* ARRIVAL */
    uint64_t
        bits; /* TELL: the failed members; CRASH, CONDEMN: which of the member's flights are lost */
    rz_time until;     /* TIME */
    uint64_t what;     /* ARRIVAL: hash of the packet; CRASH: sum of the hashes of those lost */
    uint64_t identity; /* the same event in another order of events has the same identity */
};

struct rz_explorer {
    struct rz_sim *sim;
    bool whole;  /* the scenario's claims are not used */
    bool trying; /* choices must not be omitted: a claim is being checked */
    struct rz_flight *flights;
    uint32_t n_flights, flights_max;
    struct rz_choice *choices; /* a stack: each level of the search pushes its own */
    size_t n_choices, choices_max;
    char *saved; /* a stack of the states that the steps on the path have overwritten */
    size_t saved_bytes, saved_max;
    struct rz_sim_packet **packets; /* each content once; open addressing */
    size_t n_packets, packets_max;
};

void rz_explorer_open(struct rz_explorer *x, const struct rz_sim_options *options);
void rz_explorer_close(struct rz_explorer *x);

/* The scenario's start. */
bool rz_explorer_start(struct rz_explorer *x);

/* Executes a choice; false if a property does not hold afterwards. */
bool rz_explorer_apply(struct rz_explorer *x, const struct rz_choice *choice);

/* Saves what the choice may overwrite; undo restores the last saved state. */
void rz_explorer_save(struct rz_explorer *x, const struct rz_choice *choice);
void rz_explorer_undo(struct rz_explorer *x, const struct rz_choice *choice);

/* The present state in 64 bits: equal for all orders of events that lead to it. */
uint64_t rz_explorer_hash(const struct rz_explorer *x);

/* Removes a flight. */
void rz_explorer_forget(struct rz_explorer *x, uint32_t i);

/* ---- choices.c: possible next events ---- */

/* Pushes the choices of the present state; returns their number. *active: how many of them, the
 * first ones, are more than faults: without any, the run is at its end. */
uint32_t rz_explorer_choices(struct rz_explorer *x, uint32_t *active);

uint64_t rz_choice_identity(const struct rz_choice *choice);
void rz_choice_push(struct rz_explorer *x, struct rz_choice choice);

/* Arrivals, news and tick of one member (arrivals: RZ_ID_NONE: of all). */
void rz_choices_arrivals(struct rz_explorer *x, rz_id member);
void rz_choices_news(struct rz_explorer *x, rz_id member);
void rz_choices_tick(struct rz_explorer *x, rz_id member);
void rz_choices_time(struct rz_explorer *x);

/* Whether some event of this member must not wait for the next tick. */
bool rz_choices_overdue(const struct rz_explorer *x, rz_id member);

/* CRASH or CONDEMN of the member, with each subset (CONDEMN: except the empty one) of the flights
 * that may be lost with it. */
void rz_choices_failure(struct rz_explorer *x, enum rz_choice_kind kind, rz_id member);
bool rz_choices_may_fail(const struct rz_explorer *x, rz_id member);

/* Whether this message may be lost if this member fails so. */
bool rz_flight_fails_with(const struct rz_explorer *x, const struct rz_flight *flight,
                          enum rz_choice_kind kind, rz_id member);

/* The sum of the hashes of all flights that a crash of this member may lose. */
uint64_t rz_explorer_sent_by(const struct rz_explorer *x, rz_id member);

/* ---- view_changes.c: members act one after the other in each tick ---- */

/* Whether this world is one of turns. */
bool rz_view_change_taken(const struct rz_explorer *x);

void rz_view_change_start(struct rz_explorer *x);
uint32_t rz_view_change_choices(struct rz_explorer *x, uint32_t *active);

/* The hash of the present state, whichever member's turn it is. */
uint64_t rz_view_change_final(const struct rz_explorer *x);

/* Sets the member whose turn follows a choice. */
void rz_view_change_apply(struct rz_explorer *x, const struct rz_choice *choice);

/* ---- reduce.c: the scenario's claims ---- */

/* The packet to be sent instead; takes over and returns one reference. */
struct rz_sim_packet *rz_reduce_packet(const struct rz_explorer *x, struct rz_sim_packet *packet);

/* Whether the flight is a redundant copy. */
bool rz_reduce_copy(const struct rz_explorer *x, const struct rz_flight *flight);

/* Whether a copy of the packet that a member has just received would have no effect, if that is
 * claimed. */
bool rz_reduce_check_copy(const struct rz_explorer *x, rz_id member,
                          const struct rz_sim_packet *packet);

/* Removes the flights that will never matter; false: the claim does not hold. */
bool rz_reduce_flights(struct rz_explorer *x);

/* Whether only the first of the pending news need be considered next. */
bool rz_reduce_to_news(const struct rz_explorer *x);

/* If so: checks whether these news and all other possible next events commute. */
bool rz_reduce_check_news(struct rz_explorer *x);

#endif
