/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages in every state at every moment, for snapshots at any moment: sends of all modes and
 * sizes, wildcards, probes, persistent requests, derived datatypes, non-blocking collectives under
 * way while messages are exchanged. Each message says which rank sent it, in which round and as
 * which of its row; each receiver checks content, order and number. The program knows nothing of
 * failures.
 *
 *   rewind_torture ROUNDS SEED
 *
 * Prints one line at the end, which depends on ROUNDS, SEED and the number of ranks alone.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A rank may be one round ahead of another: its messages for wildcards have another tag then. */
enum { TAG_POSTED = 1, TAG_ANY_EVEN, TAG_ANY_ODD, TAG_VECTOR, TAG_PERSISTENT, TAG_NEVER, TAGS };
enum { RANKS_MAX = 64, ROW_MAX = 3, BYTES_MAX = 300000, HEAD = 4 };

static int rank, size;
static uint64_t seed, digest;
static uint32_t expected[RANKS_MAX][TAGS]; /* the number of the next message of a row */
static uint32_t next[RANKS_MAX][TAGS];     /* likewise, to send */

static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static uint64_t draw(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    return mix(seed ^ mix(a + 1) ^ mix(b * 977 + 3) ^ mix(c * 7919 + 5) ^ mix(d * 104729 + 7));
}

/* How many messages of that tag go from one rank to another in this round, and the bytes of one. */
static int row_of(int round, int from, int to, int tag)
{
    return from == to ? 0
                      : (int)(draw((uint64_t)round, (uint64_t)from, (uint64_t)to, (uint64_t)tag) %
                              (ROW_MAX + 1));
}

static int words_of(int from, int to, int tag, uint32_t number)
{
    static const int sizes[] = {0, 1, 10, 100, 1000, 5000, 20000, BYTES_MAX / 8 - HEAD};
    uint64_t at = draw((uint64_t)from + 1000, (uint64_t)to, (uint64_t)tag, number);
    return HEAD + (at % 16 == 0 ? sizes[7] : sizes[at % 7]);
}

static uint64_t word_of(int from, int to, int tag, uint32_t number, int i)
{
    return draw((uint64_t)from + 77, (uint64_t)to, (uint64_t)tag * 131 + number, (uint64_t)i);
}

static _Noreturn void wrong(const char *what, int from, int tag, uint32_t number)
{
    fprintf(stderr, "rank %d: %s: from rank %d, tag %d, number %u\n", rank, what, from, tag,
            number);
    MPI_Abort(MPI_COMM_WORLD, 3);
    abort();
}

static void fill(uint64_t *message, int to, int tag, uint32_t number)
{
    int n = words_of(rank, to, tag, number);
    message[0] = (uint64_t)rank;
    message[1] = (uint64_t)tag;
    message[2] = number;
    message[3] = (uint64_t)n;
    for (int i = HEAD; i < n; i++) {
        message[i] = word_of(rank, to, tag, number, i);
    }
}

static void check(const uint64_t *message, int from, int tag, int words)
{
    uint32_t number = expected[from][tag]++;
    int n = words_of(from, rank, tag, number);
    if (words != n || message[0] != (uint64_t)from || message[1] != (uint64_t)tag ||
        message[2] != number || message[3] != (uint64_t)n) {
        wrong("another message than expected", from, tag, number);
    }
    for (int i = HEAD; i < n; i++) {
        if (message[i] != word_of(from, rank, tag, number, i)) {
            wrong("changed content", from, tag, number);
        }
    }
    digest +=
        mix((uint64_t)from << 40 ^ (uint64_t)tag << 32 ^ number) ^ (n > HEAD ? message[n - 1] : 1);
}

/* ---- Sends, each in memory of its own until the end of the round ---- */

struct sent {
    MPI_Request request;
    uint64_t *memory;
};

static struct sent sent[RANKS_MAX * ROW_MAX * TAGS];
static int n_sent;

