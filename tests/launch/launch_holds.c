/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A message that was handed over, and does not arrive: at SIGUSR1 rank 0 sends to rank 1 and waits
 * for the answer, rank 1 waits for the message. All other ranks wait for rank 0.
 *   held BYTES    the network between nodes takes what rank 0 sends, and delivers nothing
 *   payload BYTES the same, but only of what is long: the receiver fetches it in vain
 *   stopped BYTES rank 1 is stopped by its user before the message comes
 *   other BYTES   the message arrives, but has another tag: this is the program's doing
 */
#include <mpi.h>

#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TAG = 5, OTHER = 6, CONNECTED = 7, BYTES_LONG = 4096 };

static volatile size_t holds = SIZE_MAX; /* messages of at least this length */

/* Whether what is sent there is lost: it goes to another node. */
static int is_held(int fd, size_t n)
{
    int domain = 0;
    socklen_t bytes = sizeof(domain);
    return n >= holds && getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 &&
           (domain == AF_INET || domain == AF_INET6);
}

/* In the place of the C library's, also for the calls of the MPI library. */
__attribute__((visibility("default"))) ssize_t sendmsg(int fd, const struct msghdr *message,
                                                       int flags)
{
    static ssize_t (*real)(int, const struct msghdr *, int);
    size_t n = 0;
    for (size_t i = 0; i < message->msg_iovlen; i++) {
        n += message->msg_iov[i].iov_len;
    }
    if (is_held(fd, n)) {
        return (ssize_t)n;
    }
    real = real ? real : (ssize_t(*)(int, const struct msghdr *, int))dlsym(RTLD_NEXT, "sendmsg");
    return real(fd, message, flags);
}

static void await(int from, int tag)
{
    char c;
    MPI_Recv(&c, 0, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int number, rank, pid = getpid(), bytes = argc > 2 ? atoi(argv[2]) : 8;
    char *buffer = calloc((size_t)bytes, 1);
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1) {
        MPI_Send(&pid, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
        await(0, CONNECTED); /* both ways */
        MPI_Recv(buffer, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(buffer, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    } else if (rank == 0) {
        MPI_Recv(&pid, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(buffer, 0, MPI_BYTE, 1, CONNECTED, MPI_COMM_WORLD);
        sigwait(&signals, &number); /* rank 1 waits */
        if (strcmp(argv[1], "stopped") == 0) {
            kill(pid, SIGSTOP);
        }
        holds = strcmp(argv[1], "held") == 0      ? 0
                : strcmp(argv[1], "payload") == 0 ? BYTES_LONG
                                                  : SIZE_MAX;
        MPI_Request send;
        MPI_Isend(buffer, bytes, MPI_BYTE, 1, strcmp(argv[1], "other") == 0 ? OTHER : TAG,
                  MPI_COMM_WORLD, &send);
        await(1, TAG);
    } else {
        await(0, TAG);
    }
    return MPI_Finalize();
}
