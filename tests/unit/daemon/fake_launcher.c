/* SPDX-License-Identifier: BSD-3-Clause */
/* A launcher played by a test: starts daemons, gives them a job, keeps and awaits their messages.
 */
#include "fake_launcher.h"

#include "port/address.h"
#include "port/clock.h"
#include "port/process.h"
#include "wire/cursor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static rz_time deadline(void)
{
    return rz_clock_now() + TEST_HANG_S * RZ_SECOND;
}

/* ---- daemons ---- */

static void start_node(struct fake_node *node, uint32_t number)
{
    int stream[2], alive[2];
    char launcher_fd[32], alive_fd[32], node_option[32];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, stream), 0);
    assert_int_equal(pipe2(alive, O_CLOEXEC), 0);
    node->keeper = fork();
    assert_true(node->keeper >= 0);
    if (node->keeper == 0) {
        rz_process_keep_on_exec(stream[1], true);
        rz_process_keep_on_exec(alive[0], true);
        snprintf(launcher_fd, sizeof(launcher_fd), "--launcher-fd=%d", stream[1]);
        snprintf(alive_fd, sizeof(alive_fd), "--alive-fd=%d", alive[0]);
        snprintf(node_option, sizeof(node_option), "--node=%u", number);
        execl(TEST_RZD, TEST_RZD, "--keeper", launcher_fd, alive_fd, node_option, NULL);
        _exit(127);
    }
    close(stream[1]);
    close(alive[0]);
    fcntl(stream[0], F_SETFL, O_NONBLOCK);
    node->alive_fd = alive[1];
    node->last = &node->first;
    assert_int_equal(rz_frames_open(&node->frames, stream[0], RZ_LAUNCH_FRAME_MAX), RZ_OK);
}

void fake_start_only(struct fake_job *job, uint32_t n_nodes)
{
    *job = (struct fake_job){
        .n_nodes = n_nodes, .hb_period_ns = 50 * RZ_MILLISECOND, .hb_timeout_ns = 5 * RZ_SECOND};
    assert_true(n_nodes <= FAKE_NODES_MAX);
    for (uint32_t i = 0; i < n_nodes; i++) {
        start_node(&job->node[i], i);
    }
}

static const struct rz_address loopback = {.ip = RZ_ADDRESS_LOOPBACK};

void fake_start(struct fake_job *job, uint32_t n_nodes)
{
    fake_start_only(job, n_nodes);
    for (uint32_t i = 0; i < n_nodes; i++) {
        struct fake_message *m = fake_await(job, RZ_LAUNCH_LISTENING);
        const struct rz_launch_listening *listening = &m->message.listening;
        struct fake_node *node = &job->node[listening->node];
        assert_int_equal(listening->version, RZ_LAUNCH_VERSION);
        assert_int_equal(listening->ip_length, RZ_IP_BYTES);
        assert_memory_equal(listening->ip, loopback.ip, RZ_IP_BYTES);
        assert_int_equal(listening->other_ip_length, 0);
        node->daemon = (pid_t)listening->pid;
        node->tcp_port = listening->tcp_port;
        node->udp_port = listening->udp_port;
        free(m);
    }
}

void fake_send(struct fake_job *job, uint32_t node, const struct rz_launch_message *message)
{
    static uint8_t buffer[RZ_LAUNCH_FRAME_MAX];
    size_t n = rz_launch_encode(message, buffer, sizeof(buffer));
    assert_true(n > 0);
    if (job->node[node].frames) {
        rz_frames_send(job->node[node].frames, buffer, n);
    }
}

static uint32_t pack_texts(const char *const *texts, uint8_t *buffer, size_t bytes)
{
    struct rz_wire_writer w;
    rz_wire_writer_init(&w, buffer, bytes);
    for (; texts && *texts; texts++) {
        rz_wire_put_text(&w, *texts);
    }
    assert_false(w.overflow);
    return (uint32_t)(w.at - w.start);
}

