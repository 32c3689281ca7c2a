/* SPDX-License-Identifier: BSD-3-Clause */
/* The handshake of a sealed stream, and its frames: plain ones pass through. */
#include "net/stream/stream.h"

#include "base/assert.h"
#include "base/no_memory.h"
#include "port/channel.h"
#include "port/clock.h"
#include "port/descriptor.h"
#include "wire/cursor.h"

#include <stdlib.h>
#include <string.h>

/* The handshake: CHALLENGE (acceptor): its nonce. HELLO (connector): node, purpose, nonce, proof.
 * WELCOME (acceptor): its proof. */
#define STREAM_KEY "streams between rzrun and daemons"
enum {
    CHALLENGE_BYTES = RZ_PROOF_NONCE_BYTES,
    HELLO_BYTES = 8 + RZ_PROOF_NONCE_BYTES + RZ_PROOF_BYTES,
    WELCOME_BYTES = RZ_PROOF_BYTES,
    REFUSAL_BYTES = 1 + RZ_PROOF_BYTES, /* instead of WELCOME: a byte, and a proof */
    HANDSHAKE_MAX = HELLO_BYTES
};

struct rz_stream {
    struct rz_frames *frames;
    uint32_t frame_max;
    bool sealed; /* proved; each frame is sealed */
    struct rz_stream_terms terms;
    uint8_t challenge[RZ_PROOF_NONCE_BYTES], answer[RZ_PROOF_NONCE_BYTES];
    struct rz_seal out, in;
    uint8_t *scratch[2]; /* the last frame that was sent, and received */
    size_t room[2];
};

/* What the proofs are bound to. */
struct bound {
    struct rz_proof_terms proof;
    uint8_t bytes[32];
};

static const struct rz_proof_terms *bound_terms(const struct rz_stream *stream, struct bound *bound)
{
    const struct rz_stream_terms *terms = &stream->terms;
    struct rz_wire_writer w;
    memset(bound->bytes, 0, sizeof(bound->bytes));
    rz_wire_writer_init(&w, bound->bytes, sizeof(bound->bytes));
    rz_wire_put_text(&w, "rzrun");
    rz_wire_put_u64(&w, terms->job);
    rz_wire_put_u32(&w, terms->node);
    rz_wire_put_u32(&w, terms->purpose);
    bound->proof = (struct rz_proof_terms){.key = terms->key,
                                           .challenge = stream->challenge,
                                           .answer = stream->answer,
                                           .bound = bound->bytes,
                                           .bound_bytes = sizeof(bound->bytes)};
    return &bound->proof;
}

static void seal(struct rz_stream *stream, bool connector)
{
    struct bound bound;
    const struct rz_proof_terms *terms = bound_terms(stream, &bound);
    rz_seal_begin(&stream->out, terms, connector ? RZ_PROOF_CONNECTOR : RZ_PROOF_ACCEPTOR);
    rz_seal_begin(&stream->in, terms, connector ? RZ_PROOF_ACCEPTOR : RZ_PROOF_CONNECTOR);
    rz_frames_limit(stream->frames, stream->frame_max + RZ_SEAL_BYTES);
    stream->sealed = true;
}

static struct rz_stream *stream_new(struct rz_frames *frames, uint32_t frame_max)
{
    struct rz_stream *stream = calloc(1, sizeof(*stream));
    rz_need_memory(stream, "for a stream between processes of the runtime");
    stream->frames = frames;
    stream->frame_max = frame_max;
    return stream;
}

/* With the key of streams in place of the job's. */
static void take_terms(struct rz_stream *stream, const struct rz_stream_terms *terms)
{
    stream->terms = *terms;
    rz_proof_derive(terms->key, STREAM_KEY, NULL, 0, stream->terms.key);
}

rz_status_t rz_stream_plain(struct rz_stream **stream, int fd, uint32_t frame_max)
{
    struct rz_frames *frames;
    rz_status_t status = rz_frames_open(&frames, fd, frame_max);
    if (status == RZ_OK) {
        *stream = stream_new(frames, frame_max);
    }
    return status;
}

/* ---- The connector ---- */

/* Waits for a frame of the handshake of `expected` or `other` bytes; *n says which. One may stand
 * before the end of the connection. */
static rz_status_t await_frame(struct rz_stream *stream, size_t expected, size_t other,
                               const void **bytes, size_t *n, rz_time deadline)
{
    const int fds[] = {rz_frames_fd(stream->frames)};
    for (rz_status_t status = RZ_OK;;) {
        rz_time now = rz_clock_now();
        if (rz_frames_next(stream->frames, bytes, n)) {
            return *n == expected || *n == other ? RZ_OK : RZ_ERR_AUTHENTICATION;
        }
        if (status != RZ_OK) { /* closed without a proof */
            return RZ_ERR_AUTHENTICATION;
        }
        if (now >= deadline) {
            return RZ_ERR_TIMEOUT;
        }
        if (rz_descriptor_await(fds, 1, (int)((deadline - now) / RZ_MILLISECOND) + 1)) {
            status = rz_frames_read(stream->frames);
        }
    }
}

