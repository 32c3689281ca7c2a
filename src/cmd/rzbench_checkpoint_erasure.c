/* The part erasure: parities, in this process. */
#include "cmd/rzbench_checkpoint.h"

#include "base/assert.h"
#include "ckpt/erasure.h"
#include "port/clock.h"

#include <isa-l/erasure_code.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 4 << 20, DATA_MAX = 8, PARITY_MAX = 3, USUAL = 25, QUICK = 7 };

static const struct {
    unsigned data, parity;
} codes[] = {{3, 1}, {4, 2}, {8, 3}};

struct stripe {
    unsigned char *blocks[DATA_MAX], *parities[PARITY_MAX];
};

static bool stripe_open(struct stripe *stripe)
{
    for (int i = 0; i < DATA_MAX + PARITY_MAX; i++) {
        unsigned char *block = malloc(BLOCK_BYTES);
        if (!block)
            return false;
        for (size_t k = 0; k < BLOCK_BYTES; k++)
            block[k] = (unsigned char)(k * 2654435761u >> (i + 5));
        *(i < DATA_MAX ? &stripe->blocks[i] : &stripe->parities[i - DATA_MAX]) = block;
    }
    return true;
}

static void stripe_close(struct stripe *stripe)
{
    for (int i = 0; i < DATA_MAX; i++)
        free(stripe->blocks[i]);
    for (int i = 0; i < PARITY_MAX; i++)
        free(stripe->parities[i]);
}

/* Of the data, GB/s. */
static double rate(rz_time begin, unsigned data)
{
    return (double)data * BLOCK_BYTES / (double)(rz_clock_now() - begin);
}

static double by_us(struct stripe *stripe, unsigned data, unsigned parity)
{
    rz_time begin = rz_clock_now();
    rz_erasure_encode(data, parity, (const void *const *)stripe->blocks,
                      (void *const *)stripe->parities, BLOCK_BYTES);
    return rate(begin, data);
}

static double by_isal(struct stripe *stripe, unsigned data, unsigned parity)
{
    unsigned char matrix[(DATA_MAX + PARITY_MAX) * DATA_MAX], tables[32 * DATA_MAX * PARITY_MAX];
    gf_gen_cauchy1_matrix(matrix, (int)(data + parity), (int)data);
    rz_time begin = rz_clock_now();
    ec_init_tables((int)data, (int)parity, matrix + (size_t)data * data, tables);
    ec_encode_data(BLOCK_BYTES, (int)data, (int)parity, tables, stripe->blocks, stripe->parities);
    return rate(begin, data);
}

bool rz_bench_checkpoint_erasure(struct rz_bench_study *study)
{
    static const char *const ours = "Rhizome, GB/s", *const isal = "ISA-L, GB/s";
    static struct rz_bench_table table;
    struct stripe stripe = {0};
    unsigned repetitions = rz_bench_repetitions(study->bench, USUAL, QUICK);
    table = (struct rz_bench_table){
        .name = "checkpoint-erasure",
        .title = "Parities of blocks of 4 MiB, data per second: rz_erasure_encode beside ISA-L's "
                 "ec_encode_data",
        .rows_are = "blocks",
        .unit = "GB/s",
        .ratios = true};
    if (!stripe_open(&stripe)) {
        fprintf(stderr, "rzbench: no memory for blocks\n");
        stripe_close(&stripe);
        return false;
    }
    for (unsigned r = 0; r < repetitions + 1 && rz_bench_may_go_on(study->bench); r++)
        for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
            char row[16];
            snprintf(row, sizeof row, "%u+%u", codes[i].data, codes[i].parity);
            double a = by_us(&stripe, codes[i].data, codes[i].parity);
            double b = by_isal(&stripe, codes[i].data, codes[i].parity);
            if (r == 0)
                continue; /* pages were met for the first time */
            rz_bench_put(rz_bench_cell(&table, row, ours), r - 1, a);
            rz_bench_put(rz_bench_cell(&table, row, isal), r - 1, b);
        }
    stripe_close(&stripe);
    rz_bench_table_show(study->bench, &table);
    return true;
}
