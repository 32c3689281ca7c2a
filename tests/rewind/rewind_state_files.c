/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors 0, 1 and 2, files, and their locks. */
#include "rewind_state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- Descriptors 0, 1 and 2 ---- */

static void make_streams(void)
{
    saved_out = dup(1);
    FILE *numbers = fopen(path_of("numbers"), "w");
    for (int i = 0; i < steps; i++) {
        fprintf(numbers, "%d\n", i);
    }
    fclose(numbers);
    need(freopen(path_of("numbers"), "r", stdin) && freopen(path_of("out"), "w", stdout),
         "freopen");
    setvbuf(stdin, NULL, _IONBF, 0);
}

static void step_streams(int step)
{
    int number = -1;
    if (scanf("%d", &number) != 1 || number != step) {
        say("step %d has read %d\n", step, number);
    }
    printf("step %d\n", step);
    fflush(stdout);
}

static void end_streams(void)
{
    int lines = 0, wrong = 0, number;
    dup2(saved_out, 1);
    FILE *file = fopen(path_of("out"), "r");
    for (; fscanf(file, "step %d\n", &number) == 1; lines++) {
        wrong += number != lines;
    }
    fclose(file);
    say("streams: %d lines of %d, %d wrong\n", lines, steps, wrong);
}

static void step_lines(int step)
{
    printf("step %d\n", step);
    fflush(stdout);
}

/* Standard input is closed, and its number used again; standard error is a copy of output. */
static int reused;

static void make_numbers(void)
{
    close(0);
    reused = open("/dev/zero", O_RDONLY);
    dup2(1, 2);
}

static void end_numbers(void)
{
    char c = 1;
    struct stat out, error;
    need(fstat(1, &out) == 0 && fstat(2, &error) == 0, "fstat");
    say("numbers: %d reads %d, %s\n", reused, read(0, &c, 1) == 1 ? c : -1,
        out.st_ino == error.st_ino ? "one stream" : "two streams");
}

/* What rzrun passes to rank 0. */
static void make_input(void)
{
    setvbuf(stdin, NULL, _IONBF, 0);
}

static void step_input(int step)
{
    int number = -1;
    if (rank == 0 && (scanf("%d", &number) != 1 || number != step)) {
        say("step %d has read %d\n", step, number);
    }
}

static void end_input(void)
{
    char rest[64] = "";
    if (rank == 0) {
        bool some = scanf("%63s", rest) == 1, end = getchar() == '\n' && getchar() == EOF;
        say("input: then \"%s\", %s\n", some ? rest : "", end ? "end" : "more");
    }
}

/* ---- Files ---- */

static int flocked, processed, filed, offsets[2];
static FILE *appends;

int open_as(const char *name)
{
    int fd = open(path_of(name), O_RDWR | O_CREAT, 0600);
    need(fd >= 0, name);
    return fd;
}

int open_folder(const char *name)
{
    mkdir(path_of(name), 0700);
    return open(path_of(name), O_RDONLY | O_DIRECTORY);
}

/* One of the files is open twice: whoever closes a descriptor of it loses the lock. */
static void make_locks(void)
{
    const struct flock some = {.l_type = F_WRLCK, .l_start = 10, .l_len = 20};
    flocked = open_as("flocked");
    processed = open_as("processed");
    filed = open_as("filed");
    need(flock(flocked, LOCK_EX) == 0 && fcntl(processed, F_SETLK, &some) == 0 &&
             fcntl(filed, F_OFD_SETLK, &some) == 0 && open_as("processed") >= 0 &&
             flock(open_folder("locked"), LOCK_EX) == 0,
         "locks");
}

/* Another process cannot have them. */
static void end_locks(void)
{
    int status, free = 0;
    pid_t pid = fork();
    if (pid == 0) {
        struct flock first = {.l_type = F_WRLCK, .l_start = 29, .l_len = 1}, second = first;
        free = flock(open_as("flocked"), LOCK_EX | LOCK_NB) == 0;
        fcntl(open_as("processed"), F_GETLK, &first);
        fcntl(open_as("filed"), F_OFD_GETLK, &second);
        free |= (first.l_type == F_UNLCK) << 1 | (second.l_type == F_UNLCK) << 2;
        _exit(free | (flock(open_folder("locked"), LOCK_EX | LOCK_NB) == 0) << 3);
    }
    waitpid(pid, &status, 0);
    say("locks of files: %d free\n", WEXITSTATUS(status));
}

