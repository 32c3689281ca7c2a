/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the output pipes of the processes in chunks and reports them to rzrun. An output outlives
 * its process as long as a descendant holds the pipe. */
#include "daemon/process/output.h"

#include "base/linked_list.h"
#include "base/printable.h"
#include "daemon/state/loop.h"
#include "port/clock.h"
#include "port/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK_BYTES (64u << 10)
/* More than a pipe holds; beyond that a descendant is still writing. */
#define DRAIN_BYTES_MAX (2u << 20)

struct rz_output {
    struct rz_output *next;
    struct rz_outputs *all;
    uint32_t rank, stream;
    uint32_t epoch; /* in which its process was started */
    int fd;
    struct event *readable;
    bool left; /* its process has ended: the output frees itself at its end */
    bool awaited;
    bool held, ended;
    uint64_t at; /* the place of the next byte, or RZ_OUTPUT_ANYWHERE */
};

struct rz_outputs {
    const struct rz_own_node *own;
    struct rz_output *first;
    bool held;        /* the pipes are not read now */
    rz_time released; /* when this was so last */
    void (*on_end)(void *arg);
    void *arg;
};

static void output_free(struct rz_output *output)
{
    rz_list_unlink(&output->all->first, output);
    rz_loop_free(output->readable);
    close(output->fd);
    free(output);
}

static void output_forward(struct rz_output *output, const uint8_t *data, size_t n)
{
    struct rz_launch_message message = {.type = RZ_LAUNCH_OUTPUT,
                                        .output = {.rank = output->rank,
                                                   .stream = output->stream,
                                                   .epoch = output->epoch,
                                                   .at = output->at,
                                                   .data = data,
                                                   .data_length = (uint32_t)n}};
    rz_report_send(&output->all->own->report, &message);
    output->at += output->at != RZ_OUTPUT_ANYWHERE ? n : 0;
}

/* Its process had left it before. */
static void output_over(struct rz_output *output)
{
    struct rz_outputs *all = output->all;
    bool awaited = output->awaited;
    output_free(output);
    if (awaited && all->on_end) {
        all->on_end(all->arg);
    }
}

/* Forwards one chunk. Returns its length, 0 if there is nothing now. */
static size_t forward(struct rz_output *output)
{
    static uint8_t data[CHUNK_BYTES];
    ssize_t got = read(output->fd, data, sizeof(data));
    if (got <= 0) {
        if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
            output->ended = true;
            event_del(output->readable);
        }
        return 0;
    }
    output_forward(output, data, (size_t)got);
    return (size_t)got;
}

static void output_readable(evutil_socket_t fd, short what, void *arg)
{
    struct rz_output *output = arg;
    (void)fd, (void)what;
    forward(output);
    if (output->ended && output->left) {
        output_over(output);
    }
}

static void hold_one(struct rz_output *output, bool hold)
{
    if (output->held == hold || output->ended) {
        return;
    }
    output->held = hold;
    if (hold) {
        event_del(output->readable);
    } else {
        event_add(output->readable, NULL);
    }
}

rz_status_t rz_output_open(struct rz_output **result, struct rz_outputs *all, uint32_t rank,
                           uint32_t stream, int fd)
{
    struct rz_output *output = calloc(1, sizeof(*output));
    if (!output) {
        close(fd);
        return RZ_ERR_NO_MEMORY;
    }
    *output = (struct rz_output){.all = all,
                                 .rank = rank,
                                 .stream = stream,
                                 .epoch = all->own->membership.epoch,
                                 .fd = fd,
                                 .at = RZ_OUTPUT_ANYWHERE};
    rz_status_t status = rz_loop_watch(all->own->base, &output->readable, fd, EV_READ | EV_PERSIST,
                                       output_readable, output);
    if (status != RZ_OK) {
        output_free(output);
        return status;
    }
    output->next = all->first;
    all->first = output;
    if (all->held) {
        hold_one(output, true);
    }
    *result = output;
    return RZ_OK;
}

void rz_output_place(struct rz_output *output, uint64_t at)
{
    output->at = at;
    if (output->all->own->job.flags & RZ_JOB_HOLD_OUTPUT) {
        output_forward(output, NULL, 0);
    }
}

uint64_t rz_output_place_of(const struct rz_output *output)
{
    return output->at;
}

void rz_output_drain(struct rz_output *output)
{
    size_t forwarded = 0, n;
    while (!output->ended && forwarded < DRAIN_BYTES_MAX && (n = forward(output)) > 0) {
        forwarded += n;
    }
}

void rz_output_leave(struct rz_output *output, bool awaited)
{
    output->left = true;
    output->awaited = awaited;
    if (output->ended) {
        output_free(output);
    }
}

/* What keeps the job waiting: the first rank stands for all. */
static void tell_given_up(const struct rz_outputs *all, const struct rz_output *first,
                          unsigned n_ranks)
{
    char holder[64] = "a process that it has left", others[64] = "";
    struct rz_process_holder found;
    if (rz_process_find_holder(getpid(), first->fd, &found)) {
        rz_printable(found.name, strlen(found.name), "");
        snprintf(holder, sizeof(holder), "its descendant %d (%s)", (int)found.pid, found.name);
    }
    if (n_ranks > 1) {
        snprintf(others, sizeof(others), "; the same for %u more ranks here", n_ranks - 1);
    }
    rz_report_log(
        &all->own->report, 0,
        "%s %u has ended, and %s still holds its standard %s after %.3g s (--output-wait): "
        "it is killed, and what it would write is lost%s",
        first->rank < all->own->job.n_ranks ? "rank" : "process", first->rank, holder,
        first->stream == 1 ? "output" : "error", (double)all->own->job.output_wait_ns / RZ_SECOND,
        others);
}

rz_time rz_outputs_await(struct rz_outputs *all, rz_time since)
{
    const struct rz_output *first = NULL;
    unsigned n_ranks = 0;
    rz_time now = rz_clock_now(), wait = all->own->job.output_wait_ns;
    rz_time from = all->held ? now : all->released > since ? all->released : since;
    for (struct rz_output *output = all->first; output; output = output->next) {
        if (output->awaited && now >= from + wait) {
            rz_output_drain(output);
        }
        if (output->awaited && !output->ended) {
            n_ranks += !first || first->rank != output->rank; /* the two of a rank are neighbours */
            first = output;
        }
    }
    if (first && now >= from + wait) {
        tell_given_up(all, first, n_ranks);
        return 0;
    }
    return first ? from + wait : 0;
}

void rz_outputs_on_end(struct rz_outputs *all, void (*ended)(void *arg), void *arg)
{
    all->on_end = ended;
    all->arg = arg;
}

void rz_outputs_hold(struct rz_outputs *all, bool hold)
{
    if (hold == all->held) {
        return;
    }
    all->held = hold;
    all->released = rz_clock_now();
    for (struct rz_output *output = all->first; output; output = output->next) {
        hold_one(output, hold);
    }
}

rz_status_t rz_outputs_open(struct rz_outputs **result, const struct rz_own_node *own)
{
    struct rz_outputs *all = calloc(1, sizeof(*all));
    if (!all) {
        return RZ_ERR_NO_MEMORY;
    }
    all->own = own;
    *result = all;
    return RZ_OK;
}

void rz_outputs_close(struct rz_outputs *all)
{
    while (all && all->first) {
        output_free(all->first);
    }
    free(all);
}
