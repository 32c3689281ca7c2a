/* SPDX-License-Identifier: BSD-3-Clause */
/* Local sockets in the abstract namespace. The peer's user is checked when a connection is made;
 * the daemons of a machine are found in /proc/net/unix. */
#include "port/local_socket.h"

#include "port/clock.h"
#include "port/prompt.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define BACKLOG 16
/* Connections of other users that are closed in a row: they must not keep a daemon busy for ever.
 */
#define STRANGERS_IN_A_ROW 16
/* Between two tries to reach a daemon for which too many others wait. */
#define FIND_AGAIN_NS 10000000

/* An abstract address: the first byte of the path is 0. */
struct place {
    int type; /* of its sockets */
    struct sockaddr_un address;
    socklen_t length;
};

static struct place place_of(const char *kind, int type, const struct rz_local_name *name)
{
    struct place place = {.type = type, .address.sun_family = AF_UNIX};
    char *path = place.address.sun_path + 1;
    size_t bytes = sizeof(place.address.sun_path) - 1;
    int n = snprintf(path, bytes, "%s/%u/%016" PRIx64 "/%u", kind, (unsigned)name->uid, name->job,
                     name->node);
    if (name->other) {
        n += snprintf(path + n, bytes - (size_t)n, "/%016" PRIx64, name->other);
    }
    place.length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    return place;
}

static struct place daemon_place(const struct rz_local_name *name)
{
    return place_of("rhizome", SOCK_STREAM, name);
}

static struct place meeting_place(uint64_t token, uint32_t number)
{
    const struct rz_local_name name = {.uid = geteuid(), .job = token, .node = number};
    return place_of("rhizome-meeting", SOCK_SEQPACKET, &name);
}

static struct place link_place(uid_t uid, uint64_t token, uint32_t node)
{
    const struct rz_local_name name = {.uid = uid, .job = token, .node = node};
    return place_of("rhizome-link", SOCK_SEQPACKET, &name);
}

static rz_status_t listen_at(const struct place *place, int *fd)
{
    int made = socket(AF_UNIX, place->type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0) {
        return RZ_ERR_SYSTEM;
    }
    if (bind(made, (const struct sockaddr *)&place->address, place->length) != 0 ||
        listen(made, BACKLOG) != 0) {
        rz_status_t status = errno == EADDRINUSE ? RZ_ERR_EXISTS : RZ_ERR_SYSTEM;
        close(made);
        return status;
    }
    *fd = made;
    return RZ_OK;
}

rz_status_t rz_local_listen(uint64_t job, uint32_t node, int *fd)
{
    struct rz_local_name name = {.uid = geteuid(), .job = job, .node = node};
    struct place place = daemon_place(&name);
    uid_t peer;
    int other;
    rz_status_t status = listen_at(&place, fd);
    if (status != RZ_ERR_EXISTS) {
        return status;
    }
    if (rz_local_connect(&name, &other, &peer) == RZ_OK) {
        close(other);
        return RZ_ERR_EXISTS;
    }
    /* Another user has bound the name, which it could read in the name of the job's first daemon.
     */
    if (getrandom(&name.other, sizeof(name.other), 0) != sizeof(name.other)) {
        return RZ_ERR_SYSTEM;
    }
    place = daemon_place(&name);
    return listen_at(&place, fd);
}

rz_status_t rz_meeting_listen(uint64_t token, uint32_t number, int *fd)
{
    const struct place place = meeting_place(token, number);
    return listen_at(&place, fd);
}

rz_status_t rz_link_socket_listen(uint64_t token, uint32_t node, int *fd)
{
    const struct place place = link_place(geteuid(), token, node);
    return listen_at(&place, fd);
}

/* The user of the other end, as of when it connected or listened; false: unknown. */
static bool user_of(int fd, uid_t *uid)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);
    bool known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0;
    *uid = known ? peer.uid : (uid_t)-1;
    return known;
}

static bool may_ask(int fd)
{
    uid_t uid;
    return user_of(fd, &uid) && (uid == geteuid() || uid == 0);
}

rz_status_t rz_local_accept(int listener, int *fd)
{
    for (int i = 0; i < STRANGERS_IN_A_ROW; i++) {
        int made = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (made < 0 && (errno == EINTR || errno == ECONNABORTED)) {
            continue;
        }
        if (made < 0) {
            return errno == EAGAIN ? RZ_IN_PROGRESS : RZ_ERR_SYSTEM;
        }
        if (may_ask(made)) {
            *fd = made;
            return RZ_OK;
        }
        rz_prompt_close(made);
    }
    return RZ_IN_PROGRESS;
}

static rz_status_t connect_to(const struct place *place, uid_t uid, int made, uid_t *peer)
{
    if (connect(made, (const struct sockaddr *)&place->address, place->length) != 0) {
        return errno == EAGAIN || errno == EINTR ? RZ_IN_PROGRESS : RZ_ERR_CLOSED;
    }
    if (!user_of(made, peer)) {
        return RZ_ERR_CLOSED;
    }
    return *peer == uid ? RZ_OK : RZ_ERR_AUTHENTICATION;
}