void fake_run(struct fake_job *job, uint32_t n_ranks, const char *const *arguments)
{
    static uint8_t placement[1024], slots[64], addresses[1024], texts[8192], environment[8192];
    static const uint8_t key[32] = "the key of a job under test ....";
    struct rz_wire_writer p, s, a;
    job->n_ranks = n_ranks;
    rz_wire_writer_init(&p, placement, sizeof(placement));
    rz_wire_writer_init(&s, slots, sizeof(slots));
    rz_wire_writer_init(&a, addresses, sizeof(addresses));
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        rz_wire_put_u32(&p, rank * job->n_nodes / n_ranks);
    }
    for (uint32_t i = 0; i < job->n_nodes; i++) {
        rz_wire_put_u32(&s, n_ranks);
        rz_wire_put_bytes(&a, loopback.ip, RZ_IP_BYTES);
        rz_wire_put_u32(&a, job->node[i].tcp_port);
        rz_wire_put_u32(&a, job->node[i].udp_port);
        rz_wire_put_u32(&a, (uint32_t)job->node[i].daemon);
    }
    assert_false(p.overflow || s.overflow || a.overflow);
    struct rz_launch_message message = {
        .type = RZ_LAUNCH_JOB,
        .job = {.job = 4711,
                .key = key,
                .key_length = sizeof(key),
                .n_nodes = job->n_nodes,
                .n_ranks = n_ranks,
                .hb_period_ns = job->hb_period_ns,
                .hb_timeout_ns = job->hb_timeout_ns,
                .detector = job->detector,
                .flags = job->flags,
                .rewind_ns = job->rewind_ns,
                .placement = placement,
                .placement_length = (uint32_t)(p.at - p.start),
                .slots = slots,
                .slots_length = (uint32_t)(s.at - s.start),
                .addresses = addresses,
                .addresses_length = (uint32_t)(a.at - a.start),
                .arguments = texts,
                .arguments_length = pack_texts(arguments, texts, sizeof(texts)),
                .environment = environment,
                .environment_length =
                    pack_texts(job->environment, environment, sizeof(environment)),
                .checkpoint_folder = "",
                .checkpoint_name = "",
                .directory = ""}};
    for (uint32_t i = 0; i < job->n_nodes; i++) {
        message.job.node = i;
        fake_send(job, i, &message);
    }
}

/* ---- what they say ---- */

/* For a failure's reader: everything that was said and not taken, in order. */
static void print_said(const struct fake_job *job)
{
    for (uint32_t i = 0; i < job->n_nodes; i++) {
        for (const struct fake_message *m = job->node[i].first; m; m = m->next) {
            const struct rz_launch_message *l = &m->message;
            fprintf(stderr, "node %u: %s", i, rz_launch_type_name(l->type));
            if (l->type == RZ_LAUNCH_EVENT) {
                fprintf(stderr, " kind %u epoch %u rank %d node %d incarnation %u value %llu (%s)",
                        l->event.kind, l->event.epoch, (int)l->event.rank, (int)l->event.node,
                        l->event.incarnation, (unsigned long long)l->event.value, l->event.note);
            } else if (l->type == RZ_LAUNCH_STARTED) {
                fprintf(stderr, " rank %u incarnation %u pid %u", l->started.rank,
                        l->started.incarnation, l->started.pid);
            } else if (l->type == RZ_LAUNCH_EXITED) {
                fprintf(stderr, " rank %u incarnation %u status %x", l->exited.rank,
                        l->exited.incarnation, l->exited.status);
            } else if (l->type == RZ_LAUNCH_OUTPUT) {
                fprintf(stderr, " rank %u: %.*s", l->output.rank, (int)l->output.data_length,
                        (const char *)l->output.data);
            } else if (l->type == RZ_LAUNCH_WAITING) {
                fprintf(stderr, " rank %u in %s", l->waiting.rank, l->waiting.call);
            }
            fprintf(stderr, "\n");
        }
    }
}

static void close_node(struct fake_node *node)
{
    if (node->frames) {
        rz_frames_close(node->frames);
    }
    node->frames = NULL;
    if (node->alive_fd >= 0) {
        close(node->alive_fd);
    }
    node->alive_fd = -1;
}

