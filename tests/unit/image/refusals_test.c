/* SPDX-License-Identifier: BSD-3-Clause */
/* What cannot be saved is named in a sentence, and images that are not whole are refused. Each case
 * is a process of its own. */
#include "image/image.h"
#include "image/format.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/rseq.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#define PAGE ((size_t)4096)

static char folder[] = "/tmp/image_refusals_XXXXXX";

static void nothing(void)
{
}

static void a_socket(void)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
}

static void a_pipe(void)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
}

static void an_epoll(void)
{
    assert_true(epoll_create1(0) > 0);
}

static void an_eventfd(void)
{
    assert_true(eventfd(0, 0) > 0);
}

static void a_timerfd(void)
{
    assert_true(timerfd_create(CLOCK_MONOTONIC, 0) > 0);
}

static void a_file_without_a_name(void)
{
    assert_non_null(tmpfile());
}

static void shared_memory(void)
{
    assert_true(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) !=
                MAP_FAILED);
}

static void shared_memory_of_system_v(void)
{
    int id = shmget(IPC_PRIVATE, PAGE, 0600);
    assert_true(shmat(id, NULL, 0) != (void *)-1);
    shmctl(id, IPC_RMID, NULL);
}

static void a_file_that_is_mapped_shared(void)
{
    char name[64];
    snprintf(name, sizeof(name), "%s/mapped", folder);
    int fd = open(name, O_RDWR | O_CREAT, 0600);
    assert_int_equal(ftruncate(fd, (off_t)PAGE), 0);
    assert_true(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED);
    close(fd);
}

static void a_timer(void)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_NONE};
    assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
}

static void a_child(void)
{
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (getppid() == parent) { /* it may have ended before */
            pause();
        }
        _exit(0);
    }
}

static void a_child_that_has_ended(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        _exit(0);
    }
    siginfo_t info;
    waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
}

static void *block_all(void *started)
{
    const unsigned long all = ~0ul;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all));
    prctl(PR_SET_NAME, "stubborn");
    sem_t *semaphore = started;
    sem_post(semaphore);
    while (true) {
        pause();
    }
    return NULL;
}

static void a_thread_that_blocks_signals(void)
{
    pthread_t thread;
    static sem_t started;
    sem_init(&started, 0, 0);
    assert_int_equal(pthread_create(&thread, NULL, block_all, &started), 0);
    sem_wait(&started);
}

static void a_folder_that_was_removed(void)
{
    char name[64];
    snprintf(name, sizeof(name), "%s/removed", folder);
    assert_int_equal(mkdir(name, 0700), 0);
    assert_int_equal(chdir(name), 0);
    assert_int_equal(rmdir(name), 0);
}

static _Atomic int signals_found;

/* Without libc, which leaves two signals out. */
static void *wait_for_all(void *started)
{
    const unsigned long all = ~0ul;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all));
    prctl(PR_SET_NAME, "collector");
    sem_post((sem_t *)started);
    while (syscall(SYS_rt_sigtimedwait, &all, NULL, NULL, sizeof(all)) > 0) {
        signals_found++;
    }
    return NULL;
}

static void a_thread_that_waits_for_all_signals(void)
{
    pthread_t thread;
    static sem_t started;
    sem_init(&started, 0, 0);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_all, &started), 0);
    sem_wait(&started);
}

/* In the place of libc's. */
static void an_rseq_of_its_own(void)
{
    static _Alignas(32) char own[32];
    char *of_libc = (char *)__builtin_thread_pointer() + __rseq_offset;
    if (__rseq_size != 0) {
        assert_int_equal(syscall(SYS_rseq, of_libc, sizeof(own), 1, 0x53053053), 0);
    }
    assert_int_equal(syscall(SYS_rseq, own, sizeof(own), 0, 0x53053053), 0);
}

/* check: whether rz_image_check finds it, too. */
static const struct {
    void (*make)(void);
    const char *why;
    bool check;
} cases[] = {
    {nothing, NULL, true},
    {a_socket, "socket:[", true},
    {a_pipe, "pipe:[", true},
    {an_epoll, "[eventpoll]", true},
    {an_eventfd, "[eventfd", true},
    {a_timerfd, "[timerfd]", true},
    {a_file_without_a_name, "no name any more", true},
    {shared_memory, "/dev/zero", true},
    {shared_memory_of_system_v, "SYSV", true},
    {a_file_that_is_mapped_shared, "/mapped", true},
    {a_timer, "timer_create", true},
    {a_child, "child process", true},
    {a_child_that_has_ended, "has not waited for it", true},
    {a_thread_that_blocks_signals, "(stubborn)", false},
    {a_thread_that_waits_for_all_signals, "(collector)", false},
    {an_rseq_of_its_own, "(rseq)", true},
    {a_folder_that_was_removed, "working directory", true},
};

