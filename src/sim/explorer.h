/* Inside exhaustive mode: a world with its flights, choices and the way back (explorer.c); the
 * search (explore.c). */
#ifndef RZ_SIM_EXPLORER_H
#define RZ_SIM_EXPLORER_H

#include "sim/visited.h"
#include "sim/world.h"

/* One message or call on its way to one member. */
struct rz_flight {
    struct rz_sim_packet *packet;
    rz_id to;
    uint32_t order;   /* of ordered calls: their place in the member's queue */
    rz_time sent;     /* timed scenarios: when it was sent; it arrives */
    rz_time earliest; /* not before, */
    rz_time latest;   /* and not after; NEVER: any time */
};

enum rz_choice_kind {
    RZ_CHOOSE_ARRIVAL,
    RZ_CHOOSE_TELL,
    RZ_CHOOSE_TICK,
    RZ_CHOOSE_TIME, /* from here on no member steps */
    RZ_CHOOSE_CRASH,
    RZ_CHOOSE_CONDEMN, /* view_changes.c: the member fails in this tick, and messages are lost with
                          it */
    RZ_CHOOSE_VIEW_CHANGE /* view_changes.c: the next one's turn */
};

/* Something that may happen next. */
struct rz_choice {
    enum rz_choice_kind kind;
    rz_id member;
    uint32_t flight; /* ARRIVAL */
    uint64_t bits; /* TELL: the failed processes; CRASH, CONDEMN: which of the member's flights are
                      lost */
    rz_time until; /* TIME */
    uint64_t what; /* ARRIVAL: hash of the packet; CRASH: sum of the hashes of those lost */
    uint64_t identity; /* the same thing in another order of events has the same identity */
};

struct rz_explorer {
    struct rz_sim *sim;
    bool whole;  /* no use is made of the scenario's claims */
    bool trying; /* choices are not to be left out: a claim is being tried */
    struct rz_flight *flights;
    uint32_t n_flights, flights_max;
    struct rz_choice *choices; /* a stack: each level of the search pushes its own */
    size_t n_choices, choices_max;
    char *saved; /* a stack of what the steps on the path have overwritten */
    size_t saved_bytes, saved_max;
    struct rz_sim_packet **packets; /* each content once; open addressing */
    size_t n_packets, packets_max;
};

void rz_explorer_open(struct rz_explorer *x, const struct rz_sim_options *options);
void rz_explorer_close(struct rz_explorer *x);

/* The scenario's start. */
bool rz_explorer_start(struct rz_explorer *x);

/* Let a choice happen; false when a property does not hold then. */
bool rz_explorer_apply(struct rz_explorer *x, const struct rz_choice *choice);

/* Save what the choice may overwrite; undo brings the last saved state back. */
void rz_explorer_save(struct rz_explorer *x, const struct rz_choice *choice);
void rz_explorer_undo(struct rz_explorer *x, const struct rz_choice *choice);

/* The present state in 64 bits: equal for all orders of events that lead to it. */
uint64_t rz_explorer_hash(const struct rz_explorer *x);

/* Take a flight away. */
void rz_explorer_forget(struct rz_explorer *x, uint32_t i);

/* --- choices.c: what may happen next ---------------------------------------------------------- */

/* Push the choices of the present state; returns how many. *active: how many of them, the first
 * ones, are more than fate: without any, the run is at its end. */
uint32_t rz_explorer_choices(struct rz_explorer *x, uint32_t *active);

uint64_t rz_choice_identity(const struct rz_choice *choice);
void rz_choice_push(struct rz_explorer *x, struct rz_choice choice);

/* Arrivals, news and tick of one member (arrivals: RZ_ID_NONE: of all). */
void rz_choices_arrivals(struct rz_explorer *x, rz_id member);
void rz_choices_news(struct rz_explorer *x, rz_id member);
void rz_choices_tick(struct rz_explorer *x, rz_id member);
void rz_choices_time(struct rz_explorer *x);

/* Whether anything of this member may not wait for the next tick. */
bool rz_choices_overdue(const struct rz_explorer *x, rz_id member);

/* CRASH or CONDEMN of the member, with each subset (CONDEMN: but the empty one) of what may be lost
 * with it. */
void rz_choices_failure(struct rz_explorer *x, enum rz_choice_kind kind, rz_id member);
bool rz_choices_may_fail(const struct rz_explorer *x, rz_id member);

/* Whether this message may be lost when this member fails so. */
bool rz_flight_fails_with(const struct rz_explorer *x, const struct rz_flight *flight,
                          enum rz_choice_kind kind, rz_id member);

/* The hashes of all flights that a crash of this member may take with it, added up. */
uint64_t rz_explorer_sent_by(const struct rz_explorer *x, rz_id member);

/* --- view_changes.c: members act one after the other in each tick
 * ------------------------------------ */

/* Whether they do. */
bool rz_view_change_taken(const struct rz_explorer *x);

void rz_view_change_start(struct rz_explorer *x);
uint32_t rz_view_change_choices(struct rz_explorer *x, uint32_t *active);

/* The present state's hash, whoever's turn it is. */
uint64_t rz_view_change_final(const struct rz_explorer *x);

/* Whose turn it is after a choice. */
void rz_view_change_apply(struct rz_explorer *x, const struct rz_choice *choice);

/* --- reduce.c: what the scenario's claims save ------------------------------------------------ */

/* The packet to be sent instead; takes over and gives one reference. */
struct rz_sim_packet *rz_reduce_packet(const struct rz_explorer *x, struct rz_sim_packet *packet);

/* Whether the flight is a copy that need not be there. */
bool rz_reduce_copy(const struct rz_explorer *x, const struct rz_flight *flight);

/* Whether a copy of the packet that member has just received would do nothing, where that is
 * claimed. */
bool rz_reduce_check_copy(const struct rz_explorer *x, rz_id member,
                          const struct rz_sim_packet *packet);

/* Take away the flights that will never matter; false: the claim does not hold. */
bool rz_reduce_flights(struct rz_explorer *x);

/* Whether nothing but the first of the pending news need come next. */
bool rz_reduce_to_news(const struct rz_explorer *x);

/* Where it is so: whether these news and everything else that may come next do commute. */
bool rz_reduce_check_news(struct rz_explorer *x);

#endif