static rz_status_t introduce(struct rz_stream *stream, rz_time deadline)
{
    const void *bytes;
    size_t n;
    uint8_t hello[HELLO_BYTES];
    struct bound bound;
    rz_status_t status =
        await_frame(stream, CHALLENGE_BYTES, CHALLENGE_BYTES, &bytes, &n, deadline);
    if (status != RZ_OK) {
        return status;
    }
    memcpy(stream->challenge, bytes, sizeof(stream->challenge));
    rz_proof_nonce(stream->answer);
    struct rz_wire_writer w;
    rz_wire_writer_init(&w, hello, sizeof(hello));
    rz_wire_put_u32(&w, stream->terms.node);
    rz_wire_put_u32(&w, stream->terms.purpose);
    memcpy(hello + 8, stream->answer, RZ_PROOF_NONCE_BYTES);
    const struct rz_proof_terms *proof = bound_terms(stream, &bound);
    rz_proof_make(proof, RZ_PROOF_CONNECTOR, hello + 8 + RZ_PROOF_NONCE_BYTES);
    status = rz_frames_send(stream->frames, hello, sizeof(hello));
    if (status == RZ_OK) {
        status = await_frame(stream, WELCOME_BYTES, REFUSAL_BYTES, &bytes, &n, deadline);
    }
    if (status == RZ_OK && n == REFUSAL_BYTES) { /* of a stranger it says nothing */
        status = rz_proof_holds(proof, RZ_PROOF_REFUSAL, (const uint8_t *)bytes + 1)
                     ? RZ_ERR_CANCELLED
                     : RZ_ERR_AUTHENTICATION;
    } else if (status == RZ_OK && !rz_proof_holds(proof, RZ_PROOF_ACCEPTOR, bytes)) {
        status = RZ_ERR_AUTHENTICATION;
    }
    if (status == RZ_OK) {
        seal(stream, true);
    }
    return status;
}

/* A connected socket; it has written nothing yet. */
static rz_status_t connect_by(const struct rz_address *to, rz_time deadline, int *fd)
{
    rz_status_t status = rz_socket_connect(to, fd);
    while (status == RZ_IN_PROGRESS) {
        rz_time now = rz_clock_now();
        if (now >= deadline) {
            status = RZ_ERR_TIMEOUT;
        } else if (rz_descriptor_await_room(*fd, (int)((deadline - now) / RZ_MILLISECOND) + 1)) {
            status = rz_socket_connected(*fd);
        }
        if (status != RZ_OK && status != RZ_IN_PROGRESS) {
            rz_descriptor_close(*fd);
        }
    }
    return status;
}

rz_status_t rz_stream_connect(struct rz_stream **result, const struct rz_address *to,
                              const struct rz_stream_terms *terms, uint32_t frame_max,
                              rz_time connected_by, rz_time deadline)
{
    int fd;
    struct rz_frames *frames;
    rz_status_t status = rz_proof_begin();
    if (status == RZ_OK) {
        status = connect_by(to, connected_by, &fd);
    }
    if (status != RZ_OK) {
        return status;
    }
    rz_socket_expect_life(fd);
    status = rz_frames_open(&frames, fd, HANDSHAKE_MAX);
    if (status != RZ_OK) {
        rz_descriptor_close(fd);
        return status;
    }
    struct rz_stream *stream = stream_new(frames, frame_max);
    take_terms(stream, terms);
    status = introduce(stream, deadline);
    if (status != RZ_OK) {
        rz_stream_close(stream);
        return status;
    }
    *result = stream;
    return RZ_OK;
}

/* ---- The acceptor ---- */

rz_status_t rz_stream_accept(struct rz_stream **result, int fd, const struct rz_stream_terms *terms,
                             uint32_t frame_max)
{
    struct rz_frames *frames;
    rz_status_t status = rz_proof_begin();
    if (status == RZ_OK) {
        status = rz_frames_open(&frames, fd, HANDSHAKE_MAX);
    }
    if (status != RZ_OK) {
        rz_descriptor_close(fd);
        return status;
    }
    rz_socket_expect_life(fd);
    struct rz_stream *stream = stream_new(frames, frame_max);
    take_terms(stream, terms);
    rz_proof_nonce(stream->challenge);
    status = rz_frames_send(frames, stream->challenge, sizeof(stream->challenge));
    if (status != RZ_OK) {
        rz_stream_close(stream);
        return status;
    }
    *result = stream;
    return RZ_OK;
}

