/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps what ranks write, and finds the first line in which runs differ. */
#include "launch/check_output.h"

#include "base/no_memory.h"

#include <stdlib.h>
#include <string.h>

void rz_check_output_open(struct rz_check_output *output, uint32_t n_ranks, size_t room)
{
    *output = (struct rz_check_output){.n_ranks = n_ranks, .room = room};
    output->streams = calloc((size_t)n_ranks * RZ_CHECK_STREAMS, sizeof(*output->streams));
    rz_need_memory(output->streams, "for output of the job");
}

void rz_check_output_close(struct rz_check_output *output)
{
    for (size_t i = 0; output->streams && i < (size_t)output->n_ranks * RZ_CHECK_STREAMS; i++) {
        free(output->streams[i].bytes.at);
    }
    free(output->streams);
    *output = (struct rz_check_output){.n_ranks = 0};
}

/* ---- Keeping ---- */

static void check_cut_back(struct rz_check_output *output, struct rz_check_stream *stream,
                           uint64_t at)
{
    if (at < stream->bytes.n) {
        output->room += stream->bytes.n - (size_t)at;
        stream->bytes.n = (size_t)at;
    }
}

static void check_keep(struct rz_check_output *output, struct rz_check_stream *stream,
                       const uint8_t *data, size_t n)
{
    size_t kept = n < output->room ? n : output->room;
    if (stream->cut || n == 0) {
        return;
    }
    rz_bytes_append(&stream->bytes, data, kept);
    output->room -= kept;
    stream->cut = kept < n;
}

void rz_check_output_take(struct rz_check_output *output, const struct rz_launch_output *message)
{
    if (message->rank >= output->n_ranks) {
        return;
    }
    struct rz_check_stream *stream =
        &output->streams[(size_t)message->rank * RZ_CHECK_STREAMS + (message->stream == 2)];
    uint64_t at = message->at, end = at + message->data_length;
    if (at == RZ_OUTPUT_ANYWHERE) {
        check_keep(output, stream, message->data, message->data_length);
        return;
    }
    if (message->epoch > stream->epoch) {
        check_cut_back(output, stream, at);
        stream->epoch = message->epoch;
        stream->began = at;
    } else if (message->epoch < stream->epoch && end > stream->began) {
        end = stream->began; /* of a process that has ended */
    }
    uint64_t have = stream->bytes.n;
    if (end > at && end > have) {
        uint64_t skip = have > at ? have - at : 0;
        check_keep(output, stream, message->data + skip, (size_t)(end - at - skip));
    }
}

/* ---- Comparing ---- */

struct check_reader {
    const struct rz_check_stream *stream; /* NULL: of a run that there is not */
    size_t at;
};

static struct check_reader check_reader_of(const struct rz_check_output *output, size_t stream)
{
    return (struct check_reader){.stream = output ? &output->streams[stream] : NULL};
}

/* The next line; whole: the last one need not be ended by a newline. */
static struct rz_check_text check_next(struct check_reader *reader, bool whole)
{
    const struct rz_bytes *bytes = &reader->stream->bytes;
    if (reader->at >= bytes->n) {
        return (struct rz_check_text){.at = NULL};
    }
    struct rz_check_text line = {.at = bytes->at + reader->at, .n = bytes->n - reader->at};
    const uint8_t *newline = memchr(line.at, '\n', line.n);
    if (!newline && (!whole || reader->stream->cut)) {
        return (struct rz_check_text){.at = NULL};
    }
    line.n = newline ? (size_t)(newline - line.at) : line.n;
    reader->at += line.n + 1;
    return line;
}

static bool check_same(struct rz_check_text a, struct rz_check_text b)
{
    return (!a.at && !b.at) || (a.at && b.at && a.n == b.n && memcmp(a.at, b.at, a.n) == 0);
}

static uint64_t check_count(struct check_reader reader, bool whole)
{
    uint64_t n = 0;
    while (check_next(&reader, whole).at) {
        n++;
    }
    return n;
}

/* Whether a line of this stream differs. */
static bool check_stream(const struct rz_check_runs *runs, size_t stream,
                         struct rz_check_difference *found, uint64_t *lines)
{
    struct check_reader rewound = check_reader_of(runs->rewound, stream),
                        undisturbed = check_reader_of(runs->undisturbed, stream),
                        again = check_reader_of(runs->again, stream);
    bool whole = runs->whole, cut = rewound.stream->cut || undisturbed.stream->cut;
    bool aligned = !again.stream || check_count(undisturbed, whole) == check_count(again, whole);
    for (uint64_t line = 1;; line++) {
        struct rz_check_text a = check_next(&rewound, whole), b = check_next(&undisturbed, whole);
        if ((!a.at && !b.at) || ((!a.at || !b.at) && (!whole || cut))) {
            return false;
        }
        if (again.stream && !check_same(b, check_next(&again, whole))) {
            if (!aligned) {
                return false;
            }
            continue;
        }
        if (!check_same(a, b)) {
            *found = (struct rz_check_difference){.rank = (uint32_t)(stream / RZ_CHECK_STREAMS),
                                                  .error = stream % RZ_CHECK_STREAMS == 1,
                                                  .line = line,
                                                  .rewound = a,
                                                  .undisturbed = b};
            return true;
        }
        *lines += 1;
    }
}

bool rz_check_output_differs(const struct rz_check_runs *runs,
                             struct rz_check_difference *difference, uint64_t *lines)
{
    *lines = 0;
    for (size_t i = 0; i < (size_t)runs->rewound->n_ranks * RZ_CHECK_STREAMS; i++) {
        if (check_stream(runs, i, difference, lines)) {
            return true;
        }
    }
    return false;
}
