/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Three ways to write to a file without blocking: a thread that makes the calls in order, io_uring
 * as the kernel likes it, and io_uring with each request given to the kernel's threads
 * (IOSQE_ASYNC); beside them the blocking call. Prints for each size and number of requests at
 * once, in microseconds for one request: until all were begun (the caller is busy), and until all
 * have ended.
 *
 *     bench_file_ways FILE
 */
#include <fcntl.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH_MAX = 16, ROUNDS = 31 };
#define BYTES_MAX ((size_t)4 << 20)

static int fd;
static char *data;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void write_one(size_t bytes, int i)
{
    if (pwrite(fd, data + (size_t)i * bytes, bytes, (off_t)((size_t)i * bytes)) != (ssize_t)bytes) {
        perror("bench_file_ways: pwrite");
        exit(1);
    }
}

/* ---- A thread ---- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t begun, over;
    size_t bytes;
    int given, done;
} row = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0};

static void *work(void *arg)
{
    pthread_mutex_lock(&row.lock);
    for (;;) {
        while (row.done == row.given) {
            pthread_cond_wait(&row.begun, &row.lock);
        }
        pthread_mutex_unlock(&row.lock);
        write_one(row.bytes, row.done);
        pthread_mutex_lock(&row.lock);
        row.done++;
        pthread_cond_signal(&row.over);
    }
    return arg;
}

static double by_thread(size_t bytes, int depth)
{
    row.bytes = bytes;
    row.given = row.done = 0;
    for (int i = 0; i < depth; i++) {
        pthread_mutex_lock(&row.lock);
        row.given++;
        pthread_cond_signal(&row.begun);
        pthread_mutex_unlock(&row.lock);
    }
    double begun = now();
    pthread_mutex_lock(&row.lock);
    while (row.done < depth) {
        pthread_cond_wait(&row.over, &row.lock);
    }
    pthread_mutex_unlock(&row.lock);
    return begun;
}

/* ---- io_uring ---- */

static struct {
    int fd;
    struct io_uring_params p;
    char *sq, *cq;
    struct io_uring_sqe *sqes;
} ring;

static int ring_open(void)
{
    ring.fd = (int)syscall(SYS_io_uring_setup, DEPTH_MAX, &ring.p);
    if (ring.fd < 0) {
        perror("bench_file_ways: io_uring_setup");
        return -1;
    }
    ring.sq = mmap(NULL, ring.p.sq_off.array + DEPTH_MAX * sizeof(unsigned), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_POPULATE, ring.fd, IORING_OFF_SQ_RING);
    ring.cq = mmap(NULL, ring.p.cq_off.cqes + ring.p.cq_entries * sizeof(struct io_uring_cqe),
                   PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring.fd, IORING_OFF_CQ_RING);
    ring.sqes = mmap(NULL, DEPTH_MAX * sizeof(struct io_uring_sqe), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_POPULATE, ring.fd, IORING_OFF_SQES);
    return ring.sq == MAP_FAILED || ring.cq == MAP_FAILED || ring.sqes == MAP_FAILED ? -1 : 0;
}

static _Atomic unsigned *word(char *at, unsigned offset)
{
    return (_Atomic unsigned *)(void *)(at + offset);
}

static double by_ring(size_t bytes, int depth, unsigned flags)
{
    unsigned mask = *word(ring.sq, ring.p.sq_off.ring_mask);
    unsigned *array = (unsigned *)(void *)(ring.sq + ring.p.sq_off.array);
    for (int i = 0; i < depth; i++) {
        unsigned tail = *word(ring.sq, ring.p.sq_off.tail), slot = tail & mask;
        ring.sqes[slot] = (struct io_uring_sqe){.opcode = IORING_OP_WRITE,
                                                .flags = (unsigned char)flags,
                                                .fd = fd,
                                                .addr = (unsigned long)(data + (size_t)i * bytes),
                                                .len = (unsigned)bytes,
                                                .off = (size_t)i * bytes};
        array[slot] = slot;
        *word(ring.sq, ring.p.sq_off.tail) = tail + 1;
        syscall(SYS_io_uring_enter, ring.fd, 1, 0, 0, NULL, 0); /* one call of MPI_File_iwrite */
    }
    double begun = now();
    syscall(SYS_io_uring_enter, ring.fd, 0, depth, IORING_ENTER_GETEVENTS, NULL, 0);
    for (int i = 0; i < depth; i++) {
        unsigned head = *word(ring.cq, ring.p.cq_off.head);
        const struct io_uring_cqe *end =
            (const struct io_uring_cqe *)(const void *)(ring.cq + ring.p.cq_off.cqes) +
            (head & *word(ring.cq, ring.p.cq_off.ring_mask));
        if (end->res != (int)bytes) {
            fprintf(stderr, "bench_file_ways: a request ended with %d\n", end->res);
            exit(1);
        }
        *word(ring.cq, ring.p.cq_off.head) = head + 1;
    }
    return begun;
}

static double by_call(size_t bytes, int depth)
{
    for (int i = 0; i < depth; i++) {
        write_one(bytes, i);
    }
    return now();
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"call", "thread", "io_uring", "io_uring async"};
    pthread_t thread;
    fd = argc == 2 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
    data = malloc(DEPTH_MAX * BYTES_MAX);
    if (fd < 0 || !data || ring_open() != 0 || pthread_create(&thread, NULL, work, NULL) != 0) {
        fprintf(stderr, "usage: bench_file_ways FILE\n");
        return 1;
    }
    memset(data, 1, DEPTH_MAX * BYTES_MAX);
    printf("%-16s %8s %6s %12s %12s\n", "way", "bytes", "depth", "begun us", "ended us");
    for (size_t bytes = 4096; bytes <= BYTES_MAX; bytes *= 32) {
        for (int depth = 1; depth <= DEPTH_MAX; depth *= DEPTH_MAX) {
            double begun[4][ROUNDS], ended[4][ROUNDS];
            for (int round = 0; round < ROUNDS; round++) {
                for (int way = 0; way < 4; way++) {
                    double start = now();
                    double at = way == 0   ? by_call(bytes, depth)
                                : way == 1 ? by_thread(bytes, depth)
                                           : by_ring(bytes, depth, way == 3 ? IOSQE_ASYNC : 0);
                    begun[way][round] = (at - start) / depth;
                    ended[way][round] = (now() - start) / depth;
                }
            }
            for (int way = 0; way < 4; way++) {
                qsort(begun[way], ROUNDS, sizeof(double), compare);
                qsort(ended[way], ROUNDS, sizeof(double), compare);
                printf("%-16s %8zu %6d %12.1f %12.1f\n", names[way], bytes, depth,
                       begun[way][ROUNDS / 2], ended[way][ROUNDS / 2]);
            }
        }
    }
    unlink(argv[1]);
    return 0;
}
