/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkpoint files: what was written is read back, every damage is found and reported, and obsolete
 * files are removed. */
#include "ckpt/file.h"
#include "ckpt/piece.h"
#include "port/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#define RANKS 3
#define BYTES 5000

static const atomic_bool go_on;
static char root[64], path[128];
static struct rz_ckpt_folder folder;
static struct rz_ckpt_words words;

static int remove_one(const char *name, const struct stat *info, int kind, struct FTW *ftw)
{
    (void)info, (void)kind, (void)ftw;
    return remove(name);
}

static int open_folder(void **state)
{
    (void)state;
    snprintf(root, sizeof(root), "/tmp/test-ckpt-file-XXXXXX");
    assert_non_null(mkdtemp(root));
    snprintf(path, sizeof(path), "%s/job", root);
    assert_int_equal(mkdir(path, 0700), 0);
    folder = (struct rz_ckpt_folder){.path = path, .name = "job", .n_ranks = RANKS};
    return 0;
}

static int close_folder(void **state)
{
    (void)state;
    nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return 0;
}

static const char *in_folder(const char *name)
{
    static char text[256];
    snprintf(text, sizeof(text), "%s/%s", path, name);
    return text;
}

static bool there(const char *name)
{
    return access(in_folder(name), F_OK) == 0;
}

/* ---- writing what a generation consists of ---- */

static int memory_of(uint32_t rank, uint64_t number, size_t bytes, uint64_t *hash)
{
    int fd;
    uint8_t content[BYTES];
    assert_true(bytes <= sizeof(content));
    for (size_t i = 0; i < bytes; i++) {
        content[i] = (uint8_t)(i * 7 + rank * 31 + number);
    }
    assert_int_equal(rz_memory_create("test", bytes ? bytes : 1, &fd), RZ_OK);
    assert_int_equal(pwrite(fd, content, bytes, 0), (ssize_t)bytes);
    *hash = rz_piece_hash(content, bytes);
    return fd;
}

static size_t size_of(uint32_t rank)
{
    return rank == 0 ? 0 : BYTES / rank;
}

static rz_status_t write_piece(struct rz_ckpt_generation g, uint32_t rank)
{
    uint64_t hash;
    int fd = memory_of(rank, g.number, size_of(rank), &hash);
    rz_status_t status = rz_ckpt_write(
        &folder, &g, &(struct rz_ckpt_piece){rank, {fd, size_of(rank), hash}, &go_on}, 5, &words);
    close(fd);
    return status;
}

static struct rz_ckpt_generation generation(uint32_t run, uint32_t epoch, uint64_t number)
{
    return (struct rz_ckpt_generation){.run = run, .epoch = epoch, .number = number};
}

static void begin_run(uint32_t expected)
{
    uint32_t run = 0;
    assert_int_equal(rz_ckpt_begin_run(&folder, &run, &words), RZ_OK);
    assert_int_equal(run, expected);
}

static void write_pieces(struct rz_ckpt_generation g)
{
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        assert_int_equal(write_piece(g, rank), RZ_OK);
    }
}

static void write_whole(struct rz_ckpt_generation g)
{
    write_pieces(g);
    assert_int_equal(rz_ckpt_commit(&folder, &g, 0, &words), RZ_OK);
}

static void expect_listed(const char *expected)
{
    struct rz_ckpt_generation *found;
    uint32_t n;
    char text[256] = "";
    assert_int_equal(rz_ckpt_list(&folder, &found, &n, &words), RZ_OK);
    for (uint32_t i = 0; i < n; i++) {
        snprintf(text + strlen(text), sizeof(text) - strlen(text), " %u.%u.%llu", found[i].run,
                 found[i].epoch, (unsigned long long)found[i].number);
    }
    free(found);
    assert_string_equal(text, expected);
}

/* ---- what was written ---- */

