/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts the keeper of a node with its daemon, exchanges messages with the daemon, and ends the
 * nodes within a bound. */
#include "launch/node.h"

#include "base/assert.h"
#include "base/no_memory.h"
#include "launch/surroundings.h"
#include "port/clock.h"
#include "port/kill_point.h"
#include "port/netns.h"
#include "port/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLOCK_AT_START 8 /* exchanges, one after the other */
#define CLOCK_EVERY (10 * RZ_SECOND)
#define ENDS_TOLD_MAX 3 /* bound of reported daemon ends; the first suffice */

static void channel_ended(struct rz_node *node)
{
    node->gone = true;
    event_del(node->readable);
    event_del(node->writable);
    node->ended(node->arg, node);
}

static void ask_for_time(struct rz_node *node)
{
    struct rz_launch_message message = {.type = RZ_LAUNCH_CLOCK,
                                        .clock = {.asked_ns = rz_clock_now()}};
    node->clock_asked = message.clock.asked_ns;
    rz_node_send(node, &message);
}

void rz_node_look_at_clock(struct rz_node *node)
{
    if (node->remote && node->listening && rz_clock_now() - node->clock_asked > CLOCK_EVERY) {
        ask_for_time(node);
    }
}

/* Handles what is about the clock of another host, and translates times. False: the message is no
 * concern of others. */
static bool settle_times(struct rz_node *node, struct rz_launch_message *message)
{
    switch (message->type) {
    case RZ_LAUNCH_LISTENING:
        ask_for_time(node);
        return true;
    case RZ_LAUNCH_CLOCK:
        rz_clock_offset_take(&node->clock, message->clock.asked_ns, message->clock.now_ns,
                             rz_clock_now());
        if (++node->clock_answers < CLOCK_AT_START) {
            ask_for_time(node);
        }
        return false;
    case RZ_LAUNCH_EVENT:
        message->event.at_ns = rz_clock_offset_here(&node->clock, message->event.at_ns);
        return true;
    case RZ_LAUNCH_MARK:
        message->mark.at_ns = rz_clock_offset_here(&node->clock, message->mark.at_ns);
        return true;
    default:
        return true;
    }
}

static void channel_read(evutil_socket_t fd, short what, void *arg)
{
    struct rz_node *node = arg;
    (void)fd, (void)what;
    rz_status_t status = rz_stream_read(node->channel), next = RZ_OK;
    const void *bytes;
    size_t n;
    while (!node->gone && (next = rz_stream_next(node->channel, &bytes, &n)) == RZ_OK) {
        struct rz_launch_message message;
        if (rz_launch_decode(&message, bytes, n) == RZ_OK) {
            if (!node->remote || settle_times(node, &message)) {
                node->message(node->arg, node, &message);
            }
        } else {
            fprintf(stderr,
                    "rzrun: node %u sent a malformed message; is its rzd of another version?\n",
                    node->index);
        }
    }
    if (node->gone) {
        return;
    }
    if (next == RZ_ERR_AUTHENTICATION || (status == RZ_ERR_MALFORMED && node->remote)) {
        rz_node_end(node, "a message is not from its daemon, or was changed on the way");
    } else if (status != RZ_OK) {
        channel_ended(node);
    }
}

/* The channel is shut down, so that the daemon notices it; it is closed later, for callers still
 * use it. */
void rz_node_end(struct rz_node *node, const char *why)
{
    fprintf(stderr, "rzrun: node %u: %s; its connection is closed, and the node ends\n",
            node->index, why);
    shutdown(rz_stream_fd(node->channel), SHUT_RDWR);
    channel_ended(node);
}

static void channel_write(evutil_socket_t fd, short what, void *arg)
{
    struct rz_node *node = arg;
    (void)fd, (void)what;
    rz_stream_flush(node->channel); /* the end of the channel is noticed when it is read */
    if (rz_stream_want_write(node->channel)) {
        event_add(node->writable, NULL);
    }
}

/* The address of an emulated node: 127.0.1.1, 127.0.1.2, ... of the loopback device, or 10.77.1.1,
 * 10.77.1.2, ... at a switch. */
static void choose_address(struct rz_node *node, bool at_switch)
{
    const uint8_t third = (uint8_t)(1 + node->index / 250), last = (uint8_t)(1 + node->index % 250);
    node->address = at_switch ? (struct rz_address){.ip = RZ_IPV4(10, 77, third, last)}
                              : (struct rz_address){.ip = RZ_IPV4(127, 0, third, last)};
}

