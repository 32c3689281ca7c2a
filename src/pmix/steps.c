/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The steps by which processes that PMIx has started become a job:
 *
 *   1. Each publishes the name of its host, rank 0 also a random token. Fence.
 *   2. Each listens at its meeting point. Fence: from now on others may connect to it.
 *   3. Rank 0 starts rzrun, which starts the daemon of its own host; if there are other hosts,
 *      rzrun's relay brings what their daemons begin with, and rank 0 publishes it. Fence.
 *   4. The first process of each other host starts the daemon. PMIx is not needed any more.
 *   5. Each daemon starts what stands in for its ranks, and each of these brings the link.
 */
#include "pmix/pmix.h"

#include "pmix/start.h"
#include "port/channel.h"
#include "port/clock.h"
#include "port/descriptor.h"
#include "port/local_socket.h"
#include "port/prompt.h"
#include "wire/cursor.h"
#include "wire/meeting.h"
#include "wire/remote_messages.h"

#include <pmix.h>

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define KEY_HOST "rhizome.host"
#define KEY_TOKEN "rhizome.token"
#define KEY_BEGIN "rhizome.begin"

/* rzrun ends the start of a job after 30 s without any progress; then its processes need not
 * wait. */
#define START_WITHIN (90 * RZ_SECOND)

struct self {
    uint32_t rank, n_ranks;
    bool first_here; /* of the launcher's processes on this host */
};

struct start {
    struct self self;
    char host[256];
    uint64_t token;
    int meeting, relay; /* listen; relay: -1 but at rank 0 */
    int relayed;        /* the connection of the relay: it ends when this is closed; or -1 */
    int alive;          /* can be read once rzrun has ended; -1: not known here */
};

/* ---- This process as a client of PMIx; calls report their errors on standard error, once ---- */

/* A fence waits for all processes, so it has a bound of our own: servers need not support one. Some
 * may begin so much later than others: loading a program takes long on a busy file system. */
enum { FENCE_S = 300 };

static pmix_proc_t own;

static rz_status_t client_failed(const char *what, pmix_status_t status)
{
    fprintf(stderr, "rhizome: the launcher's PMIx: %s: %s\n", what, PMIx_Error_string(status));
    return RZ_ERR_SYSTEM;
}

/* The caller releases the value. */
static rz_status_t get(uint32_t rank, const char *key, pmix_value_t **value)
{
    pmix_proc_t of = own;
    of.rank = rank;
    pmix_status_t status = PMIx_Get(&of, key, NULL, 0, value);
    return status == PMIX_SUCCESS ? RZ_OK : client_failed(key, status);
}

static rz_status_t get_number(uint32_t rank, const char *key, uint32_t *number)
{
    pmix_value_t *value = NULL;
    rz_status_t status = get(rank, key, &value);
    if (status != RZ_OK) {
        return status;
    }
    bool wide = value->type == PMIX_UINT32, narrow = value->type == PMIX_UINT16;
    *number = wide ? value->data.uint32 : narrow ? value->data.uint16 : 0;
    PMIX_VALUE_RELEASE(value);
    return wide || narrow ? RZ_OK : client_failed(key, PMIX_ERR_TYPE_MISMATCH);
}

/* Leaves PMIx: its threads end. What the launcher does when this process fails is then decided by
 * the exit alone. */
static void client_close(void)
{
    PMIx_Finalize(NULL, 0);
}

static rz_status_t client_open(struct self *self)
{
    uint32_t local = 0;
    pmix_status_t status = PMIx_Init(&own, NULL, 0);
    if (status != PMIX_SUCCESS) {
        return client_failed("the connection to it", status);
    }
    self->rank = own.rank;
    rz_status_t found = get_number(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, &self->n_ranks);
    if (found == RZ_OK) {
        found = get_number(own.rank, PMIX_LOCAL_RANK, &local);
    }
    self->first_here = local == 0;
    if (found != RZ_OK) {
        client_close();
    }
    return found;
}