static void send_one(int to, int tag)
{
    uint32_t number = next[to][tag]++;
    int n = words_of(rank, to, tag, number);
    struct sent *s = &sent[n_sent++];
    s->memory = malloc((size_t)n * 2 * sizeof(*s->memory));
    fill(s->memory, to, tag, number);
    s->request = MPI_REQUEST_NULL;
    switch (draw((uint64_t)rank, (uint64_t)to, (uint64_t)tag + 50, number) % 5) {
    case 0:
        MPI_Issend(s->memory, n, MPI_UINT64_T, to, tag, MPI_COMM_WORLD, &s->request);
        break;
    case 1:
        if (n < 2000) {
            MPI_Bsend(s->memory, n, MPI_UINT64_T, to, tag, MPI_COMM_WORLD);
            break;
        }
        /* fall through */
    case 2:
        if (n < 100) { /* no implementation waits for the receiver */
            MPI_Send(s->memory, n, MPI_UINT64_T, to, tag, MPI_COMM_WORLD);
            break;
        }
        /* fall through */
    default:
        MPI_Isend(s->memory, n, MPI_UINT64_T, to, tag, MPI_COMM_WORLD, &s->request);
    }
}

/* Every other word of memory, as a derived datatype. */
static void send_vector(int to)
{
    uint32_t number = next[to][TAG_VECTOR]++;
    int n = words_of(rank, to, TAG_VECTOR, number);
    struct sent *s = &sent[n_sent++];
    uint64_t *packed = malloc((size_t)n * sizeof(*packed));
    MPI_Datatype vector;
    s->memory = calloc((size_t)n * 2, sizeof(*s->memory));
    fill(packed, to, TAG_VECTOR, number);
    for (int i = 0; i < n; i++) {
        s->memory[2 * i] = packed[i];
    }
    free(packed);
    MPI_Type_vector(n, 1, 2, MPI_UINT64_T, &vector);
    MPI_Type_commit(&vector);
    MPI_Isend(s->memory, 1, vector, to, TAG_VECTOR, MPI_COMM_WORLD, &s->request);
    MPI_Type_free(&vector);
}

static void finish_sends(void)
{
    for (int i = 0; i < n_sent; i++) {
        MPI_Wait(&sent[i].request, MPI_STATUS_IGNORE);
        free(sent[i].memory);
    }
    n_sent = 0;
}

/* ---- Receives ---- */

static uint64_t inbox[BYTES_MAX / 8];

static void receive_any(int n, int tag)
{
    for (int i = 0; i < n; i++) {
        MPI_Status status;
        int words;
        if (i % 3 == 0) {
            MPI_Message message;
            MPI_Mprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &message, &status);
            MPI_Get_count(&status, MPI_UINT64_T, &words);
            MPI_Mrecv(inbox, words, MPI_UINT64_T, &message, &status);
        } else if (i % 3 == 1) {
            MPI_Probe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_UINT64_T, &words);
            MPI_Recv(inbox, words, MPI_UINT64_T, status.MPI_SOURCE, tag, MPI_COMM_WORLD, &status);
        } else {
            MPI_Recv(inbox, BYTES_MAX / 8, MPI_UINT64_T, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD,
                     &status);
        }
        MPI_Get_count(&status, MPI_UINT64_T, &words);
        check(inbox, status.MPI_SOURCE, tag, words);
    }
}

static void receive_from(int from, int tag, int n)
{
    for (int i = 0; i < n; i++) {
        MPI_Status status;
        int words;
        MPI_Recv(inbox, BYTES_MAX / 8, MPI_UINT64_T, from, tag, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_UINT64_T, &words);
        check(inbox, from, tag, words);
    }
}

/* ---- A round ---- */

struct posted {
    MPI_Request request;
    int from;
    uint64_t *memory;
};

static int post(int round, struct posted *posted)
{
    int n = 0;
    for (int from = 0; from < size; from++) {
        for (int i = 0; i < row_of(round, from, rank, TAG_POSTED); i++, n++) {
            posted[n].from = from;
            posted[n].memory = malloc(BYTES_MAX);
            MPI_Irecv(posted[n].memory, BYTES_MAX / 8, MPI_UINT64_T, from, TAG_POSTED,
                      MPI_COMM_WORLD, &posted[n].request);
        }
    }
    return n;
}

static void finish_posted(struct posted *posted, int n)
{
    for (int i = 0; i < n; i++) {
        MPI_Status status;
        int words, done = 0;
        for (int k = 0; k < 5 && !done; k++) {
            MPI_Test(&posted[i].request, &done, &status);
        }
        if (!done) {
            MPI_Wait(&posted[i].request, &status);
        }
        MPI_Get_count(&status, MPI_UINT64_T, &words);
        check(posted[i].memory, posted[i].from, TAG_POSTED, words);
        free(posted[i].memory);
    }
}

static int incoming(int round, int tag)
{
    int n = 0;
    for (int from = 0; from < size; from++) {
        n += row_of(round, from, rank, tag);
    }
    return n;
}

