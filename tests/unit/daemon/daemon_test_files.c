/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Words of a process that writes to files:
 *
 *   file-mark:M,B   marks a file as B bytes long after the snapshot of moment M, and waits until
 *                   that is confirmed; exits with 82 when that takes too long
 *   file-content:M,N  marks file N with its content, which is "content"
 *   file-again:M,N    the same with "another"
 *   file-length:M,N   marks file N as 3 bytes long
 *   file-lost:M       the same of one whose content is too long for a mark by one byte
 *   file-renamed:M,N  marks the file of this rank as about to get the name N
 *   other-marks:M,N marks N files as there before, each of another name
 *   new-files:M,N   makes N files one after the other, marks each as created after the snapshot of
 *                   moment M, and removes it
 *   ask-as:E        asks once for a mark as if it were restored in epoch E
 *   files-restored  says that it has restored files, and waits until all have
 *   file-marks:M    asks for all marks of moment M and later, and writes them as "marks NAME:B
 * ...", those with content as "NAME=CONTENT", those that cannot be restored as "NAME!"
 */
#include "base/assert.h"
#include "daemon_test_helper.h"
#include "../../patience.h"
#include "port/descriptor.h"
#include "port/file_mark.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    uint64_t number, bytes;
    uint32_t flags;
    char path[64], content[16];
    bool told;
} mark;

static void tell_mark(uint64_t moment, const struct rz_file_mark *file)
{
    const struct rz_link_message message = {
        .type = RZ_LINK_FILE_MARK, .file_mark = {.moment = moment, RZ_FILE_MARK_MEMBERS(file)}};
    int ends[2];
    rz_assert(rz_descriptor_pair(ends) == RZ_OK);
    static uint8_t room[RZ_LINK_MESSAGE_MAX];
    rz_assert(rz_link_send_through(helper_link, &message, ends[1], room, sizeof(room)) == RZ_OK);
    if (rz_descriptor_await(&ends[0], 1, TEST_HANG_MS) == 0) {
        exit(82);
    }
    rz_descriptor_close(ends[0]);
    rz_descriptor_close(ends[1]);
}

/* What is no socket is left alone: to write to this would take for ever. */
static void mark_with_a_full_pipe(uint64_t moment)
{
    const struct rz_file_mark file = {.inode = 8, .path = "/jam"};
    const struct rz_link_message message = {
        .type = RZ_LINK_FILE_MARK, .file_mark = {.moment = moment, RZ_FILE_MARK_MEMBERS(&file)}};
    static uint8_t room[RZ_LINK_MESSAGE_MAX];
    int full[2]; /* stay: at the end of the pipe there would be an error */
    rz_assert(rz_descriptor_pipe(full) == RZ_OK);
    int bytes = fcntl(full[1], F_SETPIPE_SZ, 4096);
    rz_assert(bytes > 0 && write(full[1], room, (size_t)bytes) == bytes);
    rz_assert(rz_link_send_through(helper_link, &message, full[1], room, sizeof(room)) == RZ_OK);
}

static void mark_file(uint64_t moment, uint64_t bytes)
{
    char path[64];
    snprintf(path, sizeof(path), "/of-%u", rz_link_info(helper_link)->self.rank);
    tell_mark(moment, &(struct rz_file_mark){.inode = 7, .bytes = bytes, .path = path});
}

static void mark_content(uint64_t moment, const char *number, const char *text, uint32_t bytes)
{
    static uint8_t content[RZ_FILE_CONTENT_MAX + 1];
    char path[64];
    snprintf(path, sizeof(path), "/of-%u-%s", rz_link_info(helper_link)->self.rank, number);
    snprintf((char *)content, sizeof(content), "%s", text);
    tell_mark(moment, &(struct rz_file_mark){.inode = 100 + strtoull(number, NULL, 10),
                                             .bytes = bytes,
                                             .flags = *text ? RZ_FILE_CONTENT : 0,
                                             .path = path,
                                             .content = content,
                                             .content_length = *text ? bytes : 0});
}

static void mark_renamed(uint64_t moment, const char *name)
{
    char path[64];
    snprintf(path, sizeof(path), "/of-%u", rz_link_info(helper_link)->self.rank);
    tell_mark(moment, &(struct rz_file_mark){.inode = 7,
                                             .bytes = 100,
                                             .flags = RZ_FILE_RENAMED,
                                             .path = path,
                                             .content = (const uint8_t *)name,
                                             .content_length = (uint32_t)strlen(name)});
}

static void mark_others(uint64_t moment, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        char path[64];
        snprintf(path, sizeof(path), "/other-%llu", (unsigned long long)i);
        tell_mark(moment, &(struct rz_file_mark){.inode = 100 + i, .path = path});
    }
}

static void make_files(uint64_t moment, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        struct rz_file_mark file;
        char path[RZ_FILE_PATH_BYTES], name[64];
        snprintf(name, sizeof(name), "/dev/shm/daemon-test-%d", (int)getpid());
        int fd = open(name, O_CREAT | O_WRONLY, 0600);
        rz_assert(fd >= 0 && rz_file_mark_take(fd, &file, path));
        file.flags |= RZ_FILE_CREATED;
        tell_mark(moment, &file);
        close(fd);
        unlink(name);
    }
}

