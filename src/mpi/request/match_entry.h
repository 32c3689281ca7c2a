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
    uint64_t number; /* order of receives, once they are listed; set by the matcher */
    struct rz_match_entry *bucket_next,
        *bucket_prev; /* receives without wildcard and all messages: in the bucket of the key */
    struct rz_match_entry *row_next,
        *row_prev; /* receives with a wildcard and all messages: in the list of the context */
};

#endif
