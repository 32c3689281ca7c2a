/* SPDX-License-Identifier: BSD-3-Clause */
/* A file is cut to its mark, or gets back what was in it, and no other file does. */
#include "port/file_mark.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/file_mark.XXXXXX", path[64], other[64];

static void append(const char *text)
{
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static struct rz_file_mark mark_now(char name[RZ_FILE_PATH_BYTES])
{
    struct rz_file_mark mark;
    int fd = open(path, O_RDONLY);
    assert_true(rz_file_mark_take(fd, &mark, name));
    close(fd);
    return mark;
}

static long length(void)
{
    struct stat st;
    return stat(path, &st) == 0 ? (long)st.st_size : -1;
}

static void what_was_appended_is_cut(void **state)
{
    char name[RZ_FILE_PATH_BYTES];
    (void)state;
    append("before");
    struct rz_file_mark mark = mark_now(name);
    assert_string_equal(mark.path, path);
    assert_int_equal(mark.bytes, 6);
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_AS_MARKED);
    append("after");
    assert_int_equal(rz_file_mark_restore(&mark, false), RZ_FILE_CUT);
    assert_int_equal(length(), 11);
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_CUT);
    assert_int_equal(length(), 6);
    assert_int_equal(truncate(path, 3), 0);
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_AS_MARKED);
    assert_int_equal(length(), 3);
    unlink(path);
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_AS_MARKED);
}

static void what_was_created_is_removed(void **state)
{
    char name[RZ_FILE_PATH_BYTES];
    (void)state;
    append("");
    struct rz_file_mark mark = mark_now(name);
    mark.flags |= RZ_FILE_CREATED;
    append("text");
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_CUT);
    assert_int_equal(length(), -1);
}

/* Also if it is longer again. */
static void what_was_emptied_is_lost(void **state)
{
    char name[RZ_FILE_PATH_BYTES];
    (void)state;
    append("");
    struct rz_file_mark mark = mark_now(name);
    mark.flags |= RZ_FILE_EMPTIED;
    append("text");
    assert_int_equal(rz_file_mark_restore(&mark, false), RZ_FILE_LOST);
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_LOST);
    assert_int_equal(length(), 4);
    unlink(path);
}

/* Another one is made while the first one is there, so that it has another inode. */
static void another_file_is_left_alone(void **state)
{
    char name[RZ_FILE_PATH_BYTES];
    (void)state;
    append("one");
    struct rz_file_mark mark = mark_now(name);
    assert_int_equal(rename(path, other), 0);
    append("another");
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_ANOTHER);
    mark.flags |= RZ_FILE_CREATED; /* then there was no file of that name */
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_AS_MARKED);
    assert_int_equal(rz_file_mark_restore(&mark, false), RZ_FILE_ANOTHER); /* and now there is */
    mark.flags = RZ_FILE_LOCAL;
    mark.host++; /* another host has a file of that name */
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_AS_MARKED);
    mark.flags = 0; /* a file system that both reach */
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_ANOTHER);
    assert_int_equal(length(), 7);
    unlink(path);
    unlink(other);
}

static void of_several_hosts_the_device_has_another_number(void **state)
{
    char name[RZ_FILE_PATH_BYTES];
    (void)state;
    append("one");
    struct rz_file_mark mark = mark_now(name);
    append("two");
    mark.device++;
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_ANOTHER);
    mark.host++, mark.flags = 0;
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_CUT);
    assert_int_equal(length(), 3);
    unlink(path);
}

static void what_was_created_and_is_gone_needs_nothing(void **state)
{
    char name[RZ_FILE_PATH_BYTES];
    (void)state;
    append("one");
    struct rz_file_mark mark = mark_now(name);
    uint64_t host = rz_file_mark_host();
    mark.flags |= RZ_FILE_LOCAL;
    unlink(path);
    assert_false(rz_file_mark_is_gone(&mark, host)); /* it was there before */
    append("two");
    mark = mark_now(name);
    mark.flags |= RZ_FILE_CREATED | RZ_FILE_LOCAL;
    assert_false(rz_file_mark_is_gone(&mark, host));
    unlink(path);
    assert_int_equal(rz_file_mark_is_gone(&mark, host), mark.made_ns != 0);
    assert_false(rz_file_mark_is_gone(&mark, host + 1));
    append("three"); /* another one, perhaps with the same inode */
    assert_int_equal(rz_file_mark_is_gone(&mark, host), mark.made_ns != 0);
    mark.flags &= ~(uint32_t)RZ_FILE_LOCAL;
    assert_false(rz_file_mark_is_gone(&mark, host));
    unlink(path);
}

