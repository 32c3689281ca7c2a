/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that is thrown away, and what the system is told of memory. */
#include "rewind_state.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, BLOCK = 16 * PAGE, BLOCKS = 16, TURN = 7 };

/* ---- Pages that are thrown away and written again, none of which is read in between ---- */

enum kind { OF_FILE, ANONYMOUS, KINDS };
static char *thrown[KINDS];
static char has[KINDS][BLOCKS];

/* A file of as many bytes of 'f'. */
static int full_file(const char *name, size_t bytes)
{
    static char page[PAGE];
    int fd = open_as(name);
    memset(page, 'f', PAGE);
    for (size_t at = 0; at < bytes; at += PAGE) {
        need(write(fd, page, PAGE) == PAGE, name);
    }
    return fd;
}

static char *map_full(const char *name, size_t bytes)
{
    int fd = name ? full_file(name, bytes) : -1, flags = MAP_PRIVATE | (name ? 0 : MAP_ANONYMOUS);
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    need(at != MAP_FAILED && (!name || close(fd) == 0), "mmap");
    memset(at, 'm', bytes);
    return at;
}

static void make_thrown(void)
{
    thrown[OF_FILE] = map_full("thrown", BLOCKS * BLOCK);
    thrown[ANONYMOUS] = map_full(NULL, BLOCKS * BLOCK);
    memset(has, 'm', sizeof(has));
}

static int wrong_bytes(enum kind kind, int block)
{
    int wrong = 0;
    for (int i = 0; i < BLOCK; i++) {
        wrong += thrown[kind][block * BLOCK + i] != has[kind][block];
    }
    return wrong;
}

static void throw_or_write(enum kind kind, int block, int step)
{
    char *at = thrown[kind] + block * BLOCK;
    char without = kind == ANONYMOUS ? 0 : 'f';
    if (has[kind][block] == without) {
        has[kind][block] = (char)(1 + step % 64);
        memset(at, has[kind][block], BLOCK);
    } else {
        has[kind][block] = without;
        need(madvise(at, BLOCK, MADV_DONTNEED) == 0, "madvise");
    }
}

static void step_thrown(int step)
{
    for (enum kind kind = 0; kind < KINDS; kind++) {
        for (int block = 0; block < BLOCKS; block++) {
            int wrong = (step + block) % TURN == 0 ? wrong_bytes(kind, block) : 0;
            if (wrong != 0) {
                say("thrown-away: step %d: %d bytes of kind %d\n", step, wrong, kind);
            }
            if ((step + block) % TURN == 0) {
                throw_or_write(kind, block, step);
            }
        }
    }
}

static void end_thrown(void)
{
    int wrong = 0;
    for (enum kind kind = 0; kind < KINDS; kind++) {
        for (int block = 0; block < BLOCKS; block++) {
            wrong += wrong_bytes(kind, block);
        }
    }
    say("thrown-away: %d bytes are wrong\n", wrong);
}

/* ---- Guard pages: in memory that snapshots have protected ---- */

enum { GUARD_INSTALL = 102, GUARD_REMOVE = 103 };
static char *guarded[2];

static void make_guards(void)
{
    guarded[0] = map_full("guarded", BLOCK);
    guarded[1] = map_full(NULL, BLOCK);
}

static void step_guards(int step)
{
    for (int i = 0; i < 2 && step % TURN == TURN - 1; i++) {
        int advice = step % (2 * TURN) < TURN ? GUARD_INSTALL : GUARD_REMOVE;
        if (madvise(guarded[i], BLOCK / 2, advice) != 0 && errno != EINVAL) {
            say("guards: step %d: %s\n", step, strerror(errno));
        }
    }
}

static void end_guards(void)
{
    int wrong = 0;
    for (int i = 0; i < 2; i++) {
        madvise(guarded[i], BLOCK / 2, GUARD_REMOVE);
        memset(guarded[i], 'm', BLOCK / 2);
        for (int k = 0; k < BLOCK; k++) {
            wrong += guarded[i][k] != 'm';
        }
    }
    say("guards: %d bytes are wrong\n", wrong);
}

/* ---- A mapping that grows down, one page with each step ---- */

static char *grows;