static void exchange(int round)
{
    static struct posted posted[RANKS_MAX * ROW_MAX];
    int tag_any = round % 2 ? TAG_ANY_ODD : TAG_ANY_EVEN;
    int n_posted = post(round, posted), any = incoming(round, tag_any);
    for (int k = 1; k < size; k++) {
        int to = (rank + k) % size;
        for (int tag = TAG_POSTED; tag <= TAG_VECTOR; tag++) {
            for (int i = 0; i < row_of(round, rank, to, tag); i++) {
                if (tag == TAG_VECTOR) {
                    send_vector(to);
                } else if (tag == TAG_POSTED || tag == tag_any) {
                    send_one(to, tag);
                }
            }
        }
    }
    receive_any(any / 2, tag_any);
    finish_posted(posted, n_posted);
    for (int from = 0; from < size; from++) {
        receive_from(from, TAG_VECTOR, row_of(round, from, rank, TAG_VECTOR));
    }
    receive_any(any - any / 2, tag_any);
    finish_sends();
}

/* A persistent pair along the ring, started in each round. */
static struct {
    uint64_t out[500], in[500];
    MPI_Request request[2];
} ring;

static void ring_open(void)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Send_init(ring.out, 500, MPI_UINT64_T, to, TAG_PERSISTENT, MPI_COMM_WORLD,
                  &ring.request[0]);
    MPI_Recv_init(ring.in, 500, MPI_UINT64_T, from, TAG_PERSISTENT, MPI_COMM_WORLD,
                  &ring.request[1]);
}

static void ring_check(int round)
{
    int from = (rank + size - 1) % size;
    for (int i = 0; i < 500; i++) {
        if (ring.in[i] != draw((uint64_t)round, (uint64_t)from, 5, (uint64_t)i)) {
            wrong("changed content of the ring", from, TAG_PERSISTENT, (uint32_t)round);
        }
    }
    digest += ring.in[499];
}

static void do_round(int round)
{
    uint64_t mine = draw((uint64_t)round, (uint64_t)rank, 9, 9), sum = 0, all[RANKS_MAX], want = 0;
    uint64_t nothing;
    MPI_Request collective[3], never;
    for (int i = 0; i < 500; i++) {
        ring.out[i] = draw((uint64_t)round, (uint64_t)rank, 5, (uint64_t)i);
    }
    MPI_Startall(2, ring.request);
    MPI_Iallreduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD, &collective[0]);
    MPI_Iallgather(&mine, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, MPI_COMM_WORLD, &collective[1]);
    MPI_Ibarrier(MPI_COMM_WORLD, &collective[2]);
    MPI_Irecv(&nothing, 1, MPI_UINT64_T, MPI_ANY_SOURCE, TAG_NEVER, MPI_COMM_WORLD, &never);
    exchange(round);
    MPI_Cancel(&never);
    MPI_Wait(&never, MPI_STATUS_IGNORE);
    MPI_Waitall(3, collective, MPI_STATUSES_IGNORE);
    for (int r = 0; r < size; r++) {
        want += draw((uint64_t)round, (uint64_t)r, 9, 9);
        if (all[r] != draw((uint64_t)round, (uint64_t)r, 9, 9)) {
            wrong("a wrong allgather", r, 0, (uint32_t)round);
        }
    }
    if (sum != want) {
        wrong("a wrong allreduce", 0, 0, (uint32_t)round);
    }
    MPI_Waitall(2, ring.request, MPI_STATUSES_IGNORE);
    ring_check(round);
    if (round % 7 == 0) { /* also blocking ones, in another communicator */
        MPI_Comm half;
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
        MPI_Allreduce(&digest, &sum, 1, MPI_UINT64_T, MPI_BXOR, half);
        digest += sum;
        MPI_Comm_free(&half);
    }
}

int main(int argc, char **argv)
{
    static char buffer[8 << 20];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int rounds = argc > 1 ? atoi(argv[1]) : 100;
    seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    void *attached;
    int bytes;
    MPI_Buffer_attach(buffer, sizeof(buffer));
    ring_open();
    for (int round = 0; round < rounds; round++) {
        do_round(round);
    }
    MPI_Request_free(&ring.request[0]);
    MPI_Request_free(&ring.request[1]);
    uint64_t total;
    MPI_Reduce(&digest, &total, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Buffer_detach(&attached, &bytes);
    if (rank == 0) {
        printf("%d rounds of %d ranks: %016llx\n", rounds, size, (unsigned long long)total);
    }
    MPI_Finalize();
    return 0;
}
