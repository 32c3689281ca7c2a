/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The head of every checkpoint file: its job, its generation, and checksums. A file is a piece (its
 * content follows the head) or a commit mark (nothing follows).
 *
 * Numbers are little-endian. A head is valid as a whole or not at all: it contains a checksum of
 * itself.
 */
#ifndef RZ_CKPT_FILE_HEADER_H
#define RZ_CKPT_FILE_HEADER_H

#include "base/status.h"

#include <rhizome/types.h>

#define RZ_CKPT_FILE_VERSION 1u
#define RZ_CKPT_HEADER_BYTES 256u
#define RZ_CKPT_NAME_MAX 64u /* of a job, with the terminating zero */

enum rz_ckpt_kind { RZ_CKPT_PIECE, RZ_CKPT_MARK, RZ_CKPT_KIND_COUNT };

/*
 * The full name of a generation. A number alone is ambiguous: generations that a recovery gave up,
 * or that an earlier run of the job lost, are written again under the same number.
 */
struct rz_ckpt_generation {
    uint32_t run;    /* of the job on this folder, from 1: each start and each new beginning */
    uint32_t epoch;  /* of that run, in which it was written */
    uint64_t number; /* from 1; continues through epochs and runs */
};

struct rz_ckpt_header {
    enum rz_ckpt_kind kind;
    char name[RZ_CKPT_NAME_MAX]; /* of the job */
    uint32_t n_ranks, rank;      /* rank: 0 in a mark */
    struct rz_ckpt_generation generation;
    uint64_t bytes; /* of the content after the head; 0 in a mark */
    uint64_t hash;  /* of the content: rz_piece_hash */
};

/* < 0, 0, > 0: a is older than b, the same, newer. Runs count before epochs, epochs before numbers.
 */
int rz_ckpt_generation_compare(const struct rz_ckpt_generation *a,
                               const struct rz_ckpt_generation *b);

/* Whether text is a valid name of a job: 1 to 63 letters, digits and . _ - +, the first no dot. */
bool rz_ckpt_name_valid(const char *text);

void rz_ckpt_header_encode(const struct rz_ckpt_header *header, uint8_t out[RZ_CKPT_HEADER_BYTES]);

/*
 * Reads the head at the beginning of at[0..bytes). RZ_ERR_TRUNCATE: fewer bytes than a head;
 * RZ_ERR_VERSION: a checkpoint file of another version; RZ_ERR_MALFORMED: none, or a damaged head.
 * *header is set only on success.
 */
rz_status_t rz_ckpt_header_decode(struct rz_ckpt_header *header, const void *at, size_t bytes);

#endif
