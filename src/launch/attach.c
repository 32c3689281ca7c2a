/* SPDX-License-Identifier: BSD-3-Clause */
/* rzrun --attach and --end: finds the daemons of a detached job through their control sockets,
 * reads one stream per node, and shows the output until a result is known. */
#include "launch/attach.h"

#include "base/assert.h"
#include "base/job_bounds.h"
#include "base/no_memory.h"
#include "base/printable.h"
#include "launch/host_options.h"
#include "launch/show_output.h"
#include "launch/surroundings.h"
#include "launch/waits_page.h"
#include "outcome/exit_codes.h"
#include "port/channel.h"
#include "port/child_process.h"
#include "port/clock.h"
#include "port/descriptor.h"
#include "port/local_socket.h"
#include "port/prompt.h"
#include "remote/agent.h"
#include "wire/bridge.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define CONNECT_MS 2000
/* Once a node has reported the result, the others follow within seconds. After this time without a
 * message from any node, the remaining ones are stopped or cut off, and rzrun no longer waits for
 * them. */
#define SILENCE_NS (6 * RZ_SECOND)
/* A daemon that has not answered by then is most likely stopped. */
#define GREET_BOUND_NS (30 * RZ_SECOND)
/* --end: bound until all nodes have ended. */
#define END_BOUND_NS (15 * RZ_SECOND)
/* Exit status after --end: as if rzrun had been terminated. */
#define FINISHED_CODE (128 + SIGTERM)

/* Bound of output that waits for the reader of our output; then the daemons wait, with bounded
 * spools. */
#define QUEUE_MAX (4u << 20)

/* Bound of the waits that are shown: of each slot one, and some more. */
#define WAITS_MAX (2u * RZ_SLOTS_MAX)

/* A daemon of the job; frames is NULL after it has gone. */
struct part {
    uint32_t node;
    struct rz_frames *frames;
    bool greeted, result;
    uint32_t code, cut_off, n_nodes;
    char cause[256];
};

/* To a daemon of another host that answers: an agent (ssh) runs `rzd --bridge` there, which passes
 * on what the daemon's control socket says. fd, non-blocking, is a stream as that socket is. */
struct bridge {
    uint64_t job;
    uint32_t node;
    int fd;
    pid_t agent;
};

struct attach {
    const struct rz_rzrun_options *options;
    struct rz_show_output show;
    char number[17];
    bool foreign; /* it is of another user, and we are root */
    struct part *parts;
    size_t n_parts;
    struct bridge *bridges; /* [n_bridges], to daemons of other hosts */
    size_t n_bridges;
    struct rz_waits_page waits; /* when --timeout ran out */
    int refused;                /* exit status, after we gave up */
    int unread;                 /* errno of writing what the job wrote */
    rz_time heard;              /* time of the last message */
};

/* Printed when a signal ends us. */
static char goodbye[160];

/* May run at any moment, also while our output is not read: the daemons see the end of our
 * connections. */
static void say_goodbye(int number)
{
    ssize_t unheard = write(STDERR_FILENO, goodbye, strlen(goodbye));
    (void)unheard;
    _exit(128 + number);
}

/* ---- the daemons of other hosts ---- */

/* An agent ends soon after its stream; later it is told to, and after as long again it is killed.
 */
#define END_WITHIN (2 * RZ_SECOND)

/* False: it cannot be started, which was reported. */
static bool start_agent(const struct rz_rzrun_options *options, const char *host,
                        const char *command, struct bridge *bridge)
{
    int ends[2];
    const char *const more[] = {host, command, NULL};
    if (rz_descriptor_stream_pair(ends) != RZ_OK) {
        fprintf(stderr, "rzrun: %s: %s\n", host, strerror(errno));
        return false;
    }
    pid_t pid = rz_agent_process_start((const char *const *)options->agent.texts, more,
                                       (const int[]){ends[1], ends[1], STDERR_FILENO},
                                       rz_surroundings_restore, "rzrun: ");
    close(ends[1]);
    if (pid < 0) {
        fprintf(stderr, "rzrun: %s: %s\n", host, strerror(errno));
        close(ends[0]);
        return false;
    }
    rz_descriptor_no_wait(ends[0]);
    *bridge = (struct bridge){.fd = ends[0], .agent = pid};
    return true;
}