/* Only as its maker leaves it that ends before it knows the descriptor. */
static void what_was_wanted_is_removed_if_it_is_new(void **state)
{
    char name[RZ_FILE_PATH_BYTES];
    struct rz_file_mark mark;
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = 0}};
    (void)state;
    int home = open(folder, O_RDONLY | O_DIRECTORY);
    assert_true(rz_file_mark_want(home, "file", &mark, name));
    assert_string_equal(mark.path, path);
    assert_true(rz_file_mark_want(home, "./file", &mark, name));
    assert_string_equal(mark.path, path);
    assert_true(rz_file_mark_want(AT_FDCWD, path, &mark, name));
    assert_string_equal(mark.path, path);
    close(home);
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_AS_MARKED); /* it was not made */
    append("");
    assert_int_equal(rz_file_mark_restore(&mark, false), RZ_FILE_CUT);
    assert_int_equal(length(), 0);
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_CUT);
    assert_int_equal(length(), -1);
    append("text"); /* somebody has written to it */
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_AS_MARKED);
    assert_int_equal(truncate(path, 0), 0);
    times[1].tv_sec = (time_t)(mark.made_ns / 1000000000) - 3600; /* it was there before */
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_AS_MARKED);
    times[1].tv_sec += 7200; /* or came later */
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_AS_MARKED);
    unlink(path);
    assert_int_equal(symlink(other, path), 0);
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_AS_MARKED);
    unlink(path);
    append("");
    mark.flags |= RZ_FILE_LOCAL;
    mark.host++; /* another host has a file of that name */
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_AS_MARKED);
    assert_true(rz_file_mark_is_gone(&mark, rz_file_mark_host()));
    unlink(path);
}

static void what_cannot_be_made_is_not_wanted(void **state)
{
    char name[RZ_FILE_PATH_BYTES], longest[RZ_FILE_PATH_BYTES + 2];
    struct rz_file_mark mark;
    (void)state;
    assert_false(rz_file_mark_want(AT_FDCWD, "/no/such/folder/file", &mark, name));
    memset(longest, 'x', sizeof(longest));
    longest[0] = '/';
    longest[sizeof(longest) - 1] = '\0';
    assert_false(rz_file_mark_want(AT_FDCWD, longest, &mark, name));
    longest[RZ_FILE_PATH_BYTES - 1] = '\0'; /* the longest that fits */
    assert_true(rz_file_mark_want(AT_FDCWD, longest, &mark, name));
    assert_string_equal(name, longest);
}

/* A link that leads nowhere is the name of what is missing, also by way of others. */
static void a_missing_name_may_be_that_of_a_link(void **state)
{
    char name[RZ_FILE_PATH_BYTES], link[256], second[256];
    struct rz_file_mark mark;
    (void)state;
    snprintf(link, sizeof(link), "%s-link", path);
    snprintf(second, sizeof(second), "%s-second", path);
    assert_true(rz_file_mark_miss(AT_FDCWD, path, &mark, name));
    assert_string_equal(name, path);
    assert_int_equal(symlink(strrchr(path, '/') + 1, link), 0); /* in its own folder */
    assert_int_equal(symlink(link, second), 0);
    assert_true(rz_file_mark_miss(AT_FDCWD, second, &mark, name));
    assert_string_equal(name, path);
    unlink(link);
    assert_int_equal(symlink(second, link), 0); /* a circle */
    assert_true(rz_file_mark_miss(AT_FDCWD, second, &mark, name));
    unlink(link);
    assert_int_equal(symlink("no/such/folder", link), 0);
    assert_false(rz_file_mark_miss(AT_FDCWD, second, &mark, name));
    unlink(link);
    unlink(second);
}

static void what_has_no_end_has_no_mark(void **state)
{
    char name[RZ_FILE_PATH_BYTES];
    struct rz_file_mark mark;
    int ends[2], null = open("/dev/null", O_WRONLY), status = open("/proc/self/comm", O_WRONLY);
    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_false(rz_file_mark_take(ends[1], &mark, name));
    assert_false(rz_file_mark_take(null, &mark, name));
    assert_false(rz_file_mark_take(status, &mark, name));
    append("");
    int removed = open(path, O_WRONLY);
    unlink(path);
    assert_false(rz_file_mark_take(removed, &mark, name));
    close(ends[0]), close(ends[1]), close(null), close(status), close(removed);
}