static void what_was_written_comes_back(void **state)
{
    (void)state;
    begin_run(1);
    const struct rz_ckpt_generation g = generation(1, 1, 7);
    write_whole(g);
    assert_int_equal(rz_ckpt_verify(&folder, &g, &words), RZ_OK);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        struct rz_ckpt_content content;
        uint8_t read[BYTES];
        uint64_t hash;
        assert_int_equal(rz_ckpt_read(&folder, &g, rank, &content, &words), RZ_OK);
        assert_int_equal(content.bytes, size_of(rank));
        close(memory_of(rank, 7, size_of(rank), &hash));
        assert_int_equal(content.hash, hash);
        assert_int_equal(pread(content.fd, read, sizeof(read), 0),
                         size_of(rank) ? (ssize_t)size_of(rank) : 1);
        assert_int_equal(rz_piece_hash(read, size_of(rank)), hash);
        close(content.fd);
    }
    assert_true(there("run-1/generation-7.1/piece-2"));
    assert_false(there("run-1/generation-7.1/piece-2.5.part"));
}

static void without_its_mark_a_generation_is_none(void **state)
{
    (void)state;
    begin_run(1);
    const struct rz_ckpt_generation g = generation(1, 1, 7);
    write_pieces(g);
    expect_listed("");
    assert_int_equal(rz_ckpt_verify(&folder, &g, &words), RZ_ERR_NOT_FOUND);
    assert_non_null(strstr(words.text, "committed is missing"));
}