/* Reads lines until that of the bridge, and not a byte more. False: the stream has ended before. */
static bool await_bridge(struct bridge *bridge, rz_time until)
{
    char line[RZ_BRIDGE_LINE_MAX];
    size_t n = 0;
    for (;;) {
        char c;
        ssize_t got = read(bridge->fd, &c, 1);
        rz_time now = rz_clock_now();
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR) || now >= until) {
            return false;
        }
        if (got < 0) {
            rz_descriptor_await(&bridge->fd, 1, (int)((until - now) / RZ_MILLISECOND) + 1);
        } else if (c != '\n') {
            n += n < sizeof(line) - 1;
            line[n - 1] = c;
        } else {
            line[n] = '\0';
            n = 0;
            unsigned long long job;
            if (sscanf(line, RZ_BRIDGE_LINE, &job, &bridge->node) == 2) {
                bridge->job = job;
                return true;
            }
        }
    }
}

/*
 * Asks all other hosts of options->layout for their daemon of the job whose number begins with
 * `prefix`. Hosts that have none, or cannot be reached, were reported. Returns their number;
 * *bridges is freed by close_hosts, which also ends the agents. Takes as long as
 * --start-timeout at most.
 */
static size_t open_hosts(const struct rz_rzrun_options *options, const char *prefix,
                         struct bridge **result)
{
    char command[PATH_MAX + 100], daemon[PATH_MAX] = "";
    const struct rz_launch_layout *layout = &options->layout;
    struct bridge *bridges = calloc(layout->n_nodes + 1, sizeof(*bridges));
    size_t started = 0, n = 0;
    rz_need_memory(bridges, "for the hosts of the job");
    bool known = rz_host_options_program(options, "rzd", daemon, sizeof(daemon));
    if (!known) {
        fprintf(stderr,
                "rzrun: the path of rzd is not known, or has a quote in it: use --prefix\n");
    }
    snprintf(command, sizeof(command), "exec '%s' --bridge %s", daemon, prefix);
    for (uint32_t i = 0; known && i < layout->n_nodes; i++) {
        started += layout->nodes[i].remote &&
                   start_agent(options, layout->nodes[i].host, command, &bridges[started]);
    }
    rz_time until = rz_clock_now() + options->start_timeout;
    for (size_t i = 0; i < started; i++) {
        if (await_bridge(&bridges[i], until)) {
            struct bridge there = bridges[i];
            bridges[i] = bridges[n]; /* those without an answer are behind */
            bridges[n++] = there;
        } else {
            close(bridges[i].fd);
        }
    }
    for (size_t i = n; i < started; i++) { /* they end on their own, or with this process */
        rz_child_process_signal(bridges[i].agent, SIGTERM);
    }
    *result = bridges;
    return n;
}

/* The fds are the caller's. */
static void close_hosts(struct bridge *bridges, size_t n)
{
    rz_time begun = rz_clock_now();
    for (size_t i = 0; i < n; i++) {
        int status;
        while (!rz_child_process_reap_ended(bridges[i].agent, &status)) {
            rz_time waited = rz_clock_now() - begun;
            if (waited > END_WITHIN) {
                rz_child_process_signal(bridges[i].agent,
                                        waited > 2 * END_WITHIN ? SIGKILL : SIGTERM);
            }
            rz_descriptor_await(NULL, 0, 10);
        }
    }
    free(bridges);
}

/* ---- which job ---- */

static void number_of(uint64_t job, char number[17])
{
    snprintf(number, 17, "%016" PRIx64, job);
}

/* Why there is no one job to attach to. */
static void say_none(const struct rz_local_found *found, const char *prefix)
{
    char number[17], other[17];
    if (found->jobs > 1) {
        number_of(found->names[0].job, number);
        number_of(found->other.job, other);
        fprintf(stderr,
                "rzrun: %u jobs begin with '%s', as %s of uid %u and %s of uid %u; give more "
                "digits (rzps shows them), or call rzrun as the user of the job\n",
                found->jobs, prefix, number, (unsigned)found->names[0].uid, other,
                (unsigned)found->other.uid);
    } else if (found->foreign) {
        number_of(found->foreign_name.job, number);
        fprintf(
            stderr,
            "rzrun: job %s belongs to another user (uid %u), and only that user may attach to it\n",
            number, (unsigned)found->foreign_name.uid);
    } else if (found->taken) {
        number_of(found->taken_name.job, number);
        fprintf(stderr,
                "rzrun: uid %u listens under the name of a job %s of yours: it is not believed, "
                "and no job of yours on this machine begins with '%s' (rzps shows them)\n",
                (unsigned)found->taker, number, prefix);
    } else {
        fprintf(stderr, "rzrun: no job on this machine begins with '%s' (rzps shows them)\n",
                prefix);
    }
}

