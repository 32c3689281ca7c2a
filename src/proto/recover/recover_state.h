/* The state of a recover object; private to the room. */
#ifndef RZ_PROTO_RECOVER_STATE_H
#define RZ_PROTO_RECOVER_STATE_H

#include "proto/agree/agree.h"
#include "proto/recover/recover.h"

/* What is known of a daemon. KNOWN and PROOF are this member's knowledge, the others are the same
 * at all members. */
enum {
    DAEMON_KNOWN = 1,       /* dead as far as this member knows */
    DAEMON_PROOF = 2,       /* with proof */
    DAEMON_AGREED = 4,      /* dead by decision */
    DAEMON_GONE = 8,        /* and no voter any more */
    DAEMON_REPAIRED = 16,   /* and an epoch has begun without it */
    DAEMON_NAMED = 32,      /* an item of the decision being worked on */
    DAEMON_NAMED_PROOF = 64 /* with proof */
};

/* The bits of a contribution's `and`. */
enum {
    ALL_REACHED = 1, /* the end of the phase, and no death is known */
    ALL_AWARE = 2    /* a death or an unrepaired rank is known */
};

enum { NOTICE_NONE = UINT32_MAX };

/* One flat block: this, the arrays at the offsets, the agree object last, so that it may grow. */
struct rz_recover {
    uint32_t n_daemons, n_ranks;
    rz_id self, tie_breaker;
    uint32_t restarts_max, mutations;

    /* The same at all members that saw the same decisions. */
    uint32_t epoch, phase, restarts;
    uint64_t generation; /* the newest one agreed */
    bool repairing;      /* somebody has entered MPIX_Reinit */
    bool stopped;

    /* This member's own. */
    bool repairing_here;
    bool reached;                 /* the end of the current phase */
    uint64_t generation_known;    /* >= generation */
    uint64_t generation_proposed; /* by the contribution in flight */
    bool proposed_aware;          /* and that contribution knew of a death */
    uint32_t fresh, lost;         /* ranks and daemons known dead, not noted; noted, not repaired */

    /* Work for CONTINUE: first what agree still has to do, then the notice, then the next
     * contribution. */
    bool agree_more;
    uint32_t notice; /* enum rz_recover_notice or NOTICE_NONE */
    uint32_t n_notice_items;
    uint64_t notice_arg[2];

    /* Offsets from the start of the block. */
    size_t items_at;       /* uint64_t [n_ranks + n_daemons]: of a contribution or a notice */
    size_t placement_at;   /* uint32_t [n_ranks] */
    size_t incarnation_at; /* uint32_t [n_ranks]: the current one */
    size_t known_at;       /* uint32_t [n_ranks]: newest incarnation known dead */
    size_t noted_at;       /* uint32_t [n_ranks]: newest incarnation dead by decision */
    size_t slots_at;       /* uint32_t [n_daemons] */
    size_t load_at;        /* uint32_t [n_daemons]: scratch */
    size_t daemon_at;      /* uint8_t [n_daemons]: DAEMON_* */
    size_t scratch_at;     /* uint8_t or bool [n_daemons] */
    size_t agree_at;
};

static inline void *rz_recover_at(const struct rz_recover *r, size_t offset)
{
    return (char *)(uintptr_t)r + offset;
}
static inline struct rz_agree *rz_recover_agree(const struct rz_recover *r)
{
    return rz_recover_at(r, r->agree_at);
}
static inline uint64_t *rz_recover_items(const struct rz_recover *r)
{
    return rz_recover_at(r, r->items_at);
}
static inline uint32_t *rz_recover_placement(const struct rz_recover *r)
{
    return rz_recover_at(r, r->placement_at);
}
static inline uint32_t *rz_recover_incarnation(const struct rz_recover *r)
{
    return rz_recover_at(r, r->incarnation_at);
}
static inline uint32_t *rz_recover_known(const struct rz_recover *r)
{
    return rz_recover_at(r, r->known_at);
}
static inline uint32_t *rz_recover_noted(const struct rz_recover *r)
{
    return rz_recover_at(r, r->noted_at);
}
static inline uint8_t *rz_recover_daemons(const struct rz_recover *r)
{
    return rz_recover_at(r, r->daemon_at);
}

/* A death of this rank is known here and not noted by a decision yet. */
static inline bool rz_recover_rank_fresh(const struct rz_recover *r, uint32_t rank)
{
    uint32_t incarnation = rz_recover_incarnation(r)[rank];
    return rz_recover_known(r)[rank] >= incarnation && rz_recover_noted(r)[rank] < incarnation;
}

/* Counts r->fresh and r->lost anew. */
void rz_recover_recount(struct rz_recover *r);

/*
 * Whether agree found a member dead of whose death no news has come: it died during an agreement.
 * Its evidence counts in the quorum, so this member waits for it before it contributes again; the
 * news of each death reaches every daemon.
 */
bool rz_recover_awaits_news(const struct rz_recover *r);

/* Stops this member when others hold it for dead. */
void rz_recover_look_at_self(struct rz_recover *r);

/* Works a decision in: agree's RZ_AGREE_DECIDED. Leaves a notice at most. */
void rz_recover_decide(struct rz_recover *r, const struct rz_action *decided);

#endif