static const char *content(void)
{
    static char text[64];
    FILE *file = fopen(path, "r");
    size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    text[n] = '\0';
    if (file) {
        fclose(file);
    }
    return file ? text : "(none)";
}

static void put(const char *text)
{
    unlink(path);
    append(text);
}

static struct rz_file_mark held(uint8_t kept[RZ_FILE_CONTENT_MAX], char name[RZ_FILE_PATH_BYTES])
{
    struct rz_file_mark mark;
    assert_true(rz_file_mark_hold(AT_FDCWD, path, true, &mark, name, kept));
    assert_string_equal(name, path);
    assert_int_equal(mark.flags & RZ_FILE_CONTENT, RZ_FILE_CONTENT);
    return mark;
}

/* Longer or shorter, in the same file or another one, or none. */
static void what_was_changed_is_written_back(void **state)
{
    static uint8_t kept[RZ_FILE_CONTENT_MAX];
    static const char *const others[] = {"", "2", "three", "another one, and longer"};
    char name[RZ_FILE_PATH_BYTES];
    struct stat before, after;
    (void)state;
    put("first");
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(stat(path, &before), 0);
    struct rz_file_mark mark = held(kept, name);
    assert_int_equal(mark.bytes, 5);
    assert_int_equal(mark.content_length, 5);
    assert_int_equal(rz_file_mark_restore(&mark, 0), RZ_FILE_AS_MARKED);
    for (uint64_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        FILE *file = fopen(path, "w");
        fputs(others[i], file);
        fclose(file);
        assert_int_equal(rz_file_mark_restore(&mark, 0), RZ_FILE_CUT);
        assert_string_equal(content(), others[i]);
        assert_int_equal(rz_file_mark_restore(&mark, i + 1), RZ_FILE_CUT);
        assert_string_equal(content(), "first");
        assert_int_equal(rz_file_mark_restore(&mark, i + 1), RZ_FILE_AS_MARKED);
        assert_int_equal(rz_file_mark_restore(&mark, i + 2), RZ_FILE_AS_MARKED);
    }
    assert_int_equal(stat(path, &after), 0);
    assert_true(before.st_ino == after.st_ino && before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(rz_file_mark_restore(&mark, 0), RZ_FILE_CUT);
    assert_int_equal(rz_file_mark_restore(&mark, 9), RZ_FILE_CUT); /* made again */
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(after.st_mode & 07777, 0640);
    assert_string_equal(content(), "first");
    put("another file");
    assert_int_equal(chmod(path, 0644), 0); /* more users than before may read it */
    mark.inode++;
    assert_int_equal(rz_file_mark_restore(&mark, 10), RZ_FILE_ANOTHER);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(rz_file_mark_restore(&mark, 10), RZ_FILE_CUT);
    assert_string_equal(content(), "first");
    unlink(path);
    unlink(other);
}

/* Whoever knows newer content comes before or after. */
static void the_oldest_content_is_restored(void **state)
{
    static uint8_t kept[2][RZ_FILE_CONTENT_MAX];
    char name[2][RZ_FILE_PATH_BYTES];
    (void)state;
    for (int first = 0; first < 2; first++) {
        struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1000}};
        put("old");
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
        struct rz_file_mark old = held(kept[0], name[0]);
        put("newer");
        struct rz_file_mark newer = held(kept[1], name[1]);
        put("the newest");
        assert_int_equal(rz_file_mark_restore(first ? &newer : &old, 7), RZ_FILE_CUT);
        assert_int_equal(rz_file_mark_restore(first ? &old : &newer, 7),
                         first ? RZ_FILE_CUT : RZ_FILE_AS_MARKED);
        assert_string_equal(content(), "old");
        assert_int_equal(rz_file_mark_restore(&newer, 8), RZ_FILE_CUT); /* of another failure */
        assert_string_equal(content(), "newer");
        unlink(path);
    }
}

/* One process has replaced the file, and another one has then appended to it. */
static void what_is_older_is_not_cut(void **state)
{
    static uint8_t kept[RZ_FILE_CONTENT_MAX];
    char name[2][RZ_FILE_PATH_BYTES];
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1000}};
    (void)state;
    put("a hundred lines");
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    struct rz_file_mark whole = held(kept, name[0]);
    FILE *file = fopen(path, "w");
    fputs("sum", file);
    fclose(file);
    struct rz_file_mark length = mark_now(name[1]);
    append(" and more");
    assert_int_equal(rz_file_mark_restore(&whole, 7), RZ_FILE_CUT);
    assert_int_equal(rz_file_mark_restore(&length, 7), RZ_FILE_AS_MARKED);
    assert_string_equal(content(), "a hundred lines");
    append(" and more");
    assert_int_equal(rz_file_mark_restore(&length, 8), RZ_FILE_CUT); /* of another failure */
    assert_string_equal(content(), "a h");
    unlink(path);
}

