/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions to the daemon about the output of this process. */
#include "mpi/rewind/output_mark.h"

#include "mpi/chapter.h"
#include "mpi/engine/waiting.h"

static struct {
    bool known;
    uint64_t out, error;
} marked;

static void on_marked(void *arg, const struct rz_link_message *message, const int *fds,
                      unsigned n_fds)
{
    (void)arg;
    rz_engine_close_fds(fds, n_fds);
    marked.out = message->output_marked.out;
    marked.error = message->output_marked.error;
    marked.known = true;
}

static bool mark_known(void *arg)
{
    (void)arg;
    return marked.known;
}

static const struct rz_link_message ask = {.type = RZ_LINK_OUTPUT_MARK};

static void expect_mark(struct rz_link *link)
{
    marked.known = false;
    rz_link_handle(link, RZ_LINK_OUTPUT_MARKED, on_marked, NULL);
}

int rz_output_mark(void)
{
    struct rz_blocked blocked = {.call = "a snapshot", .peer = MPI_PROC_NULL, .tag = MPI_ANY_TAG};
    expect_mark(rz_engine.link);
    rz_engine_tell_daemon(&ask);
    return rz_engine_wait(&blocked, mark_known, NULL);
}

static void tell_place(struct rz_link *link, uint64_t out, uint64_t error)
{
    const struct rz_link_message at = {.type = RZ_LINK_OUTPUT_AT,
                                       .output_at = {.out = out, .error = error}};
    rz_link_send(link, &at, -1); /* without a daemon the process ends soon */
}

void rz_output_go_on(void)
{
    tell_place(rz_engine.link, marked.out, marked.error);
}

rz_status_t rz_output_begin(struct rz_link *link)
{
    tell_place(link, 0, 0);
    expect_mark(link);
    rz_status_t status = rz_link_send(link, &ask, -1);
    return status == RZ_OK ? rz_link_await(link, &marked.known) : status;
}
