/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the output of the ranks, with labels if requested, so that the lines of several ranks do
 * not mix, and adds a newline where a line was not ended. */
#include "launch/show_output.h"

#include "base/no_memory.h"
#include "port/clock.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NONE SIZE_MAX

static void put(struct rz_show_stream *stream, const void *bytes, size_t n)
{
    rz_stream_writer_put(stream->writer, bytes, n);
}

/* Shows n bytes of the writer; its line continues if it is the last one shown. */
static void show_plain(struct rz_show_stream *stream, size_t source, const uint8_t *data, size_t n)
{
    put(stream, data, n);
    stream->open = data[n - 1] == '\n' ? NONE : source;
}

static void show_labelled(struct rz_show_stream *stream, size_t source, const uint8_t *data,
                          size_t n)
{
    char label[16];
    int length = snprintf(label, sizeof(label), "[%zu] ", source - 1);
    if (stream->open != NONE && stream->open != source) {
        put(stream, "\n", 1); /* of another writer, which did not end it in time */
        stream->open = NONE;
    }
    while (n > 0) {
        const uint8_t *newline = memchr(data, '\n', n);
        size_t line = newline ? (size_t)(newline - data) + 1 : n;
        if (stream->open != source) {
            put(stream, label, (size_t)length);
        }
        put(stream, data, line);
        stream->open = newline ? NONE : source;
        data += line;
        n -= line;
    }
}

static void show_bytes(const struct rz_show_output *output, struct rz_show_stream *stream,
                       size_t source, const uint8_t *data, size_t n)
{
    if (n == 0) {
        return;
    }
    if (output->label && source > 0) {
        show_labelled(stream, source, data, n);
    } else {
        show_plain(stream, source, data, n);
    }
}

static void show_tail(struct rz_show_output *output, struct rz_show_stream *stream, size_t source)
{
    struct rz_show_tail *tail = &stream->tails[source];
    show_bytes(output, stream, source, tail->bytes.at, tail->bytes.n);
    output->waiting -= tail->bytes.n;
    free(tail->bytes.at);
    tail->bytes = (struct rz_bytes){0};
}

static struct rz_show_tail *tail_of(struct rz_show_stream *stream, size_t source)
{
    if (source >= stream->n_tails) {
        size_t n = source + 64;
        stream->tails = realloc(stream->tails, n * sizeof(*stream->tails));
        rz_need_memory(stream->tails, "for output of the job");
        memset(stream->tails + stream->n_tails, 0, (n - stream->n_tails) * sizeof(*stream->tails));
        stream->n_tails = n;
    }
    return &stream->tails[source];
}

static void keep(struct rz_show_output *output, struct rz_show_tail *tail, const uint8_t *data,
                 size_t n)
{
    if (tail->bytes.n == 0) {
        tail->since = rz_clock_now();
    }
    rz_bytes_append(&tail->bytes, data, n);
    output->waiting += n;
}

rz_status_t rz_show_output_open(struct rz_show_output *output, bool label)
{
    *output = (struct rz_show_output){.label = label, .owner = getpid()};
    output->patience = label && !isatty(STDIN_FILENO) ? RZ_SHOW_LABEL_PATIENCE : RZ_SHOW_PATIENCE;
    for (int i = 0; i < RZ_SHOW_STREAMS; i++) {
        output->streams[i].open = NONE;
        rz_status_t status = rz_stream_writer_open(&output->streams[i].writer, STDOUT_FILENO + i);
        if (status != RZ_OK) {
            rz_show_output_close(output);
            return status;
        }
    }
    return RZ_OK;
}

/* How many of the message's bytes a process has written before, which was restored since. */
static size_t repeated(const struct rz_show_output *output, struct rz_show_tail *tail,
                       const struct rz_launch_output *message)
{
    uint64_t at = message->at, end = at + message->data_length, taken = tail->taken;
    if (at == RZ_OUTPUT_ANYWHERE || output->rewound == RZ_REWOUND_REPEATED) {
        return 0;
    }
    tail->taken = end > taken ? end : taken;
    return taken <= at ? 0 : taken >= end ? message->data_length : (size_t)(taken - at);
}

/* ---- Output that waits until it is safe ---- */

/* How much of the tail, from its begin on, may be shown. */
static size_t ready_bytes(const struct rz_show_output *output, const struct rz_show_tail *tail)
{
    if (output->rewound != RZ_REWOUND_HELD || tail->taken == 0) { /* a daemon's have no place */
        return tail->bytes.n;
    }
    uint64_t begin = tail->taken - tail->bytes.n;
    uint64_t ready = tail->safe > begin ? tail->safe - begin : 0;
    return ready < tail->bytes.n ? (size_t)ready : tail->bytes.n;
}