static void make_grows(void)
{
    const uintptr_t room = (uintptr_t)1 << 30; /* below it */
    char *at = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    need(at != MAP_FAILED && munmap(at, room) == 0, "mmap");
    grows = mmap(at + room / 2, 16 * PAGE, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_FIXED_NOREPLACE, -1, 0);
    need(grows != MAP_FAILED, "mmap");
}

static void step_grows(int step)
{
    grows[-(step % 200 + 1) * PAGE] = (char)(step % 100);
}

static void end_grows(void)
{
    int wrong = 0;
    for (int step = 0; step < steps; step++) {
        wrong += grows[-(step % 200 + 1) * PAGE] != (char)(step % 100);
    }
    say("grows-down: %d bytes are wrong\n", wrong);
}

/* ---- What children are to get of memory, and what nobody may change any more ---- */

enum { WIPED, NOT_FORKED, SEALED, PAGES, CALL_MSEAL = 462 };
static char *told;
static bool seals;

static void make_advice(void)
{
    told = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    need(told != MAP_FAILED, "mmap");
    memset(told, 'm', PAGES * PAGE);
    need(madvise(told + WIPED * PAGE, PAGE, MADV_WIPEONFORK) == 0 &&
             madvise(told + NOT_FORKED * PAGE, PAGE, MADV_DONTFORK) == 0,
         "madvise");
    seals = syscall(CALL_MSEAL, told + SEALED * PAGE, (size_t)PAGE, 0) == 0;
}

static void end_advice(void)
{
    int status = 0, ends[2];
    need(pipe(ends) == 0, "pipe");
    pid_t child = fork();
    if (child == 0) {
        bool has = write(ends[1], told + NOT_FORKED * PAGE, 1) == 1;
        _exit((told[WIPED * PAGE] == 0 ? 1 : 0) + (has ? 0 : 2));
    }
    need(child > 0 && waitpid(child, &status, 0) == child, "fork");
    bool sealed = mprotect(told + SEALED * PAGE, PAGE, PROT_READ) != 0;
    say("advice: child %d, %s; %c%c%c\n", WEXITSTATUS(status), sealed == seals ? "right" : "wrong",
        told[WIPED * PAGE], told[NOT_FORKED * PAGE], told[SEALED * PAGE]);
}

static void make_sealed(void)
{
    char *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    need(at != MAP_FAILED, "mmap");
    memset(at, 'm', PAGE);
    need(mprotect(at, PAGE, PROT_NONE) == 0, "mprotect");
    may(syscall(CALL_MSEAL, at, (size_t)PAGE, 0) == 0);
}

/* ---- Pages of another size, and memory that is locked: the contents are the same ---- */

enum { HUGE = 4 << 20, LOCKED = 8 * PAGE };
static char *huge, *locked;

static void make_huge(void)
{
    huge = mmap(NULL, HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    need(huge != MAP_FAILED, "mmap");
    (void)!madvise(huge, HUGE, MADV_HUGEPAGE); /* a system may have none */
    memset(huge, 'h', HUGE);
}

static void step_huge(int step)
{
    huge[step * 8191 % HUGE] = (char)(step % 100);
}

static void make_locked(void)
{
    locked = mmap(NULL, LOCKED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    need(locked != MAP_FAILED, "mmap");
    (void)!mlock(locked, LOCKED); /* within ulimit -l */
    (void)!madvise(locked, LOCKED, MADV_RANDOM);
}

static void step_locked(int step)
{
    locked[step * 31 % LOCKED] = (char)(step % 100);
}

static unsigned sum_of(const char *bytes, size_t n)
{
    unsigned sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum = sum * 31 + (unsigned char)bytes[i];
    }
    return sum;
}

static void end_huge(void)
{
    say("huge-pages: sum %u\n", sum_of(huge, HUGE));
}

static void end_locked(void)
{
    say("locked: sum %u\n", sum_of(locked, LOCKED));
}

/* ---- The modes ---- */

const struct mode memory_modes[] = {
    {"thrown-away", make_thrown, step_thrown, end_thrown},
    {"grows-down", make_grows, step_grows, end_grows},
    {"advice", make_advice, NULL, end_advice},
    {"sealed", make_sealed, NULL, NULL},
    {"huge-pages", make_huge, step_huge, end_huge},
    {"locked", make_locked, step_locked, end_locked},
    {"guards", make_guards, step_guards, end_guards},
    {NULL, NULL, NULL, NULL},
};
