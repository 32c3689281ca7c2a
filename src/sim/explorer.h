/* Inside exhaustive mode: a world with its flights, choices and the way back (explorer.c); the
 * search (explore.c). */
#ifndef RZ_SIM_EXPLORER_H
#define RZ_SIM_EXPLORER_H

#include "sim/visited.h"
#include "sim/world.h"

/* One message or call on its way to one member. */
struct rz_flight {
    struct rz_letter *letter;
    rz_id to;
    uint32_t order;   /* of ordered calls: their place in the member's queue */
    rz_time earliest; /* timed scenarios: not before, */
    rz_time latest;   /* and not after; NEVER: any time */
};

enum rz_choice_kind {
    RZ_CHOOSE_ARRIVAL,
    RZ_CHOOSE_TELL,
    RZ_CHOOSE_TICK,
    RZ_CHOOSE_TIME,
    RZ_CHOOSE_CRASH
};

/* Something that may happen next. */
struct rz_choice {
    enum rz_choice_kind kind;
    rz_id member;
    uint32_t flight;   /* ARRIVAL */
    uint64_t bits;     /* TELL: the dead; CRASH: which of the member's flights are lost */
    rz_time until;     /* TIME */
    uint64_t identity; /* the same thing in another order of events has the same identity */
};

struct rz_explorer {
    struct rz_sim *sim;
    struct rz_flight *flights;
    uint32_t n_flights, flights_max;
    struct rz_choice *choices; /* a stack: each level of the search pushes its own */
    size_t n_choices, choices_max;
    char *saved; /* a stack of what the steps on the path have overwritten */
    size_t saved_bytes, saved_max;
    struct rz_letter **letters; /* each content once; open addressing */
    size_t n_letters, letters_max;
};

void rz_explorer_open(struct rz_explorer *x, const struct rz_sim_options *options);
void rz_explorer_close(struct rz_explorer *x);

/* Push the choices of the present state; returns how many. *active: how many of them are not
 * crashes. */
uint32_t rz_explorer_choices(struct rz_explorer *x, uint32_t *active);

/* Let a choice happen; false when a property does not hold then. */
bool rz_explorer_apply(struct rz_explorer *x, const struct rz_choice *choice);

/* Save what the choice may overwrite; undo brings the last saved state back. */
void rz_explorer_save(struct rz_explorer *x, const struct rz_choice *choice);
void rz_explorer_undo(struct rz_explorer *x, const struct rz_choice *choice);

/* The present state in 64 bits: equal for all orders of events that lead to it. */
uint64_t rz_explorer_hash(const struct rz_explorer *x);

#endif