/* Returns false if the daemon does not accept the request. */
static bool connect_part(struct part *part, uint32_t node, int fd)
{
    static const char question[] = "attach\n";
    *part = (struct part){.node = node};
    if (write(fd, question, sizeof(question) - 1) != (ssize_t)sizeof(question) - 1 ||
        rz_frames_open(&part->frames, fd, RZ_LAUNCH_FRAME_MAX) != RZ_OK) {
        rz_prompt_close(fd);
        return false;
    }
    return true;
}

static void connect_found(struct attach *attach, const struct rz_local_found *found)
{
    attach->parts =
        realloc(attach->parts, (attach->n_bridges + found->n + 1) * sizeof(struct part));
    rz_need_memory(attach->parts, "for the nodes of the job");
    for (size_t i = 0; i < found->n; i++) {
        if (found->jobs > 1) {
            rz_prompt_close(found->fds[i]);
        } else if (connect_part(&attach->parts[attach->n_parts], found->names[i].node,
                                found->fds[i])) {
            attach->n_parts++;
            number_of(found->names[i].job, attach->number);
        }
    }
    if (found->jobs != 1) {
        return;
    }
    if (attach->n_parts == 0) {
        number_of(found->names[0].job, attach->number);
        fprintf(stderr, "rzrun: job %s does not answer; it may have ended just now\n",
                attach->number);
    } else if (found->names[0].uid != geteuid()) {
        attach->foreign = true;
        fprintf(stderr, "rzrun: job %s belongs to uid %u: control characters are shown as ?\n",
                attach->number, (unsigned)found->names[0].uid);
    }
}

/* The daemons of this machine. Without other hosts it is an error if there are none. */
static void connect_here(struct attach *attach, const char *prefix)
{
    struct rz_local_found found;
    rz_status_t status = rz_local_find(prefix, CONNECT_MS, &found);
    rz_need_memory(status != RZ_ERR_NO_MEMORY, "for the jobs of this machine");
    if (status != RZ_OK) {
        fprintf(stderr, "rzrun: the jobs of this machine cannot be listed: %s\n", strerror(errno));
        return;
    }
    if (found.jobs != 1 && (found.jobs > 1 || attach->options->n_remote == 0)) {
        say_none(&found, prefix);
    }
    connect_found(attach, &found);
    free(found.names);
    free(found.fds);
}

/* False: these are daemons of several jobs, which was reported. */
static bool connect_elsewhere(struct attach *attach, const char *prefix)
{
    char number[17];
    for (size_t i = 0; i < attach->n_bridges; i++) {
        const struct bridge *bridge = &attach->bridges[i];
        struct part *part = &attach->parts[attach->n_parts++];
        *part = (struct part){.node = bridge->node};
        rz_need_memory(rz_frames_open(&part->frames, bridge->fd, RZ_LAUNCH_FRAME_MAX) == RZ_OK,
                       "for the nodes of the job");
        number_of(bridge->job, number);
        if (*attach->number && strcmp(number, attach->number) != 0) {
            fprintf(stderr, "rzrun: jobs %s and %s begin with '%s'; give more digits\n",
                    attach->number, number, prefix);
            return false;
        }
        memcpy(attach->number, number, sizeof(number));
    }
    return true;
}

/* Returns false after an error message. */
static bool connect_job(struct attach *attach, const char *prefix)
{
    if (attach->options->n_remote > 0) {
        attach->n_bridges = open_hosts(attach->options, prefix, &attach->bridges);
    }
    connect_here(attach, prefix);
    return connect_elsewhere(attach, prefix) && attach->n_parts > 0;
}

/* ---- messages of the daemons ---- */

static void let_go(struct part *part)
{
    rz_frames_close(part->frames);
    part->frames = NULL;
}

