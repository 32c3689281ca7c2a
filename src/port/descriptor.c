/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes descriptors, waits for them with poll, and rings event counters. */
#include "port/descriptor.h"

#include "base/assert.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { AWAITED_MAX = 8 };

static rz_status_t given(int made, int *fd)
{
    *fd = made;
    return made >= 0 ? RZ_OK : RZ_ERR_SYSTEM;
}

rz_status_t rz_descriptor_copy(int fd, int *copy)
{
    return given(fcntl(fd, F_DUPFD_CLOEXEC, 0), copy);
}

void rz_descriptor_close(int fd)
{
    close(fd);
}

rz_status_t rz_descriptor_no_wait(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 ? RZ_OK : RZ_ERR_SYSTEM;
}

rz_status_t rz_descriptor_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) == 0) {
        return RZ_OK;
    }
    ends[0] = ends[1] = -1;
    return RZ_ERR_SYSTEM;
}

size_t rz_descriptor_unread(int fd)
{
    int bytes = 0;
    return ioctl(fd, FIONREAD, &bytes) == 0 && bytes > 0 ? (size_t)bytes : 0;
}

rz_status_t rz_descriptor_stream_pair(int ends[2])
{
    ends[0] = ends[1] = -1;
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0 ? RZ_OK : RZ_ERR_SYSTEM;
}

rz_status_t rz_descriptor_nothing(int *fd)
{
    return given(open("/dev/null", O_RDONLY | O_CLOEXEC), fd);
}

rz_status_t rz_descriptor_read_only(int fd, int *read_only)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int opened = open(path, O_RDONLY | O_CLOEXEC);
    if (opened < 0 && errno == ENOENT) {
        return rz_descriptor_copy(fd, read_only);
    }
    return given(opened, read_only);
}

rz_status_t rz_descriptor_watched(int epoll, void (*visit)(void *arg, int fd), void *arg)
{
    char path[64], line[256];
    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", epoll);
    FILE *info = fopen(path, "re");
    if (!info) {
        return RZ_ERR_SYSTEM;
    }
    int fd;
    while (fgets(line, sizeof(line), info)) {
        if (sscanf(line, "tfd: %d", &fd) == 1) {
            visit(arg, fd);
        }
    }
    fclose(info);
    return RZ_OK;
}

bool rz_descriptor_await_room(int fd, int within_ms)
{
    struct pollfd polled = {.fd = fd, .events = POLLOUT};
    return poll(&polled, 1, within_ms) == 1;
}

unsigned rz_descriptor_await(const int *fds, unsigned n, int within_ms)
{
    struct pollfd polled[AWAITED_MAX];
    unsigned ready = 0;
    rz_assert(n <= AWAITED_MAX);
    for (unsigned i = 0; i < n; i++) {
        polled[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
    }
    if (poll(polled, n, within_ms) <= 0) {
        return 0;
    }
    for (unsigned i = 0; i < n; i++) {
        if (polled[i].revents) {
            ready |= 1u << i;
        }
    }
    return ready;
}

bool rz_descriptor_await_end(int fd, int within_ms)
{
    struct pollfd polled = {.fd = fd};
    return poll(&polled, 1, within_ms) == 1;
}

rz_status_t rz_descriptor_pair(int ends[2])
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        ends[0] = ends[1] = -1;
        return RZ_ERR_SYSTEM;
    }
    return RZ_OK;
}

void rz_descriptor_signal(int fd)
{
    int domain = 0;
    socklen_t bytes = sizeof(domain);
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 && domain == AF_UNIX) {
        (void)!send(fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
}

rz_status_t rz_event_fd_make(int *fd)
{
    return given(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), fd);
}

void rz_event_fd_ring(int fd)
{
    const uint64_t one = 1;
    /* The counter is full only after 2^64 - 1 rings without a clear. */
    (void)!write(fd, &one, sizeof(one));
}

bool rz_event_fd_clear(int fd)
{
    uint64_t rings;
    return read(fd, &rings, sizeof(rings)) == (ssize_t)sizeof(rings);
}
