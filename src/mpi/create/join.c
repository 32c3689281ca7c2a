/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Comm_join: two processes with a socket between them. Each sends its identity over it, and
 * then whether it has made the inter-communicator; no other bytes pass the socket.
 */
#include "mpi/create/dynamic.h"

#include "mpi/agree/comm_revoke.h"
#include "port/kill_point.h"

#include <errno.h>
#include <sys/socket.h>

#define MAGIC UINT64_C(0x726869706a6f696e)
#define JOIN UINT64_C(0x101a)

struct hello {
    uint64_t magic, job, nonce;
    uint32_t process, zero;
};

/* An exchange of so many bytes in each direction. */
struct swap {
    int fd;
    const char *mine;
    char *theirs;
    size_t bytes, sent, received;
    const uint32_t *other; /* the process at the other end; NULL: not known yet */
    int error;             /* errno; EPIPE: the other end was closed */
};

/* Handles the result of a read or write: whether it should be tried again. */
static bool look(struct swap *swap, ssize_t n, size_t *done)
{
    if (n > 0) {
        *done += (size_t)n;
        return true;
    }
    bool later = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
    if (!later) {
        swap->error = n == 0 || errno == ECONNRESET ? EPIPE : errno;
    }
    return later && errno == EINTR;
}

static bool swapped(void *arg)
{
    struct swap *swap = arg;
    bool again = true;
    while (again && swap->error == 0 && swap->sent < swap->bytes) {
        again = look(swap,
                     send(swap->fd, swap->mine + swap->sent, swap->bytes - swap->sent,
                          MSG_DONTWAIT | MSG_NOSIGNAL),
                     &swap->sent);
    }
    again = true;
    while (again && swap->error == 0 && swap->received < swap->bytes) {
        again = look(swap,
                     recv(swap->fd, swap->theirs + swap->received, swap->bytes - swap->received,
                          MSG_DONTWAIT),
                     &swap->received);
    }
    bool all = swap->sent == swap->bytes && swap->received == swap->bytes;
    if (!all && swap->error == 0 && swap->other && rz_dynamic_is_gone(*swap->other)) {
        swap->error = EPIPE; /* a child process may hold the socket open */
    }
    return swap->error != 0 || all;
}

static int swap_over(int fd, const uint32_t *other, const void *mine, void *theirs, size_t bytes)
{
    struct swap swap = {.fd = fd, .other = other, .mine = mine, .theirs = theirs, .bytes = bytes};
    struct rz_blocked blocked = {
        .call = "MPI_Comm_join", .peer = MPI_PROC_NULL, .tag = MPI_ANY_TAG};
    int error = rz_engine_wait(&blocked, swapped, &swap);
    if (error != MPI_SUCCESS || swap.error == 0) {
        return error;
    }
    if (swap.error == EBADF || swap.error == ENOTSOCK || swap.error == ENOTCONN) {
        return rzm_error(MPI_ERR_ARG, "fd is %d: %s", fd, strerror(swap.error));
    }
    return rzm_error(swap.error == EPIPE ? MPI_ERR_PROC_FAILED : MPI_ERR_OTHER,
                     "the other end of fd %d: %s", fd,
                     swap.error == EPIPE ? "it was closed" : strerror(swap.error));
}

/* With a process of this job. */
static int make_joined(const struct hello *mine, const struct hello *theirs, struct rz_comm **made)
{
    struct rz_comm *self = rz_comm_predefined(0x102);
    bool first = mine->process < theirs->process;
    uint64_t words[3] = {first ? mine->nonce : theirs->nonce, first ? theirs->nonce : mine->nonce,
                         JOIN};
    struct rz_group *other = rz_group_new(1, &theirs->process);
    if (!other) {
        return MPI_ERR_NO_MEM;
    }
    int error = rz_dynamic_make(words, self, other, "MPI_Comm_join", made);
    rz_group_release(other);
    return error;
}

/* An error at one end becomes an error at the other. */
static int confirm(int fd, uint32_t other, int error)
{
    int32_t mine = error, theirs = MPI_SUCCESS;
    int told = swap_over(fd, error == MPI_SUCCESS ? &other : NULL, &mine, &theirs, sizeof(mine));
    if (error != MPI_SUCCESS || told != MPI_SUCCESS) {
        return error != MPI_SUCCESS && told != RZM_ROLLBACK ? error : told;
    }
    return theirs == MPI_SUCCESS
               ? MPI_SUCCESS
               : rzm_error(theirs, "the process at the other end could not continue");
}

int rzm_comm_join(int fd, struct rz_comm **intercomm)
{
    struct rz_comm *made = NULL;
    int error = rz_engine_begin();
    if (error == MPI_SUCCESS && fd < 0) {
        error = rzm_error(MPI_ERR_ARG, "fd is %d, less than 0", fd);
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct hello mine = {.magic = MAGIC,
                         .job = rz_engine.info->self.job,
                         .nonce = rz_dynamic_word(),
                         .process = rz_engine.self};
    struct hello theirs = {0};
    rz_kill_here(RZ_KILL_JOIN);
    error = swap_over(fd, NULL, &mine, &theirs, sizeof(mine));
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (theirs.magic != MAGIC) {
        return rzm_error(MPI_ERR_OTHER, "at the other end of fd %d no process joins", fd);
    }
    if (rz_engine.info->alone || theirs.job != mine.job || theirs.process == mine.process) {
        /* as the standard requires: the socket is as it was, and there is no error */
        *intercomm = NULL;
        return MPI_SUCCESS;
    }
    error = confirm(fd, theirs.process, make_joined(&mine, &theirs, &made));
    if (error == MPI_SUCCESS) {
        *intercomm = made;
    } else if (made && error != RZM_ROLLBACK) {
        rz_comm_revoke(made);
        rz_comm_release(made);
    }
    return error;
}
