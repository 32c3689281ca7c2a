/* SPDX-License-Identifier: BSD-3-Clause */
/* What tests of the transports between nodes share: transports in one process over loopback TCP,
 * and what they have seen. */
#ifndef RZ_TESTS_UCX_RIG_H
#define RZ_TESTS_UCX_RIG_H

#include "../../patience.h"
#include "internode.h"

#include <stdarg.h>
#include <stdint.h>
#include <setjmp.h>
#include <time.h>

#include <cmocka.h>

#define EP_ADDRESS_MAX 1024
#define NOTES_MAX 20000
#define JOB 0x4a4f42

/* What one side has seen. */
struct note {
    uint64_t number; /* of the header */
    size_t bytes;
    uint64_t sum; /* of the payload, 0 if it arrived as a token */
    rz_net_token_t token;
};

struct side {
    struct rz_net *net;
    struct note *notes;
    unsigned notes_count, broken_count;
    bool drop_at_once, fetch_at_once, leave_at_once;
    void *fetch_memory;
    size_t fetch_bytes;
    struct rz_net_op *fetch_op;
    rz_status_t fetch_status;
};

/* The table of the module, once a side was opened; what the last failed open said. */
extern const struct rz_net_ops *ops;
extern char last_complaint[256];

struct result {
    struct rz_net_op op;
    unsigned calls;
    rz_status_t status;
};

uint64_t sum_of(const void *data, size_t bytes);
void fill_with(void *data, size_t bytes, uint64_t seed);

/* The operation of a message with this number in its header; ends in result. */
struct rz_net_op *fresh_op(struct result *result, uint64_t number);
void side_send(struct side *from, rz_peer_t to, const void *data, size_t bytes,
               struct result *result, uint64_t number);

/* By which its notes are taken. */
struct internode side_config(struct side *side);
void open_side(struct side *side);
void close_side(struct side *side);

/* side connects to the other, as peer number (0). */
rz_status_t introduce_as(struct side *side, const struct side *other, rz_peer_t number);
void introduce(struct side *side, const struct side *other);
void open_pair(struct side *a, struct side *b);

/* Turns both sides until the condition holds; a hang is an error. */
#define TURN_UNTIL(a, b, condition)                                                                \
    do {                                                                                           \
        time_t limit_ = time(NULL) + TEST_HANG_S;                                                  \
        while (!(condition)) {                                                                     \
            if ((a)->net) {                                                                        \
                ops->progress((a)->net);                                                           \
            }                                                                                      \
            if ((b)->net) {                                                                        \
                ops->progress((b)->net);                                                           \
            }                                                                                      \
            if (time(NULL) > limit_) {                                                             \
                fail_msg("hang: " #condition);                                                     \
            }                                                                                      \
        }                                                                                          \
    } while (0)

#endif
