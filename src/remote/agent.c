/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts agents, writes to them what their daemon begins with, reads the lines that they say, and
 * notices their ends. */
#include "remote/agent.h"

#include "base/assert.h"
#include "base/linked_list.h"
#include "base/no_memory.h"
#include "base/printable.h"
#include "port/channel.h"
#include "port/child_process.h"
#include "port/clock.h"
#include "port/descriptor.h"
#include "port/process.h"
#include "remote/tree.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How often agents are looked at where the kernel has no descriptors of processes. */
#define LOOK_MS 200

struct agent;

/* The lines of one stream of an agent. */
struct lines {
    struct agent *agent;
    struct event *readable;
    int fd; /* -1: its end was seen */
    char line[RZ_AGENT_LINE_MAX];
    size_t n; /* characters of the line so far, the cut ones not counted */
};

struct agent {
    struct agent *next;
    struct rz_agents *agents;
    uint32_t node;
    pid_t pid;
    struct rz_frames *begin; /* its standard input */
    struct event *writable, *exited;
    int pidfd; /* -1: the kernel has none; it is looked at by a timer */
    struct lines out, err;
};

struct rz_agents {
    struct rz_agents_config config;
    struct agent *all;
};

/* ---- The process of an agent ---- */

/* The longest command of an agent, in words. */
#define WORDS_MAX (RZ_AGENT_WORDS_MAX + 8)

static _Noreturn void become_agent(const char *const *words, const char *const *more,
                                   const int fds[3], void (*restore)(void), const char *speaker,
                                   pid_t parent)
{
    const char *all[WORDS_MAX + 1];
    size_t n = 0;
    if (!rz_child_process_place_descriptors(fds, 3) ||
        rz_process_fail_with_parent(parent, SIGTERM) != RZ_OK) {
        _exit(EXIT_FAILURE);
    }
    rz_child_process_lead_session(); /* signals of the terminal are not for it, nor questions */
    rz_child_process_plain_signals();
    if (restore) {
        restore();
    }
    for (; *words && n < WORDS_MAX; words++) {
        all[n++] = *words;
    }
    for (; more && *more && n < WORDS_MAX; more++) {
        all[n++] = *more;
    }
    all[n] = NULL;
    execvp(all[0], (char **)(uintptr_t)all);
    dprintf(STDERR_FILENO, "%s%s cannot be started: %s\n", speaker, all[0], strerror(errno));
    _exit(RZ_AGENT_NOT_STARTED);
}

pid_t rz_agent_process_start(const char *const *words, const char *const *more, const int fds[3],
                             void (*restore)(void), const char *speaker)
{
    pid_t parent = getpid(), pid = rz_child_process_fork();
    if (pid == 0) {
        become_agent(words, more, fds, restore, speaker, parent);
    }
    return pid;
}

/* ---- Lines ---- */

/* `rhizome-report NODE ended STATUS` or `rhizome-report NODE said TEXT`. False: it is neither. */
static bool pass_report(struct agent *agent, const char *line)
{
    const struct rz_agents_config *config = &agent->agents->config;
    unsigned node;
    int status, at = 0;
    if (strncmp(line, RZ_AGENT_MARK, strlen(RZ_AGENT_MARK)) != 0) {
        return false;
    }
    line += strlen(RZ_AGENT_MARK);
    if (sscanf(line, "%u ended %d%n", &node, &status, &at) == 2 && line[at] == '\0') {
        config->ended(config->arg, node, status);
        return true;
    }
    if (sscanf(line, "%u said %n", &node, &at) == 1 && at > 0) {
        config->said(config->arg, node, line + at);
        return true;
    }
    return false;
}

static void pass_line(struct lines *lines)
{
    struct agent *agent = lines->agent;
    const struct rz_agents_config *config = &agent->agents->config;
    while (lines->n > 0 &&
           (lines->line[lines->n - 1] == '\r' || lines->line[lines->n - 1] == ' ')) {
        lines->n--;
    }
    lines->line[lines->n] = '\0';
    rz_printable(lines->line, strlen(lines->line), "\t");
    bool reported = lines == &agent->out && pass_report(agent, lines->line);
    if (!reported && lines->n > 0) {
        config->said(config->arg, agent->node, lines->line);
    }
    lines->n = 0;
}

/* At most what a pipe holds: an agent that never stops writing delays nothing. */
static void read_lines(struct lines *lines)
{
    char bytes[1024];
    for (int i = 0; i < 64 && lines->fd >= 0; i++) {
        ssize_t got = read(lines->fd, bytes, sizeof(bytes));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 && errno == EAGAIN) {
            return;
        }
        for (ssize_t i = 0; i < got; i++) {
            if (bytes[i] == '\n') {
                pass_line(lines);
            } else if (lines->n < sizeof(lines->line) - 1) {
                lines->line[lines->n++] = bytes[i];
            }
        }
        if (got <= 0) {
            pass_line(lines);
            event_free(lines->readable);
            lines->readable = NULL;
            close(lines->fd);
            lines->fd = -1;
        }
    }
}

