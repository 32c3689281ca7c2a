/* SPDX-License-Identifier: BSD-3-Clause */
/* rzdoctor --hosts: the agents that run `rzdoctor link` on each host: how they are started, what
 * they say, their ends. */
#include "cmd/rzdoctor_hosts.h"

#include "base/no_memory.h"
#include "port/child_process.h"
#include "port/clock.h"
#include "port/descriptor.h"
#include "remote/agent.h"
#include "remote/agent_process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* An agent whose standard input has been closed ends by itself within this time, or by SIGTERM
 * within that time again. */
#define END_WITHIN (3 * RZ_SECOND)
#define LOOK_MS 20

/* ---- starting ---- */

static void close_all(const int *fds, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
}

void rz_doctor_agent_start(struct rz_doctor_host *host, const char *const *words)
{
    int fds[6] = {-1, -1, -1, -1, -1, -1}, *in = fds, *out = fds + 2, *err = fds + 4;
    pid_t pid = -1;
    host->pid = host->in = host->out = host->err = -1;
    if (rz_descriptor_stream_pair(in) == RZ_OK && rz_descriptor_pipe(out) == RZ_OK &&
        rz_descriptor_pipe(err) == RZ_OK) {
        pid = rz_agent_process_start(words, NULL, (const int[]){in[1], out[1], err[1]}, NULL, "");
    }
    if (pid < 0) {
        snprintf(host->word, sizeof(host->word), "%s", strerror(errno));
        host->status = RZ_AGENT_NOT_STARTED;
        close_all(fds, 6);
        return;
    }
    close_all((const int[]){in[1], out[1], err[1]}, 3);
    host->pid = pid;
    host->in = in[0];
    host->out = out[0];
    host->err = err[0];
    for (int i = 0; i < 2; i++) {
        host->lines[i] = malloc(RZ_LINK_ANSWER_MAX);
        rz_need_memory(host->lines[i], "for what hosts say");
        rz_descriptor_no_wait(i == 0 ? host->out : host->err);
    }
}

/* ---- orders and answers ---- */

void rz_doctor_agent_order(struct rz_doctor_host *host, json_t *order)
{
    char *text = json_dumps(order, JSON_COMPACT);
    rz_need_memory(text, "for an order");
    size_t n = strlen(text);
    json_decref(host->answer);
    host->answer = NULL;
    text[n] = '\n'; /* in the place of its end */
    host->ordered = rz_clock_now();
    if (host->in >= 0) {
        /* It fits into the socket, unless the host reads nothing: then it does not answer. */
        (void)!send(host->in, text, n + 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    free(text);
    json_decref(order);
}

static void take_answer_line(struct rz_doctor_host *host, const char *line)
{
    const size_t n = strlen(RZ_LINK_MARK), m = strlen(RZ_LINK_RZD);
    if (strncmp(line, RZ_LINK_MARK, n) == 0) {
        json_decref(host->answer);
        host->answer = json_loads(line + n, 0, NULL);
        host->answered = rz_clock_now();
    } else if (strncmp(line, RZ_LINK_RZD, m) == 0) {
        snprintf(host->version, sizeof(host->version), "%s", line + m);
    } else if (*line) {
        snprintf(host->word, sizeof(host->word), "%s", line);
    }
}

/* Reads what is there of out (0) or err (1). */
static void hear_agent(struct rz_doctor_host *host, int i)
{
    int *fd = i == 0 ? &host->out : &host->err;
    char bytes[4096], *line = host->lines[i];
    ssize_t got;
    while ((got = read(*fd, bytes, sizeof(bytes))) > 0) {
        for (ssize_t k = 0; k < got; k++) {
            if (bytes[k] == '\n' || host->lengths[i] == RZ_LINK_ANSWER_MAX - 1) {
                line[host->lengths[i]] = '\0';
                line[strcspn(line, "\r")] = '\0';
                take_answer_line(host, line);
                host->lengths[i] = 0;
            } else {
                line[host->lengths[i]++] = bytes[k];
            }
        }
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        line[host->lengths[i]] = '\0';
        take_answer_line(host, line);
        host->lengths[i] = 0;
        close(*fd);
        *fd = -1;
    }
}

/* Whether nothing can come from it any more. */
static bool is_over(struct rz_doctor_host *host)
{
    int status;
    if (host->pid >= 0 && rz_child_process_reap_ended(host->pid, &status)) {
        host->status = rz_child_process_exit_of(status);
        host->pid = -1;
        for (int i = 0; i < 2; i++) { /* its last words; a child of it may hold the other end */
            if ((i == 0 ? host->out : host->err) >= 0) {
                hear_agent(host, i);
            }
        }
    }
    return host->pid < 0;
}

void rz_doctor_agents_await(struct rz_doctor_host *hosts, unsigned n, rz_time deadline)
{
    struct pollfd *ready = calloc(2 * (size_t)n, sizeof(*ready));
    rz_need_memory(ready, "to hear hosts");
    for (bool waits = true; waits;) {
        unsigned m = 0;
        waits = false;
        for (unsigned i = 0; i < n; i++) {
            struct rz_doctor_host *host = &hosts[i];
            bool open = !is_over(host);
            waits |= open && !host->answer && !host->lost;
            ready[m++] = (struct pollfd){.fd = open ? host->out : -1, .events = POLLIN};
            ready[m++] = (struct pollfd){.fd = open ? host->err : -1, .events = POLLIN};
        }
        if (!waits || rz_clock_now() >= deadline) {
            break;
        }
        poll(ready, m, LOOK_MS); /* the ends of agents are looked for in between */
        for (unsigned i = 0; i < m; i++) {
            if (ready[i].fd >= 0 && ready[i].revents) {
                hear_agent(&hosts[i / 2], (int)(i % 2));
            }
        }
    }
    free(ready);
}

bool rz_doctor_agent_good(const struct rz_doctor_host *host)
{
    return host->answer && !json_object_get(host->answer, "error");
}

/* ---- ends ---- */

void rz_doctor_agents_end(struct rz_doctor_host *hosts, unsigned n)
{
    static const int signals[] = {SIGTERM, SIGKILL};
    rz_time bound = rz_clock_now() + END_WITHIN;
    for (unsigned i = 0; i < n; i++) {
        if (hosts[i].in >= 0) {
            close(hosts[i].in);
            hosts[i].in = -1;
        }
        if (hosts[i].lost && hosts[i].pid >= 0) {
            rz_child_process_signal(hosts[i].pid, SIGTERM);
        }
    }
    for (unsigned next = 0, open = n; open > 0;) {
        bool late = rz_clock_now() > bound && next < 2;
        open = 0;
        for (unsigned i = 0; i < n; i++) {
            if (is_over(&hosts[i])) {
                continue;
            }
            open++;
            if (late) {
                rz_child_process_signal(hosts[i].pid, signals[next]);
            }
        }
        if (late) {
            next++;
            bound += END_WITHIN;
        }
        poll(NULL, 0, open > 0 ? LOOK_MS : 0);
    }
    for (unsigned i = 0; i < n; i++) {
        close_all((const int[]){hosts[i].out, hosts[i].err}, 2);
        free(hosts[i].lines[0]);
        free(hosts[i].lines[1]);
        json_decref(hosts[i].answer);
    }
}
