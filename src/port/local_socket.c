/* SPDX-License-Identifier: BSD-3-Clause */
/* Local sockets in the abstract namespace. The peer's user is checked when a connection is made;
 * the daemons of a machine are found in /proc/net/unix. */
#include "port/local_socket.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 16

/* An abstract address: the first byte of the path is 0. */
struct place {
    int type; /* of its sockets */
    struct sockaddr_un address;
    socklen_t length;
};

static struct place place_of(const char *kind, int type, uid_t uid, uint64_t name, uint32_t number)
{
    struct place place = {.type = type, .address.sun_family = AF_UNIX};
    char *path = place.address.sun_path + 1;
    int n = snprintf(path, sizeof(place.address.sun_path) - 1, "%s/%u/%016" PRIx64 "/%u", kind,
                     (unsigned)uid, name, number);
    place.length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    return place;
}

static struct place daemon_place(uid_t uid, uint64_t job, uint32_t node)
{
    return place_of("rhizome", SOCK_STREAM, uid, job, node);
}

static struct place meeting_place(uint64_t token, uint32_t number)
{
    return place_of("rhizome-meeting", SOCK_SEQPACKET, geteuid(), token, number);
}

static struct place link_place(uid_t uid, uint64_t token, uint32_t node)
{
    return place_of("rhizome-link", SOCK_SEQPACKET, uid, token, node);
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
    const struct place place = daemon_place(geteuid(), job, node);
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

/* Whether the other end is a process of uid, as of when it connected or listened. */
static bool is_of(int fd, uid_t uid)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == uid;
}

static bool may_ask(int fd)
{
    return is_of(fd, geteuid()) || is_of(fd, 0);
}

rz_status_t rz_local_accept(int listener, int *fd)
{
    for (;;) {
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
        close(made);
    }
}

static rz_status_t connect_to(const struct place *place, uid_t uid, unsigned timeout_ms, int *fd)
{
    struct timeval bound = {.tv_sec = timeout_ms / 1000,
                            .tv_usec = (suseconds_t)(timeout_ms % 1000) * 1000};
    int made = socket(AF_UNIX, place->type | SOCK_CLOEXEC, 0);
    if (made < 0) {
        return RZ_ERR_SYSTEM;
    }
    setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof(bound));
    setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof(bound));
    if (connect(made, (const struct sockaddr *)&place->address, place->length) != 0 ||
        !is_of(made, uid)) {
        close(made);
        return RZ_ERR_CLOSED;
    }
    *fd = made;
    return RZ_OK;
}

rz_status_t rz_local_connect(uid_t uid, uint64_t job, uint32_t node, unsigned timeout_ms, int *fd)
{
    const struct place place = daemon_place(uid, job, node);
    return connect_to(&place, uid, timeout_ms, fd);
}

rz_status_t rz_meeting_connect(uint64_t token, uint32_t number, unsigned timeout_ms, int *fd)
{
    const struct place place = meeting_place(token, number);
    return connect_to(&place, geteuid(), timeout_ms, fd);
}

rz_status_t rz_link_socket_connect(uid_t uid, uint64_t token, uint32_t node, unsigned timeout_ms,
                                   int *fd)
{
    const struct place place = link_place(uid, token, node);
    return connect_to(&place, uid, timeout_ms, fd);
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
    return transferred(recv(fd, buffer, max, MSG_DONTWAIT), n);
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

static int by_job_and_node(const void *a, const void *b)
{
    const struct rz_local_name *l = a, *r = b;
    if (l->job != r->job) {
        return l->job < r->job ? -1 : 1;
    }
    return (l->node > r->node) - (l->node < r->node);
}

/* Lines that end in "@rhizome/UID/JOB/NODE": one for a listening socket, more for its accepted
 * connections, which have the same name. */
static bool name_of_line(const char *line, struct rz_local_name *name)
{
    const char *at = strstr(line, "@rhizome/");
    unsigned uid;
    char end;
    bool fits = at && sscanf(at, "@rhizome/%u/%16" SCNx64 "/%" SCNu32 "%c", &uid, &name->job,
                             &name->node, &end) >= 3;
    name->uid = fits ? (uid_t)uid : 0;
    return fits;
}

static size_t without_repetitions(struct rz_local_name *names, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || by_job_and_node(&names[i], &names[kept - 1]) != 0) {
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
        qsort(list, count, sizeof(*list), by_job_and_node);
    }
    *n = without_repetitions(list, count);
    *names = list;
    return RZ_OK;
}
