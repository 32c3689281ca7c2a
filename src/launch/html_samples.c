/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts samples in bins of time that grow with the job. */
#include "launch/html_samples.h"

#include "base/no_memory.h"

#include <stdlib.h>

/* Samples in each bin, and the bounds of the time between two; with many ranks it is longer. */
#define SAMPLES_PER_BIN 4
#define EVERY_MIN (250 * RZ_MILLISECOND)
#define EVERY_MAX (2 * RZ_SECOND)
#define RANKS_PER_SECOND 2000

void rz_html_samples_open(struct rz_html_samples *samples, uint32_t n_ranks)
{
    uint32_t bins = RZ_HTML_CELLS_MAX / (n_ranks ? n_ranks : 1) / 2 * 2;
    bins = bins > RZ_HTML_BINS_MAX ? RZ_HTML_BINS_MAX : bins < 64 ? 64 : bins;
    *samples = (struct rz_html_samples){
        .n_ranks = n_ranks,
        .n_bins = bins,
        .bin_ns = RZ_HTML_BIN_NS,
        .cells = calloc((size_t)n_ranks * bins + 1, sizeof(*samples->cells)),
        .iterations = calloc(bins, sizeof(*samples->iterations))};
    rz_need_memory(samples->cells && samples->iterations, "for the samples of a report");
}

void rz_html_samples_close(struct rz_html_samples *samples)
{
    free(samples->cells);
    free(samples->iterations);
    *samples = (struct rz_html_samples){.n_ranks = 0};
}

static void add_iterations(struct rz_html_iterations *to, struct rz_html_iterations more)
{
    if (more.most == 0) {
        return;
    }
    to->least = to->most == 0 || more.least < to->least ? more.least : to->least;
    to->most = more.most > to->most ? more.most : to->most;
}

static struct rz_html_sample sum_of(struct rz_html_sample a, struct rz_html_sample b)
{
    unsigned taken = (unsigned)a.taken + b.taken, waiting = (unsigned)a.waiting + b.waiting;
    unsigned divisor = taken > UINT8_MAX ? 2 : 1;
    return (struct rz_html_sample){(uint8_t)(taken / divisor), (uint8_t)(waiting / divisor)};
}

/* Two bins become one. */
static void widen(struct rz_html_samples *samples)
{
    const struct rz_html_sample none = {0, 0};
    for (uint32_t rank = 0; rank < samples->n_ranks; rank++) {
        struct rz_html_sample *row = &samples->cells[(size_t)rank * samples->n_bins];
        for (uint32_t i = 0; i < samples->n_bins; i++) {
            row[i] = 2 * i < samples->n_bins ? sum_of(row[2 * i], row[2 * i + 1]) : none;
        }
    }
    for (uint32_t i = 0; i < samples->n_bins; i++) {
        struct rz_html_iterations sum = {0, 0};
        for (uint32_t j = 2 * i; j < 2 * i + 2 && j < samples->n_bins; j++) {
            add_iterations(&sum, samples->iterations[j]);
        }
        samples->iterations[i] = sum;
    }
    samples->bin_ns *= 2;
    samples->used = (samples->used + 1) / 2;
}

static uint32_t bin_of(struct rz_html_samples *samples, rz_time at)
{
    while (at / samples->bin_ns >= samples->n_bins) {
        widen(samples);
    }
    uint32_t bin = (uint32_t)(at / samples->bin_ns);
    samples->used = bin + 1 > samples->used ? bin + 1 : samples->used;
    return bin;
}

void rz_html_samples_take(struct rz_html_samples *samples, uint32_t rank, rz_time at, bool waiting)
{
    if (rank >= samples->n_ranks) {
        return;
    }
    uint32_t bin = bin_of(samples, at);
    struct rz_html_sample *cell = &samples->cells[(size_t)rank * samples->n_bins + bin];
    if (cell->taken == UINT8_MAX) {
        cell->taken /= 2;
        cell->waiting /= 2;
    }
    cell->taken++;
    cell->waiting += waiting;
}

void rz_html_samples_mark(struct rz_html_samples *samples, uint64_t iteration, rz_time at)
{
    uint32_t bin = bin_of(samples, at);
    add_iterations(&samples->iterations[bin], (struct rz_html_iterations){iteration, iteration});
}

void rz_html_samples_text(const struct rz_html_samples *samples, uint32_t rank, char *text)
{
    const struct rz_html_sample *row = &samples->cells[(size_t)rank * samples->n_bins];
    for (uint32_t i = 0; i < samples->used; i++) {
        text[i] = row[i].taken ? (char)('0' + 9 * row[i].waiting / row[i].taken) : '.';
    }
    text[samples->used] = 0;
}

rz_time rz_html_samples_every(const struct rz_html_samples *samples)
{
    rz_time every = samples->bin_ns / SAMPLES_PER_BIN;
    rz_time least = EVERY_MIN + (rz_time)samples->n_ranks * RZ_SECOND / RANKS_PER_SECOND;
    every = every > EVERY_MAX ? EVERY_MAX : every;
    return every > least ? every : least;
}