static void read_node(struct fake_node *node)
{
    rz_status_t status = rz_frames_read(node->frames);
    const void *bytes;
    size_t n;
    while (rz_frames_next(node->frames, &bytes, &n)) {
        struct fake_message *m = calloc(1, sizeof(*m) + n);
        assert_non_null(m);
        memcpy(m->bytes, bytes, n);
        assert_int_equal(rz_launch_decode(&m->message, m->bytes, n), RZ_OK);
        *node->last = m;
        node->last = &m->next;
    }
    if (status == RZ_ERR_CLOSED) { /* the daemon has ended; the pipe stays, so that the keeper
                                      cleans up for this reason alone */
        rz_frames_close(node->frames);
        node->frames = NULL;
    }
}

void fake_pump(struct fake_job *job, int timeout_ms)
{
    struct pollfd fds[FAKE_NODES_MAX];
    for (uint32_t i = 0; i < job->n_nodes; i++) {
        struct rz_frames *frames = job->node[i].frames;
        fds[i] = (struct pollfd){
            .fd = frames ? rz_frames_fd(frames) : -1,
            .events = (short)(POLLIN | (frames && rz_frames_want_write(frames) ? POLLOUT : 0))};
    }
    poll(fds, job->n_nodes, timeout_ms);
    for (uint32_t i = 0; i < job->n_nodes; i++) {
        if (fds[i].revents & POLLOUT) {
            rz_frames_flush(job->node[i].frames);
        }
        if (fds[i].revents & ~POLLOUT) {
            read_node(&job->node[i]);
        }
    }
}

static struct fake_message *
take_match(struct fake_job *job, bool (*match)(const struct rz_launch_message *, const void *),
           const void *arg)
{
    for (uint32_t i = 0; i < job->n_nodes; i++) {
        for (struct fake_message **link = &job->node[i].first; *link; link = &(*link)->next) {
            struct fake_message *m = *link;
            if (!match(&m->message, arg)) {
                continue;
            }
            *link = m->next;
            if (!m->next) {
                job->node[i].last = link;
            }
            return m;
        }
    }
    return NULL;
}

struct fake_message *fake_await_match(struct fake_job *job, const char *what,
                                      bool (*match)(const struct rz_launch_message *message,
                                                    const void *arg),
                                      const void *arg)
{
    struct fake_message *m;
    rz_time until = deadline();
    while (!(m = take_match(job, match, arg))) {
        if (rz_clock_now() > until) {
            print_said(job);
            fail_msg("%s did not come within %d s", what, TEST_HANG_S);
        }
        fake_pump(job, 100);
    }
    return m;
}

static bool is_any(const struct rz_launch_message *message, const void *arg)
{
    (void)message, (void)arg;
    return true;
}

struct fake_message *fake_await_any(struct fake_job *job)
{
    return fake_await_match(job, "a message", is_any, NULL);
}

static bool has_type(const struct rz_launch_message *message, const void *arg)
{
    return message->type == *(const enum rz_launch_type *)arg;
}

struct fake_message *fake_await(struct fake_job *job, enum rz_launch_type type)
{
    return fake_await_match(job, rz_launch_type_name(type), has_type, &type);
}

static bool is_exit_of(const struct rz_launch_message *message, const void *arg)
{
    return message->type == RZ_LAUNCH_EXITED && message->exited.rank == *(const uint32_t *)arg;
}

void fake_await_exit(struct fake_job *job, uint32_t rank, uint32_t status, bool clean, bool hello)
{
    struct fake_message *m = fake_await_match(job, "EXITED", is_exit_of, &rank);
    assert_int_equal(m->message.exited.status, status);
    assert_int_equal(m->message.exited.clean, clean);
    assert_int_equal(m->message.exited.hello, hello);
    free(m);
}

