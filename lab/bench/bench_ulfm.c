/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The times of ULFM's calls, for any MPI that has them:
 *
 *   bench_ulfm agree MS           allreduce of one int and agree, in turns for that long
 *   bench_ulfm shrink DEATHS      shrink after this number of failures at once, all of them known
 *   bench_ulfm revoke ROUNDS      revoke, until the last pending receive is interrupted
 *   bench_ulfm floor ROUNDS       the same of processes woken by the kernel alone
 *   bench_ulfm perturb ROUNDS     collectives on a duplicate after a revoke
 *
 * prints `WHAT RANKS US`: microseconds of the slowest rank, the median over rounds. Where MPI_T
 * counts the messages of an agreement: `messages RANKS NUMBER`, of all ranks together.
 */
#include "bench_dates.h"

#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>

enum { BATCHES = 5, CALLS_MAX = 1 << 16, ROUNDS_MAX = 256, OPERATIONS = 8 };

static struct {
    int rank, size;
    struct bench_dates *dates;
} bench;

static void show(const char *what, double us)
{
    if (bench.rank == 0) {
        printf("%s %d %.3f\n", what, bench.size, us);
    }
}

static double slowest(double mine, MPI_Comm comm)
{
    double all;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, comm);
    return all;
}

static long long latest(long long mine)
{
    long long all;
    MPI_Allreduce(&mine, &all, 1, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

/* ---- agree ---- */

static void allreduce(void)
{
    int mine = 1, all;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_BAND, MPI_COMM_WORLD);
}

static void agree(void)
{
    int flag = 1;
    MPIX_Comm_agree(MPI_COMM_WORLD, &flag);
}

static double batch_us(void (*call)(void), int n)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < n; i++) {
        call();
    }
    return slowest(MPI_Wtime() - start, MPI_COMM_WORLD) / n * 1e6;
}

/* How many calls fill the time; the same at all ranks. */
static int calls_in(void (*call)(void), double us)
{
    int n = 1;
    while (n < CALLS_MAX && batch_us(call, n) * n < us / 2) {
        n *= 2;
    }
    return n;
}

#ifdef RHIZOME
/* Messages of the protocols so far, sent by this process; -1: not counted. */
static double messages_now(void)
{
    static MPI_T_pvar_session session;
    static MPI_T_pvar_handle handle;
    static int state; /* 1: open, -1: there is no such variable */
    int provided, index, n;
    if (state == 0) {
        state = MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS &&
                        MPI_T_pvar_session_create(&session) == MPI_SUCCESS &&
                        MPI_T_pvar_get_index("rz_protocol_messages_sent", MPI_T_PVAR_CLASS_COUNTER,
                                             &index) == MPI_SUCCESS &&
                        MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &n) == MPI_SUCCESS &&
                        MPI_T_pvar_start(session, handle) == MPI_SUCCESS
                    ? 1
                    : -1;
    }
    unsigned long long value = 0;
    if (state < 0 || MPI_T_pvar_read(session, handle, &value) != MPI_SUCCESS) {
        return -1;
    }
    return (double)value;
}

static void count_messages(void)
{
    double before = messages_now(), all;
    for (int i = 0; i < OPERATIONS; i++) {
        agree();
    }
    double mine = (messages_now() - before) / OPERATIONS;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (before >= 0) {
        show("messages", all);
    }
}
#else
static void count_messages(void)
{
}
#endif

static void measure_agree(int ms)
{
    double us = ms * 1e3 / (2 * BATCHES), reductions[BATCHES], agreements[BATCHES];
    int n_reductions = calls_in(allreduce, us), n_agreements = calls_in(agree, us);
    for (int i = 0; i < BATCHES; i++) {
        reductions[i] = batch_us(allreduce, n_reductions);
        agreements[i] = batch_us(agree, n_agreements);
    }
    count_messages();
    show("allreduce", bench_median(reductions, BATCHES));
    show("agree", bench_median(agreements, BATCHES));
}

/* ---- shrink ---- */

static int is_victim(int rank, int failures)
{
    for (int i = 0; i < failures; i++) {
        if (rank == 1 + i * (bench.size - 1) / failures) {
            return 1;
        }
    }
    return 0;
}

