/* SPDX-License-Identifier: BSD-3-Clause */
/* Hands the link of a process, or what daemons begin with, to a process that another launcher has
 * started; copies between the control socket of a daemon and the streams of an agent. */
#include "daemon/launcher/relay.h"

#include "daemon/process/spawn.h"
#include "outcome/exit_codes.h"
#include "port/channel.h"
#include "port/child_process.h"
#include "port/descriptor.h"
#include "port/local_socket.h"
#include "port/process.h"
#include "port/signals.h"
#include "wire/bridge.h"
#include "wire/cursor.h"
#include "wire/meeting.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- The process that another launcher has started ---- */

#define STAND_IN_CONNECT_MS 10000

extern char **environ;

static bool number_of(const char *name, int base, uint64_t *value)
{
    const char *text = getenv(name);
    char *end = NULL;
    errno = 0;
    *value = text ? strtoull(text, &end, base) : 0;
    return text && *text != '\0' && *end == '\0' && errno == 0;
}

/* -1: it cannot be reached, which was reported. */
static int meet(const char *rank)
{
    uint64_t token, number;
    int fd;
    if (!number_of(RZ_MEETING_TOKEN, 16, &token) || !number_of(rank, 10, &number) ||
        number > UINT32_MAX) {
        fprintf(stderr, "rzd: this is started by a program that PMIx has started, not by hand\n");
        return -1;
    }
    if (rz_meeting_connect(token, (uint32_t)number, STAND_IN_CONNECT_MS, &fd) != RZ_OK) {
        fprintf(stderr, "rzd: the process of rank %llu is not on this host, or has ended\n",
                (unsigned long long)number);
        return -1;
    }
    return fd;
}

/* ---- Standing in for a process ---- */

static bool hand_over_link(int fd)
{
    static char entries[RZ_STAND_IN_ENTRIES_MAX];
    const int link = RZ_SPAWN_LINK_FD;
    size_t n = 0;
    for (char **entry = environ; *entry; entry++) {
        size_t bytes = strlen(*entry) + 1;
        if (strncmp(*entry, "RZ_", 3) == 0 && n + bytes <= sizeof(entries)) {
            memcpy(entries + n, *entry, bytes);
            n += bytes;
        }
    }
    rz_status_t status = rz_channel_send(fd, entries, n, &link, 1);
    close(link);
    return status == RZ_OK;
}

/* Whether the process had left the job when it ended. */
static bool await_end(int fd)
{
    int pidfd = -1, copies[RZ_CHANNEL_FDS_MAX];
    bool left = false;
    if (rz_process_open(rz_channel_peer(fd), &pidfd) != RZ_OK) {
        pidfd = -1; /* then the end of its socket shows its end */
    }
    rz_descriptor_no_wait(fd);
    for (rz_status_t status = RZ_IN_PROGRESS; status == RZ_OK || status == RZ_IN_PROGRESS;) {
        char word = 0;
        size_t n = 0;
        unsigned n_copies = 0;
        unsigned ready = rz_descriptor_await((const int[]){fd, pidfd}, 2, -1);
        status = rz_channel_receive(fd, &word, sizeof(word), &n, copies, &n_copies);
        while (n_copies > 0) {
            close(copies[--n_copies]);
        }
        left |= status == RZ_OK && word == RZ_STAND_IN_LEFT;
        if ((ready & 2) && status == RZ_IN_PROGRESS) {
            break;
        }
    }
    return left;
}

int rz_stand_in_run(void)
{
    uint64_t incarnation;
    rz_child_process_name("rzd-stand-in");
    if (number_of("RZ_INCARNATION", 10, &incarnation) && incarnation > 1) {
        fprintf(stderr, "rzd: a process that another launcher has started cannot be replaced\n");
        return EXIT_FAILURE;
    }
    int fd = meet("RZ_RANK");
    if (fd < 0) {
        return EXIT_FAILURE;
    }
    if (!hand_over_link(fd) || !await_end(fd)) {
        rz_child_process_signal(getpid(), SIGKILL);
    }
    return EXIT_SUCCESS;
}

/* ---- What daemons begin with ---- */

