/* The thread that reads and writes checkpoint files. */
#include "daemon/store_writer.h"

#include "base/assert.h"
#include "daemon/loop.h"
#include "port/thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* So long a disk may take to finish what it has begun when the daemon ends. */
#define END_BOUND_S 2

struct item {
    struct item *next;
    uint64_t era; /* of dropping: answers of an older one are not given */
    struct rz_store_order order;
};

struct queue {
    struct item *first, **last;
};

struct rz_store_writer {
    struct rz_store_writer_config config;
    pthread_t thread;
    int bell; /* eventfd: something is done */
    struct event *ready;
    atomic_bool stop; /* give up the piece being written */
    pthread_mutex_t lock;
    pthread_cond_t wanted;
    /* Under the lock. */
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
    if (item && !(queue->first = item->next))
        queue->last = &queue->first;
    return item;
}

static void item_free(struct item *item)
{
    if (item->order.content.fd >= 0)
        close(item->order.content.fd);
    free(item);
}

static void clear(struct queue *queue)
{
    for (struct item *item; (item = take(queue));)
        item_free(item);
}

/* ---- in the thread */

static void commit(const struct rz_store_writer *writer, struct rz_store_order *order)
{
    const struct rz_ckpt_folder *folder = &writer->config.folder;
    order->status = rz_ckpt_commit(folder, &order->generation, writer->config.node, &order->words);
    if (order->status == RZ_OK && order->keep > 0)
        order->pruned =
            rz_ckpt_prune(folder, &order->generation, &order->before, order->keep, &order->words);
}

static void carry_out(const struct rz_store_writer *writer, struct rz_store_order *order)
{
    const struct rz_ckpt_folder *folder = &writer->config.folder;
    struct rz_ckpt_content *content = &order->content;
    switch (order->kind) {
    case RZ_STORE_WRITE:
        order->status =
            rz_ckpt_write(folder, &order->generation, order->rank, writer->config.node, content->fd,
                          content->bytes, content->hash, &writer->stop, &order->words);
        break;
    case RZ_STORE_READ:
        order->status =
            rz_ckpt_read(folder, &order->generation, order->rank, content, &order->words);
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

/* Waits for an order; NULL: the writer ends. */
static struct item *next_order(struct rz_store_writer *writer)
{
    struct item *item = NULL;
    pthread_mutex_lock(&writer->lock);
    while (!(item = take_order(writer)) && !writer->ends)
        pthread_cond_wait(&writer->wanted, &writer->lock);
    if (item)
        atomic_store(&writer->stop, false); /* what was to be given up was another one */
    pthread_mutex_unlock(&writer->lock);
    return item;
}

static void *run(void *arg)
{
    struct rz_store_writer *writer = arg;
    const uint64_t one = 1;
    for (struct item *item; (item = next_order(writer));) {
        carry_out(writer, &item->order);
        pthread_mutex_lock(&writer->lock);
        put(&writer->done, item);
        pthread_mutex_unlock(&writer->lock);
        /* Full only after 2^64 - 1 answers that nobody has read. */
        (void)!write(writer->bell, &one, sizeof one);
    }
    return NULL;
}

/* ---- in the loop */

static void tell_done(evutil_socket_t fd, short what, void *arg)
{
    struct rz_store_writer *writer = arg;
    uint64_t n;
    (void)what;
    if (read(fd, &n, sizeof n) < 0)
        return;
    for (;;) {
        pthread_mutex_lock(&writer->lock);
        struct item *item = take(&writer->done);
        bool wanted = item && item->era == writer->era;
        pthread_mutex_unlock(&writer->lock);
        if (!item)
            return;
        /* The descriptor of what was written is ours, that of what was read the caller's. */
        if (wanted)
            writer->config.done(writer->config.arg, &item->order);
        if (wanted && item->order.kind == RZ_STORE_READ && item->order.status == RZ_OK)
            item->order.content.fd = -1;
        item_free(item);
    }
}

bool rz_store_writer_order(struct rz_store_writer *writer, const struct rz_store_order *order)
{
    struct item *item = calloc(1, sizeof *item);
    if (!item)
        return false;
    item->order = *order;
    item->order.content.fd = -1;
    /* The piece may be dropped before it is written. */
    if (order->kind == RZ_STORE_WRITE && (item->order.content.fd = dup(order->content.fd)) < 0) {
        free(item);
        return false;
    }
    pthread_mutex_lock(&writer->lock);
    item->era = writer->era;
    put(order->kind == RZ_STORE_WRITE ? &writer->writes : &writer->others, item);
    pthread_cond_signal(&writer->wanted);
    pthread_mutex_unlock(&writer->lock);
    return true;
}

void rz_store_writer_drop(struct rz_store_writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    writer->era++;
    atomic_store(&writer->stop, true);
    clear(&writer->writes);
    clear(&writer->others);
    pthread_mutex_unlock(&writer->lock);
}

/* ---- life */

static void writer_free(struct rz_store_writer *writer)
{
    rz_loop_free(writer->ready);
    if (writer->bell >= 0)
        close(writer->bell);
    clear(&writer->writes);
    clear(&writer->others);
    clear(&writer->done);
    pthread_cond_destroy(&writer->wanted);
    pthread_mutex_destroy(&writer->lock);
    free((char *)writer->config.folder.path);
    free(writer);
}

rz_status_t rz_store_writer_open(struct rz_store_writer **result,
                                 const struct rz_store_writer_config *config)
{
    struct rz_store_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return RZ_ERR_NO_MEMORY;
    writer->config = *config;
    writer->config.folder.path =
        strdup(config->folder.path); /* a thread left alone still reads it */
    rz_assert(writer->config.folder.path != NULL);
    writer->writes.last = &writer->writes.first;
    writer->others.last = &writer->others.first;
    writer->done.last = &writer->done.first;
    rz_assert(pthread_mutex_init(&writer->lock, NULL) == 0 &&
              pthread_cond_init(&writer->wanted, NULL) == 0);
    writer->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    rz_status_t status = writer->bell < 0 ? RZ_ERR_SYSTEM : RZ_OK;
    if (status == RZ_OK)
        status = rz_loop_watch(config->base, &writer->ready, writer->bell, EV_READ | EV_PERSIST,
                               tell_done, writer);
    if (status == RZ_OK && rz_thread_start(&writer->thread, "rz-files", 0, run, writer) != 0)
        status = RZ_ERR_NO_MEMORY;
    if (status != RZ_OK) {
        writer_free(writer);
        return status;
    }
    *result = writer;
    return RZ_OK;
}

void rz_store_writer_close(struct rz_store_writer *writer)
{
    struct timespec until;
    pthread_mutex_lock(&writer->lock);
    writer->ends = true;
    atomic_store(&writer->stop, true);
    clear(&writer->writes);
    pthread_cond_signal(&writer->wanted);
    pthread_mutex_unlock(&writer->lock);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += END_BOUND_S;
    if (pthread_timedjoin_np(writer->thread, NULL, &until) == 0)
        writer_free(writer);
}
