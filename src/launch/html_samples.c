/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds up shares of time in bins that grow with the job. */
#include "launch/html_private.h"

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

static struct rz_html_share sum_of(struct rz_html_share a, struct rz_html_share b)
{
    return (struct rz_html_share){a.known + b.known, a.waiting + b.waiting};
}

/* Two bins become one. */
static void widen(struct rz_html_samples *samples)
{
    const struct rz_html_share none = {0, 0};
    for (uint32_t rank = 0; rank < samples->n_ranks; rank++) {
        struct rz_html_share *row = &samples->cells[(size_t)rank * samples->n_bins];
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

void rz_html_samples_take(struct rz_html_samples *samples, uint32_t rank, rz_time from,
                          rz_time until, rz_time waited)
{
    if (rank >= samples->n_ranks || until <= from) {
        return;
    }
    uint32_t last =
        bin_of(samples, until - 1); /* may widen the bins: before the first is looked up */
    double share = waited < until - from ? (double)waited / (double)(until - from) : 1.0;
    struct rz_html_share *row = &samples->cells[(size_t)rank * samples->n_bins];
    for (uint32_t bin = (uint32_t)(from / samples->bin_ns); bin <= last; bin++) {
        rz_time begin = bin * samples->bin_ns, end = begin + samples->bin_ns;
        rz_time part = (until < end ? until : end) - (from > begin ? from : begin);
        row[bin].known += part;
        row[bin].waiting += (rz_time)((double)part * share);
    }
}

void rz_html_samples_mark(struct rz_html_samples *samples, uint64_t iteration, rz_time at)
{
    uint32_t bin = bin_of(samples, at);
    add_iterations(&samples->iterations[bin], (struct rz_html_iterations){iteration, iteration});
}

void rz_html_samples_text(const struct rz_html_samples *samples, uint32_t rank, char *text)
{
    const struct rz_html_share *row = &samples->cells[(size_t)rank * samples->n_bins];
    for (uint32_t i = 0; i < samples->used; i++) {
        text[i] = row[i].known
                      ? (char)('0' + (9 * row[i].waiting + row[i].known / 2) / row[i].known)
                      : '.';
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
