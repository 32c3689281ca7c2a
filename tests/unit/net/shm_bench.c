/* SPDX-License-Identifier: BSD-3-Clause */
/* Half round trip and bandwidth between two pinned processes: shm_bench [CPU CPU]. */
#include "shm_rig.h"

#include "base/assert.h"
#include "port/clock.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HEADER = 40 }; /* about what the library sends with a message */
static const size_t BYTES_MAX = (size_t)4 << 20;

struct bench {
    struct rig rig;
    struct rig_user user;
    struct rz_net *net;
    unsigned char *out, *in;
    unsigned got;
    rz_net_token_t token;
    size_t token_bytes;
};

static void bench_arrived(struct rig_user *user, const void *header, uint32_t header_bytes,
                          const void *data, size_t bytes, rz_net_token_t token)
{
    (void)header;
    (void)header_bytes;
    struct bench *bench = user->arg;
    if (token) {
        bench->token = token;
        bench->token_bytes = bytes;
        return;
    }
    memcpy(bench->in, data, bytes);
    bench->got++;
}

static void bench_receive(struct bench *bench)
{
    while (bench->got == 0 && !bench->token) {
        rz_shm_ops.progress(bench->net);
    }
    if (bench->token) {
        struct rig_op op;
        rig_op_init(&op, "", 0);
        rz_status_t status =
            rz_shm_ops.fetch(bench->net, bench->token, bench->in, bench->token_bytes, &op.op);
        while (status == RZ_IN_PROGRESS && !op.ended) {
            rz_shm_ops.progress(bench->net);
        }
        rz_assert(status == RZ_OK || op.status == RZ_OK);
        bench->token = NULL;
    } else {
        bench->got--;
    }
}

static void bench_send(struct bench *bench, size_t bytes, struct rig_op *op)
{
    op->ended = 0;
    rz_status_t status = rz_shm_ops.send(bench->net, 0, bench->out, bytes, &op->op);
    while (status == RZ_IN_PROGRESS && !op->ended) {
        rz_shm_ops.progress(bench->net);
    }
}

/* Best of many short repetitions: the machine's noise only ever adds. */
static double bench_ping_pong(struct bench *bench, bool first, size_t bytes, unsigned rounds)
{
    enum { REPETITIONS = 100 };
    struct rig_op op;
    char header[HEADER] = {0};
    rig_op_init(&op, header, HEADER);
    double best = 1e9;
    rounds = rounds / REPETITIONS + 1;
    for (unsigned repetition = 0; repetition < REPETITIONS; repetition++) {
        rz_time start = rz_clock_now();
        for (unsigned i = 0; i < rounds; i++) {
            if (first) {
                bench_send(bench, bytes, &op);
            }
            bench_receive(bench);
            if (!first) {
                bench_send(bench, bytes, &op);
            }
        }
        double half = (double)(rz_clock_now() - start) / rounds / 2;
        best = half < best ? half : best;
    }
    return best;
}

static void bench_run(struct bench *bench, bool first, int cpu, uint32_t peer_pid)
{
    static const struct {
        size_t bytes;
        unsigned rounds;
    } cases[] = {{0, 20000},    {8, 20000},     {64, 20000},  {1024, 20000},
                 {4096, 10000}, {8192, 10000},  {8193, 5000}, {16384, 5000},
                 {65536, 2000}, {1 << 20, 200}, {4 << 20, 60}};
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof(set), &set);
    bench->out = malloc(BYTES_MAX);
    bench->in = malloc(BYTES_MAX);
    memset(bench->out, 1, BYTES_MAX);
    memset(bench->in, 2, BYTES_MAX);
    bench->user = (struct rig_user){.arrived = bench_arrived, .arg = bench};
    bench->net = rig_join(&bench->rig, first ? 0 : 1, &bench->user);
    rig_connect(&bench->rig, bench->net, first ? 1 : 0, 0, peer_pid);
    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        double ns = bench_ping_pong(bench, first, cases[i].bytes, cases[i].rounds);
        if (first) {
            printf("%8zu B  %9.3f us  %7.2f GB/s\n", cases[i].bytes, ns / 1000,
                   (double)cases[i].bytes / ns);
        }
    }
    rz_shm_ops.close(bench->net);
}

int main(int argc, char **argv)
{
    static struct bench bench;
    int cpus[2] = {argc > 2 ? atoi(argv[1]) : 0, argc > 2 ? atoi(argv[2]) : 1};
    rig_open(&bench.rig, 2, RZ_SHM_COPY_ENVIRONMENT);
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        bench_run(&bench, false, cpus[1], (uint32_t)parent);
        _exit(0);
    }
    bench_run(&bench, true, cpus[0], (uint32_t)child);
    waitpid(child, NULL, 0);
    return 0;
}