static void on_mark_is(void *arg, const struct rz_link_message *message, const int *fds,
                       unsigned n_fds)
{
    (void)arg, (void)fds, (void)n_fds;
    mark.number = message->file_mark_is.number;
    mark.bytes = message->file_mark_is.bytes;
    mark.flags = message->file_mark_is.flags;
    snprintf(mark.content, sizeof(mark.content), "%.*s", (int)message->file_mark_is.content_length,
             (const char *)message->file_mark_is.content);
    snprintf(mark.path, sizeof(mark.path), "%s", message->file_mark_is.path);
    mark.told = true;
}

/* The line is written whole: a process that is ended meanwhile leaves no part of it. */
static void show_marks(uint64_t since)
{
    char *line = NULL;
    size_t bytes;
    FILE *marks = open_memstream(&line, &bytes);
    rz_assert(marks);
    struct rz_link_message ask = {
        .type = RZ_LINK_FILE_MARK_ASK,
        .file_mark_ask = {.epoch = (uint32_t)(helper_epoch_phase() >> 8), .since = since}};
    rz_link_handle(helper_link, RZ_LINK_FILE_MARK_IS, on_mark_is, NULL);
    fputs("marks", marks);
    do {
        mark.told = false;
        rz_assert(rz_link_send(helper_link, &ask, -1) == RZ_OK);
        while (!mark.told) {
            helper_turn();
        }
        if (mark.number != 0 && mark.flags & RZ_FILE_CONTENT) {
            fprintf(marks, mark.flags & RZ_FILE_EMPTIED ? " %s!" : " %s=%s", mark.path + 1,
                    mark.content);
        } else if (mark.number != 0) {
            fprintf(marks, " %s:%llu", mark.path + 1, (unsigned long long)mark.bytes);
        }
        ask.file_mark_ask.after = mark.number;
    } while (mark.number != 0);
    rz_assert(fclose(marks) == 0);
    puts(line);
    fflush(stdout);
    free(line);
}

static void ask_as(uint32_t epoch)
{
    const struct rz_link_message ask = {.type = RZ_LINK_FILE_MARK_ASK,
                                        .file_mark_ask = {.epoch = epoch, .since = 1}};
    rz_link_handle(helper_link, RZ_LINK_FILE_MARK_IS, on_mark_is, NULL);
    mark.told = false;
    rz_assert(rz_link_send(helper_link, &ask, -1) == RZ_OK);
    while (!mark.told) {
        helper_turn();
    }
}

static bool all_restored;

static void on_all_restored(void *arg, const struct rz_link_message *message, const int *fds,
                            unsigned n_fds)
{
    (void)arg, (void)message, (void)fds, (void)n_fds;
    all_restored = true;
}

static void await_restored(void)
{
    const struct rz_link_message restored = {
        .type = RZ_LINK_FILES_RESTORED,
        .files_restored = {.epoch = (uint32_t)(helper_epoch_phase() >> 8)}};
    rz_link_handle(helper_link, RZ_LINK_ALL_FILES_RESTORED, on_all_restored, NULL);
    rz_assert(rz_link_send(helper_link, &restored, -1) == RZ_OK);
    while (!all_restored) {
        helper_turn();
    }
}

bool helper_do_file_word(const char *word, const char *argument)
{
    const char *comma = strchr(argument, ',');
    if (strcmp(word, "file-jam") == 0) {
        mark_with_a_full_pipe(strtoull(argument, NULL, 10));
    } else if (strcmp(word, "file-mark") == 0) {
        rz_assert(comma);
        mark_file(strtoull(argument, NULL, 10), strtoull(comma + 1, NULL, 10));
    } else if (strcmp(word, "file-content") == 0) {
        rz_assert(comma);
        mark_content(strtoull(argument, NULL, 10), comma + 1, "content", 7);
    } else if (strcmp(word, "file-again") == 0) {
        rz_assert(comma);
        mark_content(strtoull(argument, NULL, 10), comma + 1, "another", 7);
    } else if (strcmp(word, "file-length") == 0) {
        rz_assert(comma);
        mark_content(strtoull(argument, NULL, 10), comma + 1, "", 3);
    } else if (strcmp(word, "file-lost") == 0) {
        mark_content(strtoull(argument, NULL, 10), "1", "content", RZ_FILE_CONTENT_MAX + 1);
    } else if (strcmp(word, "file-renamed") == 0) {
        rz_assert(comma);
        mark_renamed(strtoull(argument, NULL, 10), comma + 1);
    } else if (strcmp(word, "other-marks") == 0) {
        rz_assert(comma);
        mark_others(strtoull(argument, NULL, 10), strtoull(comma + 1, NULL, 10));
    } else if (strcmp(word, "new-files") == 0) {
        rz_assert(comma);
        make_files(strtoull(argument, NULL, 10), strtoull(comma + 1, NULL, 10));
    } else if (strcmp(word, "ask-as") == 0) {
        ask_as((uint32_t)strtoul(argument, NULL, 10));
    } else if (strcmp(word, "files-restored") == 0) {
        await_restored();
    } else if (strcmp(word, "file-marks") == 0) {
        show_marks(strtoull(argument, NULL, 10));
    } else {
        return false;
    }
    return true;
}
