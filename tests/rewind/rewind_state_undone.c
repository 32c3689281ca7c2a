/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that are not restored, and of which a restored process must not read what the failed ones
 * wrote after the snapshot. */
#include "rewind_state.h"

#include <mpi.h>
#include <rhizome/rewind.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* More than is kept of a file. */
enum { NUMBERS = 10000 };
static int numbers[NUMBERS];

static void check_numbers(const char *what, int want)
{
    int wrong = 0;
    for (int i = 0; i < NUMBERS; i++) {
        wrong += numbers[i] != i % 3 * want;
    }
    say("%s: %d wrong\n", what, wrong);
}

static void count_on(void)
{
    for (int i = 0; i < NUMBERS; i++) {
        numbers[i] += i % 3;
    }
}

static int zeros_in(const char *name)
{
    static const int zeros[NUMBERS];
    int fd = open_as(name);
    need(write(fd, zeros, sizeof(zeros)) == sizeof(zeros), name);
    return fd;
}

/* ---- Read and overwritten in place ---- */

static int in_place = -1, by_offset = -1;
static FILE *in_stream;

static void make_kept_large(void)
{
    in_place = zeros_in("kept-large");
    by_offset = zeros_in("kept-offset");
}

static void step_kept_large(int step)
{
    (void)step;
    need(pread(in_place, numbers, sizeof(numbers), 0) == sizeof(numbers), "kept-large");
    count_on();
    need(pwrite(in_place, numbers, sizeof(numbers), 0) == sizeof(numbers), "kept-large");
    need(lseek(by_offset, 0, SEEK_SET) == 0 &&
             read(by_offset, numbers, sizeof(numbers)) == sizeof(numbers),
         "kept-offset");
    count_on();
    need(lseek(by_offset, 0, SEEK_SET) == 0 &&
             write(by_offset, numbers, sizeof(numbers)) == sizeof(numbers),
         "kept-offset");
}

static void end_kept_large(void)
{
    need(pread(in_place, numbers, sizeof(numbers), 0) == sizeof(numbers), "kept-large");
    check_numbers("kept large", steps);
    need(pread(by_offset, numbers, sizeof(numbers), 0) == sizeof(numbers), "kept-offset");
    check_numbers("kept offset", steps);
}

static void make_kept_stream(void)
{
    static const int zeros[NUMBERS];
    in_stream = fopen(path_of("kept-stream"), "w+");
    need(in_stream && fwrite(zeros, sizeof(zeros), 1, in_stream) == 1 && fflush(in_stream) == 0,
         "kept-stream");
}

static void step_kept_stream(int step)
{
    (void)step;
    rewind(in_stream);
    need(fread(numbers, sizeof(numbers), 1, in_stream) == 1, "kept-stream");
    count_on();
    rewind(in_stream);
    need(fwrite(numbers, sizeof(numbers), 1, in_stream) == 1 && fflush(in_stream) == 0,
         "kept-stream");
}

static void end_kept_stream(void)
{
    rewind(in_stream);
    need(fread(numbers, sizeof(numbers), 1, in_stream) == 1, "kept-stream");
    check_numbers("kept stream", steps);
}

/* Opened in each step: with a stream, without, and mapped. */
static void make_opened_large(void)
{
    need(close(zeros_in("opened-large")) == 0, "opened-large");
}

static void step_opened_large(int step)
{
    if (step % 3 == 0) {
        FILE *file = fopen(path_of("opened-large"), "r+");
        need(file && fread(numbers, sizeof(numbers), 1, file) == 1, "opened-large");
        count_on();
        rewind(file);
        need(fwrite(numbers, sizeof(numbers), 1, file) == 1 && fclose(file) == 0, "opened-large");
        return;
    }
    int fd = open_as("opened-large");
    if (step % 3 == 1) {
        need(read(fd, numbers, sizeof(numbers)) == sizeof(numbers), "opened-large");
    } else {
        const int *seen = mmap(NULL, sizeof(numbers), PROT_READ, MAP_PRIVATE, fd, 0);
        need(seen != MAP_FAILED, "mmap");
        memcpy(numbers, seen, sizeof(numbers));
        need(munmap((void *)seen, sizeof(numbers)) == 0, "munmap");
    }
    count_on();
    need(pwrite(fd, numbers, sizeof(numbers), 0) == sizeof(numbers) && close(fd) == 0,
         "opened-large");
}