static int image_of(void)
{
    return rz_image_descriptor_aside(memfd_create("image", MFD_CLOEXEC));
}

static bool has(const char *text, const char *part)
{
    if (!strstr(text, part)) {
        fprintf(stderr, "\"%s\" does not contain \"%s\"\n", text, part);
        return false;
    }
    return true;
}

/* In a process of its own: its exit status. */
static int refused_as(size_t i)
{
    char why[512] = "";
    uint64_t bytes;
    int fd = image_of();
    cases[i].make();
    rz_status_t status = rz_image_check(why, sizeof(why));
    if (!cases[i].why) {
        return status != RZ_OK || rz_image_save(&(struct rz_image_place){.fd = fd}, &bytes, why,
                                                sizeof(why)) != RZ_IMAGE_SAVED;
    }
    if (cases[i].check && (status != RZ_ERR_UNSUPPORTED || !has(why, cases[i].why))) {
        return 2;
    }
    /* Twice: a refusal changes nothing. */
    for (int k = 0; k < 2; k++) {
        why[0] = '\0';
        if (rz_image_save(&(struct rz_image_place){.fd = fd}, &bytes, why, sizeof(why)) !=
                RZ_IMAGE_REFUSED ||
            !has(why, cases[i].why)) {
            return 3;
        }
    }
    return 0;
}

static int in_a_process(int (*run)(size_t), size_t i)
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        _exit(run(i));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

static void each_case_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int result = in_a_process(refused_as, i);
        if (result != 0) {
            fail_msg("case %zu (%s): %d", i, cases[i].why ? cases[i].why : "nothing", result);
        }
    }
}

/* The first time it may become willing; then it is known not to. How long two attempts take, in ms;
 * -1: one succeeds. */
static int two_attempts(void (*make)(void), int *second_ms)
{
    struct timespec time[3];
    char why[512] = "";
    uint64_t bytes;
    int fd = image_of();
    make();
    for (int i = 0; i < 3; i++) {
        clock_gettime(CLOCK_MONOTONIC, &time[i]);
        if (i < 2 && rz_image_save(&(struct rz_image_place){.fd = fd}, &bytes, why, sizeof(why)) !=
                         RZ_IMAGE_REFUSED) {
            return -1;
        }
    }
    *second_ms = (int)((time[2].tv_sec - time[1].tv_sec) * 1000 +
                       (time[2].tv_nsec - time[1].tv_nsec) / 1000000);
    return 0;
}

/* With much to spare on a machine that is in use: 2 s and 60 s is what it took. */
static int is_known_to_block(size_t i)
{
    (void)i;
    int ms;
    return two_attempts(a_thread_that_blocks_signals, &ms) != 0 || ms > 1500;
}

static int gets_no_signal(size_t i)
{
    (void)i;
    int ms;
    return two_attempts(a_thread_that_waits_for_all_signals, &ms) != 0 || ms > 1500 ||
           signals_found > 0;
}

static void threads_that_do_not_stop_are_found_at_once(void **state)
{
    (void)state;
    assert_int_equal(in_a_process(is_known_to_block, 0), 0);
    assert_int_equal(in_a_process(gets_no_signal, 0), 0);
}

/* ---- Images ---- */

static enum { CUT, EMPTY, FLIPPED_HEAD, FLIPPED_TABLES, SMALL } damage;

static rz_status_t restored_from(int fd, uint64_t bytes, const char *part)
{
    char why[512] = "";
    rz_status_t status = rz_image_restore(fd, bytes, NULL, 0, why, sizeof(why));
    return has(why, part) ? status : RZ_STATUS_COUNT;
}

static void flip(int fd, off_t at)
{
    char c;
    assert_int_equal(pread(fd, &c, 1, at), 1);
    c ^= 16;
    assert_int_equal(pwrite(fd, &c, 1, at), 1);
}

