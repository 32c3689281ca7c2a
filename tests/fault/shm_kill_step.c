/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sender killed between any two instructions of a send. The victim runs its send one instruction
 * at a time, under our eyes, and is killed after n of them, for every n (or, for long sends, for
 * some drawn at random). Whatever n: what it had sent before arrives, the message itself arrives
 * whole or not at all, and another sender's messages arrive.
 *
 *   fault_shm_kill_step [samples of each long send [seed]]
 */
#include "shm_rig.h"

#include "base/assert.h"
#include "base/random.h"
#include "port/process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RECEIVER, VICTIM, OTHER, LANES }; /* receiver and other sender are this process */
enum { FIRST_BYTES = 100, BYTES_MAX = 100 * 1000, EXHAUSTIVE_MAX = 1000 };

static struct options {
    unsigned samples;
    uint64_t seed;
} options = {.samples = 20, .seed = 1};

static unsigned char data[BYTES_MAX];

/* What has arrived from each lane. */
static struct {
    unsigned n[LANES];
    size_t bytes[LANES]; /* of the last */
    bool whole[LANES];
    rz_net_token_t token;
} got;

static struct kind {
    const char *name;
    size_t bytes;
    bool receiver_sleeps;
} kinds[] = {{"empty", 0, false},
             {"small", 100, false},
             {"small to a sleeper", 100, true},
             {"8 KiB", 8192, false},
             {"large", BYTES_MAX, false}};

static _Noreturn void wrong(const struct kind *kind, unsigned long n, const char *what)
{
    fprintf(stderr,
            "shm_kill_step: %s send, killed after %lu instructions: %s\n"
            "  again: fault_shm_kill_step %u %llu\n",
            kind->name, n, what, options.samples, (unsigned long long)options.seed);
    exit(1);
}

static void arrived(struct rig_user *user, const void *header, uint32_t header_bytes,
                    const void *bytes, size_t n, rz_net_token_t token)
{
    (void)user;
    unsigned lane = LANES;
    if (header_bytes == sizeof(lane)) {
        memcpy(&lane, header, sizeof(lane));
    }
    rz_assert(lane < LANES);
    got.n[lane]++;
    got.bytes[lane] = n;
    got.whole[lane] = token || n == 0 || memcmp(bytes, data, n) == 0;
    if (token) {
        got.token = token;
    }
}

static void send_one(struct rz_net *net, unsigned from, size_t bytes, struct rig_op *op)
{
    rig_op_init(op, &from, sizeof(from));
    rz_shm_ops.send(net, RECEIVER, data, bytes, &op->op);
}

static _Noreturn void be_victim(const struct rig *rig, const struct kind *kind, pid_t parent)
{
    struct rig_user user = {.arrived = arrived};
    struct rig_op first, second;
    if (rz_process_fail_with_parent(parent, SIGKILL) != RZ_OK) {
        _exit(1);
    }
    struct rz_net *net = rig_join(rig, VICTIM, &user);
    rig_connect(rig, net, RECEIVER, RECEIVER, (uint32_t)parent);
    send_one(net, VICTIM, FIRST_BYTES, &first);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
        _exit(2);
    }
    raise(SIGSTOP);
    send_one(net, VICTIM, kind->bytes, &second);
    raise(SIGSTOP);
    _exit(0);
}

/* Lets the victim run `steps` instructions, then kills it. Returns how many it ran before its send
 * was over. */
static unsigned long run_victim(const struct rig *rig, const struct kind *kind, unsigned long steps)
{
    pid_t parent = getpid(), pid = fork();
    rz_assert(pid >= 0);
    if (pid == 0) {
        be_victim(rig, kind, parent);
    }
    int status;
    unsigned long n = 0;
    bool stopped = waitpid(pid, &status, 0) == pid && WIFSTOPPED(status);
    if (!stopped) {
        fprintf(stderr, "shm_kill_step: the system does not let us trace; skipped\n");
        exit(77);
    }
    while (n < steps && ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) == 0 &&
           waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP) {
        n++;
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return n;
}

/* The checks of one kill; returns how many instructions were run. */
static unsigned long kill_after(const struct kind *kind, unsigned long steps)
{
    struct rig rig;
    struct rig_user user = {.arrived = arrived};
    struct rig_op op, fetched;
    static unsigned char to[BYTES_MAX];
    memset(&got, 0, sizeof(got));
    rig_open(&rig, LANES, RZ_SHM_COPY_AUTO);
    struct rz_net *receiver = rig_join(&rig, RECEIVER, &user),
                  *other = rig_join(&rig, OTHER, &user);
    rig_connect(&rig, receiver, VICTIM, VICTIM, 1);
    rig_connect(&rig, receiver, OTHER, OTHER, (uint32_t)getpid());
    rig_connect(&rig, other, RECEIVER, RECEIVER, (uint32_t)getpid());
    if (kind->receiver_sleeps) {
        rz_doorbell_prepare(rig.bell[RECEIVER], steps % 2 ? RZ_DOORBELL_FUTEX : RZ_DOORBELL_POLL);
    }
    unsigned long n = run_victim(&rig, kind, steps);

    rz_shm_ops.disconnect(receiver, VICTIM, true, RZ_ERR_PROC_FAILED);
    if (got.n[VICTIM] < 1 || got.n[VICTIM] > 2) {
        wrong(kind, n, "what was sent before did not arrive, or something twice");
    }
    if (!got.whole[VICTIM] ||
        got.bytes[VICTIM] != (got.n[VICTIM] == 1 ? FIRST_BYTES : kind->bytes)) {
        wrong(kind, n, "a message arrived torn");
    }
    if (got.token) {
        rig_op_init(&fetched, "", 0);
        if (rz_shm_ops.fetch(receiver, got.token, to, kind->bytes, &fetched.op) !=
            RZ_ERR_PROC_FAILED) {
            wrong(kind, n, "a payload came from the failed");
        }
    }
    for (unsigned i = 1; i <= 100; i++) {
        send_one(other, OTHER, 3000, &op);
        rig_progress(receiver);
        rig_progress(other);
        if (got.n[OTHER] != i || !got.whole[OTHER]) {
            wrong(kind, n, "another sender's message did not arrive");
        }
    }
    if (user.broken) {
        wrong(kind, n, "a ring was torn");
    }
    rz_shm_ops.close(receiver);
    rz_shm_ops.close(other);
    rig_close(&rig);
    return n;
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        options.samples = (unsigned)strtoul(argv[1], NULL, 10);
    }
    if (argc > 2) {
        options.seed = strtoull(argv[2], NULL, 10);
    }
    struct rz_random random = {.state = options.seed};
    for (size_t i = 0; i < sizeof(data); i++) {
        data[i] = (unsigned char)rz_random_next(&random);
    }
    for (unsigned k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
        unsigned long all = kill_after(&kinds[k], (unsigned long)-1), kills = 0;
        if (all <= EXHAUSTIVE_MAX) {
            for (; kills < all; kills++) {
                kill_after(&kinds[k], kills);
            }
        } else {
            for (; kills < options.samples; kills++) {
                kill_after(&kinds[k], rz_random_below(&random, all));
            }
        }
        printf("%s send: %lu instructions, killed after each of %lu of them\n", kinds[k].name, all,
               kills);
    }
    return 0;
}
