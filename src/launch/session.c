#include "launch/session.h"

#include "base/assert.h"
#include "launch/exit_codes.h"
#include "launch/program.h"
#include "wire/cursor.h"

#include <errno.h>
#include <signal.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_BOUND_S 30 /* for all daemons to report */
#define END_BOUND_S 10   /* for all nodes to end in order */
#define GRACE_MS 1000    /* processes of an aborted job get this long after SIGTERM */

/* ---- the end */

static void send_all(struct rz_session *session, const struct rz_launch_message *message)
{
    for (uint32_t i = 0; i < session->options->layout.n_nodes; i++)
        rz_node_send(&session->nodes[i], message);
}

static bool all_gone(const struct rz_session *session)
{
    for (uint32_t i = 0; i < session->options->layout.n_nodes; i++)
        if (!session->nodes[i].gone)
            return false;
    return true;
}

static void set_bound(struct rz_session *session, unsigned seconds)
{
    event_add(session->last_word, &(struct timeval){.tv_sec = seconds});
}

/* Tells all nodes to end; when the last one has, the loop is left. */
static void end(struct rz_session *session, uint32_t grace_ms)
{
    struct rz_launch_message message = {.type = RZ_LAUNCH_SHUTDOWN,
                                        .shutdown = {.grace_ms = grace_ms}};
    send_all(session, &message);
    if (session->ending)
        return;
    session->ending = true;
    set_bound(session, END_BOUND_S);
    if (all_gone(session))
        event_base_loopbreak(session->base);
}

static void end_if_complete(struct rz_session *session)
{
    if (session->started && !session->ending && rz_outcome_complete(&session->outcome))
        end(session, 0);
}

static void last_word(evutil_socket_t fd, short what, void *arg)
{
    struct rz_session *session = arg;
    (void)fd, (void)what;
    if (!session->started)
        rz_outcome_decide(&session->outcome, RZ_EXIT_START,
                          "not all daemons have reported within %d s", START_BOUND_S);
    event_base_loopbreak(session->base);
}

/* ---- the start */

static void put_list(struct rz_wire_writer *w, char *const *texts)
{
    for (; texts && *texts; texts++)
        rz_wire_put_text(w, *texts);
}

static void put_numbers(struct rz_wire_writer *w, const uint32_t *numbers, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        rz_wire_put_u32(w, numbers[i]);
}

static void send_job(struct rz_session *session)
{
    const struct rz_rzrun_options *options = session->options;
    const struct rz_layout *layout = &options->layout;
    size_t part = RZ_LAUNCH_FRAME_MAX / 8;
    uint8_t *parts = malloc(5 * part);
    rz_assert(parts != NULL);
    struct rz_wire_writer w[5];
    for (unsigned i = 0; i < 5; i++)
        rz_wire_writer_init(&w[i], parts + i * part, part);
    put_numbers(&w[0], layout->placement, layout->n_ranks);
    put_numbers(&w[1], layout->slots, layout->n_nodes);
    for (uint32_t i = 0; i < layout->n_nodes; i++) {
        rz_wire_put_text(&w[2], session->nodes[i].address);
        rz_wire_put_u32(&w[2], session->nodes[i].tcp_port);
        rz_wire_put_u32(&w[2], session->nodes[i].udp_port);
    }
    put_list(&w[3], options->program);
    put_list(&w[4], options->environment);
    bool overflow = false;
    for (unsigned i = 0; i < 5; i++)
        overflow |= w[i].overflow;
    struct rz_launch_message message = {
        .type = RZ_LAUNCH_JOB,
        .job = {.job = session->job,
                .key = session->key,
                .key_length = sizeof session->key,
                .n_nodes = layout->n_nodes,
                .n_ranks = layout->n_ranks,
                .hb_period_ns = options->hb_period,
                .hb_timeout_ns = options->hb_timeout,
                .restarts_max = options->restarts_max,
                .flags = options->no_repair ? RZ_JOB_REPAIR_NEVER : 0,
                .verbosity = options->verbosity,
                .placement = w[0].start,
                .placement_length = (uint32_t)(w[0].at - w[0].start),
                .slots = w[1].start,
                .slots_length = (uint32_t)(w[1].at - w[1].start),
                .addresses = w[2].start,
                .addresses_length = (uint32_t)(w[2].at - w[2].start),
                .arguments = w[3].start,
                .arguments_length = (uint32_t)(w[3].at - w[3].start),
                .environment = w[4].start,
                .environment_length = (uint32_t)(w[4].at - w[4].start),
                .directory = options->directory}};
    session->started = true;
    event_del(session->last_word); /* before an end, which sets it anew */
    if (overflow) {
        rz_outcome_decide(&session->outcome, RZ_EXIT_START,
                          "the program's arguments or environment are too long");
        end(session, 0);
    }
    for (uint32_t i = 0; i < layout->n_nodes && !overflow; i++) {
        message.job.node = i;
        rz_node_send(&session->nodes[i], &message);
    }
    free(parts);
}