/* Publishes bytes under a key; others see them after the next fence. */
static rz_status_t publish(const char *key, const void *bytes, size_t n)
{
    pmix_value_t value = {.type = PMIX_BYTE_OBJECT,
                          .data.bo = {.bytes = (char *)(uintptr_t)bytes, .size = n}};
    pmix_status_t status = PMIx_Put(PMIX_GLOBAL, key, &value);
    return status == PMIX_SUCCESS ? RZ_OK : client_failed("a value is refused", status);
}

/* A fence that is under way; it stays behind if it is given up, for the server may still answer. */
struct fence {
    pthread_mutex_t lock;
    pthread_cond_t over;
    bool is_over;
    pmix_status_t status;
};

static void fence_over(pmix_status_t status, void *arg)
{
    struct fence *fence = arg;
    pthread_mutex_lock(&fence->lock);
    fence->status = status;
    fence->is_over = true;
    pthread_cond_signal(&fence->over);
    pthread_mutex_unlock(&fence->lock);
}

/* All processes have called it, and what they published before can be read. */
static rz_status_t await_all(void)
{
    static struct fence fence = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                 .over = PTHREAD_COND_INITIALIZER};
    struct timespec until;
    pmix_proc_t all = own;
    pmix_info_t collect;
    bool yes = true;
    int waited = 0;
    all.rank = PMIX_RANK_WILDCARD;
    fence.is_over = false;
    PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    pmix_status_t status = PMIx_Commit();
    if (status == PMIX_SUCCESS) {
        status = PMIx_Fence_nb(&all, 1, &collect, 1, fence_over, &fence);
    }
    if (status != PMIX_SUCCESS) {
        return client_failed("a fence", status);
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += FENCE_S;
    pthread_mutex_lock(&fence.lock);
    while (!fence.is_over && waited != ETIMEDOUT) {
        waited = pthread_cond_timedwait(&fence.over, &fence.lock, &until);
    }
    status = fence.is_over ? fence.status : PMIX_ERR_TIMEOUT;
    pthread_mutex_unlock(&fence.lock);
    return status == PMIX_SUCCESS
               ? RZ_OK
               : client_failed("a wait for all processes to call MPI_Init", status);
}

/* What `rank` published, in memory that the caller frees. */
static rz_status_t get_published(uint32_t rank, const char *key, void **bytes, size_t *n)
{
    pmix_value_t *value = NULL;
    rz_status_t result = get(rank, key, &value);
    if (result != RZ_OK) {
        return result;
    }
    result = RZ_ERR_MALFORMED;
    if (value->type == PMIX_BYTE_OBJECT) {
        *n = value->data.bo.size;
        *bytes = malloc(*n + 1);
        result = *bytes ? RZ_OK : RZ_ERR_NO_MEMORY;
    }
    if (result == RZ_OK) {
        memcpy(*bytes, value->data.bo.bytes, *n);
    }
    PMIX_VALUE_RELEASE(value);
    return result;
}

/* ---- The steps ---- */

static rz_status_t late(const char *what)
{
    fprintf(stderr, "rhizome: %s\n", what);
    return RZ_ERR_TIMEOUT;
}

/* ---- Step 1 ---- */

static rz_status_t introduce(struct start *start)
{
    void *token = NULL;
    size_t n = 0;
    if (gethostname(start->host, sizeof(start->host) - 1) != 0) {
        return RZ_ERR_SYSTEM;
    }
    rz_status_t status = publish(KEY_HOST, start->host, strlen(start->host) + 1);
    if (status == RZ_OK && start->self.rank == 0) {
        if (getrandom(&start->token, sizeof(start->token), 0) != sizeof(start->token)) {
            return RZ_ERR_SYSTEM;
        }
        status = publish(KEY_TOKEN, &start->token, sizeof(start->token));
    }
    if (status == RZ_OK) {
        status = await_all();
    }
    if (status == RZ_OK) {
        status = get_published(0, KEY_TOKEN, &token, &n);
    }
    if (status == RZ_OK && n == sizeof(start->token)) {
        memcpy(&start->token, token, n);
    }
    free(token);
    return status;
}

/* ---- Steps 2 and 3 ---- */

/* The next connection of this user. Strangers find the name, too. */
static bool accepts(int listener, int *fd)
{
    (void)rz_prompt_prepare();
    bool accepted = rz_local_accept(listener, fd) == RZ_OK;
    rz_prompt_forget();
    return accepted;
}

