/* SPDX-License-Identifier: BSD-3-Clause */
/* rzdoctor --hosts: a connection to another host: whether there is a way, its round trip, its
 * rate. */
#include "cmd/rzdoctor_hosts.h"

#include "port/clock.h"
#include "port/descriptor.h"
#include "port/process.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * On a connection: the token, then any number of requests. TRIP is answered by itself. RATE, a
 * number of bytes (8, little-endian) and these bytes are answered by RATE.
 */
enum { TRIP = 't', RATE = 'r', COUNT_BYTES = 8, BUFFER = 1 << 16 };

#define CONNECT_WITHIN (3 * RZ_SECOND)
#define MEASURE_WITHIN (5 * RZ_SECOND)
/* A guest shows the token within this time, or its connection is closed. */
#define TOKEN_WITHIN (5 * RZ_SECOND)
/* The time that measuring a rate is meant to take. */
#define RATE_FOR (RZ_SECOND / 5)

#define DATAGRAM_WITHIN (RZ_SECOND / 4)

enum { DATAGRAMS = 12, DATAGRAMS_AT_ONCE = 64 };
enum { TRIPS = 100, FIRST_BYTES = 1 << 18, MOST_BYTES = 1 << 30, GUESTS_MAX = 1200 };

/* ---- serving ---- */

struct guest {
    int fd;
    rz_time since;
    size_t shown;       /* characters of the token */
    unsigned counted;   /* bytes of the number that were read; COUNT_BYTES: the bytes are read */
    uint64_t left;      /* that number, then what is left of it */
    unsigned requested; /* RATE, or 0: a request comes next */
};

struct server {
    int listening, datagrams; /* datagrams: -1: none */
    const char *token;
    struct guest guests[GUESTS_MAX];
    unsigned n;
};

static bool answer(const struct guest *guest, char byte)
{
    return send(guest->fd, &byte, 1, MSG_NOSIGNAL) == 1;
}

/* One byte that is no bulk. False: the connection is closed. */
static bool take_byte(const struct server *server, struct guest *guest, unsigned char byte)
{
    if (guest->shown < RZ_LINK_TOKEN) {
        return byte == (unsigned char)server->token[guest->shown++];
    }
    if (!guest->requested) {
        guest->requested = byte == RATE ? RATE : 0;
        guest->counted = 0;
        guest->left = 0;
        return byte == RATE || (byte == TRIP && answer(guest, TRIP));
    }
    guest->left |= (uint64_t)byte << (8 * guest->counted++);
    return guest->left <= MOST_BYTES;
}

static bool take_bytes(const struct server *server, struct guest *guest, const unsigned char *bytes,
                       size_t n)
{
    while (n > 0) {
        size_t used = 1;
        if (guest->requested && guest->counted == COUNT_BYTES) {
            used = n < guest->left ? n : (size_t)guest->left;
            guest->left -= used;
        } else if (!take_byte(server, guest, *bytes)) {
            return false;
        }
        bytes += used;
        n -= used;
        if (guest->requested && guest->counted == COUNT_BYTES && guest->left == 0) {
            guest->requested = 0;
            if (!answer(guest, RATE)) {
                return false;
            }
        }
    }
    return true;
}

static bool hear_guest(const struct server *server, struct guest *guest)
{
    static unsigned char bytes[BUFFER];
    ssize_t got = recv(guest->fd, bytes, sizeof(bytes), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return true;
    }
    return got > 0 && take_bytes(server, guest, bytes, (size_t)got);
}

static void accept_guests(struct server *server)
{
    int fd;
    while (server->n < GUESTS_MAX && rz_socket_accept(server->listening, &fd, NULL) == RZ_OK) {
        server->guests[server->n++] = (struct guest){.fd = fd, .since = rz_clock_now()};
    }
}

/* Datagrams with the token go back as they are. */
static void answer_datagrams(const struct server *server)
{
    char bytes[2 * RZ_LINK_TOKEN];
    struct rz_address from;
    size_t n;
    for (int i = 0; i < DATAGRAMS_AT_ONCE; i++) {
        rz_status_t status =
            rz_socket_receive_from(server->datagrams, bytes, sizeof(bytes), &n, &from);
        if (status == RZ_IN_PROGRESS) {
            return;
        }
        if (status == RZ_OK && n >= RZ_LINK_TOKEN &&
            memcmp(bytes, server->token, RZ_LINK_TOKEN) == 0) {
            rz_socket_send_to(server->datagrams, bytes, n, &from);
        }
    }
}

