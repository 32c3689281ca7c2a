/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread that reads and writes checkpoint files. */
#include "daemon/store/store_writer.h"

#include "base/no_memory.h"
#include "daemon/state/loop.h"
#include "port/descriptor.h"
#include "port/lock.h"
#include "port/thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How long the disk may take to finish what was begun when the daemon ends. */
#define END_BOUND_S 2

struct item {
    struct item *next;
    uint64_t era; /* counts the drops: answers of an older era are discarded */
    struct rz_store_order order;
};

struct queue {
    struct item *first, **last;
};

struct rz_store_writer {
    struct rz_store_writer_config config;
    pthread_t thread;
    int bell; /* an event counter: an order is done */
    struct event *ready;
    atomic_bool stop;    /* the piece being written is given up */
    struct rz_lock lock; /* also signals that there is an order */
    /* Protected by the lock. */
    struct queue writes, others; /* others go first: marks are short, and reads are waited for */
    struct queue done;
    uint64_t era;
    bool ends;
};

static void put(struct queue *queue, struct item *item)
{
    item->next = NULL;
    *queue->last = item;
    queue->last = &item->next;
}

static struct item *take(struct queue *queue)
{
    struct item *item = queue->first;
    if (item && !(queue->first = item->next)) {
        queue->last = &queue->first;
    }
    return item;
}

static void item_free(struct item *item)
{
    if (item->order.content.fd >= 0) {
        close(item->order.content.fd);
    }
    free(item);
}

static void clear(struct queue *queue)
{
    for (struct item *item; (item = take(queue));) {
        item_free(item);
    }
}

/* ---- in the thread ---- */

static void commit(const struct rz_store_writer *writer, struct rz_store_order *order)
{
    const struct rz_ckpt_folder *folder = &writer->config.folder;
    order->status = rz_ckpt_commit(folder, &order->generation, writer->config.node, &order->words);
    if (order->status == RZ_OK && order->keep > 0) {
        order->pruned =
            rz_ckpt_prune(folder, &order->generation, &order->before, order->keep, &order->words);
    }
}

static void carry_out_order(const struct rz_store_writer *writer, struct rz_store_order *order)
{
    const struct rz_ckpt_folder *folder = &writer->config.folder;
    switch (order->kind) {
    case RZ_STORE_WRITE:
        order->status =
            rz_ckpt_write(folder, &order->generation,
                          &(struct rz_ckpt_piece){order->rank, order->content, &writer->stop},
                          writer->config.node, &order->words);
        break;
    case RZ_STORE_READ:
        order->status =
            rz_ckpt_read(folder, &order->generation, order->rank, &order->content, &order->words);
        break;
    case RZ_STORE_COMMIT:
        commit(writer, order);
        break;
    case RZ_STORE_REMOVE:
        order->status = rz_ckpt_remove(folder, &order->generation, &order->words);
        break;
    }
}

static struct item *take_order(struct rz_store_writer *writer)
{
    struct item *item = take(&writer->others);
    return item ? item : take(&writer->writes);
}

/* Waits for an order. NULL: the writer ends. */
static struct item *next_order(struct rz_store_writer *writer)
{
    struct item *item = NULL;
    rz_lock_enter(&writer->lock);
    while (!(item = take_order(writer)) && !writer->ends) {
        rz_lock_wait(&writer->lock);
    }
    if (item) {
        atomic_store(&writer->stop, false); /* the piece to be given up was another one */
    }
    rz_lock_leave(&writer->lock);
    return item;
}

static void *run(void *arg)
{
    struct rz_store_writer *writer = arg;
    for (struct item *item; (item = next_order(writer));) {
        carry_out_order(writer, &item->order);
        rz_lock_enter(&writer->lock);
        put(&writer->done, item);
        rz_lock_leave(&writer->lock);
        rz_event_fd_ring(writer->bell);
    }
    return NULL;
}

/* ---- in the loop ---- */

