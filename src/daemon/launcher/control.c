/* SPDX-License-Identifier: BSD-3-Clause */
/* Serves the control socket. Each connection is a visit: one line is read, the answer is written,
 * and the connection is closed or handed over to the detached job, all within VISIT_MAX. */
#include "daemon/launcher/control.h"

#include "daemon/state/loop.h"
#include "port/local_socket.h"
#include "port/prompt.h"
#include "wire/cursor.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Others wait in the backlog until one of them ends. */
#define VISITS_MAX 16
#define QUESTION_BYTES_MAX 64
#define REFUSAL_BYTES_MAX 512
/* The longest time from the connection to the last byte of the answer. */
#define VISIT_MAX (2 * RZ_SECOND)

struct visit {
    struct rz_control *control; /* NULL: the entry is free */
    int fd;
    struct event *readable, *writable, *bound;
    char question[QUESTION_BYTES_MAX];
    size_t n_question;
    char *answer;
    size_t n_answer, sent;
};

struct rz_control {
    struct rz_control_config config;
    struct rz_loop_listener listener;
    struct visit visits[VISITS_MAX];
};

static struct visit *visit_free_entry(struct rz_control *control)
{
    for (size_t i = 0; i < VISITS_MAX; i++) {
        if (!control->visits[i].control) {
            return &control->visits[i];
        }
    }
    return NULL;
}

static void visit_end(struct visit *visit)
{
    struct rz_control *control = visit->control;
    rz_loop_free(visit->readable);
    rz_loop_free(visit->writable);
    rz_loop_free(visit->bound);
    if (visit->fd >= 0) {
        rz_prompt_close(visit->fd);
    }
    free(visit->answer);
    *visit = (struct visit){0};
    rz_loop_listen_again(&control->listener); /* there is room again */
}

static void visit_overdue(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    visit_end(arg);
}

static void visit_writable(evutil_socket_t fd, short what, void *arg)
{
    struct visit *visit = arg;
    (void)what;
    size_t left = visit->n_answer - visit->sent;
    size_t n = 0;
    rz_status_t status = rz_local_write(fd, visit->answer + visit->sent, left, &n);
    if ((status != RZ_OK && status != RZ_IN_PROGRESS) || n == left) {
        visit_end(visit);
        return;
    }
    visit->sent += n;
    event_add(visit->writable, NULL);
}

/* A refusal as one frame, for a client that asked for a stream. */
static char *refusal_frame(const char *why, size_t *n)
{
    struct rz_launch_message refused = {.type = RZ_LAUNCH_REFUSED, .refused = {.reason = why}};
    struct rz_wire_writer length;
    char *frame = malloc(REFUSAL_BYTES_MAX);
    if (!frame) {
        return NULL;
    }
    size_t bytes = rz_launch_encode(&refused, frame + 4, REFUSAL_BYTES_MAX - 4);
    rz_wire_writer_init(&length, frame, 4);
    rz_wire_put_u32(&length, (uint32_t)bytes);
    *n = 4 + bytes;
    return frame;
}

/* Hands the connection over to the detached job. Returns NULL, or why it was refused. */
static const char *hand_over_visit(struct visit *visit)
{
    const struct rz_control_config *config = &visit->control->config;
    event_del(visit->readable);
    const char *why = config->attach(config->arg, visit->fd);
    if (why) {
        return why;
    }
    visit->fd = -1;
    visit_end(visit);
    return NULL;
}

static void visit_answer(struct visit *visit)
{
    bool attach = strcmp(visit->question, "attach") == 0;
    const char *why = attach ? hand_over_visit(visit) : NULL;
    if (attach && !why) {
        return;
    }
    event_del(visit->readable);
    if (attach) {
        visit->answer = refusal_frame(why, &visit->n_answer);
    } else if (strcmp(visit->question, "status") == 0) {
        visit->answer = visit->control->config.status(visit->control->config.arg);
    } else {
        visit->answer = strdup("{\"error\": \"the question is not known\"}\n");
    }
    if (visit->answer && !attach) {
        visit->n_answer = strlen(visit->answer);
    }
    if (!visit->answer) {
        visit_end(visit);
    } else {
        visit_writable(visit->fd, EV_WRITE, visit);
    }
}

static void visit_readable(evutil_socket_t fd, short what, void *arg)
{
    struct visit *visit = arg;
    (void)what;
    size_t n = 0;
    rz_status_t status = rz_local_read(fd, visit->question + visit->n_question,
                                       sizeof(visit->question) - 1 - visit->n_question, &n);
    if (status == RZ_IN_PROGRESS) {
        return;
    }
    if (status != RZ_OK) {
        visit_end(visit); /* the client has gone, or its question is too long */
        return;
    }
    visit->n_question += n;
    char *end = memchr(visit->question, '\n', visit->n_question);
    if (end) {
        *end = '\0';
        visit_answer(visit);
    }
}

static void visit_begin(struct visit *visit, struct rz_control *control, int fd)
{
    struct event_base *base = control->config.own->base;
    *visit = (struct visit){.control = control, .fd = fd};
    rz_status_t status =
        rz_loop_watch(base, &visit->readable, fd, EV_READ | EV_PERSIST, visit_readable, visit);
    if (status == RZ_OK) {
        status = rz_loop_watch(base, &visit->writable, fd, EV_WRITE, visit_writable, visit);
    }
    if (status == RZ_OK) {
        status = rz_loop_timer(base, &visit->bound, visit_overdue, visit);
    }
    if (status == RZ_OK) {
        rz_loop_arm_every(visit->bound, VISIT_MAX);
    } else {
        visit_end(visit);
    }
}

static void a_process_comes(evutil_socket_t fd, short what, void *arg)
{
    struct rz_control *control = arg;
    rz_status_t status = RZ_OK;
    struct visit *visit;
    int from;
    (void)what;
    while ((visit = visit_free_entry(control)) && (status = rz_local_accept(fd, &from)) == RZ_OK) {
        visit_begin(visit, control, from);
    }
    if (!visit) {
        rz_loop_listen_full(&control->listener);
    } else if (status != RZ_IN_PROGRESS) {
        rz_loop_listen_rest(&control->listener); /* no descriptor is left for it */
    }
}

rz_status_t rz_control_open(struct rz_control **control, const struct rz_control_config *config)
{
    struct rz_control *made = calloc(1, sizeof(*made));
    if (!made) {
        return RZ_ERR_NO_MEMORY;
    }
    made->config = *config;
    made->listener = RZ_LOOP_LISTENER_NONE;
    int fd;
    rz_status_t status = rz_local_listen(config->own->job.id, config->own->job.node, &fd);
    if (status == RZ_OK) {
        status = rz_loop_listen(config->own->base, &made->listener, fd, a_process_comes, made);
    }
    if (status != RZ_OK) {
        rz_control_close(made);
        return status;
    }
    *control = made;
    return RZ_OK;
}

void rz_control_close(struct rz_control *control)
{
    if (!control) {
        return;
    }
    for (size_t i = 0; i < VISITS_MAX; i++) {
        if (control->visits[i].control) {
            visit_end(&control->visits[i]);
        }
    }
    rz_loop_listen_end(&control->listener);
    free(control);
}