static void send_to(struct part *part, const struct rz_launch_message *message)
{
    uint8_t frame[512];
    size_t n = rz_launch_encode(message, frame, sizeof(frame));
    rz_assert(n > 0);
    rz_frames_send(part->frames, frame, n); /* the end of the stream is noticed when it is read */
}

static void greet(struct attach *attach, struct part *part,
                  const struct rz_launch_listening *listening)
{
    const struct rz_launch_message finish = {
        .type = RZ_LAUNCH_FINISH,
        .finish = {.code = FINISHED_CODE, .reason = "the job was ended by rzrun --end"}};
    part->greeted = true;
    if (listening->version != RZ_LAUNCH_VERSION) {
        fprintf(stderr,
                "rzrun: job %s uses protocol version %u, this rzrun %d; use the rzrun that started "
                "it\n",
                attach->number, listening->version, RZ_LAUNCH_VERSION);
        attach->refused = RZ_EXIT_NO_JOB;
    } else if (attach->options->finish) {
        send_to(part, &finish);
    }
}

static void on_result(struct part *part, const struct rz_launch_result *result)
{
    part->result = true;
    part->code = result->code;
    part->cut_off = result->cut_off;
    part->n_nodes = result->n_nodes;
    snprintf(part->cause, sizeof(part->cause), "%s", result->cause);
    rz_printable(part->cause, strlen(part->cause), "\t");
}

static void attach_refused(struct attach *attach, const char *reason)
{
    char text[512];
    snprintf(text, sizeof(text), "%s", reason);
    rz_printable(text, strlen(text), "\t");
    fprintf(stderr, "rzrun: job %s: %s\n", attach->number, text);
    attach->refused = RZ_EXIT_NO_JOB;
}

/* What another user's job writes is not given to the terminal of root as it is. */
static void show_foreign(struct attach *attach, const struct rz_launch_output *output)
{
    struct rz_launch_output shown = *output;
    char *copy = rz_need_copy(output->data, output->data_length, "for output");
    rz_printable(copy, output->data_length, "\n\t");
    shown.data = (const uint8_t *)copy;
    rz_show_output(&attach->show, &shown);
    free(copy);
}

static void show_told(struct attach *attach, struct part *part,
                      const struct rz_launch_message *message)
{
    if (attach->options->finish) {
        return;
    }
    if (message->type == RZ_LAUNCH_OUTPUT) {
        if (attach->foreign) {
            show_foreign(attach, &message->output);
        } else {
            rz_show_output(&attach->show, &message->output);
        }
        if (rz_show_output_queued(&attach->show) > QUEUE_MAX) {
            rz_show_output_wait(&attach->show, QUEUE_MAX / 2);
        }
    } else if (message->type == RZ_LAUNCH_MISSED) {
        fprintf(stderr,
                "rzrun: node %u: %" PRIu64 " bytes of older output are not kept any more "
                "(--spool)\n",
                part->node, message->missed.bytes);
    } else if (message->type == RZ_LAUNCH_WAITING) {
        rz_waits_page_add(&attach->waits, part->node, &message->waiting);
    }
}

static void on_part_message(struct attach *attach, struct part *part,
                            const struct rz_launch_message *message)
{
    switch (message->type) {
    case RZ_LAUNCH_LISTENING:
        greet(attach, part, &message->listening);
        break;
    case RZ_LAUNCH_REFUSED:
        attach_refused(attach, message->refused.reason);
        break;
    case RZ_LAUNCH_RESULT:
        on_result(part, &message->result);
        break;
    default:
        show_told(attach, part, message);
    }
}

/* Whether a daemon says this: one of another user may say anything, and a number is memory here. */
static bool is_credible(const struct attach *attach, const struct rz_launch_message *message)
{
    switch (message->type) {
    case RZ_LAUNCH_OUTPUT:
        return message->output.rank == RZ_ID_NONE || message->output.rank < RZ_SLOTS_MAX;
    case RZ_LAUNCH_WAITING:
        return message->waiting.rank < RZ_SLOTS_MAX && attach->waits.n < WAITS_MAX;
    case RZ_LAUNCH_RESULT: /* with another code our own status would be a part of it */
        return message->result.code <= UINT8_MAX && message->result.n_nodes <= RZ_NODES_MAX;
    default:
        return true;
    }
}