_Noreturn static void serve(struct server *server)
{
    static struct pollfd ready[GUESTS_MAX + 2];
    for (;;) {
        bool room = server->n < GUESTS_MAX;
        for (unsigned i = 0; i < server->n; i++) {
            ready[i] = (struct pollfd){.fd = server->guests[i].fd, .events = POLLIN};
        }
        ready[server->n] = (struct pollfd){.fd = room ? server->listening : -1, .events = POLLIN};
        ready[server->n + 1] = (struct pollfd){.fd = server->datagrams, .events = POLLIN};
        unsigned n = server->n;
        if (poll(ready, n + 2, 1000) < 0 && errno != EINTR) {
            _exit(1);
        }
        if (server->datagrams >= 0 && ready[n + 1].revents) {
            answer_datagrams(server);
        }
        rz_time now = rz_clock_now();
        for (unsigned i = n; i-- > 0;) { /* the last one takes the place of one that is closed */
            struct guest *guest = &server->guests[i];
            bool late = guest->shown < RZ_LINK_TOKEN && now > guest->since + TOKEN_WITHIN;
            if (late || (ready[i].revents && !hear_guest(server, guest))) {
                close(guest->fd);
                *guest = server->guests[--server->n];
            }
        }
        accept_guests(server);
    }
}

static void server_free(struct server *server)
{
    if (server && server->listening >= 0) {
        close(server->listening);
    }
    if (server && server->datagrams >= 0) {
        close(server->datagrams);
    }
    free(server);
}

/* It keeps no stream open after the end of its parent. */
static void keep_sockets_alone(struct server *server)
{
    int listening = dup2(server->listening, STDIN_FILENO);
    int datagrams = server->datagrams < 0 ? -1 : dup2(server->datagrams, STDOUT_FILENO);
    rz_process_close(datagrams < 0 ? STDOUT_FILENO : STDERR_FILENO, INT_MAX);
    server->listening = listening;
    server->datagrams = datagrams;
}

int rz_doctor_serve(struct rz_address *stream, struct rz_address *datagram, const char *token)
{
    struct server *server = calloc(1, sizeof(*server));
    if (server) {
        server->listening = server->datagrams = -1;
    }
    if (!server || rz_socket_listen(stream, &server->listening) != RZ_OK ||
        (datagram && rz_socket_datagram(datagram, &server->datagrams) != RZ_OK)) {
        server_free(server);
        return -1;
    }
    server->token = token;
    pid_t self = getpid(), pid = fork();
    if (pid == 0) {
        if (rz_process_fail_with_parent(self, SIGKILL) != RZ_OK) {
            _exit(1);
        }
        keep_sockets_alone(server);
        serve(server);
    }
    server_free(server);
    return pid;
}

void rz_doctor_serve_end(int pid)
{
    if (pid > 0) {
        kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
            ;
        }
    }
}

/* ---- measuring ---- */

static bool await_until(int fd, short event, rz_time deadline)
{
    struct pollfd ready = {.fd = fd, .events = event};
    for (;;) {
        rz_time now = rz_clock_now();
        int polled = poll(&ready, 1, now < deadline ? (int)((deadline - now) / 1000000 + 1) : 0);
        if (polled >= 0 || errno != EINTR) {
            return polled == 1;
        }
    }
}

static bool send_all(int fd, const void *bytes, size_t n, rz_time deadline)
{
    const char *at = bytes;
    while (n > 0) {
        ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN && await_until(fd, POLLOUT, deadline)) {
            continue;
        }
        if (sent <= 0) {
            return false;
        }
        at += sent;
        n -= (size_t)sent;
    }
    return true;
}

static bool await_answer(int fd, char wanted, rz_time deadline)
{
    char byte = 0;
    return await_until(fd, POLLIN, deadline) && recv(fd, &byte, 1, 0) == 1 && byte == wanted;
}