static void on_listening(struct rz_session *session, struct rz_node *node,
                         const struct rz_launch_listening *told)
{
    if (node->listening || session->ending)
        return;
    if (told->version != RZ_LAUNCH_VERSION) {
        rz_outcome_decide(&session->outcome, RZ_EXIT_START,
                          "node %u runs rzd of protocol version %u, this rzrun speaks %d; install "
                          "one version everywhere",
                          node->index, told->version, RZ_LAUNCH_VERSION);
        end(session, 0);
        return;
    }
    node->listening = true;
    snprintf(node->address, sizeof node->address, "%s", told->address);
    node->tcp_port = told->tcp_port;
    node->udp_port = told->udp_port;
    if (++session->n_listening == session->options->layout.n_nodes)
        send_job(session);
}

/* ---- output and input */

static void write_all(int fd, const uint8_t *data, size_t n)
{
    while (n > 0) {
        ssize_t written = write(fd, data, n);
        if (written < 0 && errno != EINTR)
            return; /* nobody reads our output any more; the job goes on */
        if (written > 0) {
            data += written;
            n -= (size_t)written;
        }
    }
}

static void write_labelled(struct rz_session *session, int fd, uint32_t rank, const uint8_t *data,
                           size_t n)
{
    char label[16];
    int length = snprintf(label, sizeof label, "[%u] ", rank);
    bool *start = &session->at_line_start[fd - 1];
    while (n > 0) {
        const uint8_t *newline = memchr(data, '\n', n);
        size_t line = newline ? (size_t)(newline - data) + 1 : n;
        if (*start)
            write_all(fd, (const uint8_t *)label, (size_t)length);
        write_all(fd, data, line);
        *start = newline != NULL;
        data += line;
        n -= line;
    }
}

static void on_output(struct rz_session *session, const struct rz_launch_output *told)
{
    int fd = told->stream == 2 ? STDERR_FILENO : STDOUT_FILENO;
    if (session->options->label)
        write_labelled(session, fd, told->rank, told->data, told->data_length);
    else
        write_all(fd, told->data, told->data_length);
}

/* The node that the input goes to; each node takes what it has asked for itself. */
static struct rz_node *reader(struct rz_session *session)
{
    return &session->nodes[session->outcome.ranks[0].node];
}

static void wait_for_input(struct rz_session *session)
{
    if (session->stdin_ended || reader(session)->input_credit == 0 || session->ending)
        return;
    if (session->stdin_always_ready || event_add(session->stdin_readable, NULL) != 0)
        event_active(session->stdin_readable, EV_READ, 0);
}

/* No bytes: the input has ended. */
static void send_input(struct rz_node *node, const uint8_t *data, uint32_t n)
{
    struct rz_launch_message message = {
        .type = RZ_LAUNCH_STDIN, .stdin_data = {.data = data, .data_length = n, .end = n == 0}};
    rz_node_send(node, &message);
    node->input_ended |= n == 0;
}

static void on_input(evutil_socket_t fd, short what, void *arg)
{
    struct rz_session *session = arg;
    struct rz_node *node = reader(session);
    uint8_t data[16384];
    (void)what;
    if (node->input_credit == 0 || session->stdin_ended)
        return;
    ssize_t n = read(fd, data, node->input_credit < sizeof data ? node->input_credit : sizeof data);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
        wait_for_input(session);
        return;
    }
    send_input(node, data, n > 0 ? (uint32_t)n : 0);
    session->stdin_ended = n <= 0;
    node->input_credit -= n > 0 ? (uint32_t)n : 0;
    wait_for_input(session);
}