static void a_piece_that_is_there_is_left_alone(void **state)
{
    struct stat before, after;
    (void)state;
    begin_run(1);
    write_pieces(generation(1, 1, 7));
    assert_int_equal(stat(in_folder("run-1/generation-7.1/piece-1"), &before), 0);
    write_pieces(generation(1, 1, 7));
    assert_int_equal(stat(in_folder("run-1/generation-7.1/piece-1"), &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
}

/* Left by a failed writer, with the same name: its content is not what is to be stored. */
static void a_piece_of_other_content_is_replaced(void **state)
{
    const struct rz_ckpt_generation g = generation(1, 1, 7);
    struct rz_ckpt_content content;
    uint64_t hash, other_hash;
    (void)state;
    begin_run(1);
    write_pieces(g);
    close(memory_of(1, g.number, size_of(1), &hash));
    int other = memory_of(1, g.number + 1, size_of(1), &other_hash);
    assert_int_equal(
        rz_ckpt_write(&folder, &g,
                      &(struct rz_ckpt_piece){1, {other, size_of(1), other_hash}, &go_on}, 5,
                      &words),
        RZ_OK);
    assert_int_equal(rz_ckpt_read(&folder, &g, 1, &content, &words), RZ_OK);
    assert_true(content.hash == other_hash && hash != other_hash);
    close(content.fd);
    close(other);
    other = memory_of(1, g.number, size_of(1) - 1, &other_hash); /* a shorter one */
    assert_int_equal(
        rz_ckpt_write(&folder, &g,
                      &(struct rz_ckpt_piece){1, {other, size_of(1) - 1, other_hash}, &go_on}, 5,
                      &words),
        RZ_OK);
    assert_int_equal(rz_ckpt_read(&folder, &g, 1, &content, &words), RZ_OK);
    assert_int_equal(content.bytes, size_of(1) - 1);
    close(content.fd);
    close(other);
}

/* What the system is requested to write to disk, and when: a file before it gets its name, its name
 * before any process is told. */
static struct {
    bool watched;
    unsigned names, too_early; /* files that got their names; of them, not on the disk then */
    ino_t synced, directory;   /* the last one put on the disk; of the newest name */
    ino_t awaited;             /* 0: it was put there */
    int close_error;           /* of the next file that was written */
} disk;

int fsync(int fd)
{
    struct stat info;
    if (fstat(fd, &info) == 0) {
        disk.synced = info.st_ino;
    }
    disk.awaited = disk.awaited == disk.synced ? 0 : disk.awaited;
    return (int)syscall(SYS_fsync, fd);
}

int renameat(int from_at, const char *from, int to_at, const char *to)
{
    struct stat info;
    if (disk.watched && fstatat(from_at, from, &info, 0) == 0) {
        disk.names++;
        disk.too_early += disk.synced != info.st_ino;
        disk.directory = fstat(to_at, &info) == 0 ? info.st_ino : 0;
    }
    return (int)syscall(SYS_renameat2, from_at, from, to_at, to, 0);
}

/* Some file systems say at the end only that they are full. */
int close(int fd)
{
    int mode = disk.close_error ? fcntl(fd, F_GETFL) & O_ACCMODE : O_RDONLY;
    int result = (int)syscall(SYS_close, fd);
    if (mode != O_WRONLY) {
        return result;
    }
    errno = disk.close_error;
    disk.close_error = 0;
    return -1;
}

static void a_name_comes_last_and_stays(void **state)
{
    const struct rz_ckpt_generation g = generation(1, 1, 7);
    struct stat run;
    (void)state;
    begin_run(1);
    memset(&disk, 0, sizeof(disk));
    disk.watched = true;
    assert_int_equal(stat(in_folder("run-1"), &run), 0);
    disk.awaited = run.st_ino; /* the generation has a name, too */
    assert_int_equal(write_piece(g, 1), RZ_OK);
    assert_int_equal(disk.awaited, 0);
    assert_true(disk.names == 1 && disk.synced == disk.directory);
    assert_int_equal(rz_ckpt_commit(&folder, &g, 0, &words), RZ_OK);
    assert_true(disk.names == 2 && disk.synced == disk.directory);
    assert_int_equal(disk.too_early, 0);
    disk.close_error = ENOSPC;
    assert_int_equal(write_piece(g, 2), RZ_ERR_SYSTEM);
    assert_non_null(strstr(words.text, "No space left"));
    assert_int_equal(disk.names, 2);
    assert_false(there("run-1/generation-7.1/piece-2.5.part"));
    disk.watched = false;
}

static unsigned descriptors(void)
{
    unsigned n = 0;
    for (int fd = 0; fd < 1024; fd++) {
        n += fcntl(fd, F_GETFD) >= 0;
    }
    return n;
}

static void a_look_keeps_no_descriptor(void **state)
{
    const struct rz_ckpt_generation g = generation(1, 1, 7);
    (void)state;
    begin_run(1);
    write_whole(g);
    unsigned before = descriptors();
    assert_int_equal(rz_ckpt_verify(&folder, &g, &words), RZ_OK);
    assert_int_equal(descriptors(), before);
}

static void memory_that_changes_meanwhile_leaves_nothing(void **state)
{
    const struct rz_ckpt_generation g = generation(1, 1, 7);
    const atomic_bool stopped = true;
    uint64_t hash;
    (void)state;
    begin_run(1);
    int fd = memory_of(1, 7, 100, &hash);
    assert_int_equal(rz_ckpt_write(&folder, &g,
                                   &(struct rz_ckpt_piece){1, {fd, 100, hash + 1}, &go_on}, 5,
                                   &words),
                     RZ_ERR_CANCELLED);
    assert_int_equal(rz_ckpt_write(&folder, &g,
                                   &(struct rz_ckpt_piece){1, {fd, 100, hash}, &stopped}, 5,
                                   &words),
                     RZ_ERR_CANCELLED);
    close(fd);
    assert_false(there("run-1/generation-7.1/piece-1"));
    assert_false(there("run-1/generation-7.1/piece-1.5.part"));
}

static void what_cannot_be_written_is_said(void **state)
{
    (void)state;
    /* No run was begun: there is no folder to write in. */
    assert_int_equal(write_piece(generation(1, 1, 7), 1), RZ_ERR_SYSTEM);
    assert_non_null(strstr(words.text, "run-1/generation-7.1"));
    assert_non_null(strstr(words.text, "No such file"));
}

/* ---- what is not ours ---- */

static mode_t mode_of(const char *name)
{
    struct stat info;
    assert_int_equal(lstat(in_folder(name), &info), 0);
    return info.st_mode & 07777;
}

static void nothing_is_for_others(void **state)
{
    (void)state;
    mode_t old = umask(0);
    begin_run(1);
    write_whole(generation(1, 1, 7));
    umask(old);
    assert_int_equal(mode_of("run-1"), 0700);
    assert_int_equal(mode_of("run-1/generation-7.1"), 0700);
    assert_int_equal(mode_of("run-1/generation-7.1/piece-1"), 0600);
    assert_int_equal(mode_of("run-1/generation-7.1/committed"), 0600);
}

static void expect_refused(const char *text)
{
    struct rz_ckpt_generation *found;
    uint32_t n;
    assert_int_equal(rz_ckpt_list(&folder, &found, &n, &words), RZ_ERR_INVALID);
    assert_non_null(strstr(words.text, text));
}

/* What others may write to could hold anything. */
static void what_others_may_write_is_not_read(void **state)
{
    const struct rz_ckpt_generation g = generation(1, 1, 7);
    static const char *const all[] = {"", "run-1", "run-1/generation-7.1",
                                      "run-1/generation-7.1/committed"};
    (void)state;
    begin_run(1);
    write_whole(g);
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        mode_t mode = mode_of(all[i]);
        assert_int_equal(chmod(in_folder(all[i]), mode | 0020), 0);
        expect_refused("others may write");
        assert_non_null(strstr(words.text, all[i]));
        assert_int_equal(chmod(in_folder(all[i]), mode), 0);
    }
    assert_int_equal(chmod(in_folder("run-1/generation-7.1/piece-1"), 0602), 0);
    assert_int_equal(rz_ckpt_verify(&folder, &g, &words), RZ_ERR_INVALID);
    assert_int_equal(chmod(root, 0777), 0);
    expect_refused("everyone may write");
    assert_int_equal(chmod(root, 01777), 0);
    expect_listed(" 1.1.7");
}

/* Only root can make what belongs to others. */
static void what_others_own_is_not_read(void **state)
{
    const struct rz_ckpt_generation g = generation(1, 1, 7);
    static const char *const all[] = {"", "run-1", "run-1/generation-7.1",
                                      "run-1/generation-7.1/committed"};
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    begin_run(1);
    write_whole(g);
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        assert_int_equal(lchown(in_folder(all[i]), 65534, 65534), 0);
        expect_refused("belongs to uid 65534");
        assert_int_equal(lchown(in_folder(all[i]), 0, 0), 0);
    }
    assert_int_equal(lchown(in_folder("run-1/generation-7.1/piece-1"), 65534, 65534), 0);
    assert_int_equal(rz_ckpt_verify(&folder, &g, &words), RZ_ERR_INVALID);
    assert_int_equal(lchown(root, 65534, 65534), 0);
    expect_refused("could exchange what is in it");
}