/* Two descriptors share an offset, and a file is appended to all the time. */
static void make_files(void)
{
    offsets[0] = open_as("shared");
    offsets[1] = dup(offsets[0]);
    appends = fopen(path_of("appended"), "a");
    need(offsets[1] >= 0 && appends, "files");
}

static void step_files(int step)
{
    char line[16];
    int n = snprintf(line, sizeof(line), "%d\n", step);
    need(write(offsets[step % 2], line, (size_t)n) == n, "write");
    fputs(line, appends);
    fflush(appends);
}

/* Many descriptors of one file, some of which share their places. */
enum { MANY = 300, COPIES_OF = 3 };
static int many[MANY];

static int many_origin(int i)
{
    int origin = i % COPIES_OF == 2 ? i * 7 % (i - 1) : i;
    return origin == i ? i : many_origin(origin);
}

static void make_many_files(void)
{
    for (int i = 0; i < MANY; i++) {
        int origin = many_origin(i);
        many[i] = origin == i ? open_as("many") : dup(many[origin]);
        need(many[i] >= 0, "many");
    }
}

static void end_many_files(void)
{
    int wrong = 0;
    for (int i = 0; i < MANY; i++) {
        if (many_origin(i) == i) {
            lseek(many[i], i, SEEK_SET);
        }
    }
    for (int i = 0; i < MANY; i++) {
        wrong += lseek(many[i], 0, SEEK_CUR) != many_origin(i);
    }
    say("many files: %d wrong\n", wrong);
}

/* Each step writes to a file, and gives it another name. */
static const char *rotated_path(int step)
{
    char name[32];
    snprintf(name, sizeof(name), "rotated-%d", step);
    return path_of(name);
}

static void step_rotated(int step)
{
    static FILE *file;
    char other[4096];
    if (file) {
        fclose(file);
        snprintf(other, sizeof(other), "%s", rotated_path(step - 1));
        need(rename(path_of("rotated"), other) == 0, "rename");
    }
    file = fopen(path_of("rotated"), "w");
    need(file && fprintf(file, "step %d\n", step) > 0 && fflush(file) == 0, "rotated");
}

static void end_rotated(void)
{
    int wrong = 0;
    for (int step = 0, number = -1; step < steps - 1; step++) {
        FILE *file = fopen(rotated_path(step), "r");
        wrong += !file || fscanf(file, "step %d", &number) != 1 || number != step;
        if (file) {
            fclose(file);
        }
    }
    say("rotated: %d wrong\n", wrong);
}

static int count_lines(const char *name)
{
    FILE *file = fopen(path_of(name), "r");
    int lines = 0;
    for (int number; fscanf(file, "%d", &number) == 1 && number == lines;) {
        lines++;
    }
    bool whole = feof(file);
    fclose(file);
    return whole ? lines : -1;
}

static void end_files(void)
{
    say("files: %d %d of %d\n", count_lines("shared"), count_lines("appended"), steps);
}
/* ---- Files that are opened, written and closed in each step ---- */

/* By stdio, and as Fortran does: with a seek to the end. */
static void step_appended(int step)
{
    char line[16];
    int n = snprintf(line, sizeof(line), "%d\n", step);
    FILE *file = fopen(path_of("stdio"), "a");
    need(file && fputs(line, file) >= 0 && fclose(file) == 0, "appended");
    int fd = open(path_of("seek"), O_RDWR | O_CREAT, 0600);
    need(fd >= 0 && lseek(fd, 0, SEEK_END) >= 0 && write(fd, line, (size_t)n) == n, "seek");
    close(fd);
}

static void end_appended(void)
{
    say("appended: %d %d of %d\n", count_lines("stdio"), count_lines("seek"), steps);
}

/* A log that another one follows in each step. */
static void step_log_rotated(int step)
{
    char old[4096];
    snprintf(old, sizeof(old), "%s", path_of("log"));
    need(rename(old, path_of("log-before")) == 0 || errno == ENOENT, "log-before");
    FILE *file = fopen(old, "a");
    need(file && fprintf(file, "%d\n", step) > 0 && fclose(file) == 0, "log");
}