void fake_output(struct fake_job *job, uint32_t rank, uint32_t stream, char text[FAKE_TEXT_MAX])
{
    size_t n = 0;
    for (uint32_t i = 0; i < job->n_nodes; i++) {
        for (struct fake_message *m = job->node[i].first; m; m = m->next) {
            const struct rz_launch_output *output = &m->message.output;
            if (m->message.type != RZ_LAUNCH_OUTPUT || output->rank != rank ||
                output->stream != stream) {
                continue;
            }
            assert_true(n + output->data_length < FAKE_TEXT_MAX);
            memcpy(text + n, output->data, output->data_length);
            n += output->data_length;
        }
    }
    text[n] = '\0';
}

void fake_await_line(struct fake_job *job, uint32_t rank, const char *line)
{
    static char text[FAKE_TEXT_MAX];
    rz_time until = deadline();
    for (;;) {
        fake_output(job, rank, 1, text);
        const char *at = strstr(text, line);
        if (at && (at == text || at[-1] == '\n') && strchr(at, '\n')) {
            return;
        }
        if (rz_clock_now() > until) {
            print_said(job);
            fail_msg("rank %u did not write \"%s\" within %d s, but \"%s\"", rank, line,
                     TEST_HANG_S, text);
        }
        fake_pump(job, 100);
    }
}

/* ---- the end ---- */

void fake_vanish(struct fake_job *job)
{
    for (uint32_t i = 0; i < job->n_nodes; i++) {
        close_node(&job->node[i]);
    }
}

static bool is_done(const struct fake_node *node)
{
    for (const struct fake_message *m = node->first; m; m = m->next) {
        if (m->message.type == RZ_LAUNCH_DONE) {
            return true;
        }
    }
    return !node->frames;
}

static bool all_done(const struct fake_job *job)
{
    for (uint32_t i = 0; i < job->n_nodes; i++) {
        if (!is_done(&job->node[i])) {
            return false;
        }
    }
    return true;
}

void fake_end(struct fake_job *job, int status)
{
    struct rz_launch_message shutdown = {.type = RZ_LAUNCH_SHUTDOWN, .shutdown = {.grace_ms = 0}};
    struct rz_launch_message leave = {.type = RZ_LAUNCH_LEAVE};
    for (uint32_t i = 0; i < job->n_nodes; i++) {
        fake_send(job, i, &shutdown);
    }
    for (rz_time until = deadline(); !all_done(job);) {
        if (rz_clock_now() > until) {
            fail_msg("not all daemons have said DONE within %d s", TEST_HANG_S);
        }
        fake_pump(job, 10);
    }
    for (uint32_t i = 0; i < job->n_nodes; i++) {
        fake_send(job, i, &leave);
    }
    for (uint32_t i = 0; i < job->n_nodes; i++) {
        rz_time until = deadline();
        int wait_status;
        pid_t pid;
        while ((pid = waitpid(job->node[i].keeper, &wait_status, WNOHANG)) == 0) {
            if (rz_clock_now() > until) {
                fail_msg("the keeper of node %u has not ended within %d s", i, TEST_HANG_S);
            }
            fake_pump(job, 10);
        }
        assert_int_equal(pid, job->node[i].keeper);
        assert_true(WIFEXITED(wait_status));
        assert_int_equal(WEXITSTATUS(wait_status), status);
    }
    fake_free(job);
}

void fake_free(struct fake_job *job)
{
    for (uint32_t i = 0; i < job->n_nodes; i++) {
        close_node(&job->node[i]);
        while (job->node[i].first) {
            struct fake_message *m = job->node[i].first;
            job->node[i].first = m->next;
            free(m);
        }
    }
}

void fake_adopt(void)
{
    assert_int_equal(rz_process_adopt_orphans(), RZ_OK);
}

void fake_assert_nothing_left(const char *when)
{
    rz_time until = deadline();
    for (;;) {
        while (waitpid(-1, NULL, WNOHANG) > 0) {
            ;
        }
        if (waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD) {
            return;
        }
        if (rz_clock_now() > until) {
            break;
        }
        poll(NULL, 0, 10); /* for the end of a process that is not our child to begin with there is
                              no event */
    }
    unsigned left = rz_process_signal_descendants(getpid(), SIGKILL, 8);
    fail_msg("%s: %u processes were left behind", when, left);
}