rz_status_t rz_stream_prove(struct rz_stream *stream, uint32_t *node,
                            enum rz_stream_purpose *purpose)
{
    const void *bytes;
    size_t n;
    struct bound bound;
    rz_status_t status = rz_frames_read(stream->frames);
    if (!rz_frames_next(stream->frames, &bytes, &n)) {
        return status == RZ_OK ? RZ_IN_PROGRESS : status;
    }
    const uint8_t *hello = bytes;
    struct rz_wire_reader r;
    rz_wire_reader_init(&r, hello, n);
    uint32_t said_node = rz_wire_get_u32(&r), said_purpose = rz_wire_get_u32(&r);
    if (n != HELLO_BYTES || said_purpose >= RZ_STREAM_PURPOSE_COUNT) {
        return RZ_ERR_AUTHENTICATION;
    }
    stream->terms.node = said_node;
    stream->terms.purpose = (enum rz_stream_purpose)said_purpose;
    memcpy(stream->answer, hello + 8, sizeof(stream->answer));
    if (!rz_proof_holds(bound_terms(stream, &bound), RZ_PROOF_CONNECTOR,
                        hello + 8 + RZ_PROOF_NONCE_BYTES)) {
        return RZ_ERR_AUTHENTICATION;
    }
    *node = stream->terms.node;
    *purpose = stream->terms.purpose;
    return RZ_OK;
}

rz_status_t rz_stream_welcome(struct rz_stream *stream)
{
    uint8_t welcome[WELCOME_BYTES];
    struct bound bound;
    rz_proof_make(bound_terms(stream, &bound), RZ_PROOF_ACCEPTOR, welcome);
    rz_status_t status = rz_frames_send(stream->frames, welcome, sizeof(welcome));
    if (status == RZ_OK) {
        seal(stream, false);
    }
    return status;
}

void rz_stream_refuse(struct rz_stream *stream)
{
    uint8_t refusal[REFUSAL_BYTES] = {0};
    struct bound bound;
    rz_proof_make(bound_terms(stream, &bound), RZ_PROOF_REFUSAL, refusal + 1);
    (void)rz_frames_send(stream->frames, refusal, REFUSAL_BYTES);
    rz_stream_close(stream);
}

/* ---- Frames ---- */

/* Space for n bytes that stay valid until the next frame of that direction. */
static uint8_t *scratch(struct rz_stream *stream, unsigned which, size_t n)
{
    if (stream->room[which] < n) {
        free(stream->scratch[which]);
        stream->scratch[which] = malloc(n);
        rz_need_memory(stream->scratch[which], "for a message of %zu bytes of the runtime", n);
        stream->room[which] = n;
    }
    return stream->scratch[which];
}

rz_status_t rz_stream_send(struct rz_stream *stream, const void *bytes, size_t n)
{
    if (!stream->sealed) {
        return rz_frames_send(stream->frames, bytes, n);
    }
    uint8_t *sealed = scratch(stream, 0, n + RZ_SEAL_BYTES);
    rz_seal_put(&stream->out, bytes, n, sealed);
    return rz_frames_send(stream->frames, sealed, n + RZ_SEAL_BYTES);
}

rz_status_t rz_stream_next(struct rz_stream *stream, const void **bytes, size_t *n)
{
    if (!rz_frames_next(stream->frames, bytes, n)) {
        return RZ_IN_PROGRESS;
    }
    if (!stream->sealed) {
        return RZ_OK;
    }
    if (*n < RZ_SEAL_BYTES) {
        return RZ_ERR_AUTHENTICATION;
    }
    uint8_t *opened = scratch(stream, 1, *n);
    rz_status_t status = rz_seal_get(&stream->in, *bytes, *n, opened);
    *bytes = opened;
    *n -= RZ_SEAL_BYTES;
    return status;
}

rz_status_t rz_stream_flush(struct rz_stream *stream)
{
    return rz_frames_flush(stream->frames);
}

bool rz_stream_want_write(const struct rz_stream *stream)
{
    return rz_frames_want_write(stream->frames);
}

size_t rz_stream_queued(const struct rz_stream *stream)
{
    return rz_frames_queued(stream->frames);
}

rz_status_t rz_stream_read(struct rz_stream *stream)
{
    return rz_frames_read(stream->frames);
}

int rz_stream_fd(const struct rz_stream *stream)
{
    return rz_frames_fd(stream->frames);
}

void rz_stream_close(struct rz_stream *stream)
{
    rz_frames_close(stream->frames);
    rz_seal_end(&stream->out);
    rz_seal_end(&stream->in);
    rz_proof_wipe(&stream->terms.key, sizeof(stream->terms.key));
    free(stream->scratch[0]);
    free(stream->scratch[1]);
    free(stream);
}