/* Waits for a connection at a meeting point. Only rank 0 knows whether rzrun has ended. */
static rz_status_t accept_at(const struct start *start, int listener, int *fd)
{
    const int fds[] = {listener, start->alive};
    rz_time until = rz_clock_now() + START_WITHIN;
    for (;;) {
        if (accepts(listener, fd)) {
            return RZ_OK;
        }
        rz_time now = rz_clock_now();
        if (now >= until) {
            return late("the daemon of this host has not brought the link of this process: see "
                        "what rzrun and rzd say; is a port between hosts closed?");
        }
        if (rz_descriptor_await(fds, 2, (int)((until - now) / RZ_MILLISECOND) + 1) & 2) {
            return RZ_ERR_CLOSED; /* rzrun has said why */
        }
    }
}

/* Reads what the relay brings, whole. */
static rz_status_t read_begin(int fd, uint8_t *bytes, size_t *n)
{
    size_t whole = 4;
    int copies[RZ_CHANNEL_FDS_MAX];
    rz_time until = rz_clock_now() + START_WITHIN;
    for (*n = 0; *n < whole;) {
        size_t got = 0;
        unsigned n_copies = 0;
        rz_status_t status =
            rz_channel_receive(fd, bytes + *n, RZ_RELAY_PIECE, &got, copies, &n_copies);
        rz_time now = rz_clock_now();
        if (status == RZ_IN_PROGRESS && now < until) {
            rz_descriptor_await(&fd, 1, (int)((until - now) / RZ_MILLISECOND) + 1);
            continue;
        }
        if (status != RZ_OK) {
            return late("rzrun's relay has ended before the daemons were started");
        }
        *n += got;
        if (*n >= 4) {
            struct rz_wire_reader r;
            rz_wire_reader_init(&r, bytes, 4);
            whole = 4 + (size_t)rz_wire_get_u32(&r);
        }
        if (whole > RZ_REMOTE_MAX) {
            return RZ_ERR_MALFORMED;
        }
    }
    return RZ_OK;
}

/* The hosts of all ranks, each an allocation of its own. */
static rz_status_t hosts_of(const struct start *start, const char **hosts, bool *others)
{
    for (uint32_t i = 0; i < start->self.n_ranks; i++) {
        void *host;
        size_t n;
        rz_status_t status = get_published(i, KEY_HOST, &host, &n);
        if (status != RZ_OK) {
            return status;
        }
        ((char *)host)[n] = '\0';
        hosts[i] = host;
        *others |= strcmp(host, start->host) != 0;
    }
    return RZ_OK;
}

static rz_status_t start_job(struct start *start, const char **hosts, uint8_t *begin, size_t *n)
{
    bool others = false;
    rz_status_t status = hosts_of(start, hosts, &others);
    if (status == RZ_OK) {
        status = rz_pmix_start_open();
    }
    if (status == RZ_OK) {
        status = rz_meeting_listen(start->token, start->self.n_ranks, &start->relay);
    }
    if (status == RZ_OK) {
        status = rz_pmix_start_rzrun(start->token, hosts, start->self.n_ranks, &start->alive);
    }
    if (status == RZ_OK && others) {
        status = accept_at(start, start->relay, &start->relayed);
    }
    return status == RZ_OK && others ? read_begin(start->relayed, begin, n) : status;
}

/* Rank 0 publishes what daemons begin with: at least one byte, or none if the start has failed. */
static rz_status_t publish_job(struct start *start)
{
    const char **hosts = calloc(start->self.n_ranks, sizeof(*hosts));
    uint8_t *begin = malloc(RZ_REMOTE_MAX + RZ_RELAY_PIECE);
    size_t n = 1;
    rz_status_t status = hosts && begin ? RZ_OK : RZ_ERR_NO_MEMORY;
    if (status == RZ_OK) {
        begin[0] = 0;
        status = start_job(start, hosts, begin, &n);
    }
    rz_status_t put = publish(KEY_BEGIN, begin, status == RZ_OK ? n : 0);
    for (uint32_t i = 0; hosts && i < start->self.n_ranks; i++) {
        free((void *)(uintptr_t)hosts[i]);
    }
    free(hosts);
    free(begin);
    return status == RZ_OK ? put : status;
}

