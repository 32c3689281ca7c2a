/* SPDX-License-Identifier: BSD-3-Clause */
/* A framed stream in portions of any size, against a parser written again. */
#include "fuzz.h"
#include "port/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FRAME_MAX 300

struct stream {
    struct rz_frames *frames;
    const uint8_t *start, *at, *end; /* of what was written: whole frames begin at `at` */
    bool condemned;
};

static uint32_t length_at(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Whether a header among the bytes written so far speaks of a frame that is too long. */
static bool too_long(const struct stream *stream)
{
    const uint8_t *at = stream->at;
    while (stream->end - at >= 4) {
        uint32_t n = length_at(at);
        if (n > FRAME_MAX) {
            return true;
        }
        if ((size_t)(stream->end - at) < 4 + (size_t)n) {
            return false;
        }
        at += 4 + n;
    }
    return false;
}

static void take_frames(struct stream *stream)
{
    const void *bytes;
    size_t n;
    while (rz_frames_next(stream->frames, &bytes, &n)) {
        rz_fuzz_holds(stream->end - stream->at >= 4);
        rz_fuzz_holds(n == length_at(stream->at) && n <= FRAME_MAX);
        rz_fuzz_holds((size_t)(stream->end - stream->at) >= 4 + n);
        rz_fuzz_holds(n == 0 || memcmp(bytes, stream->at + 4, n) == 0);
        stream->at += 4 + n;
    }
    /* It gives all that is whole. */
    if (stream->end - stream->at >= 4 && length_at(stream->at) <= FRAME_MAX) {
        rz_fuzz_holds((size_t)(stream->end - stream->at) < 4 + (size_t)length_at(stream->at));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rz_fuzz_input input = {data, data + size};
    size_t portion = 1 + rz_fuzz_take(&input, 2) % 2048;
    bool lazy = rz_fuzz_below(&input, 2); /* frames are taken at the end only */
    int ends[2];
    if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0) {
        abort();
    }
    struct stream stream = {.start = input.at, .at = input.at, .end = input.at};
    rz_fuzz_holds(rz_frames_open(&stream.frames, ends[0], FRAME_MAX) == RZ_OK);
    while (stream.end < input.end && !stream.condemned) {
        size_t n = (size_t)(input.end - stream.end);
        n = n < portion ? n : portion;
        if (write(ends[1], stream.end, n) != (ssize_t)n) {
            abort();
        }
        stream.end += n;
        rz_status_t status = rz_frames_read(stream.frames);
        stream.condemned = too_long(&stream);
        rz_fuzz_holds(status == (stream.condemned ? RZ_ERR_MALFORMED : RZ_OK));
        if (!lazy) {
            take_frames(&stream);
        }
    }
    take_frames(&stream);
    close(ends[1]);
    rz_status_t status = rz_frames_read(stream.frames);
    rz_fuzz_holds(status == RZ_ERR_CLOSED);
    rz_frames_close(stream.frames);
    return 0;
}

static size_t seed(uint32_t number, uint8_t *bytes, size_t max)
{
    static const uint16_t lengths[] = {0, 1, 4, 17, FRAME_MAX, 0, 200, 3};
    size_t n = 0;
    if (number >= 6) {
        return 0;
    }
    bytes[n++] = (uint8_t)(1 << number), bytes[n++] = 0, bytes[n++] = number % 2;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths) && n + 4 + lengths[i] < max; i++) {
        uint32_t length = lengths[(i + number) % 8];
        bytes[n] = (uint8_t)length, bytes[n + 1] = (uint8_t)(length >> 8);
        bytes[n + 2] = bytes[n + 3] = 0;
        memset(bytes + n + 4, (int)i + 1, length);
        n += 4 + length;
    }
    return n;
}

const struct rz_fuzz_target rz_fuzz_target = {.name = "fuzz_frames",
                                              .input_max = 4096,
                                              .memory_fixed = 256 * 1024,
                                              .memory_factor = 4,
                                              .seed = seed};