static void end_opened_large(void)
{
    int fd = open(path_of("opened-large"), O_RDONLY);
    need(fd >= 0 && read(fd, numbers, sizeof(numbers)) == sizeof(numbers), "opened-large");
    check_numbers("opened large", steps);
}

/* A number at the beginning, and records behind its end, as a database has. */
enum { RECORD = 500 };

static void make_grown_large(void)
{
    unlink(path_of("grown-large"));
    need(close(zeros_in("grown-large")) == 0, "grown-large");
}

static void step_grown_large(int step)
{
    char record[RECORD] = "";
    long number = -1;
    int fd = open_as("grown-large");
    need(pread(fd, &number, sizeof(number), 0) == sizeof(number), "grown-large");
    number++;
    need(pwrite(fd, &number, sizeof(number), 0) == sizeof(number) &&
             pwrite(fd, record, RECORD, (off_t)sizeof(numbers) + (off_t)step * RECORD) == RECORD &&
             close(fd) == 0,
         "grown-large");
}

static void say_first_number(const char *name)
{
    long number = -1;
    int fd = open(path_of(name), O_RDONLY);
    need(fd >= 0 && read(fd, &number, sizeof(number)) == sizeof(number) && close(fd) == 0, name);
    say("%s: %ld of %d\n", name, number, steps);
}

static void end_grown_large(void)
{
    say_first_number("grown-large");
}

/* By a stream that is made of a descriptor. */
static void make_by_fdopen(void)
{
    unlink(path_of("by-fdopen"));
    need(close(zeros_in("by-fdopen")) == 0, "by-fdopen");
}

static void step_by_fdopen(int step)
{
    long number = -1;
    FILE *file = fdopen(open_as("by-fdopen"), "r+");
    (void)step;
    need(file && fread(&number, sizeof(number), 1, file) == 1, "by-fdopen");
    rewind(file);
    number++;
    need(fwrite(&number, sizeof(number), 1, file) == 1 && fclose(file) == 0, "by-fdopen");
}

static void end_by_fdopen(void)
{
    say_first_number("by-fdopen");
}

/* Read by a descriptor that is open since before the snapshot, and written by others. */
static int reader = -1;

static void make_read_elsewhere(void)
{
    unlink(path_of("read-elsewhere"));
    need(close(zeros_in("read-elsewhere")) == 0, "read-elsewhere");
    reader = open(path_of("read-elsewhere"), O_RDONLY);
    need(reader >= 0, "read-elsewhere");
}

static void step_read_elsewhere(int step)
{
    long number = -1;
    (void)step;
    need(pread(reader, &number, sizeof(number), 0) == sizeof(number), "read-elsewhere");
    number++;
    int fd = open(path_of("read-elsewhere"), O_WRONLY);
    need(fd >= 0 && pwrite(fd, &number, sizeof(number), 0) == sizeof(number) && close(fd) == 0,
         "read-elsewhere");
}

static void end_read_elsewhere(void)
{
    say_first_number("read-elsewhere");
}

/* ---- Several ranks ---- */

