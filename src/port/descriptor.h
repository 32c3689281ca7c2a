/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors of any kind: made, copied, told not to wait. All made here are close-on-exec. */
#ifndef RZ_PORT_DESCRIPTOR_H
#define RZ_PORT_DESCRIPTOR_H

#include "base/status.h"

#include <stdbool.h>

/* A second descriptor of the same thing. RZ_ERR_SYSTEM: there are no more. */
rz_status_t rz_descriptor_copy(int fd, int *copy);

/* From now on reading and writing never wait. */
rz_status_t rz_descriptor_no_wait(int fd);

/* A pipe: what is written to ends[1] is read from ends[0]. After an error both are -1. */
rz_status_t rz_descriptor_pipe(int ends[2]);

/* Reads as empty. */
rz_status_t rz_descriptor_nothing(int *fd);

/* The same memory or file, to be read only: nobody can map it writable. Where /proc is not mounted
 * it is a copy that can. */
rz_status_t rz_descriptor_read_only(int fd, int *read_only);

/* Waits until fd takes something, at most for so long; whether it does. */
bool rz_descriptor_await_room(int fd, int within_ms);

/* Waits until one of the n (at most 8) descriptors can be read or has ended, at most for within_ms
 * (-1: without a bound); -1 for a descriptor: none. Which: bit i for fds[i]. */
unsigned rz_descriptor_await(const int *fds, unsigned n, int within_ms);

/* An event counter: readable from ring to clear. Never waits. */
rz_status_t rz_event_fd_make(int *fd);
void rz_event_fd_ring(int fd);
bool rz_event_fd_clear(int fd); /* false: nobody had rung */

#endif
