/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that writes one output stream, so that a slow reader does not delay rzrun's loop. */
#include "launch/stream_writer.h"

#include "launch/bytes.h"
#include "port/thread.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define STACK_BYTES (64u << 10)

struct rz_stream_writer {
    int fd, event_fd;
    pthread_t thread;
    bool started, alone; /* alone: no thread can be started, and the caller writes */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Protected by the lock. The thread takes all of `next` at a time, and writes it without the
     * lock. */
    struct rz_bytes next;
    size_t writing;
    int error;
    bool closed;
};

/* 0, or errno. A descriptor that another process has made non-blocking is waited for. */
static int write_all(int fd, const uint8_t *bytes, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t written = write(fd, bytes + at, n - at);
        if (written >= 0) {
            at += (size_t)written;
        } else if (errno == EAGAIN) {
            poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

static void tell_reader(const struct rz_stream_writer *writer)
{
    uint64_t one = 1;
    ssize_t told = write(writer->event_fd, &one, sizeof(one));
    (void)told; /* if the counter is full, it is readable already */
}

static void *run(void *arg)
{
    struct rz_stream_writer *writer = arg;
    struct rz_bytes mine = {0};
    pthread_mutex_lock(&writer->lock);
    while (!writer->closed || writer->next.n > 0) {
        if (writer->next.n == 0) {
            pthread_cond_wait(&writer->changed, &writer->lock);
            continue;
        }
        struct rz_bytes empty = mine;
        mine = writer->next;
        writer->next = empty;
        writer->writing = mine.n;
        pthread_mutex_unlock(&writer->lock);
        int error = write_all(writer->fd, mine.at, mine.n);
        pthread_mutex_lock(&writer->lock);
        mine.n = writer->writing = 0;
        if (error != 0) {
            writer->error = error;
            writer->next.n = 0;
        }
        pthread_cond_broadcast(&writer->changed);
        tell_reader(writer);
    }
    pthread_mutex_unlock(&writer->lock);
    free(mine.at);
    return NULL;
}

rz_status_t rz_stream_writer_open(struct rz_stream_writer **result, int fd)
{
    struct rz_stream_writer *writer = calloc(1, sizeof(*writer));
    if (!writer) {
        return RZ_ERR_NO_MEMORY;
    }
    writer->fd = fd;
    writer->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (writer->event_fd < 0) {
        free(writer);
        return RZ_ERR_SYSTEM;
    }
    pthread_mutex_init(&writer->lock, NULL);
    pthread_cond_init(&writer->changed, NULL);
    *result = writer;
    return RZ_OK;
}

void rz_stream_writer_put(struct rz_stream_writer *writer, const void *bytes, size_t n)
{
    pthread_mutex_lock(&writer->lock);
    if (!writer->started && !writer->alone) {
        writer->started =
            rz_thread_start(&writer->thread, "rzrun-write", STACK_BYTES, run, writer) == 0;
        writer->alone = !writer->started;
    }
    if (writer->alone && writer->error == 0) {
        writer->error = write_all(writer->fd, bytes, n);
        tell_reader(writer);
    } else if (writer->error == 0 && n > 0) {
        rz_bytes_append(&writer->next, bytes, n);
    }
    pthread_cond_broadcast(&writer->changed);
    pthread_mutex_unlock(&writer->lock);
}

size_t rz_stream_writer_queued(struct rz_stream_writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    size_t queued = writer->next.n + writer->writing;
    pthread_mutex_unlock(&writer->lock);
    return queued;
}

int rz_stream_writer_error(struct rz_stream_writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    int error = writer->error;
    pthread_mutex_unlock(&writer->lock);
    return error;
}

int rz_stream_writer_event_fd(const struct rz_stream_writer *writer)
{
    return writer->event_fd;
}

void rz_stream_writer_wait(struct rz_stream_writer *writer, size_t most)
{
    pthread_mutex_lock(&writer->lock);
    while (writer->next.n + writer->writing > most) {
        pthread_cond_wait(&writer->changed, &writer->lock);
    }
    pthread_mutex_unlock(&writer->lock);
}

void rz_stream_writer_close(struct rz_stream_writer *writer)
{
    if (!writer) {
        return;
    }
    pthread_mutex_lock(&writer->lock);
    bool busy = writer->next.n + writer->writing > 0;
    writer->closed = true;
    writer->next.n = 0;
    pthread_cond_broadcast(&writer->changed);
    pthread_mutex_unlock(&writer->lock);
    if (busy) {
        return;
    }
    if (writer->started) {
        pthread_join(writer->thread, NULL);
    }
    close(writer->event_fd);
    pthread_mutex_destroy(&writer->lock);
    pthread_cond_destroy(&writer->changed);
    free(writer->next.at);
    free(writer);
}