/* The whole, once its length is there; else what is to be read first. */
static size_t wanted(const char *piece, size_t n)
{
    struct rz_wire_reader r;
    rz_wire_reader_init(&r, (const uint8_t *)piece, 4);
    return n < 4 ? 4 : 4 + (size_t)rz_wire_get_u32(&r);
}

int rz_stand_in_relay(void)
{
    static char piece[RZ_RELAY_PIECE];
    int fd = meet(RZ_MEETING_RANKS);
    size_t passed = 0, n = 0, whole = 4; /* sent; in the piece; of all */
    while (fd >= 0 && passed < whole) {
        ssize_t got = read(STDIN_FILENO, piece + n, sizeof(piece) - n);
        if (got <= 0 && !(got < 0 && errno == EINTR)) {
            return EXIT_FAILURE;
        }
        n += got > 0 ? (size_t)got : 0;
        whole = passed > 0 ? whole : wanted(piece, n);
        if (n == sizeof(piece) || passed + n >= whole) {
            if (rz_channel_send(fd, piece, n, NULL, 0) != RZ_OK) {
                return EXIT_FAILURE;
            }
            passed += n;
            n = 0;
        }
    }
    if (fd >= 0) { /* the end of the process, or of rzrun */
        rz_descriptor_await((const int[]){fd, STDIN_FILENO}, 2, -1);
    }
    return fd >= 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- The bridge to a detached job ---- */

#define BRIDGE_CONNECT_MS 2000

/* False: there is none, or several, which was reported. */
static bool find_job(const char *prefix, struct rz_local_name *name, int *fd)
{
    struct rz_local_found found;
    char host[64] = "this host";
    gethostname(host, sizeof(host) - 1);
    rz_status_t status = rz_local_find(prefix, BRIDGE_CONNECT_MS, &found);
    bool one = status == RZ_OK && found.n > 0 && found.names[0].uid == geteuid();
    if (status != RZ_OK) {
        fprintf(stderr, "rzd: the jobs of %s cannot be listed: %s\n", host, strerror(errno));
    } else if (!one) {
        fprintf(stderr, "rzd: %s jobs on %s begin with '%s'\n", found.jobs > 1 ? "several" : "no",
                host, prefix);
    }
    for (size_t i = one ? 1 : 0; i < found.n; i++) {
        close(found.fds[i]);
    }
    if (one) {
        *name = found.names[0];
        *fd = found.fds[0];
        rz_local_let_wait(*fd); /* pass() does */
    }
    free(found.names);
    free(found.fds);
    return one;
}

/* False: a side has ended. Waits for the side that takes the bytes. */
static bool pass(int from, int to)
{
    char bytes[16384];
    ssize_t n = read(from, bytes, sizeof(bytes));
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
        return true;
    }
    for (ssize_t at = 0; at < n;) {
        ssize_t put = write(to, bytes + at, (size_t)(n - at));
        if (put < 0 && errno != EINTR) {
            return false;
        }
        at += put > 0 ? put : 0;
    }
    return n > 0;
}

int rz_bridge_run(const char *prefix)
{
    static const char question[] = "attach\n";
    struct rz_local_name name;
    int fd;
    if (!find_job(prefix, &name, &fd)) {
        return RZ_EXIT_NO_JOB;
    }
    if (write(fd, question, sizeof(question) - 1) != (ssize_t)sizeof(question) - 1) {
        fprintf(stderr, "rzd: job %016" PRIx64 " does not answer; it may have ended just now\n",
                name.job);
        return RZ_EXIT_NO_JOB;
    }
    printf(RZ_BRIDGE_LINE "\n", (unsigned long long)name.job, name.node);
    if (fflush(stdout) != 0) {
        return EXIT_FAILURE;
    }
    for (;;) {
        const int fds[] = {STDIN_FILENO, fd};
        unsigned ready = rz_descriptor_await(fds, 2, -1);
        if ((ready & 1 && !pass(STDIN_FILENO, fd)) || (ready & 2 && !pass(fd, STDOUT_FILENO))) {
            return EXIT_SUCCESS;
        }
    }
}
