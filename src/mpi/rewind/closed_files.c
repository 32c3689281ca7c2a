/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of files that were opened for writing, and the marks of those that were not in it. */
#include "mpi/rewind/closed_files.h"

#include "mpi/engine/engine.h"
#include "mpi/rewind/file_opens.h"
#include "port/descriptor.h"
#include "port/file_mark.h"
#include "port/kill_point.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* An image has the length of so many files at most. One that is no longer in the list is marked
 * again when it is opened again. */
enum { CLOSED_MAX = 1024 };

/* The daemon answers at once, or has ended; what is not confirmed then is known to it alone. */
enum { CONFIRMED_WITHIN_MS = 30000 };

static struct {
    pthread_mutex_t lock;
    bool led, active;
    pid_t pid; /* a forked child is no process of the job */
    uint64_t moment;
    struct rz_image_closed closed[CLOSED_MAX]; /* [n] */
    uint64_t opened[CLOSED_MAX];               /* the moment before it was opened last */
    uint32_t n;
    struct open_file {
        struct rz_image_open file;
        uint64_t moment; /* of the last image that has it open */
        bool told;       /* that it was cut after that */
    } open[CLOSED_MAX];  /* [n_open]; of more the oldest is forgotten */
    uint32_t n_open;
} marks = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* This thread is in the way already: it saves the process, or a handler of the program interrupts
 * it in an opening. */
static _Thread_local bool inside;
static _Thread_local sigset_t mask_before;
static _Thread_local int cancel_before;

/* ---- The list ---- */

static uint32_t index_of(const struct rz_file_mark *mark)
{
    for (uint32_t i = 0; i < marks.n; i++) {
        const struct rz_image_closed *closed = &marks.closed[i];
        if (closed->inode == mark->inode && closed->device == mark->device &&
            closed->made_ns == mark->made_ns && strcmp(closed->path, mark->path) == 0) {
            return i;
        }
    }
    return marks.n;
}

/* The last image has its length, or a mark says it. */
static bool is_known(const struct rz_file_mark *mark)
{
    uint32_t i = index_of(mark);
    if (i < marks.n) {
        marks.opened[i] = marks.moment;
    }
    return i < marks.n;
}

/* Without a place it is marked at each opening. */
static void remember(const struct rz_file_mark *mark)
{
    char *path = marks.n < CLOSED_MAX ? strdup(mark->path) : NULL;
    if (path) {
        marks.closed[marks.n] =
            (struct rz_image_closed){mark->device, mark->inode, mark->made_ns, path};
        marks.opened[marks.n++] = marks.moment;
    }
}

/* Half of the list is enough: what was not opened since the last snapshot leaves it. */
static void forget_some(void)
{
    uint32_t kept = 0;
    if (marks.n <= CLOSED_MAX / 2) {
        return;
    }
    for (uint32_t i = 0; i < marks.n; i++) {
        if (marks.opened[i] == marks.moment) {
            marks.closed[kept] = marks.closed[i];
            marks.opened[kept++] = marks.opened[i];
        } else {
            free((char *)marks.closed[i].path);
        }
    }
    marks.n = kept;
}

/* ---- Marks ---- */

static void tell_mark(uint64_t moment, const struct rz_file_mark *mark)
{
    struct rz_link_message message = {.type = RZ_LINK_FILE_MARK,
                                      .file_mark = {.moment = moment, RZ_FILE_MARK_MEMBERS(mark)}};
    int confirmed = -1;
    bool waits = rz_event_fd_make(&confirmed) == RZ_OK;
    rz_status_t status = rz_link_send_small(rz_engine.link, &message, waits ? confirmed : -1);
    if (waits && status == RZ_OK) {
        rz_descriptor_await(&confirmed, 1, CONFIRMED_WITHIN_MS);
    }
    if (waits) {
        rz_descriptor_close(confirmed);
    }
}

/* ---- Openings ---- */

/* Handlers of the program may leave by a jump: none runs until the end. */
static bool opening_enters(void)
{
    sigset_t all;
    if (inside || !marks.active || getpid() != marks.pid) {
        return false;
    }
    inside = true;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_before);
    pthread_mutex_lock(&marks.lock);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &mask_before);
    return true;
}

/* The image needs what it has. Then it cannot be restored: the mark is of its moment. */
static void tell_shortened(int fd)
{
    struct rz_file_mark mark;
    char path[RZ_FILE_PATH_BYTES];
    struct stat st;
    struct open_file *open = NULL;
    for (uint32_t i = 0; fstat(fd, &st) == 0 && i < marks.n_open && !open; i++) {
        const struct rz_image_open *file = &marks.open[i].file;
        bool same = file->inode == st.st_ino && file->device == st.st_dev;
        open = same ? &marks.open[i] : NULL;
    }
    if (open && !open->told && (uint64_t)st.st_size < open->file.bytes &&
        rz_file_mark_take(fd, &mark, path) && mark.made_ns == open->file.made_ns) {
        mark.flags |= RZ_FILE_EMPTIED;
        tell_mark(open->moment, &mark);
        open->told = true;
    }
}

/* Its maker may end before it can say which file it is. */
static void opening_makes(int folder, const char *path)
{
    struct rz_file_mark mark;
    char name[RZ_FILE_PATH_BYTES];
    if (marks.active && rz_file_mark_want(folder, path, &mark, name)) {
        tell_mark(marks.moment, &mark);
        rz_kill_here(RZ_KILL_FILE_WANTED);
    }
}

