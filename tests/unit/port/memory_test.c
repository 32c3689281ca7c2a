/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory without names, rings mapped twice, the doorbell. */
#include "port/clock.h"
#include "port/descriptor.h"
#include "port/doorbell.h"
#include "port/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void memory_is_sealed_and_shared(void **state)
{
    (void)state;
    int fd;
    void *a, *b;
    const size_t page = rz_memory_page_bytes(), bytes = 2 * page + 1808;
    size_t mapped = 0;
    assert_int_equal(rz_memory_create("rhizome-test", bytes, &fd), RZ_OK);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(ftruncate(fd, (off_t)page), -1);
    assert_int_equal(ftruncate(fd, 2 * (off_t)bytes), -1);
    assert_true(rz_memory_is_backed(fd, 0));
    assert_false(rz_memory_is_backed(fd, 1));
    assert_int_equal(rz_memory_reserve(fd, page, page), RZ_OK);
    assert_true(rz_memory_is_backed(fd, page)); /* wherever they are */
    assert_false(rz_memory_is_backed(fd, page + 1));
    assert_int_equal(rz_memory_map(fd, 0, true, &a, &mapped), RZ_OK);
    assert_int_equal(mapped, bytes);
    assert_int_equal(rz_memory_map_range(fd, page, page, false, &b), RZ_OK);
    strcpy((char *)a + page, "seen");
    assert_string_equal((char *)b, "seen");
    void *beyond;
    assert_int_equal(rz_memory_map(fd, bytes + 1, false, &beyond, NULL), RZ_ERR_MALFORMED);
    assert_int_equal(rz_memory_map_range(fd, 2 * page, page, false, &beyond), RZ_ERR_MALFORMED);
    assert_int_equal(rz_memory_map_range(fd, SIZE_MAX - page + 1, page, false, &beyond),
                     RZ_ERR_MALFORMED);
    rz_memory_unmap(a, mapped);
    rz_memory_unmap(b, page);
    close(fd);
}

static void what_wraps_in_a_ring_is_contiguous(void **state)
{
    (void)state;
    const size_t FRONT = rz_memory_page_bytes(), RING = 4 * FRONT;
    int fd;
    void *at;
    assert_int_equal(rz_memory_create("rhizome-test", FRONT + RING, &fd), RZ_OK);
    assert_int_equal(rz_memory_map_ring(fd, FRONT, FRONT, RING, true, &at), RZ_ERR_MALFORMED);
    assert_int_equal(rz_memory_map_ring(fd, 0, FRONT, RING, true, &at), RZ_OK);
    char *ring = (char *)at + FRONT;
    memcpy(ring + RING - 3, "wrapped", 8);
    assert_string_equal(ring - 0, "pped");
    *(char *)at = 'f';
    assert_int_equal(ring[RING], 'p');
    rz_memory_unmap(at, FRONT + 2 * RING);
    close(fd);
}

/*
 * The system's call, for a process with a timer (a profiler's, say) on an older kernel: a
 * signal ends an allocation that takes long, and undoes it. So none that is large ever succeeds.
 */
static size_t uninterrupted_bytes_max;
static unsigned interrupted;

int fallocate(int fd, int mode, off_t offset, off_t bytes)
{
    if (uninterrupted_bytes_max > 0 && (size_t)bytes > uninterrupted_bytes_max) {
        errno = ++interrupted < 1000 ? EINTR : EIO;
        return -1;
    }
    return (int)syscall(SYS_fallocate, fd, mode, offset, bytes);
}

/* A process that has the descriptor opens it anew. */
static void only_its_maker_writes_to_own_memory(void **state)
{
    (void)state;
    char again[40];
    int fd;
    void *own, *other;
    const size_t page = rz_memory_page_bytes();
    assert_int_equal(rz_memory_create_own("rhizome-test", page, &own, &fd), RZ_OK);
    assert_true(rz_memory_is_backed(fd, page));
    assert_int_equal(rz_memory_map(fd, page, false, &other, NULL), RZ_OK);
    strcpy(own, "seen");
    assert_string_equal(other, "seen");
    int seals = fcntl(fd, F_GET_SEALS);
    snprintf(again, sizeof(again), "/proc/self/fd/%d", fd);
    int writable = open(again, O_RDWR);
    if (seals < 0 || !(seals & F_SEAL_FUTURE_WRITE)) {
        print_message("this system has no such seal\n");
    } else if (writable >= 0) {
        void *at = NULL;
        assert_int_equal(write(writable, "x", 1), -1);
        assert_int_not_equal(rz_memory_map(writable, page, true, &at, NULL), RZ_OK);
        assert_int_equal(mprotect(other, page, PROT_READ | PROT_WRITE), -1);
        assert_int_equal(fcntl(writable, F_ADD_SEALS, F_SEAL_WRITE), -1);
    }
    assert_string_equal(own, "seen");
    if (writable >= 0) {
        close(writable);
    }
    rz_memory_unmap(own, page);
    rz_memory_unmap(other, page);
    close(fd);
}