rz_status_t rz_local_connect(const struct rz_local_name *name, int *fd, uid_t *peer)
{
    const struct place place = daemon_place(name);
    int made = socket(AF_UNIX, place.type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0) {
        return RZ_ERR_SYSTEM;
    }
    (void)rz_prompt_prepare(); /* any user may listen there */
    rz_status_t status = connect_to(&place, name->uid, made, peer);
    if (status != RZ_OK) {
        rz_prompt_close(made);
        return status;
    }
    *fd = made;
    return RZ_OK;
}

/* A connection to a process of this user, whose reads and writes end after timeout_ms. */
static rz_status_t connect_within(const struct place *place, uid_t uid, unsigned timeout_ms,
                                  int *fd)
{
    struct timeval bound = {.tv_sec = timeout_ms / 1000,
                            .tv_usec = (suseconds_t)(timeout_ms % 1000) * 1000};
    uid_t peer;
    int made = socket(AF_UNIX, place->type | SOCK_CLOEXEC, 0);
    if (made < 0) {
        return RZ_ERR_SYSTEM;
    }
    setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof(bound));
    setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof(bound));
    if (connect_to(place, uid, made, &peer) != RZ_OK) {
        close(made);
        return RZ_ERR_CLOSED;
    }
    *fd = made;
    return RZ_OK;
}

rz_status_t rz_meeting_connect(uint64_t token, uint32_t number, unsigned timeout_ms, int *fd)
{
    const struct place place = meeting_place(token, number);
    return connect_within(&place, geteuid(), timeout_ms, fd);
}

void rz_local_let_wait(int fd)
{
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
}

rz_status_t rz_link_socket_connect(uid_t uid, uint64_t token, uint32_t node, unsigned timeout_ms,
                                   int *fd)
{
    const struct place place = link_place(uid, token, node);
    return connect_within(&place, uid, timeout_ms, fd);
}

static rz_status_t transferred(ssize_t got, size_t *n)
{
    if (got > 0) {
        *n = (size_t)got;
        return RZ_OK;
    }
    return got < 0 && (errno == EAGAIN || errno == EINTR) ? RZ_IN_PROGRESS : RZ_ERR_CLOSED;
}

rz_status_t rz_local_read(int fd, void *buffer, size_t max, size_t *n)
{
    rz_prompt_begin(); /* descriptors that come along are not wanted: the system closes them */
    rz_status_t status = transferred(recv(fd, buffer, max, MSG_DONTWAIT), n);
    rz_prompt_end();
    return status;
}

rz_status_t rz_local_write(int fd, const void *bytes, size_t max, size_t *n)
{
    return transferred(send(fd, bytes, max, MSG_NOSIGNAL | MSG_DONTWAIT), n);
}

bool rz_local_begins(const struct rz_local_name *name, const char *prefix)
{
    char number[17];
    snprintf(number, sizeof(number), "%016" PRIx64, name->job);
    return strncmp(number, prefix, strlen(prefix)) == 0;
}

static int two_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_job(const struct rz_local_name *l, const struct rz_local_name *r)
{
    int order = two_numbers(l->uid != geteuid(), r->uid != geteuid());
    order = order ? order : two_numbers(l->uid, r->uid);
    return order ? order : two_numbers(l->job, r->job);
}

static int by_name(const void *a, const void *b)
{
    const struct rz_local_name *l = a, *r = b;
    int order = by_job(l, r);
    order = order ? order : two_numbers(l->node, r->node);
    return order ? order : two_numbers(l->other, r->other);
}

/* Lines that end in "@rhizome/UID/JOB/NODE", or with "/RANDOM" behind it: one for a listening
 * socket, more for its accepted connections, which have the same name. */
static bool name_of_line(const char *line, struct rz_local_name *name)
{
    const char *at = strstr(line, "@rhizome/");
    unsigned uid;
    name->other = 0;
    bool fits = at && sscanf(at, "@rhizome/%u/%16" SCNx64 "/%" SCNu32 "/%16" SCNx64, &uid,
                             &name->job, &name->node, &name->other) >= 3;
    name->uid = fits ? (uid_t)uid : 0;
    return fits;
}

static size_t without_repetitions(struct rz_local_name *names, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || by_name(&names[i], &names[kept - 1]) != 0) {
            names[kept++] = names[i];
        }
    }
    return kept;
}

rz_status_t rz_local_list(uid_t uid, bool all, struct rz_local_name **names, size_t *n)
{
    FILE *file = fopen("/proc/net/unix", "re");
    struct rz_local_name *list = NULL, name;
    size_t count = 0, room = 0;
    char line[512];
    if (!file) {
        return RZ_ERR_SYSTEM;
    }
    while (fgets(line, sizeof(line), file)) {
        if (!name_of_line(line, &name) || (!all && name.uid != uid)) {
            continue;
        }
        if (count == room) {
            room = room ? 2 * room : 64;
            struct rz_local_name *bigger = realloc(list, room * sizeof(*list));
            if (!bigger) {
                free(list);
                fclose(file);
                return RZ_ERR_NO_MEMORY;
            }
            list = bigger;
        }
        list[count++] = name;
    }
    fclose(file);
    if (count > 0) {
        qsort(list, count, sizeof(*list), by_name);
    }
    *n = without_repetitions(list, count);
    *names = list;
    return RZ_OK;
}