/* A link leads elsewhere: nothing is read, written or removed there. */
static void no_link_is_followed(void **state)
{
    const struct rz_ckpt_generation g = generation(1, 1, 7);
    char victim[160], away[96];
    (void)state;
    begin_run(1);
    write_whole(g);
    snprintf(victim, sizeof(victim), "%s/victim", root);
    snprintf(away, sizeof(away), "%s/away", root);
    close(open(victim, O_WRONLY | O_CREAT, 0600));
    /* A temporary name that leads to another file. */
    unlink(in_folder("run-1/generation-7.1/piece-1"));
    assert_int_equal(symlink(victim, in_folder("run-1/generation-7.1/piece-1.5.part")), 0);
    assert_int_equal(write_piece(g, 1), RZ_OK);
    struct stat info;
    assert_int_equal(stat(victim, &info), 0);
    assert_int_equal(info.st_size, 0);
    /* A folder that leads to another one. */
    assert_int_equal(rename(in_folder("run-1"), away), 0);
    assert_int_equal(symlink(away, in_folder("run-1")), 0);
    expect_refused("symbolic link");
    assert_int_equal(write_piece(g, 2), RZ_ERR_INVALID);
    assert_int_equal(rz_ckpt_remove_all(&folder, &words), RZ_ERR_INVALID);
    snprintf(victim, sizeof(victim), "%s/generation-7.1/piece-0", away);
    assert_int_equal(access(victim, F_OK), 0);
}

