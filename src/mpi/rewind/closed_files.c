/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of files that were opened for writing, the marks of those that were not in it, and of
 * those that were changed. */
#include "mpi/rewind/closed_files.h"

#include "mpi/engine/engine.h"
#include "mpi/rewind/file_opens.h"
#include "mpi/rewind/seen_files.h"
#include "mpi/rewind/state_files.h"
#include "mpi/rewind/undone_files.h"
#include "port/descriptor.h"
#include "port/file_mark.h"
#include "port/kill_point.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* An image has the length of so many files at most. One that is no longer in the list is marked
 * again when it is opened again. */
enum { CLOSED_MAX = 1024 };

/* The daemon answers at once, or has ended; what is not confirmed then is known to it alone. One
 * that ends closes its end of the answer some time before that of the link, or after it. */
enum { CONFIRMED_WITHIN_MS = 30000, ENDED_WITHIN_MS = 2000 };

/* The clock by which files get their times goes on at least so often (CONFIG_HZ is 100 or more). */
enum { TICK_MAX_NS = 10000000 };

/* Bytes of a message with a mark, beside path and content. */
enum { OTHER_MEMBERS = 256 };

static struct {
    pthread_mutex_t lock;
    bool led, active;
    pid_t pid;    /* a forked child is no process of the job */
    uint64_t job; /* which run of it has the marks since then */
    uint64_t moment;
    uint64_t moment_ns;            /* by the clock: when it was */
    bool outlasted;                /* what is made now has a later time */
    struct rz_seen_files changed;  /* since then: what was in them is known, or nobody needs it */
    struct rz_seen_files appended; /* since then, for the first time */
    struct rz_seen_files read;     /* at any time */
    uint8_t content[RZ_FILE_CONTENT_MAX];
    uint8_t message[RZ_FILE_CONTENT_MAX + RZ_FILE_PATH_BYTES + OTHER_MEMBERS];
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

/* Puts it there, or says that it was opened again. True: the last image has its length, or a mark
 * says it; and that it may be written to anywhere, if it may. Without a place it is marked at each
 * opening. */
static bool was_known(const struct rz_file_mark *mark)
{
    uint32_t i = index_of(mark);
    bool anywhere = mark->flags & RZ_FILE_ANYWHERE, known = i < marks.n;
    char *path = !known && marks.n < CLOSED_MAX ? strdup(mark->path) : NULL;
    if (path) {
        marks.closed[marks.n++] =
            (struct rz_image_closed){mark->device, mark->inode, mark->made_ns, path, anywhere};
    }
    if (known || path) {
        marks.opened[i] = marks.moment;
        known = known && (marks.closed[i].anywhere || !anywhere);
        marks.closed[i].anywhere |= anywhere;
    }
    return known;
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

/* ---- Files that were seen since the last snapshot ---- */

static void note_read(uint64_t device, uint64_t inode, enum rz_file_reading reading)
{
    struct rz_seen_file file = *rz_seen_place(&marks.read, device, inode);
    file.device = device;
    file.inode = inode;
    bool written = reading == RZ_FILE_READ_AND_WRITTEN || reading == RZ_FILE_STREAM;
    file.read[written] = marks.moment + 1;
    rz_seen_add(&marks.read, &file, marks.moment);
}

/* 1 and the last moment after which this process may have read the file; 0: it has not. */
static uint64_t read_after(const struct stat *st, enum rz_file_change change)
{
    const struct rz_seen_file *file = rz_seen_place(&marks.read, st->st_dev, st->st_ino);
    uint64_t after = marks.read.others > file->read[0] ? marks.read.others : file->read[0];
    /* Within an opening for reading and writing nobody sees who reads, and who only appends. */
    return change != RZ_FILE_WRITTEN && file->read[1] > after ? file->read[1] : after;
}

/* Half of the list is enough. Then any file may have been read before. */
static void forget_read(uint64_t before)
{
    if (marks.read.n > RZ_SEEN_MAX / 2) {
        rz_seen_forget(&marks.read);
        marks.read.others = before + 1;
    }
}

/* ---- Marks ---- */

/* A process whose daemon has ended is about to be killed. Until then it must not write to a file of
 * which nobody knows. */
static _Noreturn void await_kill(void)
{
    const struct timespec a_while = {.tv_sec = CONFIRMED_WITHIN_MS / 1000};
    nanosleep(&a_while, NULL);
    _exit(EXIT_FAILURE);
}

static void tell_mark(uint64_t moment, const struct rz_file_mark *mark)
{
    struct rz_link_message message = {.type = RZ_LINK_FILE_MARK,
                                      .file_mark = {.moment = moment, RZ_FILE_MARK_MEMBERS(mark)}};
    int ends[2];
    bool waits = rz_descriptor_pair(ends) == RZ_OK;
    rz_status_t status = rz_link_send_through(rz_engine.link, &message, ends[1], marks.message,
                                              sizeof(marks.message));
    if (waits) {
        rz_descriptor_close(ends[1]); /* the daemon has it */
        bool answered =
            status == RZ_OK && (!rz_descriptor_await(&ends[0], 1, CONFIRMED_WITHIN_MS) ||
                                rz_descriptor_unread(ends[0]) > 0);
        rz_descriptor_close(ends[0]);
        if (!answered &&
            rz_descriptor_await_end(rz_link_info(rz_engine.link)->fd, ENDED_WITHIN_MS)) {
            await_kill();
        }
    }
}

/* ---- Openings ---- */

/* Until the clock of files has left the moment of the snapshot: what is made or written now has a
 * later time. */
static void outlast_moment(void)
{
    struct timespec now;
    const struct timespec nap = {.tv_nsec = 500000};
    while (!marks.outlasted && clock_gettime(CLOCK_REALTIME_COARSE, &now) == 0 &&
           rz_undone_ns(&now) <= marks.moment_ns &&
           rz_undone_ns(&now) + TICK_MAX_NS > marks.moment_ns) {
        nanosleep(&nap, NULL);
    }
    marks.outlasted = true;
}

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
    outlast_moment();
    return true;
}

/* The last image that has the file open; NULL: none that is known. */
static struct open_file *open_in_image(uint64_t device, uint64_t inode)
{
    for (uint32_t i = 0; i < marks.n_open; i++) {
        const struct rz_image_open *file = &marks.open[i].file;
        if (file->inode == inode && file->device == device) {
            return &marks.open[i];
        }
    }
    return NULL;
}

/* The daemons have what was in it at the moment of its last image. */
static bool is_kept(const struct open_file *open)
{
    const struct rz_seen_file *file =
        rz_seen_place(&marks.changed, open->file.device, open->file.inode);
    return open->moment == marks.moment && file->kept && file->made_ns == open->file.made_ns;
}

/* The image needs what it has. Without that it cannot be restored: the mark is of its moment. */
static void tell_shortened(int fd)
{
    struct rz_file_mark mark;
    char path[RZ_FILE_PATH_BYTES];
    struct stat st;
    struct open_file *open = fstat(fd, &st) == 0 ? open_in_image(st.st_dev, st.st_ino) : NULL;
    if (open && !open->told && !is_kept(open) && (uint64_t)st.st_size < open->file.bytes &&
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

/* A file that was made since the last snapshot had no content then. */
static void note_changed(const struct rz_file_mark *mark, bool kept)
{
    rz_seen_add(
        &marks.changed,
        &(struct rz_seen_file){
            .device = mark->device, .inode = mark->inode, .made_ns = mark->made_ns, .kept = kept},
        marks.moment);
}

static bool was_changed(const struct rz_file_mark *mark)
{
    const struct rz_seen_file *file = rz_seen_place(&marks.changed, mark->device, mark->inode);
    return file->inode != 0 && file->made_ns == mark->made_ns;
}

/* A call that opens or cuts a file does; rename does not. */
static bool follows_link(enum rz_file_change change)
{
    return change == RZ_FILE_CUT_SHORT || change == RZ_FILE_WRITTEN;
}

/* It was made since the last snapshot, so that no image needs what it has. */
static bool is_new(const struct rz_file_mark *mark)
{
    return mark->flags & RZ_FILE_LOCAL && mark->made_ns > marks.moment_ns;
}

/* If it is one that this process has read, the images before that need what was in it. */
static void large_file_changes(int folder, const char *path, const struct stat *st,
                               enum rz_file_change change)
{
    struct rz_file_mark mark;
    char name[RZ_FILE_PATH_BYTES];
    uint64_t after = read_after(st, change);
    if (after > 0 &&
        rz_file_mark_hold(folder, path, follows_link(change), &mark, name, marks.content) &&
        !is_new(&mark)) {
        tell_mark(after - 1, &mark);
        rz_kill_here(RZ_KILL_FILE_KEPT);
    }
    if (after > 0 || change == RZ_FILE_CUT_SHORT) { /* it has what the program writes again */
        rz_seen_add(&marks.changed,
                    &(struct rz_seen_file){.device = st->st_dev, .inode = st->st_ino},
                    marks.moment);
    }
}

/* What was appended since the snapshot is not kept: by openings after it, or by one that the image
 * has. */
static void leave_appended_out(struct rz_file_mark *mark)
{
    const struct rz_seen_file *appended = rz_seen_place(&marks.appended, mark->device, mark->inode);
    const struct open_file *open = open_in_image(mark->device, mark->inode);
    uint64_t bytes = mark->content_length;
    if (appended->inode != 0 && appended->made_ns == mark->made_ns && appended->bytes < bytes) {
        bytes = appended->bytes;
    }
    if (open && open->moment == marks.moment && open->file.made_ns == mark->made_ns &&
        open->file.bytes < bytes) {
        bytes = open->file.bytes;
    }
    if (bytes < mark->content_length) {
        mark->content_length = (uint32_t)(mark->bytes = bytes);
    }
}

/* All images that would lead here again are of no use: it is not to be tried again with them. */
static _Noreturn void read_undone(struct rz_file_mark *mark, uint32_t flags)
{
    mark->flags = (mark->flags & RZ_FILE_LOCAL) | RZ_FILE_EMPTIED | RZ_FILE_UNDONE | flags;
    tell_mark(marks.moment, mark);
    _exit(EXIT_FAILURE);
}

/* What this user cannot write to is no file of the job: the system's change, too. */
static bool is_of_job(const struct rz_file_mark *mark, const struct stat *st)
{
    return st->st_uid == geteuid() || faccessat(AT_FDCWD, mark->path, W_OK, AT_EACCESS) == 0;
}

/* Before it is changed under a name that was another file's at the snapshot. */
static void refuse_wrong_file(int folder, const char *path, const struct stat *st,
                              enum rz_file_change change)
{
    struct rz_file_mark mark;
    char name[RZ_FILE_PATH_BYTES];
    bool renamed = change == RZ_FILE_MOVED || change == RZ_FILE_EXCHANGED;
    int fd =
        path && rz_undone_changed(st)
            ? openat(folder, path, O_PATH | O_CLOEXEC | (follows_link(change) ? 0 : O_NOFOLLOW))
            : -1;
    if (fd >= 0 && rz_file_mark_take(fd, &mark, name) && is_of_job(&mark, st) &&
        rz_undone_wrong_file(&mark, st, renamed ? RZ_UNDONE_RENAMED : RZ_UNDONE_OVERWRITTEN)) {
        read_undone(&mark, RZ_FILE_RENAMED);
    }
    if (fd >= 0) {
        close(fd);
    }
}

/* A name that had a large file at the snapshot; or one whose file has got the other name since. */
static void opening_misses(const struct rz_file_names *names)
{
    struct rz_file_mark mark;
    struct stat st;
    char name[RZ_FILE_PATH_BYTES];
    if (marks.active && rz_file_mark_miss(names->from_folder, names->from, &mark, name) &&
        rz_undone_is_missing(name)) {
        read_undone(&mark, RZ_FILE_RENAMED);
    }
    if (marks.active && names->to &&
        fstatat(names->to_folder, names->to, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(st.st_mode)) {
        refuse_wrong_file(names->to_folder, names->to, &st, RZ_FILE_REPLACED);
    }
}

/* What is in it is kept before it is lost. */
static void opening_changes(int folder, const char *path, const struct stat *st,
                            enum rz_file_change change)
{
    struct rz_file_mark mark;
    char name[RZ_FILE_PATH_BYTES];
    if (!marks.active) {
        return;
    }
    if ((change == RZ_FILE_REMOVED || change == RZ_FILE_REPLACED) && st->st_nlink == 1) {
        rz_undone_emptied(st); /* another file may get its number */
    }
    refuse_wrong_file(folder, path, st, change);
    if (rz_seen_place(&marks.changed, st->st_dev, st->st_ino)->inode != 0) {
        return;
    }
    if (st->st_size > RZ_FILE_CONTENT_MAX) {
        if (change != RZ_FILE_MOVED && change != RZ_FILE_EXCHANGED) {
            large_file_changes(folder, path, st, change);
        }
        return;
    }
    if (change == RZ_FILE_REMOVED && read_after(st, change) == 0) {
        return; /* programs remove many files, and nobody misses them */
    }
    if (!rz_file_mark_hold(folder, path, follows_link(change), &mark, name, marks.content)) {
        return;
    }
    leave_appended_out(&mark);
    bool unread = change != RZ_FILE_WRITTEN && read_after(st, change) == 0;
    if (!unread) {
        rz_state_files_note(mark.path);
    }
    mark.flags |= (unread ? RZ_FILE_UNREAD : 0) | (is_new(&mark) ? RZ_FILE_NEW : 0);
    bool told = change != RZ_FILE_MOVED || !is_new(&mark);
    if (told) {
        tell_mark(marks.moment, &mark);
        rz_kill_here(RZ_KILL_FILE_KEPT);
    }
    note_changed(&mark, told && !(mark.flags & RZ_FILE_EMPTIED));
}

/* Files of `closed` that are about to get other names; an exchange has two. */
static struct {
    uint32_t i;
    char *path;
} followed[2];
static unsigned n_followed;

static void follow_name(const struct rz_file_mark *mark)
{
    uint32_t i = index_of(mark);
    char *path = i < marks.n && n_followed < 2
                     ? strndup((const char *)mark->content, mark->content_length)
                     : NULL;
    if (path) {
        followed[n_followed].i = i;
        followed[n_followed++].path = path;
    }
}

/* The next image knows a file under the name that it has then. */
static void names_are_given(bool given)
{
    while (n_followed > 0) {
        n_followed--;
        const char **path = &marks.closed[followed[n_followed].i].path;
        free(given ? (char *)(uintptr_t)*path : followed[n_followed].path);
        *path = given ? followed[n_followed].path : *path;
    }
}

/* A large one gets its name back. What was made since the snapshot had none. */
static void opening_renames(const struct rz_file_names *names, const struct stat *st)
{
    struct rz_file_mark mark;
    char name[RZ_FILE_PATH_BYTES];
    if (!marks.active || !rz_file_mark_rename(names, &mark, name, marks.content)) {
        return;
    }
    follow_name(&mark);
    rz_undone_found((const char *)marks.content);
    rz_undone_replaced((const char *)marks.content);
    if (st->st_size > RZ_FILE_CONTENT_MAX && !is_new(&mark)) {
        rz_undone_name(name, mark.inode, mark.made_ns);
        tell_mark(marks.moment, &mark);
        rz_kill_here(RZ_KILL_FILE_KEPT);
    }
}

static void tell_opened(int fd, bool created)
{
    struct rz_file_mark mark;
    char path[RZ_FILE_PATH_BYTES];
    if (created) {
        rz_kill_here(RZ_KILL_FILE_MADE);
    }
    if (!rz_file_mark_take(fd, &mark, path)) {
        return;
    }
    mark.flags |= fcntl(fd, F_GETFL) & O_APPEND ? 0 : RZ_FILE_ANYWHERE;
    /* One that was made to be written from its begin is most often closed for good, and renamed. */
    bool begun = created && mark.flags & RZ_FILE_ANYWHERE;
    if (begun || !was_known(&mark)) {
        mark.flags |= created ? RZ_FILE_CREATED : 0;
        if (created || !was_changed(&mark)) {
            tell_mark(marks.moment, &mark);
        }
    }
    if (created) {
        rz_undone_found(path);
        note_changed(&mark, false);
    } else if (rz_seen_place(&marks.appended, mark.device, mark.inode)->inode == 0) {
        rz_seen_add(&marks.appended,
                    &(struct rz_seen_file){.device = mark.device,
                                           .inode = mark.inode,
                                           .made_ns = mark.made_ns,
                                           .bytes = mark.bytes},
                    marks.moment);
    }
}

static void note_begun(int fd)
{
    struct rz_file_mark mark;
    char path[RZ_FILE_PATH_BYTES];
    if (rz_file_mark_take(fd, &mark, path)) {
        rz_undone_found(path);
        note_changed(&mark, false);
    }
}

static void opening_leaves(void)
{
    pthread_sigmask(SIG_SETMASK, &mask_before, NULL);
    pthread_mutex_unlock(&marks.lock);
    pthread_setcancelstate(cancel_before, NULL);
    inside = false;
}

static void opening_over(int fd, enum rz_file_opening opening)
{
    int error = errno;
    struct stat st;
    names_are_given(opening == RZ_FILE_NAMED);
    if (fd >= 0 && marks.active) {
        switch (opening) {
        case RZ_FILE_SHORTENED:
            tell_shortened(fd);
            if (fstat(fd, &st) == 0 && st.st_size == 0) {
                rz_undone_emptied(&st);
            }
            break;
        case RZ_FILE_BEGUN:
            note_begun(fd);
            break;
        default:
            tell_opened(fd, opening == RZ_FILE_WAS_MADE);
        }
    }
    opening_leaves();
    errno = error;
}

/* ---- What was undone ---- */

/* One that was made then may be a cache, which has the same in any run. */
static void tell_made(const struct rz_file_mark *mark)
{
    static bool said;
    if (!said) {
        said = true;
        fprintf(stderr,
                "rhizome: rank %u reads %s, which was made in the time that was rolled back\n",
                rz_engine.info->self.rank, mark->path);
    }
}

static void reads_undone(int fd, const struct stat *st)
{
    struct rz_file_mark mark;
    char path[RZ_FILE_PATH_BYTES];
    if (!rz_file_mark_take(fd, &mark, path) || !is_of_job(&mark, st)) {
        return;
    }
    if (!rz_undone_made(mark.made_ns) || rz_undone_was_of_another(path, mark.inode, mark.made_ns)) {
        read_undone(&mark, 0);
    }
    tell_made(&mark);
}

/* A large file may have got another one's name. A small one is restored under its name. */
static void look_at_name(int fd, const struct stat *st, enum rz_file_reading reading)
{
    struct rz_file_mark mark;
    char path[RZ_FILE_PATH_BYTES];
    bool large = st->st_size > RZ_FILE_CONTENT_MAX;
    if (!(large || rz_undone_changed(st)) || !rz_file_mark_take(fd, &mark, path)) {
        return;
    }
    bool another = rz_undone_wrong_file(&mark, st, RZ_UNDONE_READ) && is_of_job(&mark, st);
    if (another && reading != RZ_FILE_READ_AND_WRITTEN) {
        read_undone(&mark, RZ_FILE_RENAMED);
    }
    if (another) {
        rz_undone_open(st);
    } else if (large) {
        rz_undone_name(path, mark.inode, mark.made_ns);
    }
}

static void look_at_content(int fd, const struct stat *st, enum rz_file_reading reading)
{
    bool known = rz_undone_is_open(st);
    if (!known && !rz_undone_has(st)) {
        return;
    }
    if (reading != RZ_FILE_READ_AND_WRITTEN) {
        reads_undone(fd, st);
    } else if (!known) {
        rz_undone_open(st);
    }
}

/* Of one that was changed since the snapshot it reads what it has written, or what is kept. */
static void opening_reads(int fd, enum rz_file_reading reading)
{
    int error = errno;
    struct stat st;
    if (opening_enters()) {
        if (marks.active && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
            look_at_content(fd, &st, reading);
            look_at_name(fd, &st, reading);
            if (reading == RZ_FILE_STREAM || reading == RZ_FILE_READ_ONLY_STREAM) {
                rz_undone_stream(fd, &st);
            }
            if (rz_seen_place(&marks.changed, st.st_dev, st.st_ino)->inode == 0) {
                note_read(st.st_dev, st.st_ino, reading);
            }
        }
        opening_leaves();
    }
    errno = error;
}

static void open_file_is_read(int fd)
{
    int error = errno;
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && opening_enters()) {
        if (marks.active && rz_undone_is_open(&st)) {
            reads_undone(fd, &st);
        }
        opening_leaves();
    }
    errno = error;
}

static void open_file_is_written(int fd, off_t at, size_t bytes)
{
    int error = errno;
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && opening_enters()) {
        off_t from = at >= 0 ? at : lseek(fd, 0, SEEK_CUR) - (off_t)bytes;
        if (marks.active && from >= 0) {
            rz_undone_written(&st, (uint64_t)from, (uint64_t)from + bytes);
        }
        opening_leaves();
    }
    errno = error;
}

static const struct rz_file_opens opens = {
    opening_enters,         opening_makes,     opening_changes,     opening_renames,
    opening_misses,         opening_over,      opening_reads,       &rz_undone_any_open,
    &rz_undone_any_missing, open_file_is_read, open_file_is_written};

static uint64_t by_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now); /* that of file systems is never ahead of it */
    return rz_undone_ns(&now);
}

