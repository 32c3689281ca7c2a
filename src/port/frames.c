/* SPDX-License-Identifier: BSD-3-Clause */
/* Framed streams: length (u32, little-endian), then the bytes. */
#include "port/channel.h"

#include "base/assert.h"
#include "base/no_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FRAMES_HEADER = 4, FRAMES_CHUNK = 64 * 1024, FRAMES_READ_MAX = 1024 * 1024 };

/* Bytes [start, end) of memory are in use. */
struct frames_buffer {
    unsigned char *memory;
    size_t start, end, room;
};

struct rz_frames {
    int fd;
    bool socket;
    rz_status_t failed; /* the first error; it stays */
    uint32_t frame_max;
    struct frames_buffer in, out;
    size_t checked; /* bytes after in.start whose frame headers were found valid */
};

static size_t frames_used(const struct frames_buffer *buffer)
{
    return buffer->end - buffer->start;
}

/* Space for `bytes` more at the end. A frame that is left out makes the stream worthless. */
static void frames_make_room(struct frames_buffer *buffer, size_t bytes)
{
    if (buffer->room - buffer->end >= bytes) {
        return;
    }
    size_t used = frames_used(buffer);
    /* Move only where at least as much room is gained as bytes are moved: the cost per byte stays
     * constant. */
    if (buffer->start >= used && buffer->room - used >= bytes) {
        memmove(buffer->memory, buffer->memory + buffer->start, used);
    } else {
        size_t room = buffer->room > FRAMES_CHUNK ? buffer->room : FRAMES_CHUNK;
        while (room - used < bytes) {
            room *= 2;
        }
        unsigned char *memory = malloc(room);
        rz_need_memory(memory, "for messages of %zu bytes between processes of the runtime", room);
        if (used > 0) {
            memcpy(memory, buffer->memory + buffer->start, used);
        }
        free(buffer->memory);
        buffer->memory = memory;
        buffer->room = room;
    }
    buffer->start = 0;
    buffer->end = used;
}

static uint32_t frames_length(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

rz_status_t rz_frames_open(struct rz_frames **out, int fd, uint32_t frame_max)
{
    struct stat stat;
    if (fstat(fd, &stat) != 0) {
        return RZ_ERR_SYSTEM;
    }
    struct rz_frames *frames = calloc(1, sizeof(*frames));
    rz_need_memory(frames, "for a stream between processes of the runtime");
    frames->fd = fd;
    frames->socket = S_ISSOCK(stat.st_mode);
    frames->frame_max = frame_max;
    *out = frames;
    return RZ_OK;
}

void rz_frames_close(struct rz_frames *frames)
{
    close(frames->fd);
    free(frames->in.memory);
    free(frames->out.memory);
    free(frames);
}

void rz_frames_limit(struct rz_frames *frames, uint32_t frame_max)
{
    frames->frame_max = frame_max;
}

int rz_frames_fd(const struct rz_frames *frames)
{
    return frames->fd;
}

rz_status_t rz_frames_send(struct rz_frames *frames, const void *bytes, size_t n)
{
    rz_assert(n <= frames->frame_max);
    frames_make_room(&frames->out, FRAMES_HEADER + n);
    unsigned char *at = frames->out.memory + frames->out.end;
    for (unsigned i = 0; i < FRAMES_HEADER; i++) {
        at[i] = (unsigned char)(n >> 8 * i);
    }
    if (n > 0) {
        memcpy(at + FRAMES_HEADER, bytes, n);
    }
    frames->out.end += FRAMES_HEADER + n;
    rz_status_t status = rz_frames_flush(frames);
    return status == RZ_IN_PROGRESS ? RZ_OK : status;
}

/* The status for an error of the system. Only an end, a reset and a refusal are sent by the peer's
 * side; all others come from this side, which cannot know whether the peer is alive. */
static rz_status_t frames_fail(struct rz_frames *frames, int error)
{
    bool told = error == 0 || error == ECONNRESET || error == ECONNREFUSED || error == EPIPE;
    if (frames->failed == RZ_OK) {
        frames->failed = told || !frames->socket ? RZ_ERR_CLOSED : RZ_ERR_TIMEOUT;
    }
    return frames->failed;
}

bool rz_frames_want_write(const struct rz_frames *frames)
{
    return frames_used(&frames->out) > 0;
}

size_t rz_frames_queued(const struct rz_frames *frames)
{
    return frames_used(&frames->out);
}

rz_status_t rz_frames_flush(struct rz_frames *frames)
{
    struct frames_buffer *out = &frames->out;
    while (frames_used(out) > 0) {
        if (frames->failed != RZ_OK) {
            return frames->failed;
        }
        const void *at = out->memory + out->start;
        ssize_t written = frames->socket ? send(frames->fd, at, frames_used(out), MSG_NOSIGNAL)
                                         : write(frames->fd, at, frames_used(out));
        if (written >= 0) {
            out->start += (size_t)written;
        } else if (errno == EAGAIN) {
            return RZ_IN_PROGRESS;
        } else if (errno != EINTR) {
            return frames_fail(frames, errno);
        }
    }
    out->start = out->end = 0;
    return RZ_OK;
}

/* Checks the frame headers that have arrived since the last call: one that is too long ends the
 * stream at once. */
static rz_status_t frames_check(struct rz_frames *frames)
{
    while (frames_used(&frames->in) >= frames->checked + FRAMES_HEADER) {
        uint32_t n = frames_length(frames->in.memory + frames->in.start + frames->checked);
        if (n > frames->frame_max) {
            return RZ_ERR_MALFORMED;
        }
        frames->checked += FRAMES_HEADER + (size_t)n;
    }
    return RZ_OK;
}

rz_status_t rz_frames_read(struct rz_frames *frames)
{
    struct frames_buffer *in = &frames->in;
    size_t read_bytes = 0;
    /* Bounded, so that one busy peer does not starve the others of the loop, and a peer with a
     * small bound does not get much memory. */
    size_t most = frames->frame_max < FRAMES_CHUNK ? FRAMES_CHUNK : FRAMES_READ_MAX;
    while (read_bytes < most) {
        frames_make_room(in, FRAMES_CHUNK);
        ssize_t got = read(frames->fd, in->memory + in->end, in->room - in->end);
        if (got > 0) {
            in->end += (size_t)got;
            read_bytes += (size_t)got;
        } else if (got < 0 && errno == EINTR) {
            continue;
        } else if (got < 0 && errno == EAGAIN) {
            break;
        } else if (read_bytes > 0) {
            if (got < 0) {
                frames_fail(frames, errno); /* the system reports it once */
            }
            break; /* the end is seen again at the next read, after the data before it */
        } else {
            return frames_fail(frames, got < 0 ? errno : 0);
        }
    }
    return frames_check(frames);
}

bool rz_frames_next(struct rz_frames *frames, const void **bytes, size_t *n)
{
    struct frames_buffer *in = &frames->in;
    if (frames_used(in) < FRAMES_HEADER) {
        return false;
    }
    uint32_t length = frames_length(in->memory + in->start);
    if (length > frames->frame_max || frames_used(in) - FRAMES_HEADER < length) {
        return false; /* rz_frames_read has reported the one that is too long */
    }
    *bytes = in->memory + in->start + FRAMES_HEADER;
    *n = length;
    in->start += FRAMES_HEADER + (size_t)length;
    frames->checked -= FRAMES_HEADER + (size_t)length;
    return true;
}
