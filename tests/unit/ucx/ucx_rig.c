/* SPDX-License-Identifier: BSD-3-Clause */
/* Transports of two sides in one process, with their operations and what they received. */
#include "ucx_rig.h"

#include "base/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct rz_net_ops *ops;
char last_complaint[256];

uint64_t sum_of(const void *data, size_t bytes)
{
    uint64_t sum = bytes;
    for (size_t i = 0; i < bytes; i++) {
        sum = sum * 31 + ((const unsigned char *)data)[i];
    }
    return sum;
}

void fill_with(void *data, size_t bytes, uint64_t seed)
{
    for (size_t i = 0; i < bytes; i++) {
        ((unsigned char *)data)[i] = (unsigned char)(rz_mix(seed, i / 8) >> (8 * (i % 8)));
    }
}

static void done(struct rz_net_op *op, rz_status_t status)
{
    struct result *result = op->user;
    result->calls++;
    result->status = status;
}

struct rz_net_op *fresh_op(struct result *result, uint64_t number)
{
    *result =
        (struct result){.op = {.done = done, .user = result, .header_bytes = RZ_NET_HEADER_MAX},
                        .status = RZ_IN_PROGRESS};
    fill_with(result->op.header, sizeof(result->op.header), number);
    memcpy(result->op.header, &number, sizeof(number));
    return &result->op;
}

void side_send(struct side *from, rz_peer_t to, const void *data, size_t bytes,
               struct result *result, uint64_t number)
{
    rz_status_t status = ops->send(from->net, to, data, bytes, fresh_op(result, number));
    if (status != RZ_IN_PROGRESS) {
        result->calls++;
        result->status = status;
    }
}

static void arrived(void *arg, const void *header, uint32_t header_bytes, const void *data,
                    size_t bytes, rz_net_token_t token)
{
    struct side *side = arg;
    unsigned char wanted[RZ_NET_HEADER_MAX];
    uint64_t number;
    assert_int_equal(header_bytes, RZ_NET_HEADER_MAX);
    memcpy(&number, header, sizeof(number));
    fill_with(wanted, sizeof(wanted), number);
    assert_memory_equal(wanted + 8, (const char *)header + 8, sizeof(wanted) - 8);
    assert_true(side->notes_count < NOTES_MAX);
    assert_int_equal(token != NULL, bytes > ops->eager_max);
    side->notes[side->notes_count++] = (struct note){
        .number = number, .bytes = bytes, .sum = !token ? sum_of(data, bytes) : 0, .token = token};
    if (token && side->drop_at_once) {
        ops->drop(side->net, token);
    }
    if (token && side->fetch_at_once) {
        side->fetch_status =
            ops->fetch(side->net, token, side->fetch_memory, side->fetch_bytes, side->fetch_op);
    }
    if (side->leave_at_once) {
        ops->disconnect(side->net, 0, true, RZ_ERR_PROC_FAILED);
    }
}

static void broken(void *arg, rz_peer_t peer)
{
    struct side *side = arg;
    (void)peer;
    side->broken_count++;
}

static void complain(void *arg, const char *text)
{
    (void)arg;
    snprintf(last_complaint, sizeof(last_complaint), "%s", text);
}

struct internode side_config(struct side *side)
{
    return (struct internode){.job = JOB, .host = {side, arrived, broken}, .complain = complain};
}

void open_side(struct side *side)
{
    struct internode config = side_config(side);
    *side = (struct side){.notes = calloc(NOTES_MAX, sizeof(struct note))};
    rz_status_t status = internode_open(&config, &side->net, &ops);
    if (status != RZ_OK) {
        fail_msg("open: %s: %s", rz_status_text(status), last_complaint);
    }
}

void close_side(struct side *side)
{
    if (side->net) {
        ops->close(side->net);
    }
    free(side->notes);
    *side = (struct side){.net = NULL};
}

rz_status_t introduce_as(struct side *side, const struct side *other, rz_peer_t number)
{
    unsigned char ep_address[EP_ADDRESS_MAX];
    size_t bytes = sizeof(ep_address);
    assert_int_equal(ops->ep_address(other->net, ep_address, &bytes), RZ_OK);
    return ops->connect(side->net, number, ep_address, bytes);
}

void introduce(struct side *side, const struct side *other)
{
    assert_int_equal(introduce_as(side, other, 0), RZ_OK);
}

void open_pair(struct side *a, struct side *b)
{
    open_side(a);
    open_side(b);
    introduce(a, b);
    introduce(b, a);
}
