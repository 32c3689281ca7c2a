/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions to the daemon about the output and input of this process. */
#include "mpi/rewind/output_mark.h"

#include "mpi/impl.h"
#include "mpi/engine/waiting.h"

#include <errno.h>
#include <unistd.h>

static struct {
    bool known;
    uint64_t out, error, in;
} marked;

static void on_marked(void *arg, const struct rz_link_message *message, const int *fds,
                      unsigned n_fds)
{
    (void)arg;
    rz_engine_close_fds(fds, n_fds);
    marked.out = message->output_marked.out;
    marked.error = message->output_marked.error;
    marked.in = message->output_marked.in;
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

uint64_t rz_input_mark(void)
{
    return marked.in;
}

rz_status_t rz_input_skip(struct rz_link *link, uint64_t place)
{
    char data[4096];
    if (place == 0) {
        return RZ_OK;
    }
    expect_mark(link);
    rz_status_t status = rz_link_send(link, &ask, -1);
    status = status == RZ_OK ? rz_link_await(link, &marked.known) : status;
    uint64_t left = status == RZ_OK && marked.in < place ? place - marked.in : 0;
    while (left > 0) {
        ssize_t n = read(STDIN_FILENO, data, left < sizeof(data) ? (size_t)left : sizeof(data));
        if (n == 0 || (n < 0 && errno != EINTR)) {
            return RZ_ERR_SYSTEM; /* it is another input, or a script has put one in its place */
        }
        left -= n > 0 ? (uint64_t)n : 0;
    }
    return status;
}