/* In the child: from now on everything it starts is in the node's own network, and its processes
 * must use the node's device. */
static void plug_in(const struct rz_node *node, int switch_fd)
{
    char host[16], address[RZ_ADDRESS_TEXT];
    const char *why;
    snprintf(host, sizeof(host), "node%u", node->index);
    const struct rz_netns_node place = {
        .host = host, .address = rz_address_ip_text(&node->address, address), .prefix = 16};
    if (rz_netns_enter(switch_fd, &place, &why) != RZ_OK) {
        fprintf(stderr, "rzrun: node %u: %s\n", node->index, why);
        _exit(127);
    }
    setenv("UCX_NET_DEVICES", RZ_NETNS_DEVICE, 1);
}

static _Noreturn void become_keeper(const struct rz_node *node, int switch_fd, const char *daemon,
                                    int channel_fd, int alive_fd)
{
    char channel[16], alive[16], number[16], trace[16], address[RZ_ADDRESS_TEXT];
    rz_address_ip_text(&node->address, address);
    snprintf(number, sizeof(number), "%u", node->index);
    snprintf(channel, sizeof(channel), "%d", channel_fd);
    snprintf(alive, sizeof(alive), "%d", alive_fd);
    snprintf(trace, sizeof(trace), "%d", node->trace_fd);
    setpgid(0, 0); /* rzrun handles a Ctrl-C at the terminal */
    fcntl(channel_fd, F_SETFD, 0);
    fcntl(alive_fd, F_SETFD, 0);
    fcntl(node->trace_fd, F_SETFD, 0);
    rz_surroundings_restore();
    if (switch_fd >= 0) {
        plug_in(node, switch_fd);
    }
    execl(daemon, daemon, "--keeper", "--launcher-fd", channel, "--alive-fd", alive, "--node",
          number, "--address", address, node->trace_fd >= 0 ? "--trace-fd" : (char *)NULL, trace,
          (char *)NULL);
    fprintf(stderr, "rzrun: cannot start %s: %s\n", daemon, strerror(errno));
    _exit(127);
}

rz_status_t rz_node_start(struct rz_node *node, int switch_fd, const char *daemon,
                          struct event_base *base, const char **why)
{
    int channel[2], alive[2];
    rz_assert(node->message && node->ended);
    if (rz_address_is_any(&node->address)) {
        choose_address(node, switch_fd >= 0);
    }
    *why = strerror(EMFILE);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) != 0) {
        return RZ_ERR_SYSTEM;
    }
    if (pipe2(alive, O_CLOEXEC) != 0) {
        close(channel[0]);
        close(channel[1]);
        return RZ_ERR_SYSTEM;
    }
    fcntl(channel[0], F_SETFL, O_NONBLOCK);
    pid_t rzrun = getpid(), pid = fork();
    /* The keeper is not killed with rzrun, but continued if it was stopped: it must see the end of
     * its pipe. */
    if (pid == 0 && rz_process_fail_with_parent(rzrun, SIGCONT) != RZ_OK) {
        _exit(127);
    }
    if (pid == 0) {
        become_keeper(node, switch_fd, daemon, channel[1], alive[0]);
    }
    *why = strerror(errno);
    close(channel[1]);
    close(alive[0]);
    rz_status_t status = RZ_ERR_SYSTEM;
    struct rz_stream *stream;
    if (pid >= 0) {
        status = rz_stream_plain(&stream, channel[0], RZ_LAUNCH_JOB_MAX);
        *why = rz_status_text(status);
    }
    if (status != RZ_OK) {
        close(channel[0]);
        close(alive[1]);
        return RZ_ERR_SYSTEM;
    }
    node->keeper = pid;
    rz_kill_here(RZ_KILL_LAUNCH_FORKED);
    node->alive_fd = alive[1];
    rz_node_attach(node, stream, base);
    return RZ_OK;
}

void rz_node_attach(struct rz_node *node, struct rz_stream *stream, struct event_base *base)
{
    int fd = rz_stream_fd(stream);
    node->channel = stream;
    node->readable = event_new(base, fd, EV_READ | EV_PERSIST, channel_read, node);
    node->writable = event_new(base, fd, EV_WRITE, channel_write, node);
    rz_need_memory(node->readable && node->writable, "for a stream to a node");
    event_add(node->readable, NULL);
    if (rz_stream_want_write(stream)) {
        event_add(node->writable, NULL);
    }
    /* A message may have come together with the proof. */
    event_active(node->readable, EV_READ, 0);
}

