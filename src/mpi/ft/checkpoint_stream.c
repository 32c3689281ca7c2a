/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams of checkpoints: growing memory behind a FILE. */
#include "mpi/ft/checkpoint_stream.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/linked_list.h"
#include "mpi/impl.h"

#include <rhizome/checkpoint.h>

#define STREAM_BUFFER_BYTES (64u << 10)

/* A content with two holders is not changed by either. */
struct content {
    uint8_t *at;
    size_t bytes, max;
    unsigned holders;
};

/* The cookie of a FILE, used by one thread at a time. */
struct stream {
    struct stream *next;
    struct content *content;
    size_t position;
    int id;
    bool writes, forgets, failed;
    atomic_bool cut; /* set by a roll-back */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    struct content *content; /* NULL: none */
    struct content *before;  /* the content when MPIX_Reinit was entered */
    struct stream *writer;   /* open; NULL: none */
    bool no_memory;          /* its last writer had no memory */
} contents[RZ_CHECKPOINT_REGIONS_MAX];
static struct stream *streams; /* list of open streams */
/* contents of the checkpoint that is being written */
static struct content *held[RZ_CHECKPOINT_REGIONS_MAX];

/* ---- contents ---- */

static struct content *content_new(size_t bytes)
{
    struct content *content = calloc(1, sizeof(*content));
    if (!content) {
        return NULL;
    }
    *content = (struct content){
        .at = bytes > 0 ? malloc(bytes) : NULL, .bytes = bytes, .max = bytes, .holders = 1};
    if (bytes > 0 && !content->at) {
        free(content);
        return NULL;
    }
    return content;
}

static void content_release(struct content *content)
{
    if (content && --content->holders == 0) {
        free(content->at);
        free(content);
    }
}

static void set_content(int id, struct content *content)
{
    content_release(contents[id].content);
    contents[id].content = content;
    contents[id].no_memory = false;
}

/* Enlarges the content to so many bytes; the new ones are zero. */
static bool content_grow(struct content *content, size_t bytes)
{
    if (bytes > content->max) {
        size_t max = bytes > 2 * content->max ? bytes : 2 * content->max;
        uint8_t *at = realloc(content->at, max);
        if (!at) {
            return false;
        }
        content->at = at;
        content->max = max;
    }
    if (bytes > content->bytes) {
        memset(content->at + content->bytes, 0, bytes - content->bytes);
        content->bytes = bytes;
    }
    return true;
}

/* ---- the functions of a FILE ---- */

static ssize_t on_write(void *cookie, const char *from, size_t n)
{
    struct stream *stream = cookie;
    bool cut = atomic_load(&stream->cut);
    if (stream->forgets) {
        return (ssize_t)n;
    }
    if (cut || stream->failed || n > SIZE_MAX / 4 - stream->position ||
        !content_grow(stream->content, stream->position + n)) {
        stream->failed = true;
        errno = cut ? ECANCELED : ENOMEM;
        return 0;
    }
    if (n > 0) {
        memcpy(stream->content->at + stream->position, from, n);
    }
    stream->position += n;
    return (ssize_t)n;
}

static ssize_t on_read(void *cookie, char *to, size_t n)
{
    struct stream *stream = cookie;
    const struct content *content = stream->content;
    size_t rest = stream->position < content->bytes ? content->bytes - stream->position : 0;
    if (atomic_load(&stream->cut)) {
        errno = ECANCELED;
        return -1;
    }
    n = n < rest ? n : rest;
    if (n > 0) {
        memcpy(to, content->at + stream->position, n);
    }
    stream->position += n;
    return (ssize_t)n;
}

static int on_seek(void *cookie, off64_t *offset, int whence)
{
    struct stream *stream = cookie;
    size_t end = stream->forgets ? stream->position : stream->content->bytes;
    int64_t from = whence == SEEK_SET ? 0 : (int64_t)(whence == SEEK_CUR ? stream->position : end);
    if (*offset < -from || *offset > INT64_MAX / 4 - from) {
        errno = EINVAL;
        return -1;
    }
    stream->position = (size_t)(from + *offset);
    *offset = (off64_t)stream->position;
    return 0;
}

/* A writer is closed: its content becomes that of the region. */
static void publish(struct stream *stream)
{
    int id = stream->id;
    contents[id].writer = NULL;
    if (stream->forgets) {
        return;
    }
    if (!stream->failed) {
        set_content(id, stream->content);
        stream->content = NULL;
        return;
    }
    set_content(id, NULL);
    contents[id].no_memory = true;
}

static int on_close(void *cookie)
{
    struct stream *stream = cookie;
    pthread_mutex_lock(&lock);
    rz_list_unlink(&streams, stream);
    if (stream->writes && !atomic_load(&stream->cut)) {
        publish(stream);
    }
    content_release(stream->content);
    pthread_mutex_unlock(&lock);
    bool failed = stream->failed;
    free(stream);
    if (failed) {
        errno = ENOMEM;
    }
    return failed ? -1 : 0;
}

/* ---- opening ---- */

/* Sets the initial content and position; returns the error if the stream cannot be opened. */
static int stream_begin(struct stream *stream)
{
    int id = stream->id;
    if (stream->writes && contents[id].writer) {
        return rzm_error(MPI_ERR_ARG, "region %d is being written: close its stream first", id);
    }
    if (!stream->writes && !contents[id].content) {
        return rzm_error(MPI_ERR_ARG,
                         "region %d has no content to read: nothing was restored or "
                         "written by a stream",
                         id);
    }
    if (stream->writes) {
        stream->content = content_new(0);
        if (!stream->content) {
            return rzm_error(MPI_ERR_NO_MEM, "no memory for a stream");
        }
        contents[id].writer = stream;
    } else {
        stream->content = contents[id].content;
        stream->content->holders++;
    }
    stream->next = streams;
    streams = stream;
    return MPI_SUCCESS;
}

