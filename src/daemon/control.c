#include "daemon/control.h"

#include "daemon/daemon.h"
#include "daemon/detached.h"
#include "daemon/loop.h"
#include "port/local_socket.h"
#include "wire/cursor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define VISITS_MAX 16
#define QUESTION_BYTES_MAX 64
#define REFUSAL_BYTES_MAX 512
/* From the connection to the last byte of the answer. */
#define VISIT_MAX (2 * RZ_SECOND)

struct visit {
    struct rz_control *control; /* NULL: nobody is here */
    int fd;
    struct event *readable, *writable, *bound;
    char question[QUESTION_BYTES_MAX];
    size_t n_question;
    char *answer;
    size_t n_answer, sent;
};

struct rz_control {
    struct rz_daemon *daemon;
    int fd;
    struct event *readable;
    struct visit visits[VISITS_MAX];
};

static void visit_end(struct visit *visit)
{
    rz_loop_free(visit->readable);
    rz_loop_free(visit->writable);
    rz_loop_free(visit->bound);
    if (visit->fd >= 0)
        close(visit->fd);
    free(visit->answer);
    *visit = (struct visit){0};
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
    ssize_t n = send(fd, visit->answer + visit->sent, left, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        event_add(visit->writable, NULL);
        return;
    }
    if (n <= 0 || (size_t)n == left) {
        visit_end(visit);
        return;
    }
    visit->sent += (size_t)n;
    event_add(visit->writable, NULL);
}

/* One frame, where a stream was asked for. */
static char *refusal(const char *why, size_t *n)
{
    struct rz_launch_message refused = {.type = RZ_LAUNCH_REFUSED, .refused = {.reason = why}};
    struct rz_wire_writer length;
    char *frame = malloc(REFUSAL_BYTES_MAX);
    if (!frame)
        return NULL;
    size_t bytes = rz_launch_encode(&refused, frame + 4, REFUSAL_BYTES_MAX - 4);
    rz_wire_writer_init(&length, frame, 4);
    rz_wire_put_u32(&length, (uint32_t)bytes);
    *n = 4 + bytes;
    return frame;
}

/* The connection becomes the detached job's; not NULL: why not. */
static const char *hand_over(struct visit *visit)
{
    struct rz_daemon *daemon = visit->control->daemon;
    if (!daemon->detached)
        return "the rzrun that started it is there still: it was not started with --detach";
    event_del(visit->readable);
    const char *why = rz_detached_attach(daemon->detached, visit->fd);
    if (why)
        return why;
    visit->fd = -1;
    visit_end(visit);
    return NULL;
}

static void visit_answer(struct visit *visit)
{
    bool attach = strcmp(visit->question, "attach") == 0;
    const char *why = attach ? hand_over(visit) : NULL;
    if (attach && !why)
        return;
    event_del(visit->readable);
    if (attach)
        visit->answer = refusal(why, &visit->n_answer);
    else if (strcmp(visit->question, "status") == 0)
        visit->answer = rz_status_page(visit->control->daemon);
    else
        visit->answer = strdup("{\"error\": \"the question is not known\"}\n");
    if (visit->answer && !attach)
        visit->n_answer = strlen(visit->answer);
    if (!visit->answer)
        visit_end(visit);
    else
        visit_writable(visit->fd, EV_WRITE, visit);
}

static void visit_readable(evutil_socket_t fd, short what, void *arg)
{
    struct visit *visit = arg;
    (void)what;
    ssize_t n = recv(fd, visit->question + visit->n_question,
                     sizeof visit->question - 1 - visit->n_question, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        visit_end(visit); /* gone, or its question is too long */
        return;
    }
    visit->n_question += (size_t)n;
    char *end = memchr(visit->question, '\n', visit->n_question);
    if (end) {
        *end = '\0';
        visit_answer(visit);
    }
}

static rz_status_t visit_begin(struct visit *visit, struct rz_control *control, int fd)
{
    struct event_base *base = control->daemon->base;
    *visit = (struct visit){.control = control, .fd = fd};
    rz_status_t status =
        rz_loop_watch(base, &visit->readable, fd, EV_READ | EV_PERSIST, visit_readable, visit);
    if (status == RZ_OK)
        status = rz_loop_watch(base, &visit->writable, fd, EV_WRITE, visit_writable, visit);
    if (status == RZ_OK)
        status = rz_loop_timer(base, &visit->bound, visit_overdue, visit);
    if (status == RZ_OK)
        rz_loop_arm_every(visit->bound, VISIT_MAX);
    else
        visit_end(visit);
    return status;
}

static void somebody_comes(evutil_socket_t fd, short what, void *arg)
{
    struct rz_control *control = arg;
    int visitor;
    (void)what;
    while (rz_local_accept(fd, &visitor) == RZ_OK) {
        size_t i = 0;
        while (i < VISITS_MAX && control->visits[i].control)
            i++;
        if (i == VISITS_MAX)
            close(visitor);
        else
            visit_begin(&control->visits[i], control, visitor);
    }
}

rz_status_t rz_control_open(struct rz_control **control, struct rz_daemon *daemon)
{
    struct rz_control *made = calloc(1, sizeof *made);
    if (!made)
        return RZ_ERR_NO_MEMORY;
    made->daemon = daemon;
    made->fd = -1;
    rz_status_t status = rz_local_listen(daemon->job.id, daemon->job.node, &made->fd);
    if (status == RZ_OK)
        status = rz_loop_watch(daemon->base, &made->readable, made->fd, EV_READ | EV_PERSIST,
                               somebody_comes, made);
    if (status != RZ_OK) {
        rz_control_close(made);
        return status;
    }
    *control = made;
    return RZ_OK;
}

void rz_control_close(struct rz_control *control)
{
    if (!control)
        return;
    for (size_t i = 0; i < VISITS_MAX; i++)
        if (control->visits[i].control)
            visit_end(&control->visits[i]);
    rz_loop_free(control->readable);
    if (control->fd >= 0)
        close(control->fd);
    free(control);
}