/* ---- damage ---- */

static void change_byte(const char *name, off_t at)
{
    uint8_t byte;
    int fd = open(in_folder(name), O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

static void copy_file(const char *from, const char *to)
{
    uint8_t bytes[BYTES + RZ_CKPT_HEADER_BYTES];
    int fd = open(in_folder(from), O_RDONLY);
    ssize_t n = read(fd, bytes, sizeof(bytes));
    assert_true(fd >= 0 && n > 0);
    close(fd);
    fd = open(in_folder(to), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    assert_int_equal(write(fd, bytes, (size_t)n), n);
    close(fd);
}

static void cut_to(const char *name, off_t bytes)
{
    assert_int_equal(truncate(in_folder(name), bytes), 0);
}

#define G7 "run-1/generation-7.1/"

static void piece_cut_in_head(void)
{
    cut_to(G7 "piece-1", 100);
}
static void piece_cut(void)
{
    cut_to(G7 "piece-1", 300);
}
static void piece_longer(void)
{
    cut_to(G7 "piece-1", BYTES + RZ_CKPT_HEADER_BYTES + 1);
}
static void piece_empty(void)
{
    cut_to(G7 "piece-0", 0);
}
static void piece_missing(void)
{
    unlink(in_folder(G7 "piece-2"));
}
static void piece_changed(void)
{
    change_byte(G7 "piece-2", RZ_CKPT_HEADER_BYTES + 1234);
}
static void head_changed(void)
{
    change_byte(G7 "piece-2", 60);
}
static void version_changed(void)
{
    change_byte(G7 "piece-2", 8);
}
static void piece_of_other_rank(void)
{
    copy_file(G7 "piece-1", G7 "piece-2");
}
static void piece_of_other_generation(void)
{
    copy_file("run-1/generation-6.1/piece-2", G7 "piece-2");
}
static void piece_is_mark(void)
{
    copy_file(G7 "committed", G7 "piece-0");
}
static void piece_is_directory(void)
{
    unlink(in_folder(G7 "piece-2"));
    mkdir(in_folder(G7 "piece-2"), 0777);
}
static void piece_is_pipe(void)
{
    unlink(in_folder(G7 "piece-2"));
    mkfifo(in_folder(G7 "piece-2"), 0666);
}
static void mark_changed(void)
{
    change_byte(G7 "committed", 40);
}
static void mark_cut(void)
{
    cut_to(G7 "committed", 20);
}

static void every_damage_is_found_and_said(void **state)
{
    static const struct {
        void (*damage)(void);
        rz_status_t status;
        const char *words;
    } kinds[] = {
        {piece_cut_in_head, RZ_ERR_TRUNCATE, "piece-1 is truncated: it has 100 bytes"},
        {piece_cut, RZ_ERR_TRUNCATE, "piece-1 is truncated: of 5256 bytes it has 300"},
        {piece_longer, RZ_ERR_MALFORMED, "piece-1 is longer than its header says"},
        {piece_empty, RZ_ERR_TRUNCATE, "piece-0 is truncated"},
        {piece_missing, RZ_ERR_NOT_FOUND, "piece-2 is missing"},
        {piece_changed, RZ_ERR_MALFORMED, "does not match its checksum"},
        {head_changed, RZ_ERR_MALFORMED, "piece-2 is damaged: its header"},
        {version_changed, RZ_ERR_VERSION, "another version"},
        {piece_of_other_rank, RZ_ERR_INVALID, "not what its name says, but a piece, rank 1"},
        {piece_of_other_generation, RZ_ERR_INVALID, "is of generation 6, run 1, epoch 1"},
        {piece_is_mark, RZ_ERR_INVALID, "but a commit mark"},
        {piece_is_directory, RZ_ERR_MALFORMED, "piece-2 is not a file"},
        {piece_is_pipe, RZ_ERR_MALFORMED, "piece-2 is not a file"},
        {mark_changed, RZ_ERR_MALFORMED, "committed is damaged"},
        {mark_cut, RZ_ERR_TRUNCATE, "committed is truncated"}};
    const struct rz_ckpt_generation g = generation(1, 1, 7), before = generation(1, 1, 6);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        close_folder(state);
        open_folder(state);
        begin_run(1);
        write_whole(before);
        write_whole(g);
        kinds[i].damage();
        assert_int_equal(rz_ckpt_verify(&folder, &g, &words), kinds[i].status);
        assert_non_null(strstr(words.text, kinds[i].words));
        assert_int_equal(rz_ckpt_verify(&folder, &before, &words), RZ_OK);
        expect_listed(" 1.1.7 1.1.6"); /* what is damaged is not silently left out */
    }
}

static void files_of_another_job_are_refused(void **state)
{
    struct rz_ckpt_generation *found;
    uint32_t n;
    (void)state;
    begin_run(1);
    write_whole(generation(1, 1, 7));
    folder.n_ranks = RANKS + 1;
    assert_int_equal(rz_ckpt_list(&folder, &found, &n, &words), RZ_ERR_INVALID);
    assert_non_null(strstr(words.text, "of a job of 3 ranks, this one has 4"));
    folder.n_ranks = RANKS;
    strcpy(folder.name, "other");
    assert_int_equal(rz_ckpt_list(&folder, &found, &n, &words), RZ_ERR_INVALID);
    assert_non_null(strstr(words.text, "of another job, `job`"));
}

/* ---- what goes and what stays ---- */

static void runs_and_epochs_count_before_numbers(void **state)
{
    (void)state;
    begin_run(1);
    write_whole(generation(1, 1, 12));
    write_whole(generation(1, 2, 11));
    begin_run(2);
    write_whole(generation(2, 1, 9));
    write_pieces(generation(2, 1, 10));
    expect_listed(" 2.1.9 1.2.11 1.1.12");
}

static void prune(struct rz_ckpt_generation newest, struct rz_ckpt_generation before, uint32_t keep)
{
    assert_int_equal(rz_ckpt_prune(&folder, &newest, &before, keep, &words), RZ_OK);
}

static void as_many_generations_stay_as_are_wanted(void **state)
{
    (void)state;
    begin_run(1);
    for (uint64_t number = 1; number <= 5; number++) {
        write_whole(generation(1, 1, number));
    }
    write_pieces(generation(1, 1, 6));
    prune(generation(1, 1, 5), generation(1, 1, 4), 3);
    expect_listed(" 1.1.5 1.1.4 1.1.3");
    assert_true(there("run-1/generation-6.1/piece-0"));
    assert_false(there("run-1/generation-2.1"));
}

/* The generation that the job rolled back to stays until the next one has its mark, whatever else a
 * failed process committed meanwhile. */
static void what_is_on_no_way_of_the_job_goes_first(void **state)
{
    (void)state;
    begin_run(1);
    write_whole(generation(1, 1, 4));
    write_whole(generation(1, 1, 5));
    write_whole(generation(1, 1, 6)); /* unseen by the others, which went back to 5 */
    write_whole(generation(1, 2, 6));
    prune(generation(1, 2, 6), generation(1, 1, 5), 2);
    expect_listed(" 1.2.6 1.1.5");
}

static void nothing_without_a_mark_stays_behind_the_newest(void **state)
{
    (void)state;
    begin_run(1);
    write_whole(generation(1, 1, 4));
    write_pieces(generation(1, 1, 5));
    write_whole(generation(1, 1, 6));
    prune(generation(1, 1, 6), generation(1, 1, 5), 2);
    expect_listed(" 1.1.6 1.1.4");
    assert_false(there("run-1/generation-5.1"));
}

static void the_next_run_clears_up(void **state)
{
    /* Numbers that would be others, cut to what they are kept in. */
    static const char *const foreign[] = {"run-4294967297",
                                          "run-1/generation-18446744073709551622.1",
                                          "run-1/generation-6.4294967297", "run-1/generation-06.1"};
    (void)state;
    begin_run(1);
    write_whole(generation(1, 1, 4));
    write_pieces(generation(1, 1, 5));
    copy_file("run-1/generation-4.1/piece-1", "run-1/generation-5.1/piece-1.7.part");
    begin_run(2);
    copy_file("run-1/generation-4.1/piece-1", "run-1/generation-5.1/thesis.tex");
    copy_file("run-1/generation-4.1/piece-1", "run-1/generation-5.1/piece-1.7.tex");
    for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++) {
        assert_int_equal(mkdir(in_folder(foreign[i]), 0777), 0);
    }
    assert_int_equal(rz_ckpt_tidy(&folder, &words), RZ_OK);
    expect_listed(" 1.1.4");
    assert_false(there("run-2"));
    assert_false(there("run-1/generation-5.1/piece-0"));
    assert_false(there("run-1/generation-5.1/piece-1.7.part"));
    assert_true(there("run-1/generation-5.1/thesis.tex")); /* none of ours */
    assert_true(there("run-1/generation-5.1/piece-1.7.tex"));
    for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++) {
        assert_true(there(foreign[i]));
    }
    begin_run(2);
}