/* rank 0 has moved to another node after the input ended: that node must hear of the end, too. */
static void on_stdin_wanted(struct rz_session *session, struct rz_node *node, uint32_t bytes)
{
    if (!session->stdin_ended) {
        node->input_credit += bytes;
        wait_for_input(session);
    } else if (!node->input_ended) {
        send_input(node, (const uint8_t *)"", 0);
    }
}

/* ---- what the nodes tell */

/* Who has joined waits in MPI_Init for all ranks; one that ended without it will never come. */
static void end_if_half_joined(struct rz_session *session)
{
    if (!session->joined || session->stranger == RZ_ID_NONE || session->ending)
        return;
    rz_outcome_decide(&session->outcome, session->stranger_code ? session->stranger_code : 1,
                      "rank %u ended (status %d) without MPI_Init, while other ranks wait for it",
                      session->stranger, session->stranger_code);
    end(session, 0);
}

static void on_exited(struct rz_session *session, const struct rz_launch_exited *told)
{
    if (told->rank >= session->outcome.n_ranks)
        return;
    if (!told->hello && (told->clean || told->incarnation == 1)) { /* a later one is repaired */
        session->stranger = told->rank;
        session->stranger_code =
            WIFEXITED(told->status) ? WEXITSTATUS(told->status) : 128 + WTERMSIG(told->status);
        end_if_half_joined(session);
    }
    rz_outcome_exited(&session->outcome, told->rank, told->incarnation, (int)told->status,
                      told->clean || (!told->hello && told->incarnation == 1));
    end_if_complete(session);
}

static void on_event(struct rz_session *session, const struct rz_launch_event *event)
{
    rz_story_event(&session->story, event);
    if (event->kind == RZ_EVENT_RECORD_DEATH_SEEN && event->rank < session->outcome.n_ranks)
        rz_outcome_dying(&session->outcome, event->rank, event->incarnation);
    if (event->kind == RZ_EVENT_RECORD_JOINED) {
        session->joined = true;
        end_if_half_joined(session);
    }
    if (event->kind == RZ_EVENT_RECORD_RUN)
        rz_session_arm_faults(session);
    if (event->kind == RZ_EVENT_RECORD_NOTED) {
        if (event->rank < session->outcome.n_ranks)
            rz_outcome_noted(&session->outcome, event->rank, event->incarnation);
        else if (event->node < session->options->layout.n_nodes)
            rz_outcome_node_noted(&session->outcome, event->node);
        end_if_complete(session);
    }
}

static void on_stopping(struct rz_session *session, struct rz_node *node,
                        const struct rz_launch_stopping *told)
{
    if (session->options->story || session->options->verbosity)
        fprintf(stderr, "rzrun: node %u ends: %s\n", node->index, told->reason);
    if (told->status == RZ_ERR_JOB_ENDED) {
        rz_outcome_decide(&session->outcome, RZ_EXIT_RESTARTS, "%s", told->reason);
        end(session, GRACE_MS);
    }
}

static void on_waiting_end(struct rz_session *session)
{
    if (session->dumping && session->dumps_awaited > 0 && --session->dumps_awaited == 0)
        end(session, GRACE_MS);
}

