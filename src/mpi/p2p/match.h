/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The matcher: which message meets which receive. There is one for all transports, so wildcards
 * span them. It stores entries that the caller owns, allocates only its own tables, and knows no
 * network.
 *
 * The rule of MPI: messages from one source in one context match in the order sent (here: arrived);
 * receives match in the order posted; a receive may leave source or tag open. Receives without
 * wildcards and messages are found by hash; receives with a wildcard are in a list of their
 * context. Of the two candidates the older one is taken. A receive that is posted alone needs
 * neither.
 */
#ifndef RZ_MPI_MATCH_H
#define RZ_MPI_MATCH_H

#include "mpi/request/match_entry.h"

struct rz_match_list {
    struct rz_match_entry *first, *last;
};

/* The entries of one context id. Made at the first use, by a receive or by a message that came
 * early. */
struct rz_match_context {
    uint64_t id;
    bool closed;                /* messages for it are to be dropped (rz_match_close) */
    struct rz_match_list open;  /* receives with a wildcard, in order of posting */
    struct rz_match_list early; /* messages without a receive, in order of arrival */
    struct rz_match_context *next;
};

struct rz_matcher {
    struct rz_match_table {
        struct rz_match_list *buckets;
        uint32_t mask;    /* number of buckets - 1 */
        uint32_t entries; /* in this table */
    } posted, early;
    struct rz_match_entry *lone;        /* the only receive that is posted, or NULL: in no list */
    uint32_t n_listed;                  /* receives that are posted and in `posted` or a list */
    struct rz_match_context **contexts; /* hashed by id */
    uint32_t contexts_mask, n_contexts;
    struct rz_match_context *recent; /* the context looked up last */
    uint64_t next_number;
};

/* False: no memory. */
bool rz_matcher_init(struct rz_matcher *matcher);

/* Forgets all entries, which stay the caller's. */
void rz_matcher_clear(struct rz_matcher *matcher);

/* Whether a receive with that key meets a message with this one, in the same context. */
static inline bool rz_match_meets(int32_t receive_source, int32_t receive_tag, int32_t source,
                                  int32_t tag)
{
    return (receive_source == source || receive_source == RZ_MATCH_ANY_SOURCE) &&
           (receive_tag == tag || receive_tag == RZ_MATCH_ANY_TAG);
}

/* A message with this key has arrived. Returns the receive that it meets, which stays posted, or
 * NULL. _listed: among those that are not posted alone. */
struct rz_match_entry *rz_match_arrive_listed(struct rz_matcher *matcher, uint64_t context,
                                              int32_t source, int32_t tag);
static inline struct rz_match_entry *rz_match_arrive(struct rz_matcher *matcher, uint64_t context,
                                                     int32_t source, int32_t tag)
{
    struct rz_match_entry *lone = matcher->lone;
    if (!lone) {
        return rz_match_arrive_listed(matcher, context, source, tag);
    }
    bool met = lone->context == context && rz_match_meets(lone->source, lone->tag, source, tag);
    return met ? lone : NULL;
}

/* Keeps a message that met no receive. entry->context, source and tag are set. False: no memory. */
bool rz_match_keep(struct rz_matcher *matcher, struct rz_match_entry *entry);

/* Returns the first kept message that a receive with this key meets, and takes it out if `take`;
 * NULL: none. */
struct rz_match_entry *rz_match_find(struct rz_matcher *matcher, uint64_t context, int32_t source,
                                     int32_t tag, bool take);

/* Takes out and returns the first kept message of the context for which is(entry, arg) is true;
 * NULL: none. */
struct rz_match_entry *rz_match_take_back(struct rz_matcher *matcher, uint64_t context,
                                          bool (*is)(const struct rz_match_entry *entry,
                                                     const void *arg),
                                          const void *arg);

/* Whether no message is kept. */
static inline bool rz_match_none_kept(const struct rz_matcher *matcher)
{
    return matcher->early.entries == 0;
}

/* Posts a receive for which rz_match_find found nothing. entry->context, source and tag are set.
 * False: no memory. _listed: another receive is posted. */
bool rz_match_post_listed(struct rz_matcher *matcher, struct rz_match_entry *entry);
static inline bool rz_match_post(struct rz_matcher *matcher, struct rz_match_entry *entry)
{
    if (matcher->lone || matcher->n_listed > 0) {
        return rz_match_post_listed(matcher, entry);
    }
    matcher->lone = entry;
    return true;
}

/* Removes a posted receive. _listed: one that is not posted alone. */
void rz_match_unpost_listed(struct rz_matcher *matcher, struct rz_match_entry *entry);
static inline void rz_match_unpost(struct rz_matcher *matcher, struct rz_match_entry *entry)
{
    if (entry == matcher->lone) {
        matcher->lone = NULL;
    } else {
        rz_match_unpost_listed(matcher, entry);
    }
}

/*
 * From now on messages of the context are to be dropped (its collectives ended with a failure, it
 * was revoked or freed); rz_match_closed tells so. The caller takes out those that are there with
 * rz_match_find(ANY, ANY, take). False: no memory.
 */
bool rz_match_close(struct rz_matcher *matcher, uint64_t context);
bool rz_match_closed(struct rz_matcher *matcher, uint64_t context);

/* The context has ended: forgets it, unless messages or receives are left in it. */
void rz_match_release(struct rz_matcher *matcher, uint64_t context);

#endif
