/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What it costs to encrypt and authenticate the frames between hosts: the same frames over TCP on
 * loopback, through a plain and through a sealed stream, in turns. For each size and repetition a
 * line `stream BYTES PLAIN SEALED`, in MB/s. It is built with Rhizome, for no public header has
 * these streams.
 */
#include "net/stream/stream.h"
#include "port/clock.h"
#include "port/descriptor.h"

#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAME_MAX = 1 << 20, TOTAL = 64 << 20, BOUND_S = 60, BOUND_MS = BOUND_S * 1000 };

static const size_t sizes[] = {1 << 10, 16 << 10, 256 << 10};

struct sender {
    struct rz_address to;
    struct rz_stream_terms terms;
    bool sealed;
    size_t bytes;
};

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "bench_stream: %s\n", what);
    exit(1);
}

static void await_room(struct rz_stream *stream)
{
    while (rz_stream_flush(stream) == RZ_IN_PROGRESS) {
        rz_descriptor_await_room(rz_stream_fd(stream), BOUND_MS);
    }
}

static struct rz_stream *connect_to(const struct sender *sender)
{
    struct rz_stream *stream;
    rz_time deadline = rz_clock_now() + BOUND_S * RZ_SECOND;
    int fd;
    if (sender->sealed) {
        if (rz_stream_connect(&stream, &sender->to, &sender->terms, FRAME_MAX, deadline,
                              deadline) != RZ_OK) {
            give_up("no sealed stream");
        }
        return stream;
    }
    rz_status_t status = rz_socket_connect(&sender->to, &fd);
    if (status == RZ_IN_PROGRESS) {
        rz_descriptor_await_room(fd, BOUND_MS);
        status = rz_socket_connected(fd);
    }
    if (status != RZ_OK || rz_stream_plain(&stream, fd, FRAME_MAX) != RZ_OK) {
        give_up("no plain stream");
    }
    return stream;
}

static void *send_all(void *arg)
{
    const struct sender *sender = arg;
    struct rz_stream *stream = connect_to(sender);
    uint8_t *frame = calloc(1, sender->bytes);
    if (!frame) {
        give_up("no memory");
    }
    for (size_t sent = 0; sent < TOTAL; sent += sender->bytes) {
        if (rz_stream_send(stream, frame, sender->bytes) != RZ_OK) {
            give_up("the stream has ended");
        }
        if (rz_stream_queued(stream) > FRAME_MAX) {
            await_room(stream);
        }
    }
    await_room(stream);
    free(frame);
    return stream;
}

static struct rz_stream *accept_from(int listening, const struct sender *sender)
{
    struct rz_stream *stream;
    enum rz_stream_purpose purpose;
    uint32_t node;
    int fd;
    if (!rz_descriptor_await(&listening, 1, BOUND_MS) ||
        rz_socket_accept(listening, &fd, NULL) != RZ_OK) {
        give_up("no connection");
    }
    if (!sender->sealed) {
        if (rz_stream_plain(&stream, fd, FRAME_MAX) != RZ_OK) {
            give_up("no memory");
        }
        return stream;
    }
    rz_status_t status = rz_stream_accept(&stream, fd, &sender->terms, FRAME_MAX);
    while (status == RZ_OK &&
           (status = rz_stream_prove(stream, &node, &purpose)) == RZ_IN_PROGRESS &&
           rz_descriptor_await(&fd, 1, BOUND_MS)) {
        status = RZ_OK;
    }
    if (status != RZ_OK || rz_stream_welcome(stream) != RZ_OK) {
        give_up("no proof");
    }
    return stream;
}

static void receive_all(struct rz_stream *stream)
{
    int fd = rz_stream_fd(stream);
    size_t received = 0, n;
    const void *bytes;
    while (received < TOTAL) {
        if (rz_stream_want_write(stream)) {
            rz_stream_flush(stream); /* the end of the handshake */
        }
        rz_status_t status = rz_stream_read(stream), next;
        while ((next = rz_stream_next(stream, &bytes, &n)) == RZ_OK) {
            received += n;
        }
        if (received < TOTAL &&
            (status != RZ_OK || next != RZ_IN_PROGRESS || !rz_descriptor_await(&fd, 1, BOUND_MS))) {
            give_up("the stream has ended too early");
        }
    }
}

static double megabytes_per_s(bool sealed, size_t bytes)
{
    struct sender sender = {.to = {.ip = RZ_ADDRESS_LOOPBACK},
                            .terms = {.job = 1, .purpose = RZ_STREAM_MESSAGES},
                            .sealed = sealed,
                            .bytes = bytes};
    pthread_t thread;
    void *theirs;
    int listening;
    randombytes_buf(sender.terms.key, sizeof(sender.terms.key));
    if (rz_socket_listen(&sender.to, &listening) != RZ_OK ||
        pthread_create(&thread, NULL, send_all, &sender) != 0) {
        give_up("cannot start");
    }
    struct rz_stream *stream = accept_from(listening, &sender);
    rz_time begin = rz_clock_now();
    receive_all(stream);
    double seconds = (double)(rz_clock_now() - begin) / 1e9;
    pthread_join(thread, &theirs);
    rz_stream_close(theirs);
    rz_stream_close(stream);
    rz_descriptor_close(listening);
    return TOTAL / seconds / 1e6;
}

int main(int argc, char **argv)
{
    unsigned long repetitions = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
    if (repetitions == 0 || sodium_init() < 0) {
        fprintf(stderr, "usage: bench_stream REPETITIONS\n");
        return 2;
    }
    for (unsigned long r = 0; r < repetitions; r++) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
            double plain = megabytes_per_s(false, sizes[i]);
            printf("stream %zu %.9g %.9g\n", sizes[i], plain, megabytes_per_s(true, sizes[i]));
        }
    }
    return 0;
}
