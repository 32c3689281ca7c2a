/* SPDX-License-Identifier: BSD-3-Clause */
/* Datagrams with descriptors beside them. */
#include "port/channel.h"

#include "base/assert.h"
#include "port/prompt.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union channel_control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(RZ_CHANNEL_FDS_MAX * sizeof(int))];
};

static rz_status_t channel_status(int error)
{
    switch (error) {
    case EAGAIN:
        return RZ_IN_PROGRESS;
    case EPIPE:
    case ECONNRESET:
        return RZ_ERR_CLOSED;
    case ENOBUFS:
    case ENOMEM:
        return RZ_ERR_NO_MEMORY;
    case EMSGSIZE:
        return RZ_ERR_INVALID;
    default:
        return RZ_ERR_SYSTEM;
    }
}

rz_status_t rz_channel_pair(int fds[2])
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0 ? RZ_OK : RZ_ERR_SYSTEM;
}

pid_t rz_channel_peer(int fd)
{
    struct ucred peer;
    socklen_t bytes = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 ? peer.pid : 0;
}

bool rz_channel_is_one(int fd)
{
    int domain = 0, type = 0;
    socklen_t bytes = sizeof(int);
    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 && domain == AF_UNIX &&
           getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && type == SOCK_SEQPACKET;
}

rz_status_t rz_channel_send(int fd, const void *bytes, size_t n, const int *fds, unsigned n_fds)
{
    rz_assert(n > 0); /* an empty datagram reads like the end */
    rz_assert(n_fds <= RZ_CHANNEL_FDS_MAX);
    union channel_control control;
    struct iovec vector = {.iov_base = (void *)bytes, .iov_len = n};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    if (n_fds > 0) {
        memset(&control, 0, sizeof(control));
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
        memcpy(CMSG_DATA(header), fds, n_fds * sizeof(int));
    }
    ssize_t sent;
    do {
        sent = sendmsg(fd, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? channel_status(errno) : RZ_OK;
}

/* The descriptors that came with message; how many. */
static unsigned channel_take_fds(struct msghdr *message, int fds[RZ_CHANNEL_FDS_MAX])
{
    unsigned n = 0;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header;
         header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        unsigned here = (unsigned)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        rz_assert(n + here <= RZ_CHANNEL_FDS_MAX); /* the control buffer holds no more */
        memcpy(fds + n, CMSG_DATA(header), here * sizeof(int));
        n += here;
    }
    return n;
}

/* Why not all of a datagram could be taken. The system takes descriptors one by one, until there is
 * no room for more in the message, or in the process. */
static rz_status_t channel_lack(const struct msghdr *message, unsigned n_taken)
{
    if (message->msg_flags & MSG_TRUNC || n_taken == RZ_CHANNEL_FDS_MAX) {
        return RZ_ERR_MALFORMED;
    }
    return message->msg_flags & MSG_CTRUNC ? RZ_ERR_NO_DESCRIPTORS : RZ_OK;
}

/* Without room for descriptors, those of a datagram that is only looked at are not taken. */
bool rz_channel_brings_fds(int fd)
{
    struct msghdr message = {.msg_iov = NULL};
    return recvmsg(fd, &message, MSG_PEEK | MSG_DONTWAIT) >= 0 && message.msg_flags & MSG_CTRUNC;
}

rz_status_t rz_channel_receive(int fd, void *buffer, size_t max, size_t *n, int *fds,
                               unsigned *n_fds)
{
    union channel_control control;
    struct iovec vector = {.iov_base = buffer, .iov_len = max};
    struct msghdr message = {.msg_iov = &vector,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    ssize_t got;
    bool reset = false;
    rz_prompt_begin(); /* the system closes descriptors for which there is no room */
    do {
        got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
        /* If the peer has closed with messages unread, the system reports the reset first, and
         * once; what the peer had sent before can still be read. */
    } while (got < 0 && (errno == EINTR || (errno == ECONNRESET && !reset && (reset = true))));
    int error = errno;
    rz_prompt_end();
    if (got < 0) {
        return channel_status(error);
    }
    int taken[RZ_CHANNEL_FDS_MAX];
    unsigned n_taken = channel_take_fds(&message, taken);
    rz_status_t status = RZ_OK;
    if (got == 0) {
        status = RZ_ERR_CLOSED;
    } else if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
        status = channel_lack(&message, n_taken);
    }
    if (status != RZ_OK || !fds) {
        while (n_taken > 0) {
            rz_prompt_close(taken[--n_taken]);
        }
    }
    if (status != RZ_OK) {
        return status;
    }
    if (fds) {
        memcpy(fds, taken, n_taken * sizeof(int));
    }
    if (n_fds) {
        *n_fds = n_taken;
    }
    *n = (size_t)got;
    return RZ_OK;
}