int rz_stream_open(int id, const char *mode, bool forget, FILE **stream)
{
    static const cookie_io_functions_t writer = {
        .write = on_write, .seek = on_seek, .close = on_close};
    static const cookie_io_functions_t reader = {
        .read = on_read, .seek = on_seek, .close = on_close};
    bool writes = strcmp(mode, "w") == 0 || strcmp(mode, "wb") == 0;
    if (!writes && strcmp(mode, "r") != 0 && strcmp(mode, "rb") != 0) {
        return rzm_error(MPI_ERR_ARG, "mode is \"%.20s\": it must be \"w\" or \"r\"", mode);
    }
    struct stream *made = calloc(1, sizeof(*made));
    if (!made) {
        return rzm_error(MPI_ERR_NO_MEM, "no memory for a stream");
    }
    *made = (struct stream){.id = id, .writes = writes, .forgets = writes && forget};
    pthread_mutex_lock(&lock);
    int error = stream_begin(made);
    pthread_mutex_unlock(&lock);
    if (error != MPI_SUCCESS) {
        free(made);
        return error;
    }
    FILE *file = fopencookie(made, writes ? "w" : "r", writes ? writer : reader);
    if (!file) {
        atomic_store(&made->cut, true);
        pthread_mutex_lock(&lock);
        if (contents[id].writer == made) {
            contents[id].writer = NULL;
        }
        pthread_mutex_unlock(&lock);
        on_close(made);
        return rzm_error(MPI_ERR_NO_MEM, "no memory for a stream");
    }
    setvbuf(file, NULL, _IOFBF, STREAM_BUFFER_BYTES);
    *stream = file;
    return MPI_SUCCESS;
}

/* ---- for checkpoints ---- */

bool rz_stream_take_out(int id)
{
    pthread_mutex_lock(&lock);
    bool idle = !contents[id].writer;
    if (idle) {
        set_content(id, NULL);
    }
    pthread_mutex_unlock(&lock);
    return idle;
}

int rz_streams_settled(void)
{
    int error = MPI_SUCCESS;
    pthread_mutex_lock(&lock);
    for (int id = 0; id < RZ_CHECKPOINT_REGIONS_MAX && error == MPI_SUCCESS; id++) {
        if (contents[id].writer) {
            error =
                rzm_error(MPI_ERR_OTHER, "region %d is being written: close its stream first", id);
        } else if (contents[id].no_memory) {
            error = rzm_error(MPI_ERR_NO_MEM,
                              "there was no memory for what a stream wrote to region %d", id);
        }
    }
    pthread_mutex_unlock(&lock);
    return error;
}

static struct content *content_hold(struct content *content)
{
    if (content) {
        content->holders++;
    }
    return content;
}

void rz_streams_enter_reinit(void)
{
    pthread_mutex_lock(&lock);
    for (int id = 0; id < RZ_CHECKPOINT_REGIONS_MAX; id++) {
        contents[id].before = content_hold(contents[id].content);
    }
    pthread_mutex_unlock(&lock);
}

void rz_streams_forget(void)
{
    pthread_mutex_lock(&lock);
    for (struct stream *stream = streams; stream; stream = stream->next) {
        atomic_store(&stream->cut, true);
    }
    for (int id = 0; id < RZ_CHECKPOINT_REGIONS_MAX; id++) {
        set_content(id, content_hold(contents[id].before));
        contents[id].writer = NULL;
    }
    pthread_mutex_unlock(&lock);
}

uint32_t rz_streams_hold(struct rz_region *regions)
{
    uint32_t n = 0;
    pthread_mutex_lock(&lock);
    for (uint32_t id = 0; id < RZ_CHECKPOINT_REGIONS_MAX; id++) {
        struct content *content = contents[id].content;
        if (content) {
            content->holders++;
            held[id] = content;
            regions[id] = (struct rz_region){
                .memory = content->at, .bytes = content->bytes, .kind = RZ_REGION_STREAM};
        }
        if (content || regions[id].bytes > 0) {
            n = id + 1;
        }
    }
    pthread_mutex_unlock(&lock);
    return n;
}

void rz_streams_release(void)
{
    pthread_mutex_lock(&lock);
    for (int id = 0; id < RZ_CHECKPOINT_REGIONS_MAX; id++) {
        content_release(held[id]);
        held[id] = NULL;
    }
    pthread_mutex_unlock(&lock);
}

static struct content *content_at(const uint8_t *at, size_t bytes)
{
    struct content *content = content_new(bytes);
    if (content && bytes > 0) {
        memcpy(content->at, at, bytes);
    }
    return content;
}

bool rz_streams_restore(const void *piece, const struct rz_piece_table *table)
{
    struct content *restored[RZ_CHECKPOINT_REGIONS_MAX] = {0};
    uint32_t n = 0;
    bool enough = true;
    rz_assert(table->n <= RZ_CHECKPOINT_REGIONS_MAX);
    for (; n < table->n && enough; n++) {
        const struct rz_piece_entry *entry = &table->entry[n];
        if (entry->kind != RZ_REGION_STREAM) {
            continue;
        }
        restored[n] = content_at((const uint8_t *)piece + entry->at, entry->bytes);
        enough = restored[n] != NULL;
    }
    pthread_mutex_lock(&lock);
    for (int id = 0; id < RZ_CHECKPOINT_REGIONS_MAX; id++) {
        if (enough) {
            set_content(id, restored[id]);
        } else {
            content_release(restored[id]);
        }
    }
    pthread_mutex_unlock(&lock);
    return enough;
}