/* ---- Step 4 ---- */

static rz_status_t start_daemon(const struct start *start)
{
    void *begin, *host = NULL;
    size_t n, n_host;
    rz_status_t status = get_published(0, KEY_BEGIN, &begin, &n);
    if (status != RZ_OK) {
        return status;
    }
    if (n == 0) {
        status = RZ_ERR_REFUSED; /* rank 0 has said why */
    } else if (start->self.first_here && n > 1) {
        status = get_published(0, KEY_HOST, &host, &n_host);
        if (status == RZ_OK && strcmp(host, start->host) != 0) {
            status = rz_pmix_start_open();
            status = status == RZ_OK ? rz_pmix_start_daemon(begin, n) : status;
        }
        free(host);
    }
    free(begin);
    return status;
}

/* ---- Step 5 ---- */

/* Takes over the environment of what stands in for this process. */
static rz_status_t take_link(int fd, rz_time until)
{
    static char entries[RZ_STAND_IN_ENTRIES_MAX + 1];
    int links[RZ_CHANNEL_FDS_MAX];
    unsigned n_links = 0;
    size_t n = 0;
    char number[16];
    rz_status_t status;
    while ((status = rz_channel_receive(fd, entries, sizeof(entries) - 1, &n, links, &n_links)) ==
               RZ_IN_PROGRESS &&
           rz_clock_now() < until) {
        rz_descriptor_await(&fd, 1, 1000);
    }
    if (status != RZ_OK || n_links != 1) {
        return late("what stands in for this process has ended before it brought its link");
    }
    for (char *entry = entries; entry < entries + n; entry += strlen(entry) + 1) {
        char *equals = strchr(entry, '=');
        if (equals) {
            *equals = '\0';
            setenv(entry, equals + 1, 1);
            *equals = '=';
        }
    }
    unsetenv(RZ_MEETING_TOKEN);
    unsetenv(RZ_MEETING_RANKS);
    snprintf(number, sizeof(number), "%d", links[0]);
    return setenv("RZ_LINK_FD", number, 1) == 0 ? RZ_OK : RZ_ERR_NO_MEMORY;
}

/* What the user should know: the launcher decides what a failure does, and nothing can be started
 * anew. */
static void tell(void)
{
    fprintf(stderr,
            "rhizome: started through PMIx, not by rzrun: failed processes are not replaced, no "
            "restart from checkpoints, no spare nodes; the launcher may end the job at a "
            "failure\n");
}

/* ---- All of them ---- */

static rz_status_t meet_others(struct start *start)
{
    rz_status_t status = introduce(start);
    if (status == RZ_OK) {
        status = rz_meeting_listen(start->token, start->self.rank, &start->meeting);
    }
    rz_status_t listening = await_all(), published = RZ_OK;
    status = status == RZ_OK ? listening : status;
    if (start->self.rank == 0) { /* the others wait for its word in any case */
        published = status == RZ_OK ? publish_job(start) : publish(KEY_BEGIN, "", 0);
    }
    rz_status_t fence = await_all();
    status = status == RZ_OK ? published : status;
    status = status == RZ_OK ? fence : status;
    return status == RZ_OK ? start_daemon(start) : status;
}

static void close_all(struct start *start)
{
    const int fds[] = {start->meeting, start->relay, start->relayed, start->alive};
    for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
}

rz_status_t rz_pmix_steps_join(int *stand_in)
{
    struct start start = {.meeting = -1, .relay = -1, .relayed = -1, .alive = -1};
    *stand_in = -1;
    rz_status_t status = client_open(&start.self);
    if (status != RZ_OK) {
        return status;
    }
    if (start.self.n_ranks == 1) {
        client_close();
        return RZ_OK;
    }
    status = meet_others(&start);
    client_close();
    if (status == RZ_OK) {
        status = accept_at(&start, start.meeting, stand_in);
    }
    if (status == RZ_OK) {
        status = take_link(*stand_in, rz_clock_now() + START_WITHIN);
    }
    if (status == RZ_OK && start.self.rank == 0) {
        tell();
    }
    close_all(&start);
    return status;
}