/* ---- the daemons of one job ---- */

/* Tries names[i]; true: it is to be tried again. */
static bool find_one(struct rz_local_found *found, const struct rz_local_name *name,
                     struct rz_local_name *last)
{
    uid_t peer;
    int fd;
    rz_status_t status = rz_local_connect(name, &fd, &peer);
    if (status == RZ_ERR_AUTHENTICATION && name->uid == geteuid()) {
        found->taken = true;
        found->taken_name = *name;
        found->taker = peer;
    }
    if (status != RZ_OK) {
        return status == RZ_IN_PROGRESS && (found->n == 0 || by_job(name, &found->names[0]) == 0);
    }
    close(fd);
    if (found->n == 0 || by_job(name, &found->names[0]) == 0) {
        found->jobs = found->jobs ? found->jobs : 1;
        found->names[found->n++] = *name;
        return false;
    }
    found->jobs += found->jobs == 1 || by_job(name, last) != 0;
    found->other = *last = *name;
    return false;
}

/* The names `all[n]` of one user, or of all others. */
static void find_among(struct rz_local_found *found, const struct rz_local_name *all, size_t n,
                       bool *waits, unsigned timeout_ms)
{
    const struct timespec pause = {.tv_nsec = FIND_AGAIN_NS};
    struct rz_local_name last = {0};
    rz_time until = rz_clock_now() + timeout_ms * RZ_MILLISECOND;
    bool again = true;
    memset(waits, true, n);
    while (again) {
        again = false;
        for (size_t i = 0; i < n; i++) {
            waits[i] = waits[i] && find_one(found, &all[i], &last);
            again |= waits[i];
        }
        again = again && rz_clock_now() < until;
        if (again) {
            nanosleep(&pause, NULL);
        }
    }
}

/* Connects to the daemons that were found, only now: a daemon hangs up on visitors that say
 * nothing.
 */
static void find_connect(struct rz_local_found *found, unsigned timeout_ms)
{
    const struct timespec pause = {.tv_nsec = FIND_AGAIN_NS};
    rz_time until = rz_clock_now() + timeout_ms * RZ_MILLISECOND;
    size_t n = 0;
    for (size_t i = 0; i < found->n; i++) {
        uid_t peer;
        rz_status_t status;
        while ((status = rz_local_connect(&found->names[i], &found->fds[n], &peer)) ==
                   RZ_IN_PROGRESS &&
               rz_clock_now() < until) {
            nanosleep(&pause, NULL);
        }
        if (status == RZ_OK) {
            found->names[n++] = found->names[i];
        }
    }
    found->n = n;
}

/* Whether another user has a job of this name, as the kernel says. */
static void find_foreign(struct rz_local_found *found, const struct rz_local_name *all, size_t n)
{
    for (size_t i = 0; i < n && !found->foreign; i++) {
        uid_t peer;
        int fd;
        if (rz_local_connect(&all[i], &fd, &peer) == RZ_OK) {
            close(fd);
            found->foreign = true;
            found->foreign_name = all[i];
        }
    }
}

rz_status_t rz_local_find(const char *prefix, unsigned timeout_ms, struct rz_local_found *found)
{
    struct rz_local_name *all;
    size_t n, kept = 0, own = 0;
    *found = (struct rz_local_found){0};
    rz_status_t status = rz_local_list(geteuid(), true, &all, &n);
    if (status != RZ_OK) {
        return status;
    }
    for (size_t i = 0; i < n; i++) {
        if (rz_local_begins(&all[i], prefix)) {
            own += all[i].uid == geteuid();
            all[kept++] = all[i];
        }
    }
    found->names = calloc(kept + 1, sizeof(*found->names));
    found->fds = calloc(kept + 1, sizeof(*found->fds));
    bool *waits = calloc(kept + 1, sizeof(*waits));
    status = found->names && found->fds && waits ? RZ_OK : RZ_ERR_NO_MEMORY;
    if (status == RZ_OK) {
        find_among(found, all, own, waits, timeout_ms);
    }
    if (status == RZ_OK && found->jobs == 0 && geteuid() == 0) {
        find_among(found, all + own, kept - own, waits, timeout_ms);
    } else if (status == RZ_OK && found->jobs == 0) {
        find_foreign(found, all + own, kept - own);
    }
    if (status == RZ_OK && found->jobs == 1) {
        find_connect(found, timeout_ms);
    } else if (found->jobs != 1) {
        found->n = 0;
    }
    free(waits);
    free(all);
    return status;
}
