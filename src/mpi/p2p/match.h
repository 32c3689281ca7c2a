/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The matcher: which message meets which receive. There is one for all transports, so wildcards
 * span them. It stores entries that the caller owns, allocates only its own tables, and knows no
 * network.
 *
 * The rule of MPI: messages from one source in one context match in the order sent (here: arrived);
 * receives match in the order posted; a receive may leave source or tag open.
 *
 * Mostly the oldest entries meet. So receives first are in a queue in order of posting, and
 * messages in a list of their context in order of arrival, of which the first RZ_MATCH_LOOKS are
 * looked at. Only a search that would go further makes more: it puts the messages into a table by
 * their keys; or the receives, those with a wildcard into a list of their context. Then of the two
 * candidates the older one is taken.
 */
#ifndef RZ_MPI_MATCH_H
#define RZ_MPI_MATCH_H

#include "mpi/request/match_entry.h"

/* So many entries are looked at one by one before a table is used. */
#define RZ_MATCH_LOOKS 8

struct rz_match_list {
    struct rz_match_entry *first, *last;
};

/* A list in order; also of entries that are in a bucket. */
struct rz_match_row {
    struct rz_match_entry *first, **end; /* end: where the next one goes */
};

static inline void rz_match_row_append(struct rz_match_row *row, struct rz_match_entry *entry)
{
    entry->row_next = NULL;
    entry->row_at = row->end;
    *row->end = entry;
    row->end = &entry->row_next;
}

static inline void rz_match_row_remove(struct rz_match_row *row, struct rz_match_entry *entry)
{
    *entry->row_at = entry->row_next;
    *(entry->row_next ? &entry->row_next->row_at : &row->end) = entry->row_at;
}

/* The entries of one context id. Made at the first use, by a receive or by a message that came
 * early. */
struct rz_match_context {
    uint64_t id;
    bool closed;                     /* messages for it are to be dropped (rz_match_close) */
    struct rz_match_row open;        /* receives with a wildcard, in order of posting */
    struct rz_match_row early;       /* messages without a receive, in order of arrival */
    struct rz_match_entry *unlisted; /* of these the first that is not in the table, as all behind
                                        it; NULL: none */
    struct rz_match_context *next;
};

struct rz_matcher {
    struct rz_match_table {
        struct rz_match_list *buckets;
        uint32_t mask;    /* number of buckets - 1 */
        uint32_t entries; /* in this table */
    } posted, early;
    struct rz_match_row queue; /* receives that are not listed: younger than all that are */
    uint32_t n_listed;         /* receives that are in `posted` or in the list of a context */
    uint32_t n_early;          /* messages */
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
 * NULL. _more: it does not meet the first receive of the queue, and there are others. */
struct rz_match_entry *rz_match_arrive_more(struct rz_matcher *matcher, uint64_t context,
                                            int32_t source, int32_t tag);
static inline struct rz_match_entry *rz_match_arrive(struct rz_matcher *matcher, uint64_t context,
                                                     int32_t source, int32_t tag)
{
    struct rz_match_entry *first = matcher->queue.first;
    if (matcher->n_listed == 0) {
        if (!first ||
            (first->context == context && rz_match_meets(first->source, first->tag, source, tag))) {
            return first;
        }
        if (!first->row_next) {
            return NULL;
        }
    }
    return rz_match_arrive_more(matcher, context, source, tag);
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
    return matcher->n_early == 0;
}

/* Posts a receive for which rz_match_find found nothing. entry->context, source and tag are set.
 * False: no memory. _listed: others are listed. */
bool rz_match_post_listed(struct rz_matcher *matcher, struct rz_match_entry *entry);
static inline bool rz_match_post(struct rz_matcher *matcher, struct rz_match_entry *entry)
{
    if (matcher->n_listed > 0) {
        return rz_match_post_listed(matcher, entry);
    }
    rz_match_row_append(&matcher->queue, entry);
    return true;
}

/* Removes a posted receive. _listed: some are listed, perhaps this one. */
void rz_match_unpost_listed(struct rz_matcher *matcher, struct rz_match_entry *entry);
static inline void rz_match_unpost(struct rz_matcher *matcher, struct rz_match_entry *entry)
{
    if (matcher->n_listed > 0) {
        rz_match_unpost_listed(matcher, entry);
    } else {
        rz_match_row_remove(&matcher->queue, entry);
    }
}

/* How many receives are posted; counts some of them. */
uint32_t rz_match_posted(const struct rz_matcher *matcher);

/*
 * From now on messages of the context are to be dropped (its collectives ended with a failure, it
 * was revoked or freed); rz_match_closed tells so. The caller takes out those that are there with
 * rz_match_find(ANY, ANY, take). False: no memory. _other: not the context looked up last.
 */
bool rz_match_close(struct rz_matcher *matcher, uint64_t context);
bool rz_match_closed_other(struct rz_matcher *matcher, uint64_t context);
static inline bool rz_match_closed(struct rz_matcher *matcher, uint64_t context)
{
    const struct rz_match_context *recent = matcher->recent;
    return recent && recent->id == context ? recent->closed
                                           : rz_match_closed_other(matcher, context);
}

/* The context has ended: forgets it, unless messages or receives are left in it. */
void rz_match_release(struct rz_matcher *matcher, uint64_t context);

#endif