static void on_message(void *arg, struct rz_node *node, const struct rz_launch_message *message)
{
    struct rz_session *session = arg;
    uint32_t n_ranks = session->outcome.n_ranks;
    switch (message->type) {
    case RZ_LAUNCH_LISTENING:
        on_listening(session, node, &message->listening);
        break;
    case RZ_LAUNCH_REFUSED:
        rz_outcome_decide(&session->outcome, RZ_EXIT_START, "node %u refuses: %s", node->index,
                          message->refused.reason);
        end(session, 0);
        break;
    case RZ_LAUNCH_STARTED:
        if (message->started.rank < n_ranks)
            rz_outcome_started(&session->outcome, message->started.rank,
                               message->started.incarnation, node->index);
        wait_for_input(session); /* rank 0 may read on another node now */
        break;
    case RZ_LAUNCH_OUTPUT:
        on_output(session, &message->output);
        break;
    case RZ_LAUNCH_STDIN_WANTED:
        on_stdin_wanted(session, node, message->stdin_wanted.bytes);
        break;
    case RZ_LAUNCH_MARK:
        rz_story_mark(&session->story, &message->mark);
        rz_session_faults_at_iteration(session, message->mark.iteration);
        break;
    case RZ_LAUNCH_EXITED:
        on_exited(session, &message->exited);
        break;
    case RZ_LAUNCH_ABORTED:
        rz_outcome_aborted(&session->outcome, message->aborted.rank, message->aborted.code,
                           message->aborted.reason);
        end(session, 0);
        break;
    case RZ_LAUNCH_EVENT:
        on_event(session, &message->event);
        break;
    case RZ_LAUNCH_STOPPING:
        on_stopping(session, node, &message->stopping);
        break;
    case RZ_LAUNCH_WAITING:
        fprintf(stderr, "  %s\n", message->waiting.line);
        break;
    case RZ_LAUNCH_WAITING_END:
        on_waiting_end(session);
        break;
    default:
        break; /* a message of ours to them */
    }
}

static void on_ended(void *arg, struct rz_node *node)
{
    struct rz_session *session = arg;
    if (!session->started && !session->ending) {
        rz_outcome_decide(&session->outcome, RZ_EXIT_START,
                          "the daemon of node %u ended before it was ready", node->index);
        end(session, 0);
    }
    if (!session->ending)
        rz_outcome_node_lost(&session->outcome, node->index);
    if (!all_gone(session)) {
        end_if_complete(session);
        return;
    }
    if (!session->ending)
        rz_outcome_decide(&session->outcome, RZ_EXIT_LOST, "all nodes of the job are lost");
    event_base_loopbreak(session->base);
}

/* ---- signals and bounds */

static void on_signal(evutil_socket_t number, short what, void *arg)
{
    struct rz_session *session = arg;
    (void)what;
    if (number == SIGUSR1 || number == SIGUSR2) {
        struct rz_launch_message message = {.type = RZ_LAUNCH_SIGNAL,
                                            .signal = {.number = (uint32_t)number}};
        send_all(session, &message);
        return;
    }
    rz_outcome_decide(&session->outcome, 128 + (int)number, "%s", "");
    if (session->ending)
        event_base_loopbreak(session->base); /* a second Ctrl-C does not wait */
    end(session, GRACE_MS);
}

static void out_of_time(evutil_socket_t fd, short what, void *arg)
{
    struct rz_session *session = arg;
    (void)fd, (void)what;
    if (session->ending)
        return;
    if (session->dumping) {
        end(session, GRACE_MS);
        return;
    }
    char seconds[32];
    snprintf(seconds, sizeof seconds, "%.3g", (double)session->options->timeout / 1e9);
    rz_outcome_decide(&session->outcome, RZ_EXIT_TIMEOUT,
                      "the job was ended after --timeout (%s s)", seconds);
    fprintf(stderr, "rzrun: %s s are over; who waits for whom:\n", seconds);
    session->dumping = true;
    for (uint32_t i = 0; i < session->options->layout.n_nodes; i++)
        session->dumps_awaited += !session->nodes[i].gone;
    struct rz_launch_message message = {.type = RZ_LAUNCH_DUMP_WAITING};
    send_all(session, &message);
    event_add(session->bound, &(struct timeval){.tv_sec = 2});
}

/* ---- life */

static void open_events(struct rz_session *session)
{
    static const int numbers[5] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
    struct stat info;
    for (unsigned i = 0; i < 5; i++) {
        session->signals[i] = evsignal_new(session->base, numbers[i], on_signal, session);
        event_add(session->signals[i], NULL);
    }
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTTIN, SIG_IGN); /* in the background of a terminal: no input */
    session->stdin_always_ready = fstat(STDIN_FILENO, &info) == 0 && !S_ISFIFO(info.st_mode) &&
                                  !S_ISSOCK(info.st_mode) && !isatty(STDIN_FILENO);
    session->stdin_readable = event_new(session->base, STDIN_FILENO, EV_READ, on_input, session);
    session->last_word = evtimer_new(session->base, last_word, session);
    session->bound = evtimer_new(session->base, out_of_time, session);
    rz_time timeout = session->options->timeout;
    if (timeout)
        event_add(session->bound, &(struct timeval){.tv_sec = (time_t)(timeout / RZ_SECOND),
                                                    .tv_usec = (suseconds_t)(timeout % RZ_SECOND /
                                                                             RZ_MICROSECOND)});
    set_bound(session, START_BOUND_S);
}