static void tell_done(evutil_socket_t fd, short what, void *arg)
{
    struct rz_store_writer *writer = arg;
    (void)what;
    if (!rz_event_fd_clear(fd)) {
        return;
    }
    for (;;) {
        rz_lock_enter(&writer->lock);
        struct item *item = take(&writer->done);
        bool wanted = item && item->era == writer->era;
        rz_lock_leave(&writer->lock);
        if (!item) {
            return;
        }
        /* The descriptor of a written piece is the writer's, that of a read piece becomes the
         * caller's. */
        if (wanted) {
            writer->config.done(writer->config.arg, &item->order);
        }
        if (wanted && item->order.kind == RZ_STORE_READ && item->order.status == RZ_OK) {
            item->order.content.fd = -1;
        }
        item_free(item);
    }
}

bool rz_store_writer_order(struct rz_store_writer *writer, const struct rz_store_order *order)
{
    struct item *item = calloc(1, sizeof(*item));
    if (!item) {
        return false;
    }
    item->order = *order;
    item->order.content.fd = -1;
    /* The caller may drop the piece before it is written. */
    if (order->kind == RZ_STORE_WRITE &&
        rz_descriptor_copy(order->content.fd, &item->order.content.fd) != RZ_OK) {
        free(item);
        return false;
    }
    rz_lock_enter(&writer->lock);
    item->era = writer->era;
    put(order->kind == RZ_STORE_WRITE ? &writer->writes : &writer->others, item);
    rz_lock_tell(&writer->lock);
    rz_lock_leave(&writer->lock);
    return true;
}

void rz_store_writer_drop(struct rz_store_writer *writer)
{
    rz_lock_enter(&writer->lock);
    writer->era++;
    atomic_store(&writer->stop, true);
    clear(&writer->writes);
    clear(&writer->others);
    rz_lock_leave(&writer->lock);
}

/* ---- open and close ---- */

static void writer_free(struct rz_store_writer *writer)
{
    rz_loop_free(writer->ready);
    if (writer->bell >= 0) {
        close(writer->bell);
    }
    clear(&writer->writes);
    clear(&writer->others);
    clear(&writer->done);
    rz_lock_close(&writer->lock);
    free((char *)writer->config.folder.path);
    free(writer);
}

rz_status_t rz_store_writer_open(struct rz_store_writer **result,
                                 const struct rz_store_writer_config *config)
{
    struct rz_store_writer *writer = calloc(1, sizeof(*writer));
    if (!writer) {
        return RZ_ERR_NO_MEMORY;
    }
    writer->config = *config;
    writer->config.folder.path =
        strdup(config->folder.path); /* a thread left alone still reads it */
    rz_need_memory(writer->config.folder.path, "to write checkpoint files");
    writer->writes.last = &writer->writes.first;
    writer->others.last = &writer->others.first;
    writer->done.last = &writer->done.first;
    rz_lock_open(&writer->lock);
    rz_status_t status = rz_event_fd_make(&writer->bell);
    if (status == RZ_OK) {
        status = rz_loop_watch(config->base, &writer->ready, writer->bell, EV_READ | EV_PERSIST,
                               tell_done, writer);
    }
    if (status == RZ_OK && rz_thread_start(&writer->thread, "rz-files", 0, run, writer) != 0) {
        status = RZ_ERR_NO_MEMORY;
    }
    if (status != RZ_OK) {
        writer_free(writer);
        return status;
    }
    *result = writer;
    return RZ_OK;
}

void rz_store_writer_close(struct rz_store_writer *writer)
{
    rz_lock_enter(&writer->lock);
    writer->ends = true;
    atomic_store(&writer->stop, true);
    clear(&writer->writes);
    rz_lock_tell(&writer->lock);
    rz_lock_leave(&writer->lock);
    if (rz_thread_join_within(writer->thread, END_BOUND_S)) {
        writer_free(writer);
    }
}