static void read_all_lines(struct agent *agent)
{
    read_lines(&agent->err);
    read_lines(&agent->out);
}

static void lines_readable(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    read_lines(arg);
}

static void open_lines(struct lines *lines, struct agent *agent, int fd)
{
    *lines = (struct lines){.agent = agent, .fd = fd};
    rz_descriptor_no_wait(fd);
    lines->readable =
        event_new(agent->agents->config.base, fd, EV_READ | EV_PERSIST, lines_readable, lines);
    rz_need_memory(lines->readable, "to read what an agent says");
    event_add(lines->readable, NULL);
}

static void close_lines(struct lines *lines)
{
    if (lines->readable) {
        event_free(lines->readable);
    }
    if (lines->fd >= 0) {
        close(lines->fd);
    }
}

/* ---- The end of an agent ---- */

static void agent_free(struct agent *agent)
{
    rz_list_unlink(&agent->agents->all, agent);
    close_lines(&agent->out);
    close_lines(&agent->err);
    event_free(agent->writable);
    event_free(agent->exited);
    if (agent->pidfd >= 0) {
        close(agent->pidfd);
    }
    rz_frames_close(agent->begin);
    free(agent);
}

static bool reap(struct agent *agent, int *status)
{
    int raw;
    bool over = rz_child_process_reap_ended(agent->pid, &raw);
    *status = over ? rz_child_process_exit_of(raw) : 0;
    return over;
}

static void agent_exited(evutil_socket_t fd, short what, void *arg)
{
    struct agent *agent = arg;
    const struct rz_agents_config config = agent->agents->config;
    uint32_t node = agent->node;
    int status;
    (void)fd, (void)what;
    if (!reap(agent, &status)) {
        return;
    }
    read_all_lines(agent); /* its last words come first */
    agent_free(agent);
    config.ended(config.arg, node, status);
}

/* ---- The start of an agent ---- */

static void begin_writable(evutil_socket_t fd, short what, void *arg)
{
    struct agent *agent = arg;
    (void)fd, (void)what;
    /* An agent that reads nothing any more ends, which is noticed. */
    if (rz_frames_flush(agent->begin) == RZ_IN_PROGRESS) {
        event_add(agent->writable, NULL);
    }
}

/* The hosts are listed as children of `host`, or, if that is NULL, of all. */
static void send_begin(struct agent *agent, const struct rz_remote_host *host,
                       const struct rz_remote_host *others, uint32_t n)
{
    struct rz_wire_writer w;
    uint8_t *children = malloc(RZ_REMOTE_MAX), *frame = malloc(RZ_REMOTE_MAX);
    rz_need_memory(children && frame, "to start daemons on other hosts");
    rz_wire_writer_init(&w, children, RZ_REMOTE_MAX / 2);
    for (uint32_t i = 0; i < n; i++) {
        rz_wire_put_u32(&w, others[i].node);
        rz_wire_put_text(&w, others[i].name);
    }
    struct rz_remote_message message = {.type = RZ_REMOTE_BEGIN,
                                        .begin = agent->agents->config.begin};
    message.begin.node = host ? host->node : RZ_ID_NONE;
    message.begin.host = host ? host->name : "";
    message.begin.children = children;
    message.begin.children_length = (uint32_t)(w.at - w.start);
    size_t bytes = rz_remote_encode(&message, frame, RZ_REMOTE_MAX);
    rz_assert(bytes > 0 && !w.overflow);
    if (rz_frames_send(agent->begin, frame, bytes) == RZ_OK && rz_frames_want_write(agent->begin)) {
        event_add(agent->writable, NULL);
    }
    free(children);
    free(frame);
}

static bool make_streams(int begin[2], int out[2], int err[2])
{
    begin[0] = begin[1] = out[0] = out[1] = err[0] = err[1] = -1;
    return rz_descriptor_stream_pair(begin) == RZ_OK && rz_descriptor_pipe(out) == RZ_OK &&
           rz_descriptor_pipe(err) == RZ_OK;
}

static void close_streams(const int *fds, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
}

/* more: arguments after the words of the agent, NULL at the end. An agent for this node; NULL: it
 * cannot be started, which was reported. */