static void start_nodes(struct rz_session *session, const char *daemon)
{
    for (uint32_t i = 0; i < session->options->layout.n_nodes; i++) {
        const char *why;
        struct rz_node *node = &session->nodes[i];
        node->arg = session;
        node->message = on_message;
        node->ended = on_ended;
        if (rz_node_start_local(node, i, daemon, session->base, &why) == RZ_OK)
            continue;
        node->gone = true;
        rz_outcome_decide(&session->outcome, RZ_EXIT_START, "node %u cannot be started: %s", i,
                          why);
        end(session, 0);
    }
}

/* Keepers end when their pipe does; one that has not ended after a while is killed, and its daemon
 * then sees its end. */
static void reap(struct rz_session *session)
{
    for (uint32_t i = 0; i < session->options->layout.n_nodes; i++)
        rz_node_release(&session->nodes[i]);
    rz_time waited_ms = 0;
    for (uint32_t i = 0; i < session->options->layout.n_nodes; i++) {
        pid_t keeper = session->nodes[i].keeper;
        while (keeper > 0 && waitpid(keeper, NULL, WNOHANG) == 0) {
            if (waited_ms++ >= END_BOUND_S * 1000)
                kill(keeper, SIGKILL);
            usleep(1000);
        }
    }
}

static void close_events(struct rz_session *session)
{
    for (unsigned i = 0; i < 5; i++)
        event_free(session->signals[i]);
    for (uint32_t i = 0; i < session->options->n_faults; i++)
        if (session->faults[i].timer)
            event_free(session->faults[i].timer);
    event_free(session->stdin_readable);
    event_free(session->last_word);
    event_free(session->bound);
}

/* Says what went wrong, once, where the program has not said it itself. */
static int conclude(struct rz_session *session, const char *program)
{
    const char *cause;
    char library[64];
    int status = rz_outcome_status(&session->outcome, &cause);
    rz_story_end(&session->story, status);
    if (cause && *cause)
        fprintf(stderr, "rzrun: %s\n", cause);
    if (session->stranger != RZ_ID_NONE && session->outcome.n_ranks > 1 &&
        rz_program_of_another_mpi(program, library, sizeof library))
        fprintf(stderr,
                "rzrun: %s is linked to %s, the library of another MPI: each of its processes was "
                "alone. "
                "Compile it with Rhizome's mpicc.\n",
                program, library);
    return status;
}

int rz_session_run(const struct rz_rzrun_options *options, const char *program, const char *daemon)
{
    struct rz_session *session = calloc(1, sizeof *session);
    rz_assert(session && sodium_init() >= 0);
    session->options = options;
    session->random.state = options->seed;
    session->stranger = RZ_ID_NONE;
    session->at_line_start[0] = session->at_line_start[1] = true;
    session->base = event_base_new();
    session->nodes = calloc(options->layout.n_nodes, sizeof *session->nodes);
    rz_assert(session->base && session->nodes);
    randombytes_buf(session->key, sizeof session->key);
    randombytes_buf(&session->job, sizeof session->job);
    rz_outcome_open(&session->outcome, options->n_ranks, options->layout.placement,
                    options->layout.n_nodes);
    session->story = (struct rz_story){
        .terminal = options->story ? stderr : NULL, .progress = options->progress, .told_epoch = 1};
    if (options->report && !(session->story.report = fopen(options->report, "w")))
        rz_cli_refuse(&rz_rzrun_cli, "--report: %s cannot be written: %s", options->report,
                      strerror(errno));
    open_events(session);
    start_nodes(session, daemon);
    if (!all_gone(session))
        event_base_dispatch(session->base);
    reap(session);
    int status = conclude(session, program);
    close_events(session);
    if (session->story.report)
        fclose(session->story.report);
    rz_outcome_clear(&session->outcome);
    free(session->nodes);
    event_base_free(session->base);
    free(session);
    return status;
}
