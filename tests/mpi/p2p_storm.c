/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random traffic between all ranks. All ranks draw the same plan from the seed, so each knows what
 * it must get: from each source in each tag the messages arrive in order and whole, however they
 * are received.
 */
#include "check.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { TAGS = 3, LARGEST = 200000, WINDOW = 16 };

struct planned {
    int from, to, tag;
    size_t bytes;
};

static uint64_t state;

static uint64_t draw(uint64_t bound)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % bound;
}

static unsigned char byte_of(int number, size_t i)
{
    return (unsigned char)((size_t)number * 17 + i * 29);
}

static void send_all(const struct planned *plan, int n, int rank, MPI_Request *requests,
                     unsigned char **data, int *in_flight, int *at, int most)
{
    for (; *at < n && *in_flight < most; (*at)++) {
        const struct planned *p = &plan[*at];
        if (p->from != rank) {
            continue;
        }
        data[*in_flight] = malloc(p->bytes + sizeof(int));
        memcpy(data[*in_flight], at, sizeof(int));
        for (size_t i = 0; i < p->bytes; i++) {
            data[*in_flight][sizeof(int) + i] = byte_of(*at, i);
        }
        int size = (int)(p->bytes + sizeof(int));
        if (*at % 5 == 0) {
            MPI_Issend(data[*in_flight], size, MPI_BYTE, p->to, p->tag, MPI_COMM_WORLD,
                       &requests[*in_flight]);
        } else {
            MPI_Isend(data[*in_flight], size, MPI_BYTE, p->to, p->tag, MPI_COMM_WORLD,
                      &requests[*in_flight]);
        }
        (*in_flight)++;
    }
}

static void reap(MPI_Request *requests, unsigned char **data, int *in_flight)
{
    for (int i = 0; i < *in_flight; i++) {
        int flag;
        MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
        if (flag) {
            free(data[i]);
            (*in_flight)--;
            requests[i] = requests[*in_flight];
            data[i] = data[*in_flight];
            i--;
        }
    }
}

/* The message in buffer must be the next one planned from that source with that tag. */
static void check_message(const struct planned *plan, int n, int rank, int *next,
                          const unsigned char *buffer, const MPI_Status *status)
{
    int number, count;
    MPI_Get_count(status, MPI_BYTE, &count);
    memcpy(&number, buffer, sizeof(number));
    int *expected = &next[status->MPI_SOURCE * TAGS + status->MPI_TAG];
    while (*expected < n &&
           (plan[*expected].from != status->MPI_SOURCE || plan[*expected].to != rank ||
            plan[*expected].tag != status->MPI_TAG)) {
        (*expected)++;
    }
    CHECK(number == *expected);
    CHECK((size_t)count == plan[number].bytes + sizeof(int));
    for (size_t i = 0; i < plan[number].bytes; i++) {
        CHECK(buffer[sizeof(int) + i] == byte_of(number, i));
    }
    (*expected)++;
}

int main(int argc, char **argv)
{
    int rank, size, n = argc > 2 ? atoi(argv[2]) : 2000;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    state = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    struct planned *plan = malloc((size_t)n * sizeof(*plan));
    int mine = 0;
    for (int i = 0; i < n; i++) {
        plan[i].from = (int)draw((uint64_t)size);
        plan[i].to = (int)draw((uint64_t)size);
        plan[i].tag = (int)draw(TAGS);
        plan[i].bytes = draw(4) != 0 ? draw(300) : draw(LARGEST);
        mine += plan[i].to == rank;
    }
    MPI_Request requests[WINDOW];
    unsigned char *data[WINDOW], *buffer = malloc(LARGEST + sizeof(int));
    int in_flight = 0, at = 0, *next = calloc((size_t)size * TAGS, sizeof(*next));
    for (int got = 0; got < mine || in_flight > 0 || at < n;) {
        send_all(plan, n, rank, requests, data, &in_flight, &at, WINDOW);
        MPI_Status status;
        int flag = 1;
        if (got < mine) {
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
            if (flag) {
                int named = got % 2;
                MPI_Recv(buffer, LARGEST + sizeof(int), MPI_BYTE,
                         named ? status.MPI_SOURCE : MPI_ANY_SOURCE,
                         named ? status.MPI_TAG : MPI_ANY_TAG, MPI_COMM_WORLD, &status);
                check_message(plan, n, rank, next, buffer, &status);
                got++;
            }
        }
        reap(requests, data, &in_flight);
    }
    free(plan);
    free(buffer);
    free(next);
    MPI_Finalize();
    return 0;
}