static void what_cannot_be_removed_keeps_nothing_else(void **state)
{
    const struct rz_ckpt_generation newest = generation(1, 1, 5), before = generation(1, 1, 4);
    (void)state;
    begin_run(1);
    for (uint64_t number = 1; number <= 5; number++) {
        write_whole(generation(1, 1, number));
    }
    assert_int_equal(mkdir(in_folder("run-1/generation-3.1/piece-7"), 0777), 0);
    assert_int_equal(mkdir(in_folder("run-1/generation-2.1/piece-7"), 0777), 0);
    assert_int_equal(rz_ckpt_prune(&folder, &newest, &before, 2, &words), RZ_ERR_SYSTEM);
    assert_non_null(strstr(words.text, "run-1/generation-3.1/piece-7"));
    assert_false(there("run-1/generation-1.1"));
    expect_listed(" 1.1.5 1.1.4");
    assert_int_equal(rz_ckpt_remove_all(&folder, &words), RZ_ERR_SYSTEM);
    assert_non_null(strstr(words.text, "run-1/generation-3.1/piece-7"));
    expect_listed("");
}

static void at_the_end_nothing_of_ours_is_left(void **state)
{
    (void)state;
    begin_run(1);
    write_whole(generation(1, 1, 4));
    begin_run(2);
    write_pieces(generation(2, 1, 5));
    assert_int_equal(rz_ckpt_remove_all(&folder, &words), RZ_OK);
    assert_int_not_equal(access(path, F_OK), 0);
    expect_listed("");
}