void rz_closed_files_lead(void)
{
    rz_file_opens_lead(&opens);
}

void rz_closed_files_begin(void)
{
    inside = true;
    pthread_mutex_lock(&marks.lock);
    rz_file_opens_lead(&opens);
    marks.led = marks.active = true;
    marks.moment_ns = by_clock();
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
    rz_undone_forget_streams();
    rz_undone_look_at_names();
    rz_state_files_keep();
    forget_some();
    forget_read(marks.moment);
    marks.job = rz_engine.info->self.job;
    marks.moment = moment;
    marks.moment_ns = by_clock();
    marks.outlasted = false;
    rz_seen_forget(&marks.changed);
    rz_seen_forget(&marks.appended);
    *n = marks.n;
    return marks.closed;
}

/* What the image has open that was just made, or restored. */
static void note_open(void)
{
    struct rz_image_open file;
    for (uint32_t i = 0; rz_image_next_open(&i, &file);) {
        const struct open_file *known = open_in_image(file.device, file.inode);
        uint32_t k = known ? (uint32_t)(known - marks.open) : marks.n_open;
        if (k == CLOSED_MAX) {
            k--;
            memmove(marks.open, marks.open + 1, k * sizeof(*marks.open));
        } else if (k == marks.n_open) {
            marks.n_open++;
        }
        marks.open[k] = (struct open_file){.file = file, .moment = marks.moment};
    }
}