/* By another process, in the same round, of which this one knows nothing. */
static void what_was_made_again_is_cut_and_removed(void **state)
{
    static uint8_t kept[RZ_FILE_CONTENT_MAX];
    char name[2][RZ_FILE_PATH_BYTES];
    (void)state;
    for (int created = 0; created < 2; created++) {
        put("one");
        struct rz_file_mark first = mark_now(name[0]);
        first.flags |= created ? RZ_FILE_CREATED : 0;
        append(", two");
        struct rz_file_mark second = held(kept, name[1]);
        assert_int_equal(rename(path, other), 0);
        assert_int_equal(rz_file_mark_restore(&second, 7), RZ_FILE_CUT);
        assert_int_equal(rz_file_mark_restore(&first, 8),
                         created ? RZ_FILE_AS_MARKED : RZ_FILE_ANOTHER);
        assert_int_equal(rz_file_mark_restore(&first, 7), RZ_FILE_CUT);
        assert_string_equal(content(), created ? "(none)" : "one");
        unlink(path);
        unlink(other);
    }
}

/* One process has moved the file away, and another one has then made one with its name. */
static void what_has_older_content_is_not_removed(void **state)
{
    static uint8_t kept[RZ_FILE_CONTENT_MAX];
    char name[2][RZ_FILE_PATH_BYTES];
    (void)state;
    for (int replaced = 0; replaced < 2; replaced++) {
        put("old");
        struct rz_file_mark old = held(kept, name[0]);
        assert_int_equal(rename(path, other), 0);
        put("new");
        assert_int_equal(chmod(path, 0666), 0);
        struct rz_file_mark created = mark_now(name[1]);
        created.flags |= RZ_FILE_CREATED;
        created.made_ns = created.made_ns ? created.made_ns : old.changed_ns + 1;
        old.flags |= replaced ? RZ_FILE_SUCCEEDED : 0;
        old.mode = 0600;
        assert_int_equal(rz_file_mark_restore(&old, 7), replaced ? RZ_FILE_CUT : RZ_FILE_ANOTHER);
        assert_int_equal(rz_file_mark_restore(&created, 7),
                         replaced ? RZ_FILE_AS_MARKED : RZ_FILE_CUT);
        assert_string_equal(content(), replaced ? "old" : "(none)");
        struct stat st;
        assert_true(!replaced || (stat(path, &st) == 0 && (st.st_mode & 0777) == 0600));
        unlink(path);
        unlink(other);
    }
}

static struct rz_file_mark renamed(const char *from, const char *to, char name[RZ_FILE_PATH_BYTES],
                                   uint8_t kept[RZ_FILE_PATH_BYTES])
{
    struct rz_file_mark mark;
    const struct rz_file_names names = {AT_FDCWD, from, AT_FDCWD, to};
    assert_true(rz_file_mark_rename(&names, &mark, name, kept));
    assert_int_equal(rename(from, to), 0);
    return mark;
}