static void show_front(struct rz_show_output *output, struct rz_show_stream *stream, size_t source,
                       size_t n)
{
    struct rz_bytes *bytes = &stream->tails[source].bytes;
    show_bytes(output, stream, source, bytes->at, n);
    bytes->n -= n;
    output->waiting -= n;
    memmove(bytes->at, bytes->at + n, bytes->n);
}

/* How much of it may be shown now although its last line may not be whole. If the rest of the line
 * has come, it waits to be safe: the two are shown together. */
static size_t late_bytes(const struct rz_show_output *output, const struct rz_show_tail *tail)
{
    size_t ready = ready_bytes(output, tail);
    return ready == tail->bytes.n ? ready : 0;
}

/* The whole lines of what is safe; the beginning of a line waits for its end as ever. */
static void show_safe_lines(struct rz_show_output *output, struct rz_show_stream *stream,
                            size_t source)
{
    const struct rz_show_tail *tail = &stream->tails[source];
    size_t ready = ready_bytes(output, tail);
    const uint8_t *newline = ready > 0 ? memrchr(tail->bytes.at, '\n', ready) : NULL;
    size_t whole = newline ? (size_t)(newline - tail->bytes.at) + 1 : 0;
    whole = ready - whole >= RZ_SHOW_LINE_MAX ? ready : whole;
    if (whole > 0) {
        show_front(output, stream, source, whole);
    }
}

static void cut(struct rz_show_output *output, struct rz_show_tail *tail, size_t keep)
{
    output->waiting -= tail->bytes.n - keep;
    tail->taken -= tail->bytes.n - keep;
    tail->bytes.n = keep;
}

/* A new process of the rank writes, from that place on: what comes before is in its image, and what
 * an earlier process wrote behind it did not happen. */
static void begin_again(struct rz_show_output *output, struct rz_show_tail *tail,
                        const struct rz_launch_output *message)
{
    uint64_t begin = tail->taken - tail->bytes.n;
    if (message->at < tail->taken) {
        cut(output, tail, message->at > begin ? (size_t)(message->at - begin) : 0);
    }
    tail->epoch = message->epoch;
    tail->began = message->at;
    tail->safe = message->at > tail->safe ? message->at : tail->safe;
    tail->since = rz_clock_now();
}

static void show_all(struct rz_show_output *output)
{
    for (int i = 0; i < RZ_SHOW_STREAMS; i++) {
        for (size_t source = 0; source < output->streams[i].n_tails; source++) {
            show_tail(output, &output->streams[i], source);
        }
    }
}

static void hold(struct rz_show_output *output, struct rz_show_stream *stream, size_t source,
                 const struct rz_launch_output *message)
{
    struct rz_show_tail *tail = &stream->tails[source];
    if (message->at == RZ_OUTPUT_ANYWHERE) { /* before its daemon knew the place */
        show_bytes(output, stream, source, message->data, message->data_length);
        return;
    }
    uint64_t at = message->at, end = at + message->data_length;
    if (message->epoch > tail->epoch) {
        begin_again(output, tail, message);
    } else if (message->epoch < tail->epoch && end > tail->began) {
        end = tail->began; /* of a process that has ended */
    }
    if (end > at && at > tail->taken) { /* what is missing was lost with a node */
        show_tail(output, stream, source);
        tail->taken = at;
    }
    if (end > at && end > tail->taken) {
        keep(output, tail, message->data + (tail->taken - at), (size_t)(end - tail->taken));
        tail->taken = end;
    }
    show_safe_lines(output, stream, source);
    if (output->waiting > RZ_SHOW_TAILS_MAX) {
        output->overrun = true;
        show_all(output);
    }
}

void rz_show_output_safe(struct rz_show_output *output, const struct rz_launch_output_safe *safe)
{
    const uint64_t places[RZ_SHOW_STREAMS] = {safe->out, safe->error};
    for (int i = 0; i < RZ_SHOW_STREAMS; i++) {
        size_t source = (size_t)safe->rank + 1;
        struct rz_show_tail *tail = tail_of(&output->streams[i], source);
        if (places[i] != RZ_OUTPUT_ANYWHERE && places[i] > tail->safe) {
            tail->safe = places[i];
            tail->since = rz_clock_now();
            show_safe_lines(output, &output->streams[i], source);
        }
    }
}

void rz_show_output_discard(struct rz_show_output *output)
{
    for (int i = 0; i < RZ_SHOW_STREAMS; i++) {
        for (size_t source = 0; source < output->streams[i].n_tails; source++) {
            struct rz_show_tail *tail = &output->streams[i].tails[source];
            cut(output, tail, ready_bytes(output, tail));
        }
    }
}