void rz_node_send(struct rz_node *node, const struct rz_launch_message *message)
{
    if (node->gone || !node->channel) {
        return;
    }
    size_t room = message->type == RZ_LAUNCH_JOB ? RZ_LAUNCH_JOB_MAX : RZ_LAUNCH_FRAME_MAX;
    uint8_t *frame = malloc(room);
    rz_need_memory(frame, "for a message to a node");
    size_t n = rz_launch_encode(message, frame, room);
    rz_assert(n > 0);
    rz_stream_send(node->channel, frame, n); /* the end of the channel is noticed when it is read */
    free(frame);
    if (rz_stream_want_write(node->channel)) {
        event_add(node->writable, NULL);
    }
}

void rz_node_release(struct rz_node *node)
{
    if (node->readable) {
        event_free(node->readable);
    }
    if (node->writable) {
        event_free(node->writable);
    }
    if (node->channel) {
        rz_stream_close(node->channel);
    }
    if (node->alive_fd >= 0) {
        close(node->alive_fd);
    }
    node->readable = node->writable = NULL;
    node->channel = NULL;
    node->alive_fd = -1;
    node->gone = true;
}

void rz_nodes_end(struct rz_node *nodes, uint32_t n, unsigned bound_ms)
{
    rz_time bound = rz_clock_now() + bound_ms * RZ_MILLISECOND;
    for (uint32_t i = 0; i < n; i++) {
        rz_node_release(&nodes[i]);
    }
    rz_kill_here(RZ_KILL_LAUNCH_RELEASED);
    for (uint32_t i = 0; i < n; i++) {
        if (nodes[i].keeper > 0) {
            kill(nodes[i].keeper, SIGCONT); /* a stopped one could not clean up */
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        struct rz_node *node = &nodes[i];
        while (node->keeper > 0 && waitpid(node->keeper, &node->status, WNOHANG) == 0) {
            if (rz_clock_now() > bound) {
                kill(node->keeper, SIGKILL);
            }
            usleep(1000);
        }
    }
}

static void tell_end(const struct rz_node *node, const char *why)
{
    int status = node->status;
    int code = WIFEXITED(status) ? WEXITSTATUS(status)
                                 : 0; /* the daemon ended by a signal: 128 + its number */
    int number = WIFSIGNALED(status) ? WTERMSIG(status) : code > 128 ? code - 128 : 0;
    const char *which = WIFSIGNALED(status) ? "keeper" : "daemon";
    if (number) {
        fprintf(stderr, "rzrun: the %s of node %u was killed by signal %d (%s)\n", which,
                node->index, number, strsignal(number));
    } else if (why) {
        fprintf(stderr, "rzrun: node %u was cut off: %s\n", node->index, why);
    } else {
        fprintf(stderr, "rzrun: the daemon of node %u ended with status %d\n", node->index, code);
    }
}

void rz_nodes_tell_ends(const struct rz_node *nodes, uint32_t n, char *const *why)
{
    uint32_t told = 0;
    for (uint32_t i = 0; i < n && told < ENDS_TOLD_MAX; i++) {
        bool said = nodes[i].remote && why[i];
        if (!nodes[i].early || (nodes[i].status <= 0 && !said)) {
            continue;
        }
        tell_end(&nodes[i], why[i]);
        told++;
    }
}

void rz_nodes_tell_strangers(const struct rz_node *nodes, uint32_t n)
{
    uint64_t sum = 0;
    uint32_t told = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += nodes[i].strangers;
    }
    if (sum == 0) {
        return;
    }
    fprintf(stderr,
            "rzrun: %llu connections to daemons were refused: they did not prove that they "
            "belong to the job (",
            (unsigned long long)sum);
    for (uint32_t i = 0; i < n; i++) {
        if (nodes[i].strangers > 0 && told++ < ENDS_TOLD_MAX) {
            const struct rz_address at =
                rz_address_at(&nodes[i].address, (uint16_t)nodes[i].tcp_port);
            char text[RZ_ADDRESS_TEXT];
            fprintf(stderr, "%snode %u, %s: %llu", told > 1 ? "; " : "", i,
                    rz_address_text(&at, text), (unsigned long long)nodes[i].strangers);
        }
    }
    fprintf(stderr, "%s)\n", told > ENDS_TOLD_MAX ? "; others" : "");
}
