/* SPDX-License-Identifier: BSD-3-Clause */
/* Passes rzrun's input to rank 0 through one pipe. Bytes that the pipe does not take yet are kept;
 * rzrun gets new credit when they are written. */
#include "daemon/process/input.h"

#include "daemon/state/loop.h"
#include "port/descriptor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CREDIT_BYTES (64u << 10)

struct rz_input {
    const struct rz_own_node *own;
    int nothing; /* /dev/null */
    int ends[2]; /* the pipe; [1] is closed at the end of the input */
    struct event *writable;
    bool granted, end;
    uint32_t reader; /* the incarnation that reads; 0: any */
    uint64_t poured; /* bytes that were written to the pipe */
    uint32_t credit; /* bytes rzrun may still send */
    uint32_t at, n;  /* data[at..n) is not yet in the pipe */
    uint8_t data[CREDIT_BYTES];
};

static void grant(struct rz_input *input, uint32_t bytes)
{
    struct rz_launch_message message = {.type = RZ_LAUNCH_STDIN_WANTED,
                                        .stdin_wanted = {.bytes = bytes, .reader = input->reader}};
    input->credit += bytes;
    rz_report_send(&input->own->report, &message);
}

static void pour(struct rz_input *input)
{
    uint32_t before = input->at;
    while (input->at < input->n) {
        ssize_t written = write(input->ends[1], input->data + input->at, input->n - input->at);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written < 0) {
            event_add(input->writable, NULL); /* the pipe is full, its reader is busy */
            break;
        }
        input->at += (uint32_t)written;
    }
    uint32_t poured = input->at - before;
    input->poured += poured;
    if (input->at == input->n && input->end) {
        rz_loop_free(input->writable);
        input->writable = NULL;
        close(input->ends[1]);
        input->ends[1] = -1;
    } else if (poured > 0 && !input->end) {
        grant(input, poured);
    }
}

static void input_writable(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    pour(arg);
}

static rz_status_t input_open_pipe(struct rz_input *input)
{
    rz_status_t status = rz_descriptor_pipe(input->ends);
    if (status == RZ_OK) {
        status = rz_descriptor_no_wait(input->ends[1]);
    }
    if (status == RZ_OK) {
        status = rz_loop_watch(input->own->base, &input->writable, input->ends[1], EV_WRITE,
                               input_writable, input);
    }
    return status;
}

static void input_close_pipe(struct rz_input *input)
{
    rz_loop_free(input->writable);
    input->writable = NULL;
    for (int i = 0; i < 2; i++) {
        if (input->ends[i] >= 0) {
            close(input->ends[i]);
        }
        input->ends[i] = -1;
    }
}

rz_status_t rz_input_open(struct rz_input **result, const struct rz_own_node *own)
{
    struct rz_input *input = calloc(1, sizeof(*input));
    if (!input) {
        return RZ_ERR_NO_MEMORY;
    }
    input->own = own;
    input->ends[0] = input->ends[1] = -1;
    rz_status_t status = rz_descriptor_nothing(&input->nothing);
    status = status == RZ_OK ? input_open_pipe(input) : status;
    if (status != RZ_OK) {
        rz_input_close(input);
        return status;
    }
    *result = input;
    return RZ_OK;
}

void rz_input_close(struct rz_input *input)
{
    if (!input) {
        return;
    }
    input_close_pipe(input);
    if (input->nothing >= 0) {
        close(input->nothing);
    }
    free(input);
}

/* For this process all comes again, in a pipe without what the one before it has left. */
static bool input_begin_again(struct rz_input *input, uint32_t reader)
{
    if (input->granted) {
        input_close_pipe(input);
        if (input_open_pipe(input) != RZ_OK) {
            input_close_pipe(input);
            return false;
        }
    }
    input->reader = reader;
    input->granted = input->end = false;
    input->credit = input->at = input->n = 0;
    input->poured = 0;
    return true;
}

int rz_input_fd(struct rz_input *input, uint32_t rank, uint32_t incarnation)
{
    if (rank != 0 || input->own->job.flags & RZ_JOB_DETACHED) {
        return input->nothing;
    }
    if (input->own->job.flags & RZ_JOB_REWIND && !input_begin_again(input, incarnation)) {
        return -1;
    }
    if (!input->granted) {
        grant(input, CREDIT_BYTES);
    }
    input->granted = true;
    return input->ends[0];
}

rz_status_t rz_input_feed(struct rz_input *input, const uint8_t *data, uint32_t bytes, bool end,
                          uint32_t reader)
{
    if (reader != input->reader) {
        return RZ_OK; /* on the way when another one began */
    }
    if (bytes > input->credit || input->end) {
        return RZ_ERR_MALFORMED;
    }
    memmove(input->data, input->data + input->at, input->n - input->at);
    input->n -= input->at;
    input->at = 0;
    memcpy(input->data + input->n, data, bytes); /* the credit is never more than the room */
    input->n += bytes;
    input->credit -= bytes;
    input->end = end;
    pour(input);
    return RZ_OK;
}

uint64_t rz_input_read(const struct rz_input *input)
{
    return input->poured - rz_descriptor_unread(input->ends[0]);
}