bool rz_closed_files_undone(uint32_t epoch, char *why, size_t max)
{
    struct timespec now;
    struct rz_image_open file;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    rz_undone_add(marks.moment_ns, rz_undone_ns(&now),
                  marks.job != rz_link_info(rz_engine.link)->self.job);
    rz_state_files_restore(rz_closed_files_round(rz_engine.link, epoch));
    for (uint32_t i = 0; rz_image_next_open(&i, &file);) {
        struct stat st;
        bool undone = (fcntl(file.fd, F_GETFL) & O_ACCMODE) != O_WRONLY &&
                      fstat(file.fd, &st) == 0 && rz_undone_has(&st);
        struct rz_file_mark mark;
        char path[RZ_FILE_PATH_BYTES];
        if (undone && rz_undone_is_stream(file.fd, &st) &&
            rz_file_mark_take(file.fd, &mark, path) && !rz_undone_made(mark.made_ns)) {
            snprintf(why, max, "%s, which a stream reads, was written to after it", path);
            return false;
        }
        if (undone) {
            rz_undone_open(&st);
        }
    }
    return true;
}

/* A small file that the program may write to by a descriptor that it has had since before. */
static void keep_open(const struct rz_image_open *open)
{
    struct rz_file_mark mark;
    char name[RZ_FILE_PATH_BYTES];
    if (open->writes && open->bytes > 0 && open->bytes <= RZ_FILE_CONTENT_MAX &&
        rz_seen_place(&marks.changed, open->device, open->inode)->inode == 0 &&
        rz_file_mark_hold(open->fd, NULL, true, &mark, name, marks.content) &&
        !(mark.flags & RZ_FILE_EMPTIED)) {
        tell_mark(marks.moment, &mark);
        note_changed(&mark, true);
    }
}

void rz_closed_files_go_on(void)
{
    struct rz_image_open file;
    uint32_t i = 0;
    marks.pid = getpid();
    note_open();
    while (marks.active && rz_image_next_open(&i, &file)) {
        keep_open(&file);
    }
    i = 0;
    if (marks.n > 0 || rz_image_next_open(&i, &file)) { /* which are written without an opening */
        outlast_moment();
    }
    pthread_mutex_unlock(&marks.lock);
    inside = false;
}