static void read_from_part(struct attach *attach, struct part *part)
{
    const void *bytes;
    size_t n;
    rz_status_t status = rz_frames_read(part->frames);
    attach->heard = rz_clock_now();
    while (!attach->refused && status != RZ_ERR_MALFORMED &&
           rz_frames_next(part->frames, &bytes, &n)) {
        struct rz_launch_message message;
        if (rz_launch_decode(&message, bytes, n) == RZ_OK && is_credible(attach, &message)) {
            on_part_message(attach, part, &message);
        } else {
            status = RZ_ERR_MALFORMED;
        }
    }
    if (status == RZ_ERR_MALFORMED) {
        fprintf(stderr, "rzrun: node %u sent a malformed message; is its rzd of another version?\n",
                part->node);
    }
    if (status != RZ_OK) {
        let_go(part);
    }
}

/* ---- the end ---- */

static bool all_told(const struct attach *attach)
{
    for (size_t i = 0; i < attach->n_parts; i++) {
        if (attach->parts[i].frames && !attach->parts[i].result) {
            return false;
        }
    }
    return true;
}

/* The result of the lowest node that was not cut off from the others, if there is one. */
static const struct part *best_result(const struct attach *attach)
{
    const struct part *best = NULL;
    for (size_t i = 0; i < attach->n_parts; i++) {
        const struct part *part = &attach->parts[i];
        if (part->result && (!best || (best->cut_off && !part->cut_off))) {
            best = part;
        }
    }
    return best;
}

/* The daemons need not stay any longer; they receive this before their connections end. */
static void dismiss_daemons(struct attach *attach)
{
    const struct rz_launch_message shutdown = {.type = RZ_LAUNCH_SHUTDOWN};
    for (size_t i = 0; i < attach->n_parts; i++) {
        if (attach->parts[i].frames && attach->parts[i].result) {
            send_to(&attach->parts[i], &shutdown);
        }
    }
}

/* The job continues without us, and keeps its output. */
static int leave_unread(const struct attach *attach)
{
    if (attach->unread == EPIPE) {
        rz_surroundings_signalled(SIGPIPE);
        return 128 + SIGPIPE;
    }
    fprintf(stderr,
            "rzrun: the output of the job cannot be written: %s; repeat rzrun --attach %s\n",
            strerror(attach->unread), attach->number);
    return RZ_EXIT_OUTPUT;
}

/* A node that has ended has lost its output that was not fetched. */
static void tell_missing(const struct attach *attach, uint32_t n_nodes)
{
    uint32_t there = 0;
    for (size_t i = 0; i < attach->n_parts; i++) {
        there += attach->parts[i].result;
    }
    if (there < n_nodes) {
        fprintf(stderr, "rzrun: %u of %u nodes have ended; their last output may be missing\n",
                n_nodes - there, n_nodes);
    }
}

static int conclude_attached(struct attach *attach)
{
    if (attach->unread) {
        return leave_unread(attach);
    }
    if (attach->waits.n > 0) {
        fprintf(stderr, "rzrun: these ranks waited:\n");
        rz_waits_page_print(&attach->waits, NULL, 0, stderr);
    }
    const struct part *best = best_result(attach);
    if (attach->refused) {
        return attach->refused;
    }
    if (!best) {
        fprintf(stderr, "rzrun: no remaining node of the job knows how it ended\n");
        return RZ_EXIT_LOST;
    }
    dismiss_daemons(attach);
    if (attach->options->finish) {
        return 0;
    }
    tell_missing(attach, best->n_nodes);
    if (*best->cause) {
        fprintf(stderr, "rzrun: %s\n", best->cause);
    }
    return (int)best->code;
}

/* ---- the loop ---- */

