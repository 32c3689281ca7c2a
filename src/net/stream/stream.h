/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams of frames between rzrun and a daemon.
 *
 *   plain:  over a socket that the daemon inherited from rzrun; no other process can reach it;
 *   sealed: over TCP. Both ends first prove that they hold the key of the job (net/proof); from
 *           then on each frame is encrypted and authenticated under a key of this connection and
 *           direction, so that no frame can be read, changed, omitted, repeated or reordered.
 *
 * Until a connection is proved its frames are short, and the caller bounds its time.
 */
#ifndef RZ_NET_STREAM_STREAM_H
#define RZ_NET_STREAM_STREAM_H

#include "base/status.h"
#include "net/proof/proof.h"
#include "port/socket.h"

#include <rhizome/types.h>

struct rz_stream;

/* What a connection to rzrun is for. */
enum rz_stream_purpose {
    RZ_STREAM_MESSAGES, /* launch messages (wire/launch_messages.h) */
    RZ_STREAM_ALIVE,    /* nothing is sent: its end means that rzrun has gone */
    RZ_STREAM_PURPOSE_COUNT
};

/* What both ends prove. */
struct rz_stream_terms {
    uint64_t job;
    uint8_t key[RZ_PROOF_KEY_BYTES]; /* of the job */
    uint32_t node;                   /* of the connector */
    enum rz_stream_purpose purpose;
};

/* A plain stream; takes ownership of fd. */
rz_status_t rz_stream_plain(struct rz_stream **stream, int fd, uint32_t frame_max);

/*
 * Connects, proves itself, and checks the proof of the other end; waits until `deadline` at most,
 * and for the connection until `connected_by`. RZ_ERR_CLOSED: no process listens there;
 * RZ_ERR_TIMEOUT: no answer in time; RZ_ERR_AUTHENTICATION: the other end does not hold the key, or
 * closed the connection before it said so; RZ_ERR_CANCELLED: it holds the key, and does not want
 * this connection (rz_stream_refuse).
 */
rz_status_t rz_stream_connect(struct rz_stream **stream, const struct rz_address *to,
                              const struct rz_stream_terms *terms, uint32_t frame_max,
                              rz_time connected_by, rz_time deadline);

/* An accepted connection of a job: sends the challenge. node and purpose of terms are ignored. The
 * stream is not proved; takes ownership of fd. */
rz_status_t rz_stream_accept(struct rz_stream **stream, int fd, const struct rz_stream_terms *terms,
                             uint32_t frame_max);

/*
 * To be called when an accepted stream is readable, until it does not return RZ_IN_PROGRESS. RZ_OK:
 * the other end has proved itself; node and purpose are what it said, and the caller welcomes or
 * refuses it. Any other status: the stream must be closed.
 */
rz_status_t rz_stream_prove(struct rz_stream *stream, uint32_t *node,
                            enum rz_stream_purpose *purpose);

/* This end proves itself, too; from now on frames are sealed. */
rz_status_t rz_stream_welcome(struct rz_stream *stream);

/* Tells the other end, which has proved itself, that it is not wanted, and closes the stream. */
void rz_stream_refuse(struct rz_stream *stream);

/* As rz_frames_* (port/channel.h). rz_stream_next: RZ_IN_PROGRESS: there is no complete frame;
 * RZ_ERR_AUTHENTICATION: a frame is not the next one of the other end, and the stream must be
 * closed. */
rz_status_t rz_stream_send(struct rz_stream *stream, const void *bytes, size_t n);
rz_status_t rz_stream_flush(struct rz_stream *stream);
bool rz_stream_want_write(const struct rz_stream *stream);
size_t rz_stream_queued(const struct rz_stream *stream);
rz_status_t rz_stream_read(struct rz_stream *stream);
rz_status_t rz_stream_next(struct rz_stream *stream, const void **bytes, size_t *n);
int rz_stream_fd(const struct rz_stream *stream);
void rz_stream_close(struct rz_stream *stream);

#endif
