/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loaded before a program (LD_PRELOAD): counts the allocations that our own code makes, in the
 * library of a job's process (mpi), the daemon and its keeper (rzd), and the launcher (rzrun); and
 * fails one of them. What other libraries and the program itself allocate is not counted.
 *
 *   RZ_TEST_ALLOC_LIST=FILE         gets a line for each allocation: kind, rank or node, number,
 *                                   object and offset of the caller
 *   RZ_TEST_ALLOC_IN=mpi|rzd|rzrun  nothing is counted elsewhere
 *   RZ_TEST_ALLOC_RANK=R            nor in another rank or node
 *   RZ_TEST_ALLOC_FAIL=N            the N-th returns NULL, once in the whole job
 *   RZ_TEST_ALLOC_LOG=FILE          is made by the failure, and gets the same line; where it is
 *                                   there already, nothing fails
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

enum { PAGES = 4096, PAGE_BITS = 12 }; /* PAGES: places in the table of known ones */

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t n, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern ssize_t __getdelim(char **line, size_t *room, int end, FILE *in);
extern char *program_invocation_short_name;

static atomic_int state; /* 0: not looked yet; 1: nothing is counted here; 2: counting */
static atomic_ullong count;
static unsigned long long nth;
static int list_fd = -1;
static const char *kind;
static char member[16] = "0";     /* rank or node */
static bool whole_program;        /* the program's own code is ours */
static atomic_ullong ours[PAGES]; /* number of a page of code, shifted; lowest bit: it is ours */

static const char *kind_here(void)
{
    const char *name = program_invocation_short_name;
    bool of_job = getenv("RZ_RANK") && strncmp(name, "rz", 2) != 0;
    return strcmp(name, "rzd") == 0     ? "rzd"
           : strcmp(name, "rzrun") == 0 ? "rzrun"
           : of_job                     ? "mpi"
                                        : NULL;
}

/* The number of the node stands in the daemon's command line. */
static void find_node(void)
{
    char line[4096];
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, line, sizeof(line) - 1) : 0;
    close(fd);
    line[n > 0 ? n : 0] = '\0';
    for (char *word = line; word < line + n; word += strlen(word) + 1) {
        if (strcmp(word, "--node") == 0) {
            snprintf(member, sizeof(member), "%s", word + strlen(word) + 1);
        }
    }
}

static int begin(void)
{
    const char *in = getenv("RZ_TEST_ALLOC_IN"), *rank = getenv("RZ_TEST_ALLOC_RANK");
    const char *fail = getenv("RZ_TEST_ALLOC_FAIL"), *list = getenv("RZ_TEST_ALLOC_LIST");
    kind = kind_here();
    if (!kind || (in && strcmp(in, kind) != 0)) {
        return 1;
    }
    whole_program = strcmp(kind, "mpi") != 0;
    if (!whole_program) {
        snprintf(member, sizeof(member), "%s", getenv("RZ_RANK"));
    } else if (strcmp(kind, "rzd") == 0) {
        find_node();
    }
    if (rank && strcmp(rank, member) != 0) {
        return 1;
    }
    nth = fail ? strtoull(fail, NULL, 10) : 0;
    if (list) {
        list_fd = open(list, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
    return 2;
}

static bool counting(void)
{
    int now = atomic_load(&state);
    if (now == 0) {
        atomic_store(&state, 1); /* what it allocates itself is not counted */
        now = begin();
        atomic_store(&state, now);
    }
    return now == 2;
}

static bool is_ours(const void *caller)
{
    uint64_t page = (uint64_t)(uintptr_t)caller >> PAGE_BITS;
    uint64_t known = atomic_load(&ours[page % PAGES]);
    if (known >> 1 != page) {
        Dl_info info;
        bool found = dladdr(caller, &info) != 0 && info.dli_fname;
        const char *slash = found ? strrchr(info.dli_fname, '/') : NULL;
        const char *name = slash ? slash + 1 : found ? info.dli_fname : "";
        bool mine = whole_program
                        ? strcmp(name, program_invocation_short_name) == 0
                        : strncmp(name, "libmpi", 6) == 0 || strncmp(name, "rhizome-", 8) == 0;
        known = page << 1 | mine;
        atomic_store(&ours[page % PAGES], known);
    }
    return known & 1;
}

static void write_caller(int fd, unsigned long long number, const void *caller)
{
    Dl_info info;
    char line[4200];
    if (fd < 0 || dladdr(caller, &info) == 0) {
        return;
    }
    unsigned long offset = (unsigned long)((uintptr_t)caller - (uintptr_t)info.dli_fbase);
    int n = snprintf(line, sizeof(line), "%s %s %llu %s %#lx\n", kind, member, number,
                     info.dli_fname, offset);
    if (write(fd, line, (size_t)n) != n) {
        abort();
    }
}

/* Only the first process of the job that comes so far. */
static bool first(unsigned long long number, const void *caller)
{
    const char *log = getenv("RZ_TEST_ALLOC_LOG");
    int fd = log ? open(log, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    if (log && fd < 0) {
        return false;
    }
    write_caller(fd, number, caller);
    if (fd >= 0) {
        close(fd);
    }
    return true;
}

static bool fails(const void *caller)
{
    if (!counting() || !is_ours(caller)) {
        return false;
    }
    int kept = errno;
    unsigned long long number = atomic_fetch_add(&count, 1) + 1;
    write_caller(list_fd, number, caller);
    bool now = number == nth && first(number, caller);
    errno = now ? ENOMEM : kept;
    return now;
}

SHOWN void *malloc(size_t bytes)
{
    return fails(CALLER) ? NULL : __libc_malloc(bytes);
}

SHOWN void *calloc(size_t n, size_t bytes)
{
    return fails(CALLER) ? NULL : __libc_calloc(n, bytes);
}

SHOWN void *realloc(void *old, size_t bytes)
{
    return fails(CALLER) ? NULL : __libc_realloc(old, bytes);
}

SHOWN void *aligned_alloc(size_t alignment, size_t bytes)
{
    return fails(CALLER) ? NULL : __libc_memalign(alignment, bytes);
}

SHOWN int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    void *made = fails(CALLER) ? NULL : __libc_memalign(alignment, bytes);
    if (made) {
        *memory = made;
    }
    return made ? 0 : ENOMEM;
}

static char *copy(const char *text, size_t n)
{
    char *made = __libc_malloc(n + 1);
    if (made) {
        memcpy(made, text, n);
        made[n] = '\0';
    }
    return made;
}

SHOWN char *strdup(const char *text)
{
    return fails(CALLER) ? NULL : copy(text, strlen(text));
}

SHOWN char *strndup(const char *text, size_t n)
{
    return fails(CALLER) ? NULL : copy(text, strnlen(text, n));
}

SHOWN ssize_t getline(char **line, size_t *room, FILE *in)
{
    return fails(CALLER) ? -1 : __getdelim(line, room, '\n', in);
}