static void memory_is_reserved_under_signals(void **state)
{
    const size_t bytes = ((size_t)64 << 20) + 4097;
    struct stat info;
    int fd;
    (void)state;
    assert_int_equal(rz_memory_create("rhizome-test", bytes, &fd), RZ_OK);
    uninterrupted_bytes_max = (size_t)4 << 20; /* a millisecond */
    rz_status_t status = rz_memory_reserve(fd, 0, bytes);
    uninterrupted_bytes_max = 0;
    assert_int_equal(status, RZ_OK);
    assert_int_equal(fstat(fd, &info), 0);
    assert_true((size_t)info.st_blocks * 512 >= bytes); /* to its end */
    close(fd);
}

/* Two threads wake each other in turns, in both modes: a lost wake-up would hang the test. */
enum { TURNS = 20000 };

struct side {
    struct rz_doorbell bell;
    int event_fd;
    _Atomic uint32_t news;
};
static struct side sides[2];

static void *take_turns(void *arg)
{
    struct side *own = arg, *other = own == sides ? sides + 1 : sides;
    for (uint32_t turn = 1; turn <= TURNS; turn++) {
        if (own == sides) {
            atomic_store_explicit(&other->news, turn, memory_order_release);
            rz_doorbell_ring(&other->bell, other->event_fd);
        }
        while (atomic_load_explicit(&own->news, memory_order_acquire) < turn) {
            uint32_t value =
                rz_doorbell_prepare(&own->bell, turn % 2 ? RZ_DOORBELL_FUTEX : RZ_DOORBELL_POLL);
            if (atomic_load_explicit(&own->news, memory_order_relaxed) < turn) {
                rz_doorbell_sleep(&own->bell, value, own->event_fd, NULL, 0, RZ_TIME_NEVER);
            } else {
                rz_doorbell_awake(&own->bell);
            }
        }
        if (own != sides) {
            atomic_store_explicit(&other->news, turn, memory_order_release);
            rz_doorbell_ring(&other->bell, other->event_fd);
        }
    }
    return NULL;
}

static void no_ring_is_lost(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        sides[i].event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    }
    pthread_t thread;
    pthread_create(&thread, NULL, take_turns, &sides[1]);
    take_turns(&sides[0]);
    pthread_join(thread, NULL);
    for (unsigned i = 0; i < 2; i++) {
        close(sides[i].event_fd);
    }
}

static void sleep_ends_by_descriptor_and_by_time(void **state)
{
    (void)state;
    static struct rz_doorbell bell;
    int event_fd = eventfd(0, EFD_NONBLOCK), other = eventfd(1, EFD_NONBLOCK);
    uint32_t value = rz_doorbell_prepare(&bell, RZ_DOORBELL_POLL);
    rz_doorbell_sleep(&bell, value, event_fd, &other, 1, RZ_TIME_NEVER);
    assert_int_equal(bell.mode, RZ_DOORBELL_AWAKE);
    rz_time before = rz_clock_now();
    value = rz_doorbell_prepare(&bell, RZ_DOORBELL_FUTEX);
    rz_doorbell_sleep(&bell, value, event_fd, NULL, 0, 20 * RZ_MILLISECOND);
    assert_true(rz_clock_now() - before >= 20 * RZ_MILLISECOND);
    assert_int_equal(bell.mode, RZ_DOORBELL_AWAKE);
    rz_doorbell_ring_lane(&bell, 70, event_fd); /* awake: only the bit */
    assert_int_equal(bell.lanes[1], 1 << 6);
    assert_int_equal(bell.bell, 0);
    close(event_fd);
    close(other);
}