/* ---- heads ---- */

static void a_head_has_one_form(void **state)
{
    struct rz_ckpt_header header = {.kind = RZ_CKPT_PIECE,
                                    .name = "a.b-c_9",
                                    .n_ranks = 8,
                                    .rank = 7,
                                    .generation = generation(3, 2, 1),
                                    .bytes = 12,
                                    .hash = 99},
                          read;
    uint8_t bytes[RZ_CKPT_HEADER_BYTES];
    (void)state;
    rz_ckpt_header_encode(&header, bytes);
    assert_int_equal(rz_ckpt_header_decode(&read, bytes, sizeof(bytes)), RZ_OK);
    assert_string_equal(read.name, header.name);
    assert_int_equal(read.rank, 7);
    assert_int_equal(rz_ckpt_generation_compare(&read.generation, &header.generation), 0);
    for (size_t n = 0; n < sizeof(bytes); n++) {
        assert_int_equal(rz_ckpt_header_decode(&read, bytes, n), RZ_ERR_TRUNCATE);
    }
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] ^= 1;
        assert_int_not_equal(rz_ckpt_header_decode(&read, bytes, sizeof(bytes)), RZ_OK);
        bytes[i] ^= 1;
    }
    /* Something behind the last field, and the checksum of that. */
    bytes[sizeof(bytes) - 9] = 1;
    uint64_t hash = rz_piece_hash(bytes, sizeof(bytes) - sizeof(hash));
    for (size_t i = 0; i < sizeof(hash); i++) {
        bytes[sizeof(bytes) - sizeof(hash) + i] = (uint8_t)(hash >> 8 * i);
    }
    assert_int_equal(rz_ckpt_header_decode(&read, bytes, sizeof(bytes)), RZ_ERR_MALFORMED);
}