/* All survivors know of all failures when they return. */
static void lose(int failures)
{
    int nothing;
    MPI_Barrier(MPI_COMM_WORLD);
    if (is_victim(bench.rank, failures)) {
        bench_fail(bench.dates, 0);
    }
    for (int i = 0; i < bench.size; i++) {
        if (is_victim(i, failures)) {
            MPI_Recv(&nothing, 1, MPI_INT, i, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
}

static double one_agree_us(MPI_Comm whole)
{
    int flag = 1;
    double start = MPI_Wtime();
    MPIX_Comm_agree(MPI_COMM_WORLD, &flag);
    double spent = MPI_Wtime() - start;
    return (whole == MPI_COMM_NULL ? spent : slowest(spent, whole)) * 1e6;
}

static double one_shrink_us(MPI_Comm *shrunk)
{
    double start = MPI_Wtime();
    if (MPIX_Comm_shrink(MPI_COMM_WORLD, shrunk) != MPI_SUCCESS) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return slowest(MPI_Wtime() - start, *shrunk) * 1e6;
}

/* The first shrink excludes the failed processes; the world stays unchanged, so that further ones
 * do the same again. */
static void measure_shrink(int failures)
{
    double again[OPERATIONS], agreements[OPERATIONS];
    MPI_Comm shrunk, other;
    lose(failures);
    one_agree_us(MPI_COMM_NULL); /* all are here */
    double first = one_shrink_us(&shrunk);
    for (int i = 0; i < OPERATIONS; i++) {
        MPI_Barrier(shrunk);
        again[i] = one_shrink_us(&other);
        MPI_Barrier(shrunk);
        agreements[i] = one_agree_us(shrunk);
        MPI_Comm_free(&other);
    }
    int left, lowest;
    MPI_Comm_size(shrunk, &left);
    MPI_Comm_rank(shrunk, &lowest);
    if (left != bench.size - failures) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (lowest == 0) {
        printf("first %d %.3f\nshrink %d %.3f\nagree %d %.3f\n", bench.size, first, bench.size,
               bench_median(again, OPERATIONS), bench.size, bench_median(agreements, OPERATIONS));
    }
    MPI_Comm_free(&shrunk);
}

/* ---- revoke ---- */

static int initiator_of(int round)
{
    return (1 + round * 7) % bench.size;
}

static void settle(void)
{
    bench_sleep_ms(10 + bench.size / 4);
}

static double one_revoke_us(int round)
{
    int initiator = initiator_of(round), nothing, code = MPI_SUCCESS;
    long long begun = 0, ended = 0;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Barrier(MPI_COMM_WORLD);
    if (bench.rank == initiator) {
        settle();
        begun = bench_now();
        MPIX_Comm_revoke(comm);
    } else {
        code = MPI_Recv(&nothing, 1, MPI_INT, initiator, 1, comm, MPI_STATUS_IGNORE);
        ended = bench_now();
        if (bench_class(code) != MPIX_ERR_REVOKED) {
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        settle(); /* an interrupted process takes no processor time from those that are not */
    }
    double us = (double)(latest(ended) - latest(begun)) / 1e3;
    MPI_Comm_free(&comm);
    return us;
}

static void measure_revoke(int rounds)
{
    double us[ROUNDS_MAX];
    for (int i = 0; i < rounds; i++) {
        us[i] = one_revoke_us(i);
    }
    show("revoke", bench_median(us, rounds));
}

/* The same without any library: all others sleep on one word of shared memory, and one system call
 * wakes them. No revocation that finds its members asleep can be faster. */
static double one_waking_us(int round)
{
    int initiator = initiator_of(round);
    long long begun = 0, ended = 0;
    uint32_t *word = (uint32_t *)(uintptr_t)&bench.dates->killed;
    uint32_t before = *(volatile uint32_t *)word;
    MPI_Barrier(MPI_COMM_WORLD);
    if (bench.rank == initiator) {
        settle();
        begun = bench_now();
        *(volatile uint32_t *)word = before + 1;
        syscall(SYS_futex, word, FUTEX_WAKE, BENCH_RANKS_MAX, NULL, NULL, 0);
    } else {
        while (*(volatile uint32_t *)word == before) {
            syscall(SYS_futex, word, FUTEX_WAIT, before, NULL, NULL, 0);
        }
        ended = bench_now();
        settle();
    }
    return (double)(latest(ended) - latest(begun)) / 1e3;
}

static void measure_floor(int rounds)
{
    double us[ROUNDS_MAX];
    for (int i = 0; i < rounds; i++) {
        us[i] = one_waking_us(i);
    }
    show("floor", bench_median(us, rounds));
}

/* ---- The effect of a revoke on later calls ---- */

/* Collectives on comm, in succession: for each, from the last process that begins it to the last
 * that ends it. */
static void operations_us(MPI_Comm comm, double us[OPERATIONS])
{
    long long begun[OPERATIONS], ended[OPERATIONS];
    int mine = 1, all;
    for (int i = 0; i < OPERATIONS; i++) {
        begun[i] = bench_now();
        MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_BAND, comm);
        ended[i] = bench_now();
    }
    for (int i = 0; i < OPERATIONS; i++) {
        us[i] = (double)(latest(ended[i]) - latest(begun[i])) / 1e3;
    }
}

/* Plan A ends with a revoke; its dates stay here until plan B is over. */
static void plan_a(MPI_Comm comm, int round)
{
    int mine = 1, all, code = MPI_SUCCESS;
    long long begun = 0, ended = 0;
    for (int i = 0; i < OPERATIONS; i++) {
        MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_BAND, comm);
    }
    if (bench.rank == initiator_of(round)) {
        begun = bench_now();
        MPIX_Comm_revoke(comm);
    } else {
        code = MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_BAND, comm);
        ended = bench_now();
        if (bench_class(code) != MPIX_ERR_REVOKED) {
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    bench.dates->at[bench.rank] = begun;
    bench.dates->more[bench.rank] = ended;
}

/* From the revoke until the last member was interrupted. */
static double plan_a_took_us(void)
{
    long long begun = latest(bench.dates->at[bench.rank]);
    return (double)(latest(bench.dates->more[bench.rank]) - begun) / 1e3;
}

static void measure_perturbation(int rounds)
{
    static const char *const names[] = {"first", "second", "third"};
    static double quiet[ROUNDS_MAX * OPERATIONS], a[ROUNDS_MAX], b[3][ROUNDS_MAX];
    double us[OPERATIONS];
    int n_quiet = 0;
    for (int i = 0; i < rounds; i++) {
        MPI_Comm comm_a, comm_b;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm_a);
        MPI_Comm_dup(MPI_COMM_WORLD, &comm_b);
        MPI_Barrier(MPI_COMM_WORLD);
        operations_us(comm_b, us);
        for (int k = 1; k < OPERATIONS; k++) {
            quiet[n_quiet++] = us[k];
        }
        plan_a(comm_a, i);
        operations_us(comm_b, us);
        a[i] = plan_a_took_us();
        for (int k = 0; k < 3; k++) {
            b[k][i] = us[k];
        }
        MPI_Comm_free(&comm_a);
        MPI_Comm_free(&comm_b);
    }
    show("quiet", bench_median(quiet, n_quiet));
    show("revoked", bench_median(a, rounds));
    for (int k = 0; k < 3; k++) {
        show(names[k], bench_median(b[k], rounds));
    }
}

int main(int argc, char **argv)
{
    int number = argc == 3 ? atoi(argv[2]) : -1;
    if (number < 0 || number > 100000) {
        fprintf(stderr, "usage: bench_ulfm agree|shrink|revoke|floor|perturb NUMBER\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench.size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    bench.dates = bench_dates_of_world(argv[0]);
    number = number > ROUNDS_MAX && strcmp(argv[1], "agree") != 0 ? ROUNDS_MAX : number;
    if (strcmp(argv[1], "agree") == 0) {
        measure_agree(number);
    } else if (strcmp(argv[1], "shrink") == 0) {
        measure_shrink(number);
    } else if (strcmp(argv[1], "revoke") == 0) {
        measure_revoke(number);
    } else if (strcmp(argv[1], "floor") == 0) {
        measure_floor(number);
    } else {
        measure_perturbation(number);
    }
    return bench_finish(strcmp(argv[1], "shrink") == 0 && number > 0);
}