/* In a process of its own: what it says holds for the rest of the process. */
static void map_apart(void)
{
    const size_t page = rz_memory_page_bytes();
    int fd;
    void *first, *second, *ring, *again;
    /* A place that is free, and allowed under each sanitizer. */
    void *place = mmap(NULL, 16 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(place, MAP_FAILED);
    munmap(place, 16 * page);
    const uintptr_t at = (uintptr_t)place;
    assert_int_equal(rz_memory_create("rhizome-test", 4 * page, &fd), RZ_OK);
    rz_memory_keep_apart((void *)at, 16 * page);
    assert_int_equal(rz_memory_map(fd, page, true, &first, NULL), RZ_OK);
    assert_int_equal(rz_memory_map(fd, 2 * page, true, &second, NULL), RZ_OK);
    assert_int_equal(rz_memory_map_ring(fd, 0, page, page, true, &ring), RZ_OK);
    assert_int_equal((uintptr_t)first, at);
    assert_int_equal((uintptr_t)second, at + page);
    assert_int_equal((uintptr_t)ring, at + 3 * page);
    rz_memory_unmap(first, page);
    for (int i = 0; i < 10; i++) { /* up to the end of the region */
        assert_int_equal(rz_memory_map(fd, page, true, &again, NULL), RZ_OK);
    }
    assert_int_equal(rz_memory_map(fd, page, true, &again, NULL), RZ_OK);
    assert_int_equal((uintptr_t)again, at);
    assert_int_equal(rz_memory_map(fd, page, true, &again, NULL), RZ_ERR_NO_MEMORY);
}

static void memory_can_lie_apart(void **state)
{
    (void)state;
    int status;
    pid_t child = fork();
    if (child == 0) {
        map_apart();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void count_descriptor(void *arg, int fd)
{
    int *counted = arg;
    *counted += fd;
}

static void watched_descriptors_are_found(void **state)
{
    (void)state;
    int epoll = epoll_create1(0), events[2] = {eventfd(0, 0), eventfd(0, 0)}, sum = 0;
    struct epoll_event event = {.events = EPOLLIN};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, events[i], &event), 0);
    }
    assert_int_equal(rz_descriptor_watched(epoll, count_descriptor, &sum), RZ_OK);
    assert_int_equal(sum, events[0] + events[1]);
    assert_int_equal(rz_descriptor_watched(99999, count_descriptor, &sum), RZ_ERR_SYSTEM);
    close(events[0]);
    close(events[1]);
    close(epoll);
}

/* Its reader would be ended where there is none left. */
static void huge_pages_hold_nothing(void **state)
{
    (void)state;
    int huge = memfd_create("huge", MFD_HUGETLB | MFD_ALLOW_SEALING | MFD_CLOEXEC),
        usual = memfd_create("usual", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    assert_true(usual >= 0 && ftruncate(usual, 4096) == 0);
    assert_int_equal(fcntl(usual, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    assert_true(rz_memory_holds(usual, 4096));
    close(usual);
    if (huge >= 0) {
        assert_int_equal(fcntl(huge, F_ADD_SEALS, F_SEAL_SHRINK), 0);
        assert_false(rz_memory_holds(huge, 0));
        close(huge);
    }
}

/* Another one may make who sends wait. */
static void only_local_sockets_get_a_signal(void **state)
{
    (void)state;
    struct sockaddr_in self = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t bytes = sizeof(self);
    char byte;
    int ends[2], net = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_true(net >= 0 && bind(net, (struct sockaddr *)&self, sizeof(self)) == 0);
    assert_int_equal(getsockname(net, (struct sockaddr *)&self, &bytes), 0);
    assert_int_equal(connect(net, (struct sockaddr *)&self, bytes), 0);
    rz_descriptor_signal(net);
    assert_int_equal(recv(net, &byte, 1, MSG_DONTWAIT), -1);
    assert_int_equal(send(net, "x", 1, 0), 1);
    assert_int_equal(recv(net, &byte, 1, 0), 1);
    close(net);
    assert_int_equal(rz_descriptor_pair(ends), RZ_OK);
    rz_descriptor_signal(ends[1]);
    assert_int_equal(rz_descriptor_unread(ends[0]), 1);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_sealed_and_shared),
        cmocka_unit_test(only_its_maker_writes_to_own_memory),
        cmocka_unit_test(memory_is_reserved_under_signals),
        cmocka_unit_test(what_wraps_in_a_ring_is_contiguous),
        cmocka_unit_test(memory_can_lie_apart),
        cmocka_unit_test(watched_descriptors_are_found),
        cmocka_unit_test(huge_pages_hold_nothing),
        cmocka_unit_test(only_local_sockets_get_a_signal),
        cmocka_unit_test(no_ring_is_lost),
        cmocka_unit_test(sleep_ends_by_descriptor_and_by_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