static int damaged(size_t i)
{
    char why[512] = "";
    uint64_t bytes;
    int fd = image_of();
    if (rz_image_save(&(struct rz_image_place){.fd = fd}, &bytes, why, sizeof(why)) !=
        RZ_IMAGE_SAVED) {
        return 2;
    }
    switch ((int)i) {
    case CUT:
        assert_int_equal(ftruncate(fd, (off_t)bytes - 100), 0);
        return restored_from(fd, bytes, "cut") != RZ_ERR_MALFORMED;
    case EMPTY:
        assert_int_equal(ftruncate(fd, 0), 0);
        return restored_from(fd, bytes, "cut") != RZ_ERR_MALFORMED;
    case SMALL:
        return restored_from(fd, bytes / 2, "cut") != RZ_ERR_MALFORMED;
    case FLIPPED_HEAD:
        flip(fd, 200);
        return restored_from(fd, bytes, "image") != RZ_ERR_MALFORMED;
    case FLIPPED_TABLES:
        flip(fd, (off_t)bytes - 300);
        return restored_from(fd, bytes, "damaged") != RZ_ERR_MALFORMED;
    }
    return 3;
}

static void images_that_are_not_whole_are_refused(void **state)
{
    (void)state;
    for (damage = CUT; damage <= SMALL; damage++) {
        assert_int_equal(in_a_process(damaged, damage), 0);
    }
}

/* Every bit of the head counts: none is taken for another image, and none ends the process. */
static int any_bit(size_t i)
{
    (void)i;
    char why[512] = "";
    uint64_t bytes;
    int fd = image_of();
    if (rz_image_save(&(struct rz_image_place){.fd = fd}, &bytes, why, sizeof(why)) !=
        RZ_IMAGE_SAVED) {
        return 2;
    }
    for (off_t at = 0; at < (off_t)sizeof(struct rz_image_head); at += 7) {
        flip(fd, at);
        if (rz_image_restore(fd, bytes, NULL, 0, why, sizeof(why)) != RZ_ERR_MALFORMED &&
            !strstr(why, "memory")) {
            fprintf(stderr, "byte %d: %s\n", (int)at, why);
            return 3;
        }
        flip(fd, at);
    }
    return 0;
}

static void a_head_with_one_wrong_bit_is_refused(void **state)
{
    (void)state;
    assert_int_equal(in_a_process(any_bit, 0), 0);
}

static int without_room(size_t i)
{
    (void)i;
    char why[512] = "";
    uint64_t bytes = 0;
    int fd = rz_image_descriptor_aside(memfd_create("image", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    assert_int_equal(ftruncate(fd, 64 << 10), 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK), 0);
    return rz_image_save(&(struct rz_image_place){.fd = fd}, &bytes, why, sizeof(why)) !=
               RZ_IMAGE_NO_ROOM ||
           bytes <= 64 << 10 || bytes > 2 * rz_image_bytes() || !has(why, "bytes");
}

static void an_object_without_room_is_refused_with_what_is_needed(void **state)
{
    (void)state;
    assert_int_equal(in_a_process(without_room, 0), 0);
}

/* Shared memory outside the reserved region, where the image has private memory. */
static int in_the_way(size_t i)
{
    (void)i;
    char why[512] = "";
    uint64_t bytes = 0;
    int fd = image_of();
    char *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *at = 1;
    if (rz_image_save(&(struct rz_image_place){.fd = fd}, &bytes, why, sizeof(why)) !=
        RZ_IMAGE_SAVED) {
        return 2;
    }
    mmap(at, PAGE, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    rz_image_exclude(at, PAGE);
    return restored_from(fd, bytes, "excluded memory") != RZ_ERR_UNSUPPORTED;
}

static void excluded_memory_in_the_way_is_refused(void **state)
{
    (void)state;
    assert_int_equal(in_a_process(in_the_way, 0), 0);
}

static int remove_folder(void **state)
{
    (void)state;
    char name[64];
    snprintf(name, sizeof(name), "%s/mapped", folder);
    unlink(name);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_case_is_named),
        cmocka_unit_test(threads_that_do_not_stop_are_found_at_once),
        cmocka_unit_test(images_that_are_not_whole_are_refused),
        cmocka_unit_test(a_head_with_one_wrong_bit_is_refused),
        cmocka_unit_test(an_object_without_room_is_refused_with_what_is_needed),
        cmocka_unit_test(excluded_memory_in_the_way_is_refused),
    };
    char why[256] = "";
    if (rz_image_check(why, sizeof(why)) != RZ_OK && strstr(why, "this build")) {
        return 0;
    }
    for (int fd = 3; fd < 256; fd++) { /* of the launcher */
        close(fd);
    }
    if (!mkdtemp(folder)) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, remove_folder);
}