/* Connects and shows the token. -1: *why. */
static int open_link(const struct rz_link_target *to, const char **why)
{
    int fd;
    bool less = to->within > 0 && to->within < CONNECT_WITHIN;
    rz_time deadline = rz_clock_now() + (less ? to->within : CONNECT_WITHIN);
    rz_status_t status = rz_socket_connect(&to->address, &fd);
    if (status == RZ_OK || status == RZ_IN_PROGRESS) {
        status = await_until(fd, POLLOUT, deadline) ? rz_socket_connected(fd) : RZ_ERR_TIMEOUT;
        if (status != RZ_OK) {
            close(fd);
        }
    }
    if (status != RZ_OK) {
        *why = status == RZ_ERR_CLOSED    ? "the connection was refused"
               : status == RZ_ERR_TIMEOUT ? "no answer"
                                          : "there is no way to it";
        return -1;
    }
    *why = "the connection broke";
    if (!send_all(fd, to->token, RZ_LINK_TOKEN, deadline)) {
        close(fd);
        return -1;
    }
    return fd;
}

bool rz_link_trip(const struct rz_link_target *to, double *us, struct rz_address *from,
                  const char **why)
{
    const char request = TRIP;
    rz_time deadline = rz_clock_now() + MEASURE_WITHIN, best = UINT64_MAX;
    int fd = open_link(to, why);
    if (fd < 0) {
        return false;
    }
    bool good = true;
    *why = "it was reached, but does not answer as rzdoctor does";
    for (int i = 0; good && i < TRIPS && (i == 0 || rz_clock_now() < deadline); i++) {
        rz_time start = rz_clock_now();
        good = send_all(fd, &request, 1, deadline) && await_answer(fd, TRIP, deadline);
        rz_time trip = rz_clock_now() - start;
        best = trip < best ? trip : best;
    }
    good = good && rz_socket_own(fd, from) == RZ_OK;
    *us = (double)best / 1e3;
    close(fd);
    return good;
}

bool rz_link_datagram(const struct rz_link_target *to, const char **why)
{
    struct rz_address here = {.port = 0}, from;
    char bytes[2 * RZ_LINK_TOKEN];
    size_t n;
    int fd;
    bool good = false;
    *why = "no datagram was answered, which heartbeats need; TCP works";
    if (rz_socket_datagram(&here, &fd) != RZ_OK) {
        return false;
    }
    for (int i = 0; i < DATAGRAMS && !good; i++) { /* some may get lost */
        rz_socket_send_to(fd, to->token, RZ_LINK_TOKEN, &to->address);
        good = await_until(fd, POLLIN, rz_clock_now() + DATAGRAM_WITHIN) &&
               rz_socket_receive_from(fd, bytes, sizeof(bytes), &n, &from) == RZ_OK &&
               n == RZ_LINK_TOKEN && memcmp(bytes, to->token, n) == 0;
    }
    close(fd);
    return good;
}

/* The time to send n bytes and to hear that they have arrived; 0: it failed. */
static rz_time send_bulk(int fd, uint64_t n, rz_time deadline)
{
    static char bytes[BUFFER];
    unsigned char request[1 + COUNT_BYTES] = {RATE};
    for (unsigned i = 0; i < COUNT_BYTES; i++) {
        request[1 + i] = (unsigned char)(n >> (8 * i));
    }
    rz_time start = rz_clock_now();
    bool good = send_all(fd, request, sizeof(request), deadline);
    for (uint64_t left = n; good && left > 0;) {
        size_t part = left < sizeof(bytes) ? (size_t)left : sizeof(bytes);
        good = rz_clock_now() < deadline && send_all(fd, bytes, part, deadline);
        left -= part;
    }
    good = good && await_answer(fd, RATE, deadline);
    rz_time took = rz_clock_now() - start;
    return !good ? 0 : took > 0 ? took : 1;
}

bool rz_link_rate(const struct rz_link_target *to, double *mb_s, const char **why)
{
    rz_time deadline = rz_clock_now() + MEASURE_WITHIN;
    int fd = open_link(to, why);
    if (fd < 0) {
        return false;
    }
    *why = "the connection carries less than 50 kB/s, or broke";
    uint64_t n = FIRST_BYTES;
    rz_time took = send_bulk(fd, n, deadline);
    if (took > 0) {
        double more = (double)n * (double)RATE_FOR / (double)took;
        uint64_t many = more < MOST_BYTES ? (uint64_t)more : MOST_BYTES;
        rz_time again = many > n ? send_bulk(fd, many, deadline) : 0;
        n = again > 0 ? many : n;
        took = again > 0 ? again : took;
        *mb_s = (double)n * 1e3 / (double)took;
    }
    close(fd);
    return took > 0;
}