static void what_was_renamed_gets_its_name_back(void **state)
{
    static uint8_t kept[2][RZ_FILE_PATH_BYTES];
    char name[2][RZ_FILE_PATH_BYTES], third[80];
    struct stat st;
    (void)state;
    snprintf(third, sizeof(third), "%s-third", path);
    put("one");
    struct rz_file_mark first = renamed(path, other, name[0], kept[0]);
    assert_int_equal(rz_file_mark_restore(&first, 0), RZ_FILE_CUT);
    assert_int_equal(stat(other, &st), 0);
    assert_int_equal(rz_file_mark_restore(&first, 1), RZ_FILE_CUT);
    assert_string_equal(content(), "one");
    assert_int_equal(stat(other, &st), -1);
    assert_int_equal(rz_file_mark_restore(&first, 1), RZ_FILE_AS_MARKED);
    /* Several times; the last one is undone first. */
    first = renamed(path, other, name[0], kept[0]);
    struct rz_file_mark second = renamed(other, third, name[1], kept[1]);
    put("two"); /* which has its name meanwhile, and is not lost */
    assert_int_equal(rz_file_mark_restore(&second, 2), RZ_FILE_CUT);
    assert_int_equal(rz_file_mark_restore(&first, 2), RZ_FILE_CUT);
    assert_string_equal(content(), "one");
    assert_int_equal(stat(third, &st), -1);
    assert_int_equal(rename(other, path), 0);
    assert_string_equal(content(), "two");
    /* Another file has the name that it got, or it is none of this host. */
    first = renamed(path, other, name[0], kept[0]);
    first.inode++;
    assert_int_equal(rz_file_mark_restore(&first, 3), RZ_FILE_AS_MARKED);
    first.inode--;
    first.flags |= RZ_FILE_LOCAL;
    first.host++;
    assert_int_equal(rz_file_mark_restore(&first, 3), RZ_FILE_AS_MARKED);
    first.host--;
    /* No link on the way is followed, and what is no name is none. */
    assert_int_equal(symlink(folder, third), 0);
    snprintf(name[0], sizeof(name[0]), "%s/file", third);
    assert_int_equal(rz_file_mark_restore(&first, 3), RZ_FILE_CLOSED);
    first.content_length = RZ_FILE_PATH_BYTES;
    assert_int_equal(rz_file_mark_restore(&first, 3), RZ_FILE_CLOSED);
    assert_int_equal(stat(other, &st), 0);
    unlink(third);
    unlink(other);
}

static void what_is_too_large_is_lost(void **state)
{
    static uint8_t kept[RZ_FILE_CONTENT_MAX];
    static char text[RZ_FILE_CONTENT_MAX + 2];
    char name[RZ_FILE_PATH_BYTES];
    (void)state;
    memset(text, 'x', RZ_FILE_CONTENT_MAX);
    put(text);
    struct rz_file_mark mark = held(kept, name);
    assert_int_equal(mark.content_length, RZ_FILE_CONTENT_MAX);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(rz_file_mark_restore(&mark, 1), RZ_FILE_CUT);
    assert_int_equal(length(), RZ_FILE_CONTENT_MAX);
    append("y");
    mark = held(kept, name);
    assert_int_equal(mark.content_length, 0);
    assert_int_equal(mark.flags & RZ_FILE_EMPTIED, RZ_FILE_EMPTIED);
    assert_int_equal(rz_file_mark_restore(&mark, 2), RZ_FILE_LOST);
    assert_int_equal(length(), RZ_FILE_CONTENT_MAX + 1);
    unlink(path);
}

/* A folder on the way is a link now: nothing is written, made or removed behind it. */
static void no_link_on_the_way_is_followed(void **state)
{
    static uint8_t kept[RZ_FILE_CONTENT_MAX];
    char name[RZ_FILE_PATH_BYTES], folder[] = "/tmp/file-mark-test-XXXXXX", moved[64], in_it[80],
                                   there[80];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(moved, sizeof(moved), "%s-moved", folder);
    snprintf(in_it, sizeof(in_it), "%s/file", folder);
    snprintf(there, sizeof(there), "%s/file", moved);
    FILE *file = fopen(in_it, "w");
    fputs("first", file);
    fclose(file);
    struct rz_file_mark mark, created;
    assert_true(rz_file_mark_hold(AT_FDCWD, in_it, true, &mark, name, kept));
    assert_int_equal(rename(folder, moved), 0);
    assert_int_equal(symlink(moved, folder), 0);
    assert_int_equal(truncate(there, 2), 0);
    assert_int_equal(rz_file_mark_restore(&mark, 1), RZ_FILE_CLOSED);
    created = mark;
    created.flags = (created.flags & ~(uint32_t)RZ_FILE_CONTENT) | RZ_FILE_CREATED;
    assert_int_equal(rz_file_mark_restore(&created, 1), RZ_FILE_CLOSED);
    assert_int_equal(access(there, F_OK), 0);
    unlink(there);
    assert_int_equal(rz_file_mark_restore(&mark, 2), RZ_FILE_CLOSED);
    assert_int_equal(access(there, F_OK), -1);
    unlink(folder);
    rmdir(moved);
}

