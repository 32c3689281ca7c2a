/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors of any kind: making, copying, and waiting. All made here are close-on-exec. */
#ifndef RZ_PORT_DESCRIPTOR_H
#define RZ_PORT_DESCRIPTOR_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Makes a second descriptor of the same object. RZ_ERR_SYSTEM: there are no more descriptors. */
rz_status_t rz_descriptor_copy(int fd, int *copy);

/* Closes fd. */
void rz_descriptor_close(int fd);

/* From now on reading and writing never wait. */
rz_status_t rz_descriptor_no_wait(int fd);

/* Makes a pipe: what is written to ends[1] is read from ends[0]. After an error both are -1. */
rz_status_t rz_descriptor_pipe(int ends[2]);

/* How many bytes are in a pipe, of either end of it. */
size_t rz_descriptor_unread(int fd);

/* Makes a pair of connected stream sockets. After an error both are -1. */
rz_status_t rz_descriptor_stream_pair(int ends[2]);

/* Opens a descriptor that reads as empty. */
rz_status_t rz_descriptor_nothing(int *fd);

/* Opens the same memory or file read-only, so that it cannot be mapped writable. Where /proc is not
 * mounted it is a copy, which can. */
rz_status_t rz_descriptor_read_only(int fd, int *read_only);

/* Calls visit(arg, fd) for each descriptor for whose events that one (of epoll) waits.
 * RZ_ERR_SYSTEM: /proc does not show them. */
rz_status_t rz_descriptor_watched(int epoll, void (*visit)(void *arg, int fd), void *arg);

/* Makes a pair of sockets; one end can be read once the other one is signalled. After an error both
 * are -1. */
rz_status_t rz_descriptor_pair(int ends[2]);

/* Never waits, whatever another process that has the descriptor has made of it: what is no local
 * socket is left alone. */
void rz_descriptor_signal(int fd);

/* Waits at most within_ms until fd can be written to. Returns whether it can. */
bool rz_descriptor_await_room(int fd, int within_ms);

/* Waits at most within_ms (-1: without a bound) until one of the n (at most 8) descriptors can be
 * read or has ended; -1 for a descriptor: none. Returns bit i for fds[i]. */
unsigned rz_descriptor_await(const int *fds, unsigned n, int within_ms);

/* Waits at most within_ms until the other end of fd is closed. Returns whether it is. */
bool rz_descriptor_await_end(int fd, int within_ms);

/* Makes an event counter: readable from a ring until it is cleared. Ringing never waits. */
rz_status_t rz_event_fd_make(int *fd);
void rz_event_fd_ring(int fd);
bool rz_event_fd_clear(int fd); /* false: it had not been rung */

#endif