/* Heads that no writer makes, with valid checksums. */
static void a_head_of_nothing_is_refused(void **state)
{
    const struct rz_ckpt_header good = {.kind = RZ_CKPT_PIECE,
                                        .name = "job",
                                        .n_ranks = 8,
                                        .rank = 7,
                                        .generation = generation(3, 2, 1)};
    struct rz_ckpt_header bad[9], read;
    uint8_t bytes[RZ_CKPT_HEADER_BYTES];
    (void)state;
    for (size_t i = 0; i < 9; i++) {
        bad[i] = good;
    }
    bad[0].rank = 8;
    bad[1].generation.run = 0;
    bad[2].generation.epoch = 0;
    bad[3].generation.number = 0;
    bad[4].bytes = UINT64_MAX;
    bad[5].kind = RZ_CKPT_KIND_COUNT;
    for (size_t i = 6; i < 9; i++) { /* a mark has no rank and no content */
        bad[i].kind = RZ_CKPT_MARK;
        bad[i].rank = i == 6;
        bad[i].bytes = i == 7;
        bad[i].hash = i == 8;
    }
    rz_ckpt_header_encode(&good, bytes);
    assert_int_equal(rz_ckpt_header_decode(&read, bytes, sizeof(bytes)), RZ_OK);
    for (size_t i = 0; i < 9; i++) {
        rz_ckpt_header_encode(&bad[i], bytes);
        assert_int_equal(rz_ckpt_header_decode(&read, bytes, sizeof(bytes)), RZ_ERR_MALFORMED);
    }
}

static void names_are_plain(void **state)
{
    char longest[RZ_CKPT_NAME_MAX + 1] = "";
    (void)state;
    memset(longest, 'x', RZ_CKPT_NAME_MAX);
    assert_false(rz_ckpt_name_valid(longest));
    longest[RZ_CKPT_NAME_MAX - 1] = 0;
    assert_true(rz_ckpt_name_valid(longest));
    assert_true(rz_ckpt_name_valid("run-3.x+y_"));
    assert_false(rz_ckpt_name_valid(""));
    assert_false(rz_ckpt_name_valid(".."));
    assert_false(rz_ckpt_name_valid("a/b"));
    assert_false(rz_ckpt_name_valid("a b"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_folder, close_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(what_was_written_comes_back),
                                       TEST(without_its_mark_a_generation_is_none),
                                       TEST(a_piece_that_is_there_is_left_alone),
                                       TEST(a_piece_of_other_content_is_replaced),
                                       TEST(a_name_comes_last_and_stays),
                                       TEST(a_look_keeps_no_descriptor),
                                       TEST(memory_that_changes_meanwhile_leaves_nothing),
                                       TEST(what_cannot_be_written_is_said),
                                       TEST(nothing_is_for_others),
                                       TEST(what_others_may_write_is_not_read),
                                       TEST(what_others_own_is_not_read),
                                       TEST(no_link_is_followed),
                                       TEST(every_damage_is_found_and_said),
                                       TEST(files_of_another_job_are_refused),
                                       TEST(runs_and_epochs_count_before_numbers),
                                       TEST(as_many_generations_stay_as_are_wanted),
                                       TEST(what_is_on_no_way_of_the_job_goes_first),
                                       TEST(nothing_without_a_mark_stays_behind_the_newest),
                                       TEST(the_next_run_clears_up),
                                       TEST(what_cannot_be_removed_keeps_nothing_else),
                                       TEST(at_the_end_nothing_of_ours_is_left),
                                       cmocka_unit_test(a_head_has_one_form),
                                       cmocka_unit_test(a_head_of_nothing_is_refused),
                                       cmocka_unit_test(names_are_plain)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