static void wait_for_news(struct attach *attach, rz_time until)
{
    size_t n_polled = attach->n_parts + RZ_SHOW_STREAMS;
    struct pollfd *polled = calloc(n_polled, sizeof(*polled));
    rz_need_memory(polled, "to wait for the nodes of the job");
    for (size_t i = 0; i < attach->n_parts; i++) {
        const struct part *part = &attach->parts[i];
        polled[i].fd = part->frames && !part->result ? rz_frames_fd(part->frames) : -1;
        polled[i].events = POLLIN;
    }
    for (int i = 0; i < RZ_SHOW_STREAMS; i++) {
        polled[attach->n_parts + (size_t)i] = (struct pollfd){
            .fd = rz_stream_writer_event_fd(attach->show.streams[i].writer), .events = POLLIN};
    }
    rz_time late = rz_show_output_due(&attach->show);
    until = late < until ? late : until;
    rz_time now = rz_clock_now(), left = until > now ? until - now : 0;
    int n = poll(polled, n_polled, until == RZ_TIME_NEVER ? -1 : (int)(left / RZ_MILLISECOND) + 1);
    for (size_t i = 0; n > 0 && i < attach->n_parts; i++) {
        if (polled[i].revents) {
            read_from_part(attach, &attach->parts[i]);
        }
    }
    rz_show_output_late(&attach->show, rz_clock_now());
    attach->unread = rz_show_output_error(&attach->show);
    free(polled);
}

/* Reports from which nodes output is missing. */
static void give_silent_ones_up(struct attach *attach)
{
    for (size_t i = 0; i < attach->n_parts; i++) {
        struct part *part = &attach->parts[i];
        if (!part->frames || part->result) {
            continue;
        }
        fprintf(stderr, "rzrun: node %u does not answer any more; its output may be missing\n",
                part->node);
        let_go(part);
    }
}

/* Nothing is known of nodes that have not answered at all; if only such nodes are left, there is
 * nothing to wait for. */
static void give_mute_ones_up(struct attach *attach)
{
    bool any = false;
    for (size_t i = 0; i < attach->n_parts; i++) {
        struct part *part = &attach->parts[i];
        if (part->frames && !part->greeted) {
            fprintf(stderr, "rzrun: the daemon of node %u does not answer; it may be stopped\n",
                    part->node);
            let_go(part);
        }
        any |= part->greeted;
    }
    if (!any && !attach->refused) {
        attach->refused = RZ_EXIT_NO_JOB;
    }
}

static bool any_mute(const struct attach *attach)
{
    for (size_t i = 0; i < attach->n_parts; i++) {
        if (attach->parts[i].frames && !attach->parts[i].greeted) {
            return true;
        }
    }
    return false;
}

static int follow(struct attach *attach)
{
    rz_time begun = rz_clock_now(), mute = begun + GREET_BOUND_NS;
    rz_time end = attach->options->finish ? begun + END_BOUND_NS : RZ_TIME_NEVER;
    while (!attach->refused && !attach->unread && !all_told(attach)) {
        rz_time silent = best_result(attach) ? attach->heard + SILENCE_NS : RZ_TIME_NEVER;
        rz_time until = silent < end ? silent : end, greeting = any_mute(attach) ? mute : until;
        if (rz_clock_now() >= until) {
            give_silent_ones_up(attach);
        } else if (rz_clock_now() >= greeting) {
            give_mute_ones_up(attach);
        } else {
            wait_for_news(attach, until < greeting ? until : greeting);
        }
    }
    rz_show_output_late(&attach->show, RZ_TIME_NEVER);
    rz_show_output_wait(&attach->show, 0);
    attach->unread = rz_show_output_error(&attach->show);
    return conclude_attached(attach);
}

int rz_attach_run(const struct rz_rzrun_options *options)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    const struct sigaction action = {.sa_handler = say_goodbye};
    struct attach attach = {.options = options};
    rz_status_t shows = rz_show_output_open(&attach.show, options->label);
    rz_assert(shows == RZ_OK);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        sigaction(numbers[i], &action, NULL);
    }
    int status = RZ_EXIT_NO_JOB;
    if (connect_job(&attach, options->attach ? options->attach : options->finish)) {
        snprintf(goodbye, sizeof(goodbye),
                 "rzrun: job %s continues; rzrun --attach shows it again, rzrun --end ends it\n",
                 attach.number);
        status = follow(&attach);
    }
    for (size_t i = 0; i < attach.n_parts; i++) {
        if (attach.parts[i].frames) {
            let_go(&attach.parts[i]);
        }
    }
    close_hosts(attach.bridges, attach.n_bridges);
    rz_show_output_close(&attach.show);
    rz_waits_page_clear(&attach.waits);
    free(attach.parts);
    return status;
}