/* ---- Output as it comes ---- */

void rz_show_output(struct rz_show_output *output, const struct rz_launch_output *message)
{
    struct rz_show_stream *stream = &output->streams[message->stream == 2];
    size_t source = message->rank == RZ_ID_NONE ? 0 : (size_t)message->rank + 1;
    struct rz_show_tail *tail = tail_of(stream, source);
    if (output->rewound == RZ_REWOUND_HELD && source > 0) {
        hold(output, stream, source, message);
        return;
    }
    size_t skipped = repeated(output, tail, message);
    const uint8_t *data = message->data + skipped;
    size_t n = message->data_length - skipped;
    const uint8_t *newline = n > 0 ? memrchr(data, '\n', n) : NULL;
    size_t whole = newline ? (size_t)(newline - data) + 1 : 0;
    if (whole > 0) {
        show_tail(output, stream, source);
        show_bytes(output, stream, source, data, whole);
    }
    if (n > whole) {
        keep(output, tail, data + whole, n - whole);
    }
    if (tail->bytes.n >= RZ_SHOW_LINE_MAX || output->waiting > RZ_SHOW_TAILS_MAX) {
        show_tail(output, stream, source);
    }
}

rz_time rz_show_output_due(const struct rz_show_output *output)
{
    rz_time due = RZ_TIME_NEVER;
    for (int i = 0; output->waiting > 0 && i < RZ_SHOW_STREAMS; i++) {
        for (size_t source = 0; source < output->streams[i].n_tails; source++) {
            const struct rz_show_tail *tail = &output->streams[i].tails[source];
            if (late_bytes(output, tail) > 0 && tail->since + output->patience < due) {
                due = tail->since + output->patience;
            }
        }
    }
    return due;
}

void rz_show_output_late(struct rz_show_output *output, rz_time now)
{
    for (int i = 0; output->waiting > 0 && i < RZ_SHOW_STREAMS; i++) {
        for (size_t source = 0; source < output->streams[i].n_tails; source++) {
            const struct rz_show_tail *tail = &output->streams[i].tails[source];
            size_t ready = late_bytes(output, tail);
            if (now == RZ_TIME_NEVER) {
                show_tail(output, &output->streams[i], source);
            } else if (ready > 0 && now >= tail->since + output->patience) {
                show_front(output, &output->streams[i], source, ready);
            }
        }
    }
}

size_t rz_show_output_queued(struct rz_show_output *output)
{
    size_t out = rz_stream_writer_queued(output->streams[0].writer);
    size_t error = rz_stream_writer_queued(output->streams[1].writer);
    return out > error ? out : error;
}

void rz_show_output_wait(struct rz_show_output *output, size_t most)
{
    for (int i = 0; i < RZ_SHOW_STREAMS; i++) {
        rz_stream_writer_wait(output->streams[i].writer, most);
    }
}

int rz_show_output_error(struct rz_show_output *output)
{
    int error = 0;
    for (int i = 0; i < RZ_SHOW_STREAMS; i++) {
        struct rz_stream_writer *writer = output->streams[i].writer;
        uint64_t count;
        ssize_t ignored = read(rz_stream_writer_event_fd(writer), &count, sizeof(count));
        (void)ignored;
        error = error ? error : rz_stream_writer_error(writer);
    }
    return error;
}

/* Passes text to the writer's thread. In a child of fork, which lacks that thread, it is written
 * directly to the descriptor. */
static ssize_t write_words(void *cookie, const char *text, size_t n)
{
    struct rz_show_output *output = cookie;
    if (getpid() != output->owner) {
        return write(STDERR_FILENO, text, n);
    }
    if (n > 0) {
        show_plain(&output->streams[1], 0, (const uint8_t *)text, n);
    }
    return (ssize_t)n;
}

FILE *rz_show_output_words(struct rz_show_output *output)
{
    const cookie_io_functions_t functions = {.write = write_words};
    FILE *words = fopencookie(output, "w", functions);
    if (words) {
        setvbuf(words, NULL, _IONBF, 0);
    }
    return words;
}

void rz_show_output_close(struct rz_show_output *output)
{
    for (int i = 0; i < RZ_SHOW_STREAMS; i++) {
        struct rz_show_stream *stream = &output->streams[i];
        for (size_t source = 0; source < stream->n_tails; source++) {
            free(stream->tails[source].bytes.at);
        }
        free(stream->tails);
        rz_stream_writer_close(stream->writer);
        *stream = (struct rz_show_stream){0};
    }
}