static struct agent *start_agent(struct rz_agents *agents, uint32_t node, const char *const *more)
{
    const struct rz_agents_config *config = &agents->config;
    int streams[6], *begin = streams, *out = streams + 2, *err = streams + 4;
    pid_t pid = -1;
    if (make_streams(begin, out, err)) {
        pid = rz_agent_process_start(config->words, more, (const int[]){begin[1], out[1], err[1]},
                                     config->restore, "");
    }
    if (pid < 0) {
        config->said(config->arg, node, strerror(errno));
        close_streams(streams, 6);
        config->ended(config->arg, node, EXIT_FAILURE);
        return NULL;
    }
    close(begin[1]);
    close(out[1]);
    close(err[1]);
    struct agent *agent = calloc(1, sizeof(*agent));
    rz_need_memory(agent, "for an agent");
    *agent = (struct agent){
        .next = agents->all, .agents = agents, .node = node, .pid = pid, .pidfd = -1};
    agents->all = agent;
    rz_descriptor_no_wait(begin[0]);
    rz_need_memory(rz_frames_open(&agent->begin, begin[0], RZ_REMOTE_MAX) == RZ_OK, "for an agent");
    open_lines(&agent->out, agent, out[0]);
    open_lines(&agent->err, agent, err[0]);
    agent->writable = event_new(config->base, begin[0], EV_WRITE, begin_writable, agent);
    bool watched = rz_process_open(pid, &agent->pidfd) == RZ_OK;
    agent->pidfd = watched ? agent->pidfd : -1;
    agent->exited =
        event_new(config->base, agent->pidfd, watched ? EV_READ : EV_PERSIST, agent_exited, agent);
    rz_need_memory(agent->writable && agent->exited, "for an agent");
    event_add(agent->exited, watched ? NULL : &(struct timeval){.tv_usec = LOOK_MS * 1000});
    return agent;
}

void rz_agents_open(struct rz_agents **result, const struct rz_agents_config *config)
{
    struct rz_agents *agents = calloc(1, sizeof(*agents));
    rz_need_memory(agents, "for agents");
    agents->config = *config;
    *result = agents;
}

void rz_agents_start(struct rz_agents *agents, const struct rz_remote_host *hosts, uint32_t n)
{
    for (uint32_t i = 0; i < rz_tree_groups(n, RZ_TREE_FAN_OUT); i++) {
        uint32_t first, count;
        rz_tree_group(n, RZ_TREE_FAN_OUT, i, &first, &count);
        const struct rz_remote_host *host = &hosts[first];
        const char *const more[] = {host->name, agents->config.command, NULL};
        struct agent *agent = start_agent(agents, host->node, more);
        if (agent) {
            send_begin(agent, host, host + 1, count - 1);
        }
    }
}

void rz_agents_start_together(struct rz_agents *agents, const struct rz_remote_host *hosts,
                              uint32_t n)
{
    static const char option[] = "--nodelist=";
    char n_nodes[32], n_tasks[32];
    size_t bytes = sizeof(option);
    for (uint32_t i = 0; i < n; i++) {
        bytes += strlen(hosts[i].name) + 1;
    }
    char *list = malloc(bytes), *at = list;
    rz_need_memory(list, "for the list of hosts");
    at += sprintf(at, "%s", option);
    for (uint32_t i = 0; i < n; i++) {
        at += sprintf(at, "%s%s", i > 0 ? "," : "", hosts[i].name);
    }
    snprintf(n_nodes, sizeof(n_nodes), "--nodes=%u", n);
    snprintf(n_tasks, sizeof(n_tasks), "--ntasks=%u", n);
    const char *const more[] = {list, n_nodes, n_tasks, "sh", "-c", agents->config.command, NULL};
    struct agent *agent = start_agent(agents, RZ_ID_NONE, more);
    if (agent) {
        send_begin(agent, NULL, hosts, n);
    }
    free(list);
}

uint32_t rz_agents_running(const struct rz_agents *agents)
{
    uint32_t n = 0;
    for (const struct agent *agent = agents->all; agent; agent = agent->next) {
        n++;
    }
    return n;
}

void rz_agents_signal(const struct rz_agents *agents, int number)
{
    for (const struct agent *agent = agents->all; agent; agent = agent->next) {
        rz_child_process_signal(agent->pid, number);
    }
}

void rz_agents_signal_node(const struct rz_agents *agents, uint32_t node, int number)
{
    for (const struct agent *agent = agents->all; agent; agent = agent->next) {
        if (agent->node == node) {
            rz_child_process_signal(agent->pid, number);
        }
    }
}

void rz_agents_close(struct rz_agents *agents, unsigned bound_ms)
{
    rz_time bound = rz_clock_now() + bound_ms * RZ_MILLISECOND;
    int signal_next = SIGTERM;
    while (agents->all) {
        struct agent *next;
        for (struct agent *agent = agents->all; agent; agent = next) {
            int status;
            next = agent->next;
            bool over = reap(agent, &status);
            read_all_lines(agent); /* a full pipe would delay its end */
            if (over) {
                agent_free(agent);
            }
        }
        if (agents->all && rz_clock_now() > bound) {
            rz_agents_signal(agents, signal_next);
            signal_next = SIGKILL;
            bound += bound_ms * RZ_MILLISECOND;
        }
        if (agents->all) {
            usleep(1000);
        }
    }
    free(agents);
}
