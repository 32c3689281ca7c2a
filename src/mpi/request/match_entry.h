/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the matcher (p2p/match.h) stores of a message or of a posted receive.
 */
#ifndef RZ_MPI_MATCH_ENTRY_H
#define RZ_MPI_MATCH_ENTRY_H

#include <rhizome/types.h>

#define RZ_MATCH_ANY_SOURCE (-1) /* == MPI_ANY_SOURCE */
#define RZ_MATCH_ANY_TAG (-2)    /* == MPI_ANY_TAG */

/* One message or one posted receive; the caller's memory while it is in the matcher. */
struct rz_match_entry {
    uint64_t context;
    int32_t source;  /* rank in the communicator; of a receive also RZ_MATCH_ANY_SOURCE */
    int32_t tag;     /* of a receive also RZ_MATCH_ANY_TAG */
    uint64_t number; /* set by the matcher. Of a receive, if any are listed: its order, or 0: it is
                        not. Of a message: 1: it is in the table, 0: it is not */
    struct rz_match_entry *bucket_next, *bucket_prev; /* in the table: in the bucket of the key */
    struct rz_match_entry *row_next,
        **row_at; /* messages: in the list of the context; receives: in the queue, or with a
                      wildcard in the list of the context. row_at: what refers to this one */
};

#endif