static void nothing_else_is_written_to(void **state)
{
    static uint8_t kept[RZ_FILE_CONTENT_MAX];
    char name[RZ_FILE_PATH_BYTES];
    (void)state;
    put("first");
    struct rz_file_mark mark = held(kept, name), elsewhere = mark;
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(symlink(other, path), 0);
    assert_int_equal(truncate(other, 2), 0);
    assert_int_equal(rz_file_mark_restore(&mark, 1), RZ_FILE_CLOSED);
    assert_string_equal(content(), "fi");
    struct rz_file_mark link;
    assert_false(rz_file_mark_hold(AT_FDCWD, path, false, &link, name, kept));
    assert_true(rz_file_mark_hold(AT_FDCWD, path, true, &link, name, kept));
    assert_string_equal(name, other);
    snprintf(name, sizeof(name), "%s", path);
    put("another"); /* which has two names */
    unlink(other);
    assert_int_equal(linkat(AT_FDCWD, path, AT_FDCWD, other, 0), 0);
    mark.inode++;
    assert_int_equal(rz_file_mark_restore(&mark, 2), RZ_FILE_ANOTHER);
    unlink(other);
    elsewhere.flags |= RZ_FILE_LOCAL;
    elsewhere.host++;
    assert_int_equal(rz_file_mark_restore(&elsewhere, 3), RZ_FILE_AS_MARKED);
    assert_string_equal(content(), "another");
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(rz_file_mark_restore(&mark, 4), RZ_FILE_CLOSED);
    rmdir(path);
    mark.path = "/no/such/folder/file";
    assert_int_equal(rz_file_mark_restore(&mark, 5), RZ_FILE_CLOSED);
}

/* By the descriptor that cuts it, which may be for writing only. */
static void an_open_file_is_held(void **state)
{
    static uint8_t kept[RZ_FILE_CONTENT_MAX];
    char name[RZ_FILE_PATH_BYTES];
    struct rz_file_mark mark;
    (void)state;
    put("first");
    for (int i = 0; i < 2; i++) {
        int fd = open(path, i ? O_WRONLY : O_RDWR);
        memset(kept, 0, 8);
        assert_true(rz_file_mark_hold(fd, NULL, true, &mark, name, kept));
        assert_string_equal(name, path);
        assert_memory_equal(kept, "first", 5);
        close(fd);
    }
    unlink(path);
    assert_false(rz_file_mark_hold(AT_FDCWD, path, true, &mark, name, kept));
}

/* To read the file would end them. */
static void locks_of_the_process_stay(void **state)
{
    static uint8_t kept[RZ_FILE_CONTENT_MAX];
    char name[RZ_FILE_PATH_BYTES];
    struct flock lock = {.l_type = F_WRLCK}, there = lock;
    (void)state;
    put("first");
    int fd = open(path, O_RDWR);
    assert_int_equal(fcntl(fd, F_SETLK, &lock), 0);
    struct rz_file_mark mark = held(kept, name);
    assert_int_equal(mark.flags & RZ_FILE_EMPTIED, RZ_FILE_EMPTIED);
    int second = open(path, O_RDWR);
    assert_int_equal(fcntl(second, F_OFD_GETLK, &there), 0);
    assert_int_equal(there.l_type, F_WRLCK);
    close(second), close(fd);
    mark = held(kept, name);
    assert_int_equal(mark.flags & RZ_FILE_EMPTIED, 0);
    unlink(path);
}

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) {
        return -1;
    }
    snprintf(path, sizeof(path), "%s/file", folder);
    snprintf(other, sizeof(other), "%s/other", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_appended_is_cut),
        cmocka_unit_test(what_was_created_is_removed),
        cmocka_unit_test(what_was_emptied_is_lost),
        cmocka_unit_test(another_file_is_left_alone),
        cmocka_unit_test(of_several_hosts_the_device_has_another_number),
        cmocka_unit_test(what_was_created_and_is_gone_needs_nothing),
        cmocka_unit_test(what_was_wanted_is_removed_if_it_is_new),
        cmocka_unit_test(what_cannot_be_made_is_not_wanted),
        cmocka_unit_test(what_has_no_end_has_no_mark),
        cmocka_unit_test(a_missing_name_may_be_that_of_a_link),
        cmocka_unit_test(what_was_changed_is_written_back),
        cmocka_unit_test(the_oldest_content_is_restored),
        cmocka_unit_test(what_is_older_is_not_cut),
        cmocka_unit_test(what_was_made_again_is_cut_and_removed),
        cmocka_unit_test(what_has_older_content_is_not_removed),
        cmocka_unit_test(what_was_renamed_gets_its_name_back),
        cmocka_unit_test(what_is_too_large_is_lost),
        cmocka_unit_test(no_link_on_the_way_is_followed),
        cmocka_unit_test(nothing_else_is_written_to),
        cmocka_unit_test(an_open_file_is_held),
        cmocka_unit_test(locks_of_the_process_stay),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
