/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parities beside ISA-L's own function on the same memory, in turns: for each code and repetition a
 * line `erasure DATA+PARITY OURS ISAL`, data in GB/s. It is built with Rhizome, for it measures a
 * function of the daemon that no public header has.
 */
#include "ckpt/erasure.h"

#include <isa-l/erasure_code.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BLOCK_BYTES = 4 << 20, DATA_MAX = 8, PARITY_MAX = 3, BLOCKS = DATA_MAX + PARITY_MAX };

static const struct {
    unsigned data, parity;
} codes[] = {{3, 1}, {4, 2}, {8, 3}};

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double gigabytes_per_s(double begin_s, unsigned data)
{
    return (double)data * BLOCK_BYTES / (now_s() - begin_s) / 1e9;
}

static double by_us(unsigned char *blocks[BLOCKS], unsigned data, unsigned parity)
{
    double begin_s = now_s();
    rz_erasure_encode(data, parity, (const void *const *)blocks, (void *const *)(blocks + DATA_MAX),
                      BLOCK_BYTES);
    return gigabytes_per_s(begin_s, data);
}

static double by_isal(unsigned char *blocks[BLOCKS], unsigned data, unsigned parity)
{
    unsigned char matrix[BLOCKS * DATA_MAX], tables[32 * DATA_MAX * PARITY_MAX];
    gf_gen_cauchy1_matrix(matrix, (int)(data + parity), (int)data);
    double begin_s = now_s();
    ec_init_tables((int)data, (int)parity, matrix + (size_t)data * data, tables);
    ec_encode_data(BLOCK_BYTES, (int)data, (int)parity, tables, blocks, blocks + DATA_MAX);
    return gigabytes_per_s(begin_s, data);
}

int main(int argc, char **argv)
{
    unsigned char *blocks[BLOCKS];
    unsigned long repetitions = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
    unsigned char *memory = malloc((size_t)BLOCKS * BLOCK_BYTES);
    if (repetitions == 0 || !memory) {
        fprintf(stderr, memory ? "usage: bench_erasure REPETITIONS\n" : "no memory for blocks\n");
        return 2;
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = memory + i * BLOCK_BYTES;
        for (size_t k = 0; k < BLOCK_BYTES; k++) {
            blocks[i][k] = (unsigned char)(k * 2654435761u >> (i + 5));
        }
    }
    for (unsigned long r = 0; r < repetitions + 1; r++) {
        for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
            double ours = by_us(blocks, codes[i].data, codes[i].parity);
            double theirs = by_isal(blocks, codes[i].data, codes[i].parity);
            if (r > 0) { /* in the first round pages are met for the first time */
                printf("erasure %u+%u %.9g %.9g\n", codes[i].data, codes[i].parity, ours, theirs);
            }
        }
    }
    free(memory);
    return 0;
}