/* By a pointer that was taken before main. */
static FILE *(*volatile early_fopen)(const char *path, const char *mode);

__attribute__((constructor)) static void note_early(void)
{
    early_fopen = fopen;
}

static void step_by_pointer(int step)
{
    FILE *file = early_fopen(path_of("by-pointer"), "a");
    need(file && fprintf(file, "%d\n", step) > 0 && fclose(file) == 0, "by-pointer");
}

static void end_by_pointer(void)
{
    say("by pointer: %d of %d\n", count_lines("by-pointer"), steps);
}

/* For long without a call of MPI: a rank that is replaced meanwhile does not notice it. */
enum { ALONE_LINES = 100 };

static void step_alone(int step)
{
    for (int i = 0; i < ALONE_LINES; i++) {
        FILE *file = fopen(path_of("alone"), "a");
        need(file && fprintf(file, "%d\n", step * ALONE_LINES + i) > 0 && fclose(file) == 0,
             "alone");
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
}

static void end_alone(void)
{
    say("alone: %d lines of %d\n", count_lines("alone"), steps * ALONE_LINES);
}

/* All ranks, one file, whose name is relative to a folder. */
static void step_together(int step)
{
    int home = open(".", O_RDONLY | O_DIRECTORY);
    need(home >= 0 && chdir(folder) == 0, "chdir");
    int fd = open("together", O_WRONLY | O_APPEND | O_CREAT, 0600);
    need(fd >= 0 && dprintf(fd, "%d %d\n", rank, step) > 0, "together");
    close(fd);
    need(fchdir(home) == 0, "fchdir");
    close(home);
}

static void end_together(void)
{
    char path[4096];
    int next = 0, wrong = 0, number, step;
    snprintf(path, sizeof(path), "%s/together", folder);
    FILE *file = fopen(path, "r");
    while (file && fscanf(file, "%d %d\n", &number, &step) == 2) {
        if (number == rank) {
            wrong += step != next++;
        }
    }
    wrong += !file || !feof(file);
    fclose(file);
    say("together: %d of %d, %d wrong\n", next, steps, wrong);
}

/* A new file in each step, which must not be there, and is written again in the next one; one that
 * is there for a moment; one that begins anew. */
static void step_created(int step)
{
    char name[32], line[32];
    int n = snprintf(line, sizeof(line), "%d\n", step);
    snprintf(name, sizeof(name), "new-%d", step);
    int fd = open(path_of(name), O_WRONLY | O_CREAT | O_EXCL, 0600);
    need(fd >= 0 && write(fd, line, (size_t)n) == n && close(fd) == 0, name);
    snprintf(name, sizeof(name), "new-%d", step - 1);
    FILE *file = step > 0 ? fopen(path_of(name), "w") : NULL;
    need(!step || (file && fprintf(file, "%d\n", step - 1) > 0 && fclose(file) == 0), name);
    file = fopen(path_of("anew"), "w");
    need(file && fputs(line, file) >= 0 && fclose(file) == 0, "anew");
    fd = open(path_of("temporary"), O_RDWR | O_CREAT | O_EXCL, 0600);
    need(fd >= 0 && write(fd, line, (size_t)n) == n && close(fd) == 0, "temporary");
    need(unlink(path_of("temporary")) == 0, "unlink");
}

static void end_created(void)
{
    int wrong = 0, number = -1;
    for (int step = 0; step < steps; step++) {
        char name[32], line[32] = "";
        snprintf(name, sizeof(name), "new-%d", step);
        FILE *file = fopen(path_of(name), "r");
        wrong += !file || fscanf(file, "%31[^z]", line) != 1 || atoi(line) != step ||
                 strchr(line, '\n') != line + strlen(line) - 1;
        if (file) {
            fclose(file);
        }
    }
    FILE *file = fopen(path_of("anew"), "r");
    need(file && fscanf(file, "%d", &number) == 1 && fclose(file) == 0, "anew");
    say("created: %d wrong, the last is %d\n", wrong, number);
}

/* ---- Files that are emptied while an image has them open ---- */

enum { HALF_LINES = 50 };

static void write_half(FILE *file, int step)
{
    for (int i = 0; i < HALF_LINES; i++) {
        need(fprintf(file, "%d\n", step) > 0, "half a file");
    }
    need(fflush(file) == 0, "half a file");
}

static void check_halves(const char *name, int step)
{
    int lines = 0, wrong = 0;
    FILE *file = fopen(path_of(name), "r");
    for (int number; file && fscanf(file, "%d", &number) == 1; lines++) {
        wrong += number != step;
    }
    if (!file || fclose(file) != 0 || wrong > 0 || lines != 2 * HALF_LINES) {
        say("%s: step %d: %d lines, %d wrong\n", name, step, lines, wrong);
    }
}

/* Written in two steps, between which there may be a snapshot, and read again: emptied when it is
 * opened, or a file of its own each time, perhaps with the inode of the one before. */
static void step_emptied(int step)
{
    static FILE *file, *another;
    if (step % 2 == 0) {
        unlink(path_of("replaced"));
        another = fopen(path_of("replaced"), "w+");
        file = fopen(path_of("emptied"), "w");
        need(file && another, "emptied");
    }
    write_half(file, step / 2);
    write_half(another, step / 2);
    if (step % 2 == 1) {
        need(fclose(file) == 0 && fclose(another) == 0, "emptied");
        check_halves("emptied", step / 2);
        check_halves("replaced", step / 2);
    }
}

/* A journal that stays open, and is emptied when it is full. */
static void step_cut(int step)
{
    static int journal;
    char line[16], all[256];
    if (step == 0) {
        journal = open(path_of("journal"), O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
    }
    int n = snprintf(line, sizeof(line), "%d\n", step);
    need(journal >= 0 && write(journal, line, (size_t)n) == n, "journal");
    if (step % 7 == 6) {
        ssize_t bytes = pread(journal, all, sizeof(all) - 1, 0);
        all[bytes > 0 ? bytes : 0] = '\0';
        const char *c = all;
        for (int i = step - 6; i <= step; i++) {
            n = snprintf(line, sizeof(line), "%d\n", i);
            if (strncmp(c, line, (size_t)n) != 0) {
                say("journal: step %d has \"%s\"\n", step, all);
                break;
            }
            c += n;
        }
        need(ftruncate(journal, 0) == 0, "ftruncate");
    }
}

/* ---- Small files that have what the program computes with ---- */

static long read_number(const char *name)
{
    long number = -1;
    FILE *file = fopen(path_of(name), "r");
    need(file && fscanf(file, "%ld", &number) == 1 && fclose(file) == 0, name);
    return number;
}

static void write_number(const char *name, long number)
{
    FILE *file = fopen(path_of(name), "w");
    need(file && fprintf(file, "%ld\n", number) > 0 && fclose(file) == 0, name);
}

static void make_counter(void)
{
    write_number("counter", 0);
}

static void step_counter(int step)
{
    (void)step;
    write_number("counter", read_number("counter") + 1);
}

static void end_counter(void)
{
    say("counter: %ld of %d\n", read_number("counter"), steps);
}

/* Records of one size, one of which is changed in each step: by stdio, and by numbers of places. */
enum { RECORDS = 5 };

static void make_in_place(void)
{
    const long zeros[RECORDS] = {0};
    int fd = open_as("records");
    FILE *file = fopen(path_of("one-record"), "w");
    need(write(fd, zeros, sizeof(zeros)) == sizeof(zeros) && close(fd) == 0, "records");
    need(file && fprintf(file, "%08ld\n", 0L) > 0 && fclose(file) == 0, "one-record");
}

static void step_in_place(int step)
{
    long record;
    off_t at = step % RECORDS * (off_t)sizeof(record);
    int fd = open(path_of("records"), O_RDWR);
    need(pread(fd, &record, sizeof(record), at) == sizeof(record), "records");
    record += step + 1;
    need(pwrite(fd, &record, sizeof(record), at) == sizeof(record) && close(fd) == 0, "records");
    FILE *file = fopen(path_of("one-record"), "r+");
    need(file && fscanf(file, "%ld", &record) == 1 && fseek(file, 0, SEEK_SET) == 0 &&
             fprintf(file, "%08ld\n", record + step + 1) > 0 && fclose(file) == 0,
         "one-record");
}

static void end_in_place(void)
{
    long records[RECORDS], all = 0;
    int fd = open_as("records");
    need(read(fd, records, sizeof(records)) == sizeof(records) && close(fd) == 0, "records");
    for (int i = 0; i < RECORDS; i++) {
        all += records[i];
    }
    say("in place: %ld %ld of %ld\n", all, read_number("one-record"),
        (long)steps * (steps + 1) / 2);
}

/* The new content gets the name of the old one, which is renamed before, or not; and the file for
 * it is one of a certain name, or of any. */
static void make_replaced(void)
{
    write_number("state", 0);
    write_number("second-state", 0);
}

static void step_replaced(int step)
{
    char new_one[4096], text[32];
    snprintf(new_one, sizeof(new_one), "%s", path_of("state-new"));
    write_number("state-new", read_number("state") + 1);
    need(rename(new_one, path_of("state")) == 0, "state");
    int n = snprintf(text, sizeof(text), "%ld\n", read_number("second-state") + 1);
    if (step % 2 == 0) {
        snprintf(new_one, sizeof(new_one), "%s", path_of("second-state"));
        need(rename(new_one, path_of("state-before")) == 0, "state-before");
    }
    snprintf(new_one, sizeof(new_one), "%s-XXXXXX", path_of("any"));
    int fd = mkstemp(new_one);
    need(fd >= 0 && write(fd, text, (size_t)n) == n && close(fd) == 0 &&
             renameat(AT_FDCWD, new_one, AT_FDCWD, path_of("second-state")) == 0,
         "second-state");
}

static void end_replaced(void)
{
    say("replaced: %ld %ld of %d\n", read_number("state"), read_number("second-state"), steps);
}

/* A number in a file that stays open, and folders that are read again from their beginning. */
static void step_numbers_of(int fd, long more)
{
    long number = 0;
    need(!more || pread(fd, &number, sizeof(number), 0) == sizeof(number), "kept-open");
    number += more;
    need(pwrite(fd, &number, sizeof(number), 0) == sizeof(number), "kept-open");
}

static int kept_open = -1;
static DIR *listed;

static void make_kept_open(void)
{
    kept_open = open_as("kept-open");
    step_numbers_of(kept_open, 0);
    listed = opendir(folder);
    need(listed != NULL, "a folder");
}

static void step_kept_open(int step)
{
    (void)step;
    step_numbers_of(kept_open, 1);
    while (readdir(listed)) {
    }
    if (step % 3 == 0) {
        rewinddir(listed);
        need(readdir(listed) != NULL, "an entry");
    }
}

static void end_kept_open(void)
{
    long number;
    need(pread(kept_open, &number, sizeof(number), 0) == sizeof(number), "kept-open");
    say("kept open: %ld of %d\n", number, steps);
}

/* Text in a file that stays open, is cut, and written anew, as Fortran does; and a short journal.
 */
static int kept_cut = -1, kept_journal = -1;

static void make_kept_cut(void)
{
    kept_cut = open_as("kept-cut");
    kept_journal = open(path_of("kept-journal"), O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
    need(kept_journal >= 0 && ftruncate(kept_cut, 0) == 0 && dprintf(kept_cut, "0\n") > 0,
         "kept-cut");
}

static void step_kept_cut(int step)
{
    char text[32] = "", line[16];
    int width = 10 - step % 7, n = snprintf(line, sizeof(line), "%d\n", step);
    need(pread(kept_cut, text, sizeof(text) - 1, 0) > 0 && lseek(kept_cut, 0, SEEK_SET) == 0 &&
             ftruncate(kept_cut, 0) == 0 && dprintf(kept_cut, "%*d\n", width, atoi(text) + 1) > 0 &&
             write(kept_journal, line, (size_t)n) == n,
         "kept-cut");
    if (step % 5 == 4) {
        struct stat st;
        n = 0;
        for (int i = step - 4; i <= step; i++) {
            n += snprintf(NULL, 0, "%d\n", i);
        }
        if (fstat(kept_journal, &st) != 0 || st.st_size != n) {
            say("kept journal: step %d has %ld bytes of %d\n", step, (long)st.st_size, n);
        }
        need(ftruncate(kept_journal, 0) == 0, "kept-journal");
    }
}

static void end_kept_cut(void)
{
    char text[32] = "";
    need(pread(kept_cut, text, sizeof(text) - 1, 0) > 0, "kept-cut");
    say("kept cut: %d of %d\n", atoi(text), steps);
}

/* Too much to be kept: if it was read since the snapshot, that is not restored. */
enum { NUMBERS = 10000 };

static void make_large(void)
{
    static const int zeros[NUMBERS];
    FILE *file = fopen(path_of("large"), "w");
    need(file && fwrite(zeros, sizeof(zeros), 1, file) == 1 && fclose(file) == 0, "large");
}

static void step_large(int step)
{
    static int numbers[NUMBERS];
    FILE *file;
    if (step % 2 == 1) {
        return; /* a snapshot may be between a change and the next one */
    }
    file = fopen(path_of("large"), "r");
    need(file && fread(numbers, sizeof(numbers), 1, file) == 1 && fclose(file) == 0, "large");
    for (int i = 0; i < NUMBERS; i++) {
        numbers[i] += i % 3;
    }
    file = fopen(path_of("large"), "w");
    need(file && fwrite(numbers, sizeof(numbers), 1, file) == 1 && fclose(file) == 0, "large");
}

/* The old one gets another name, and is the next one's backup. */
static void step_moved(int step)
{
    static int numbers[NUMBERS];
    char old[4096];
    if (step % 2 == 1) {
        return;
    }
    FILE *file = fopen(path_of("large"), "r");
    need(file && fread(numbers, sizeof(numbers), 1, file) == 1 && fclose(file) == 0, "large");
    for (int i = 0; i < NUMBERS; i++) {
        numbers[i] += i % 3;
    }
    snprintf(old, sizeof(old), "%s", path_of("large"));
    need(rename(old, path_of("large-before")) == 0, "large-before");
    file = fopen(path_of("large"), "w");
    need(file && fwrite(numbers, sizeof(numbers), 1, file) == 1 && fclose(file) == 0, "large");
}

static void end_large(void)
{
    static int numbers[NUMBERS];
    int wrong = 0, times = (steps + 1) / 2;
    FILE *file = fopen(path_of("large"), "r");
    need(file && fread(numbers, sizeof(numbers), 1, file) == 1 && fclose(file) == 0, "large");
    for (int i = 0; i < NUMBERS; i++) {
        wrong += numbers[i] != i % 3 * times;
    }
    say("large: %d wrong\n", wrong);
}

/* ---- Mappings of files ---- */

enum { PAGE = 4096 };
static char *removed, *odd_name;
static const int *numbers;
static int numbers_file;

static char *map_private(const char *name, size_t bytes)
{
    int fd = open_as(name);
    need(write(fd, "hello", 5) == 5, name);
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    need(at != MAP_FAILED && close(fd) == 0, name);
    at[1] = 'E';
    return at;
}

static void make_mappings(void)
{
    removed = map_private("removed-map", 3 * PAGE);
    need(unlink(path_of("removed-map")) == 0, "unlink");
    odd_name = map_private("two\nlines", PAGE);
    numbers_file = open(path_of("appended-map"), O_RDWR | O_CREAT | O_APPEND, 0600);
    numbers = mmap(NULL, (size_t)steps * sizeof(int), PROT_READ, MAP_SHARED, numbers_file, 0);
    need(numbers_file >= 0 && numbers != MAP_FAILED, "appended-map");
}

static void step_mappings(int step)
{
    need(write(numbers_file, &step, sizeof(step)) == sizeof(step), "appended-map");
    for (int i = 0; i <= step; i++) {
        if (numbers[i] != i) {
            say("mappings: step %d: number %d is %d\n", step, i, numbers[i]);
        }
    }
}

/* The kernel cannot read what is behind the end of a file. */
static void end_mappings(void)
{
    int ends[2];
    need(pipe(ends) == 0, "pipe");
    say("mappings: %s, %s, behind the end %d\n", removed, odd_name,
        (int)write(ends[1], removed + PAGE, 1));
}

/* A large file that is mapped to read it, and overwritten in place: its size stays. */
static volatile const long *overwritten;
static unsigned long weighed;
static int overwriter;

static void make_mapped_over(void)
{
    static const long zeros[NUMBERS];
    overwriter = open_as("mapped-over");
    need(write(overwriter, zeros, sizeof(zeros)) == sizeof(zeros), "mapped-over");
    overwritten = mmap(NULL, sizeof(zeros), PROT_READ, MAP_SHARED, overwriter, 0);
    need(overwritten != MAP_FAILED, "mapped-over");
}

static void step_mapped_over(int step)
{
    unsigned long sum = 0;
    for (int i = 0; i < NUMBERS; i += 100) {
        sum = 3 * sum + (unsigned long)overwritten[i];
    }
    weighed = 5 * weighed + sum;
    long next = step + (long)(sum % 1000003);
    off_t at = step * 100 % NUMBERS * (off_t)sizeof(next);
    need(pwrite(overwriter, &next, sizeof(next), at) == sizeof(next), "mapped-over");
}

static void end_mapped_over(void)
{
    say("mapped over: %lx\n", weighed);
}

/* ---- Files that are read while others write ---- */

enum { READ_STEPS = 10, REPLACED_AT = 3 };
static int reader = -1, follower;

static void write_version(int version)
{
    static int version_of[NUMBERS];
    char new_one[4096];
    for (int i = 0; i < NUMBERS; i++) {
        version_of[i] = version + i;
    }
    snprintf(new_one, sizeof(new_one), "%s", path_of("version-new"));
    int fd = open(new_one, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    need(fd >= 0 && write(fd, version_of, sizeof(version_of)) == sizeof(version_of), "version-new");
    need(close(fd) == 0 && rename(new_one, path_of("version")) == 0, "version");
}

/* A large file that is read for some steps, and gets another one's content by rename meanwhile. */
static void step_read_on(int step)
{
    int number = -1, version = step / READ_STEPS * READ_STEPS;
    if (step % READ_STEPS == 0) {
        write_version(version);
        need(reader < 0 || close(reader) == 0, "version");
        reader = open(path_of("version"), O_RDONLY);
    } else if (step % READ_STEPS == REPLACED_AT) {
        write_version(-version);
    }
    bool got = read(reader, &number, sizeof(number)) == sizeof(number);
    if (!got || number != version + step % READ_STEPS) {
        say("read on: step %d has read %d\n", step, number);
    }
}

/* A log that is read where it grows. */
static void make_followed(void)
{
    need(close(open(path_of("followed"), O_WRONLY | O_CREAT | O_TRUNC, 0600)) == 0, "followed");
    follower = open(path_of("followed"), O_RDONLY);
    need(follower >= 0, "followed");
}

static void step_followed(int step)
{
    int number = -1;
    int fd = open(path_of("followed"), O_WRONLY | O_APPEND);
    need(fd >= 0 && write(fd, &step, sizeof(step)) == sizeof(step) && close(fd) == 0, "followed");
    if (read(follower, &number, sizeof(number)) != sizeof(number) || number != step) {
        say("followed: step %d has read %d\n", step, number);
    }
}

/* ---- The modes ---- */

const struct mode file_modes[] = {
    {"streams", make_streams, step_streams, end_streams},
    {"lines", NULL, step_lines, NULL},
    {"numbers", make_numbers, NULL, end_numbers},
    {"input", make_input, step_input, end_input},
    {"locks", make_locks, NULL, end_locks},
    {"files", make_files, step_files, end_files},
    {"many-files", make_many_files, NULL, end_many_files},
    {"rotated", NULL, step_rotated, end_rotated},
    {"appended", NULL, step_appended, end_appended},
    {"log-rotated", NULL, step_log_rotated, NULL},
    {"by-pointer", NULL, step_by_pointer, end_by_pointer},
    {"alone", NULL, step_alone, end_alone},
    {"together", NULL, step_together, end_together},
    {"created", NULL, step_created, end_created},
    {"emptied", NULL, step_emptied, NULL},
    {"cut", NULL, step_cut, NULL},
    {"counter", make_counter, step_counter, end_counter},
    {"in-place", make_in_place, step_in_place, end_in_place},
    {"replaced", make_replaced, step_replaced, end_replaced},
    {"large", make_large, step_large, end_large},
    {"moved", make_large, step_moved, end_large},
    {"kept-open", make_kept_open, step_kept_open, end_kept_open},
    {"kept-cut", make_kept_cut, step_kept_cut, end_kept_cut},
    {"mapped-over", make_mapped_over, step_mapped_over, end_mapped_over},
    {"read-on", NULL, step_read_on, NULL},
    {"followed", make_followed, step_followed, NULL},
    {"mappings", make_mappings, step_mappings, end_mappings},
    {NULL, NULL, NULL, NULL},
};
