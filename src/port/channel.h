/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Message sockets and framed streams.
 *
 *   datagram pair: SOCK_SEQPACKET, one message per datagram, descriptors beside it;
 *   frames: over a stream, length (u32, little-endian), then that number of bytes; non-blocking,
 *           buffered on the caller's side.
 */
#ifndef RZ_PORT_CHANNEL_H
#define RZ_PORT_CHANNEL_H

#include "base/status.h"

#include <rhizome/types.h>

#include <sys/types.h>

#define RZ_CHANNEL_FDS_MAX 8

/* A pair of connected SOCK_SEQPACKET sockets, close-on-exec. */
rz_status_t rz_channel_pair(int fds[2]);

/* The process that made this pair, or that connected to this socket; 0: unknown. */
pid_t rz_channel_peer(int fd);

/* Whether fd is a socket of this kind: a descriptor of that number may have become another one. */
bool rz_channel_is_one(int fd);

/* Sends one datagram. RZ_IN_PROGRESS: the socket is full (non-blocking). RZ_ERR_CLOSED: no process
 * reads any more. No SIGPIPE. */
rz_status_t rz_channel_send(int fd, const void *bytes, size_t n, const int *fds, unsigned n_fds);

/* Receives one datagram. RZ_IN_PROGRESS: there is none (non-blocking). RZ_ERR_CLOSED: end.
 * RZ_ERR_MALFORMED: it was longer than max, or had more than RZ_CHANNEL_FDS_MAX descriptors.
 * RZ_ERR_NO_DESCRIPTORS: this process has none left for those of the datagram, which is lost.
 * Received fds are close-on-exec. */
rz_status_t rz_channel_receive(int fd, void *buffer, size_t max, size_t *n, int *fds,
                               unsigned *n_fds);

/* Whether the next datagram has descriptors. False, too: there is none. */
bool rz_channel_brings_fds(int fd);

/* A framed stream over a non-blocking socket or pipe. */
struct rz_frames;
rz_status_t rz_frames_open(struct rz_frames **frames, int fd,
                           uint32_t frame_max); /* takes ownership of fd */
void rz_frames_close(struct rz_frames *frames);

/* From now on frames may have this length. (An unauthenticated peer has a small bound.) */
void rz_frames_limit(struct rz_frames *frames, uint32_t frame_max);
int rz_frames_fd(const struct rz_frames *frames);

/* Queues one frame and writes what the stream takes. RZ_ERR_CLOSED: the peer has ended, as an end,
 * a reset or a refusal from its side proves. RZ_ERR_TIMEOUT: the peer is not reachable, which
 * proves nothing. The first of these errors is returned from then on. */
rz_status_t rz_frames_send(struct rz_frames *frames, const void *bytes, size_t n);
bool rz_frames_want_write(const struct rz_frames *frames);
size_t
rz_frames_queued(const struct rz_frames *frames);      /* bytes not yet written: for flow control */
rz_status_t rz_frames_flush(struct rz_frames *frames); /* RZ_IN_PROGRESS: more to write */

/* Reads what is there; then rz_frames_next returns complete frames (valid until the next call)
 * until it returns false. RZ_ERR_CLOSED, RZ_ERR_TIMEOUT: end of stream, as for rz_frames_send;
 * RZ_ERR_MALFORMED: a frame longer than frame_max. */
rz_status_t rz_frames_read(struct rz_frames *frames);
bool rz_frames_next(struct rz_frames *frames, const void **bytes, size_t *n);

#endif