static void tell_opened(int fd, bool created)
{
    struct rz_file_mark mark;
    char path[RZ_FILE_PATH_BYTES];
    if (created) {
        rz_kill_here(RZ_KILL_FILE_MADE);
    }
    if (rz_file_mark_take(fd, &mark, path) && !is_known(&mark)) {
        mark.flags |= created ? RZ_FILE_CREATED : 0;
        tell_mark(marks.moment, &mark);
        remember(&mark);
    }
}

static void opening_over(int fd, enum rz_file_opening opening)
{
    int error = errno;
    if (fd >= 0 && marks.active && opening == RZ_FILE_SHORTENED) {
        tell_shortened(fd);
    } else if (fd >= 0 && marks.active) {
        tell_opened(fd, opening == RZ_FILE_WAS_MADE);
    }
    pthread_sigmask(SIG_SETMASK, &mask_before, NULL);
    pthread_mutex_unlock(&marks.lock);
    pthread_setcancelstate(cancel_before, NULL);
    inside = false;
    errno = error;
}

static const struct rz_file_opens opens = {opening_enters, opening_makes, opening_over};

void rz_closed_files_begin(void)
{
    inside = true;
    pthread_mutex_lock(&marks.lock);
    rz_file_opens_lead(&opens);
    marks.led = marks.active = true;
    marks.pid = getpid();
    pthread_mutex_unlock(&marks.lock);
    inside = false;
}

void rz_closed_files_close(void)
{
    if (marks.led) {
        pthread_mutex_lock(&marks.lock);
        marks.active = false;
        pthread_mutex_unlock(&marks.lock);
    }
}

const struct rz_image_closed *rz_closed_files_hold(uint64_t moment, uint32_t *n)
{
    inside = true;
    pthread_mutex_lock(&marks.lock);
    rz_file_opens_lead(&opens);
    forget_some();
    marks.moment = moment;
    *n = marks.n;
    return marks.closed;
}

/* What the image has open that was just made, or restored. */
static void note_open(void)
{
    struct rz_image_open file;
    for (uint32_t i = 0; rz_image_next_open(&i, &file);) {
        uint32_t k = 0;
        while (k < marks.n_open && !(marks.open[k].file.inode == file.inode &&
                                     marks.open[k].file.device == file.device)) {
            k++;
        }
        if (k == CLOSED_MAX) {
            k--;
            memmove(marks.open, marks.open + 1, k * sizeof(*marks.open));
        } else if (k == marks.n_open) {
            marks.n_open++;
        }
        marks.open[k] = (struct open_file){.file = file, .moment = marks.moment};
    }
}

void rz_closed_files_go_on(void)
{
    marks.pid = getpid();
    note_open();
    pthread_mutex_unlock(&marks.lock);
    inside = false;
}

/* ---- Restoration ---- */

struct asked_mark {
    bool answered;
    uint64_t number;
    struct rz_file_mark mark;
    char path[RZ_FILE_PATH_BYTES];
};

static void on_mark_is(void *arg, const struct rz_link_message *message, const int *fds,
                       unsigned n_fds)
{
    const struct rz_link_file_mark_is *is = &message->file_mark_is;
    struct asked_mark *asked = arg;
    for (unsigned i = 0; i < n_fds; i++) {
        close(fds[i]);
    }
    snprintf(asked->path, sizeof(asked->path), "%s", is->path);
    asked->mark = (struct rz_file_mark){RZ_FILE_MARK_MEMBERS(is)};
    asked->mark.path = asked->path;
    asked->number = is->number;
    asked->answered = true;
}

/* The next one; false: there is none, or *status says why it cannot be had. */
static bool next_mark(struct rz_link *link, uint32_t epoch, uint64_t since,
                      struct asked_mark *asked, rz_status_t *status)
{
    const struct rz_link_message ask = {
        .type = RZ_LINK_FILE_MARK_ASK,
        .file_mark_ask = {.epoch = epoch, .since = since, .after = asked->number}};
    asked->answered = false;
    rz_link_handle(link, RZ_LINK_FILE_MARK_IS, on_mark_is, asked);
    *status = rz_link_send(link, &ask, -1);
    *status = *status == RZ_OK ? rz_link_await(link, &asked->answered) : *status;
    rz_link_handle(link, RZ_LINK_FILE_MARK_IS, NULL, NULL);
    return *status == RZ_OK && asked->number != 0;
}

rz_status_t rz_closed_files_restore(struct rz_link *link, uint32_t epoch, uint64_t since, char *why,
                                    size_t max)
{
    struct asked_mark asked = {.number = 0};
    rz_status_t status;
    while (next_mark(link, epoch, since, &asked, &status)) {
        enum rz_file_mark_result result = rz_file_mark_restore(&asked.mark, true);
        if (result != RZ_FILE_AS_MARKED && result != RZ_FILE_CUT) {
            snprintf(why, max, "%s, which was written to after it, %s", asked.path,
                     result == RZ_FILE_ANOTHER ? "is another file now"
                     : result == RZ_FILE_LOST  ? "was emptied or cut after it"
                                               : "cannot be cut to the length that it had");
            return RZ_ERR_UNSUPPORTED;
        }
    }
    if (status != RZ_OK) {
        snprintf(why, max, "%s", rz_status_text(status));
    }
    return status;
}

void rz_closed_files_tell(struct rz_link *link, uint32_t epoch)
{
    struct asked_mark asked = {.number = 0};
    rz_status_t status;
    while (next_mark(link, epoch, 0, &asked, &status)) {
        enum rz_file_mark_result result = rz_file_mark_restore(&asked.mark, false);
        if (result != RZ_FILE_AS_MARKED && result != RZ_FILE_LOST) {
            fprintf(stderr,
                    "rhizome: rank %u begins again from its start, and %s has what was appended to "
                    "it before\n",
                    rz_link_info(link)->self.rank, asked.path);
            return;
        }
    }
}
