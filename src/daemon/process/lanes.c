/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of each lane and, for a lane that is being asked about, a bit for each process whose
 * answer is missing. */
#include "daemon/process/lanes.h"

#include "base/assert.h"
#include "base/no_memory.h"
#include "port/child_process.h"

#include <stdlib.h>

enum lane_state { LANE_FREE, LANE_USED, LANE_ENDED, LANE_ASKING };

struct lane {
    enum lane_state state;
    uint32_t rank, incarnation; /* of the owner */
    pid_t writer;               /* ENDED */
    uint32_t n_asked;           /* ASKING: number of bits in asked */
    uint64_t *asked;            /* bit i: the process with lane i is asked; NULL: none is */
};

struct rz_lanes {
    uint32_t n, n_words;
    struct lane lane[];
};

rz_status_t rz_lanes_open(struct rz_lanes **result, uint32_t n)
{
    struct rz_lanes *lanes = calloc(1, sizeof(*lanes) + n * sizeof(lanes->lane[0]));
    if (!lanes) {
        return RZ_ERR_NO_MEMORY;
    }
    lanes->n = n;
    lanes->n_words = (n + 63) / 64;
    *result = lanes;
    return RZ_OK;
}

void rz_lanes_close(struct rz_lanes *lanes)
{
    for (uint32_t i = 0; lanes && i < lanes->n; i++) {
        free(lanes->lane[i].asked);
    }
    free(lanes);
}

bool rz_lanes_take(struct rz_lanes *lanes, uint32_t rank, uint32_t incarnation, uint32_t *lane)
{
    for (uint32_t i = 0; i < lanes->n; i++) {
        if (lanes->lane[i].state == LANE_FREE) {
            lanes->lane[i] =
                (struct lane){.state = LANE_USED, .rank = rank, .incarnation = incarnation};
            *lane = i;
            return true;
        }
    }
    return false;
}

void rz_lanes_ended(struct rz_lanes *lanes, uint32_t lane, pid_t writer)
{
    rz_assert(lane < lanes->n && lanes->lane[lane].state == LANE_USED);
    lanes->lane[lane].state = LANE_ENDED;
    lanes->lane[lane].writer = writer;
}

static bool writer_is_gone(pid_t writer)
{
    return writer == 0 || (writer > 0 && !rz_child_process_exists(writer));
}

bool rz_lanes_next_over(const struct rz_lanes *lanes, uint32_t *lane, uint32_t *rank,
                        uint32_t *incarnation)
{
    for (; *lane < lanes->n; (*lane)++) {
        const struct lane *one = &lanes->lane[*lane];
        if (one->state == LANE_ENDED && writer_is_gone(one->writer)) {
            *rank = one->rank;
            *incarnation = one->incarnation;
            return true;
        }
    }
    return false;
}

void rz_lanes_ask(struct rz_lanes *lanes, uint32_t lane, uint32_t asked)
{
    struct lane *one = &lanes->lane[lane];
    rz_assert(one->state == LANE_ENDED && asked < lanes->n && asked != lane);
    if (!one->asked) {
        one->asked = calloc(lanes->n_words, sizeof(*one->asked));
    }
    rz_need_memory(one->asked, "for the processes that use an inbox");
    uint64_t bit = UINT64_C(1) << asked % 64;
    one->n_asked += !(one->asked[asked / 64] & bit);
    one->asked[asked / 64] |= bit;
}

static void free_if_all_answered(struct lane *one)
{
    if (one->state != LANE_ASKING || one->n_asked > 0) {
        return;
    }
    free(one->asked);
    *one = (struct lane){.state = LANE_FREE};
}

void rz_lanes_asked(struct rz_lanes *lanes, uint32_t lane)
{
    rz_assert(lanes->lane[lane].state == LANE_ENDED);
    lanes->lane[lane].state = LANE_ASKING;
    free_if_all_answered(&lanes->lane[lane]);
}

static bool answered(struct lane *one, uint32_t asked)
{
    uint64_t bit = UINT64_C(1) << asked % 64;
    if (!one->asked || !(one->asked[asked / 64] & bit)) {
        return false;
    }
    one->asked[asked / 64] &= ~bit;
    one->n_asked--;
    free_if_all_answered(one);
    return true;
}

bool rz_lanes_closed(struct rz_lanes *lanes, uint32_t lane, uint32_t rank, uint32_t incarnation,
                     uint32_t asked)
{
    if (lane >= lanes->n) {
        return false;
    }
    struct lane *one = &lanes->lane[lane];
    return one->state == LANE_ASKING && one->rank == rank && one->incarnation == incarnation &&
           answered(one, asked);
}

void rz_lanes_left(struct rz_lanes *lanes, uint32_t asked)
{
    for (uint32_t i = 0; i < lanes->n; i++) {
        answered(&lanes->lane[i], asked);
    }
}