static const char *path_of_all(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void write_all(const char *name)
{
    FILE *file = fopen(path_of_all(name), "w");
    need(file && fwrite(numbers, sizeof(numbers), 1, file) == 1 && fclose(file) == 0, name);
}

static void read_all(const char *name)
{
    FILE *file = fopen(path_of_all(name), "r");
    need(file && fread(numbers, sizeof(numbers), 1, file) == 1 && fclose(file) == 0, name);
}

static void make_others(void)
{
    memset(numbers, 0, sizeof(numbers));
    if (rank == 0) {
        write_all("others");
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* One writes without reading, after the others have read: each knows nothing of what the other
 * does. */
static void step_others(int step)
{
    if (rank > 0) {
        read_all("others");
        if (numbers[1] != step) {
            say("others: step %d has read %d\n", step, numbers[1]);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    count_on();
    if (rank == 0) {
        write_all("others");
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void end_others(void)
{
    read_all("others");
    check_numbers("others", steps);
}

static void rename_all(const char *from, const char *to)
{
    char old[4096];
    snprintf(old, sizeof(old), "%s", path_of_all(from));
    need(rename(old, path_of_all(to)) == 0, to);
}

/* One writes a new file, which gets the name of the one that the others have read. */
static void make_replaced_large(void)
{
    RZ_Rewind_forbid();
    memset(numbers, 0, sizeof(numbers));
    if (rank == 0) {
        write_all("replaced-large");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    read_all("replaced-large"); /* each knows which file has the name at the snapshot */
    RZ_Rewind_allow();
}

static void step_replaced_large(int step)
{
    if (rank > 0) {
        read_all("replaced-large");
        if (numbers[1] != step) {
            say("replaced-large: step %d has read %d\n", step, numbers[1]);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        numbers[1] = step + 1;
        write_all("replaced-large-new");
        rename_all("replaced-large-new", "replaced-large");
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- Large files that are renamed ---- */

enum { TURNED = 4 };

static const char *turned_path(const char *name, int i)
{
    static char path[2][4096];
    static int last;
    last ^= 1;
    snprintf(path[last], sizeof(path[last]), "%s-%d", path_of(name), i);
    return path[last];
}

static void put_first(const char *path, size_t bytes, int first)
{
    memset(numbers, 0, sizeof(numbers));
    numbers[0] = first;
    FILE *file = fopen(path, "w");
    need(file && fwrite(numbers, bytes, 1, file) == 1 && fclose(file) == 0, path);
}

static int first_of(const char *path)
{
    int first = -1;
    FILE *file = fopen(path, "r");
    need(file && fread(&first, sizeof(first), 1, file) == 1 && fclose(file) == 0, path);
    return first;
}

/* The first of the exchanged ones is large, the second one small or as large. */
static void make_turned_large(void)
{
    for (int i = 0; i < TURNED; i++) {
        put_first(turned_path("turned", i), sizeof(numbers), i);
        put_first(turned_path("exchanged", i), i == 1 ? sizeof(int) : sizeof(numbers), i);
    }
}

/* By names alone: nobody reads them before the end. */
static void step_turned_large(int step)
{
    (void)step;
    need(rename(turned_path("turned", 0), turned_path("turned", TURNED)) == 0, "turned");
    for (int i = 0; i < TURNED; i++) {
        need(rename(turned_path("turned", i + 1), turned_path("turned", i)) == 0, "turned");
    }
    for (int i = 0; i < TURNED; i += 2) {
        need(renameat2(AT_FDCWD, turned_path("exchanged", i), AT_FDCWD,
                       turned_path("exchanged", i + 1), RENAME_EXCHANGE) == 0,
             "exchanged");
    }
}

static void end_turned_large(void)
{
    int wrong = 0;
    for (int i = 0; i < TURNED; i++) {
        wrong += first_of(turned_path("turned", i)) != (i + steps) % TURNED;
        wrong += first_of(turned_path("exchanged", i)) != (i ^ (steps % 2));
    }
    say("turned large: %d wrong\n", wrong);
}

/* One renames, and the others read. */
static void make_turned_elsewhere(void)
{
    for (int i = 0; rank == 0 && i < TURNED; i++) {
        char name[32];
        snprintf(name, sizeof(name), "all-%d", i);
        put_first(path_of_all(name), sizeof(numbers), i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void step_turned_elsewhere(int step)
{
    char name[32], next[32];
    snprintf(name, sizeof(name), "all-%d", (step + rank) % TURNED);
    int first = rank > 0 ? first_of(path_of_all(name)) : 0;
    if (rank > 0 && first != (2 * step + rank) % TURNED) {
        say("turned elsewhere: step %d has read %d\n", step, first);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i <= TURNED; i++) {
        snprintf(name, sizeof(name), "all-%d", i);
        snprintf(next, sizeof(next), "all-%d", i == 0 ? TURNED : i - 1);
        rename_all(name, next);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Two ranks give the same files their names in turn. */
static void make_passed_on(void)
{
    for (int i = 0; rank == 0 && i < TURNED; i++) {
        char name[32];
        snprintf(name, sizeof(name), "passed-%d", i);
        put_first(path_of_all(name), sizeof(numbers), i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void step_passed_on(int step)
{
    (void)step;
    for (int i = 0; i <= TURNED; i++) {
        char name[32], next[32];
        snprintf(name, sizeof(name), "passed-%d", i);
        snprintf(next, sizeof(next), "passed-%d", i == 0 ? TURNED : i - 1);
        if (rank == i % 2) {
            rename_all(name, next);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void end_passed_on(void)
{
    int wrong = 0;
    for (int i = 0; i < TURNED; i++) {
        char name[32];
        snprintf(name, sizeof(name), "passed-%d", i);
        wrong += first_of(path_of_all(name)) != (i + steps) % TURNED;
    }
    say("passed on: %d wrong\n", wrong);
}

/* Appended to under another name, which it has for so long. */
static void make_claimed_large(void)
{
    put_first(path_of("claimed"), sizeof(numbers), 0);
    need(mkdir(path_of("claimed-folder"), 0700) == 0 || errno == EEXIST, "claimed-folder");
}

static void step_claimed_large(int step)
{
    char claimed[4096];
    snprintf(claimed, sizeof(claimed), "%s", path_of("claimed"));
    need(rename(claimed, path_of("claimed-folder")) != 0, "claimed-folder"); /* keeps its name */
    snprintf(claimed, sizeof(claimed), "%s", path_of("claimed-busy"));
    need(rename(path_of("claimed"), claimed) == 0, "claimed");
    FILE *file = fopen(claimed, "a");
    need(file && fwrite(&step, sizeof(step), 1, file) == 1 && fclose(file) == 0, "claimed");
    need(rename(claimed, path_of("claimed")) == 0, "claimed");
}

static void end_claimed_large(void)
{
    int last = -1;
    FILE *file = fopen(path_of("claimed"), "r");
    need(file && fseek(file, -(long)sizeof(int), SEEK_END) == 0 &&
             fread(&last, sizeof(last), 1, file) == 1,
         "claimed");
    say("claimed large: %ld bytes, last %d\n", ftell(file), last);
    fclose(file);
}

/* The last result but one has another name. The program would stop if a rename failed. */
static void make_kept_before(void)
{
    put_first(path_of("result"), sizeof(numbers), -1);
    put_first(path_of("result-before"), sizeof(numbers), -2);
}

static void step_kept_before(int step)
{
    char result[4096], other[4096];
    snprintf(result, sizeof(result), "%s", path_of("result"));
    snprintf(other, sizeof(other), "%s", path_of("result-new"));
    put_first(other, sizeof(numbers), step);
    need(rename(result, path_of("result-before")) == 0, "result");
    nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL); /* most failures come here */
    need(rename(other, result) == 0, "result-new");
}

static void end_kept_before(void)
{
    int last = first_of(path_of("result"));
    say("kept before: %d %d\n", first_of(path_of("result-before")), last);
}

/* A checkpoint that nobody reads gets the name of the one before, and a file comes and goes. */
static void step_written_anew(int step)
{
    char anew[4096];
    snprintf(anew, sizeof(anew), "%s", path_of("anew-new"));
    put_first(anew, sizeof(numbers), step);
    put_first(path_of("scratch"), sizeof(numbers), step);
    need(first_of(path_of("scratch")) == step, "scratch");
    need(unlink(path_of("scratch")) == 0 && rename(anew, path_of("anew")) == 0, "anew");
}

static void end_written_anew(void)
{
    say("written anew: %d of %d\n", first_of(path_of("anew")) + 1, steps);
}

/* As a library does that makes a temporary file alone, and gives it the name of the one before. */
static void make_alone(const char *name, size_t bytes, int step)
{
    char fresh[4096];
    snprintf(fresh, sizeof(fresh), "%s", path_of("alone-new"));
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL, 0600);
    memset(numbers, 0, sizeof(numbers));
    numbers[0] = step;
    need(fd >= 0 && write(fd, numbers, bytes) == (ssize_t)bytes && close(fd) == 0, "alone-new");
    need(rename(fresh, path_of(name)) == 0, "alone");
}

static void step_made_alone(int step)
{
    make_alone("alone-large", sizeof(numbers), step);
    make_alone("alone-small", 100, step);
}

static void end_made_alone(void)
{
    int large = first_of(path_of("alone-large"));
    say("made alone: %d %d\n", large, first_of(path_of("alone-small")));
}

/* The others read the last result but one, if there is one; one of them by a link, and the other
 * one would make it. */
static void make_read_before(void)
{
    if (rank == 0) {
        put_first(path_of_all("read-result"), sizeof(numbers), -1);
        put_first(path_of_all("read-before"), sizeof(numbers), -2);
        need(symlink("read-before", path_of_all("read-link")) == 0 || errno == EEXIST, "read-link");
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Soon after a snapshot. A folder that is made stays. */
static void fail_once(int step)
{
    char name[32];
    snprintf(name, sizeof(name), "failed-%d", step);
    if (getenv("RZ_REWIND") && step % 10 == 1 && step > 10 && step < 50 &&
        mkdir(path_of_all(name), 0700) == 0) {
        raise(SIGKILL);
    }
}

static void step_read_before(int step)
{
    int how = rank == 2 ? O_RDWR | O_CREAT : O_RDONLY, first = 0;
    const char *name = rank == 2 ? "read-before" : "read-link";
    int fd = rank > 0 ? open(path_of_all(name), how, 0600) : -1;
    if (rank > 0 && (read(fd, &first, sizeof(first)) != sizeof(first) || first != step - 2)) {
        say("read before: step %d has read %d\n", step, fd < 0 ? -errno : first);
    }
    close(fd);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        put_first(path_of_all("read-new"), sizeof(numbers), step);
        rename_all("read-result", "read-before");
        fail_once(step);
        rename_all("read-new", "read-result");
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* One writes anew, then all read: so it is again after a restoration. A log grows, and is read. */
static void step_rewritten(int step)
{
    RZ_Rewind_forbid(); /* a snapshot between writing and reading would need the content */
    for (int i = 0; i < NUMBERS; i++) {
        numbers[i] = i % 3 * step;
    }
    if (rank == 0) {
        write_all("rewritten");
        FILE *log = fopen(path_of_all("grows"), "a");
        need(log && fwrite(numbers, sizeof(numbers), 1, log) == 1 && fclose(log) == 0, "grows");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    read_all("rewritten");
    int sum = 0, last = 0;
    for (int i = 0; i < NUMBERS; i++) {
        sum += numbers[i] != i % 3 * step;
    }
    FILE *log = fopen(path_of_all("grows"), "r");
    need(log && fseek(log, -(long)sizeof(int), SEEK_END) == 0 &&
             fread(&last, sizeof(last), 1, log) == 1 &&
             ftell(log) == (step + 1) * (long)sizeof(numbers) && fclose(log) == 0,
         "grows");
    if (sum != 0 || last != (NUMBERS - 1) % 3 * step) {
        say("rewritten: step %d has read %d wrong\n", step, sum);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    RZ_Rewind_allow();
}

/* ---- Removed ---- */

static void write_small(const char *name, long number)
{
    FILE *file = fopen(path_of(name), "wx");
    need(file && fprintf(file, "%ld\n", number) > 0 && fclose(file) == 0, name);
}

static long read_small(const char *name)
{
    long number = -1;
    FILE *file = fopen(path_of(name), "r");
    need(file && fscanf(file, "%ld", &number) == 1 && fclose(file) == 0, name);
    return number;
}

static void make_removed_small(void)
{
    remove(path_of("again"));
    unlink(path_of("linked"));
    write_small("again", 0);
    write_small("linked", 0);
}

/* Made anew each time; and a link in the place of a rename. */
static void step_removed_small(int step)
{
    char new_one[4096];
    long number = read_small("again");
    need((step % 2 ? remove(path_of("again")) : unlink(path_of("again"))) == 0, "again");
    write_small("again", number + 1);
    snprintf(new_one, sizeof(new_one), "%s", path_of("linked-new"));
    unlink(new_one);
    write_small("linked-new", read_small("linked") + 1);
    need(unlinkat(AT_FDCWD, path_of("linked"), 0) == 0 && link(new_one, path_of("linked")) == 0 &&
             unlink(new_one) == 0,
         "linked");
}

static void end_removed_small(void)
{
    say("removed: %ld %ld of %d\n", read_small("again"), read_small("linked"), steps);
}

/* ---- The modes ---- */

const struct mode undone_modes[] = {
    {"kept-large", make_kept_large, step_kept_large, end_kept_large},
    {"kept-stream", make_kept_stream, step_kept_stream, end_kept_stream},
    {"opened-large", make_opened_large, step_opened_large, end_opened_large},
    {"grown-large", make_grown_large, step_grown_large, end_grown_large},
    {"by-fdopen", make_by_fdopen, step_by_fdopen, end_by_fdopen},
    {"read-elsewhere", make_read_elsewhere, step_read_elsewhere, end_read_elsewhere},
    {"others", make_others, step_others, end_others},
    {"replaced-large", make_replaced_large, step_replaced_large, NULL},
    {"turned-large", make_turned_large, step_turned_large, end_turned_large},
    {"turned-elsewhere", make_turned_elsewhere, step_turned_elsewhere, NULL},
    {"passed-on", make_passed_on, step_passed_on, end_passed_on},
    {"claimed-large", make_claimed_large, step_claimed_large, end_claimed_large},
    {"kept-before", make_kept_before, step_kept_before, end_kept_before},
    {"written-anew", NULL, step_written_anew, end_written_anew},
    {"made-alone", NULL, step_made_alone, end_made_alone},
    {"read-before", make_read_before, step_read_before, NULL},
    {"rewritten", NULL, step_rewritten, NULL},
    {"removed-small", make_removed_small, step_removed_small, end_removed_small},
    {NULL, NULL, NULL, NULL},
};
