/* The parts copy, pages and files: bench_checkpoint in jobs of one process and of two nodes. */
#include "cmd/rzbench_checkpoint.h"

#include "port/clock.h"

#include <stdlib.h>

enum {
    USUAL = 25,
    QUICK = 7,
    FILE_MIB = 64,
    PAGES_MIB = 64,
    PAGES_MIB_QUICK = 16,
    QUICK_CYCLES = 3,
    FILES_IN_A_ROW = 2
};

/* What one job of bench_checkpoint measures. */
struct job {
    const char *mode; /* "copy", "cycle" */
    unsigned mib, percent, nodes;
    unsigned repetitions_max;
    const char *options[6]; /* more of rzrun, ended by NULL */
};

/* Runs it, and puts seconds of memcpy and of checkpoints into the samples (NULL: not wanted),
 * turned into GB/s, or into ms. */
static void measure(struct rz_bench_study *study, const struct job *job, bool bandwidth,
                    struct rz_bench_samples *plain, struct rz_bench_samples *checkpoint)
{
    unsigned repetitions = rz_bench_repetitions(study->bench, USUAL, QUICK);
    if (job->repetitions_max && repetitions > job->repetitions_max)
        repetitions = job->repetitions_max;
    struct rz_bench_start start = {.system = RZ_BENCH_RHIZOME,
                                   .ranks = job->nodes,
                                   .nodes = job->nodes,
                                   .program = "bench_checkpoint",
                                   .options = job->options};
    struct rz_bench_command command = {0};
    struct rz_bench_run run;
    double gigabytes = job->mib * 1048576.0 / 1e9;
    if (!rz_bench_may_go_on(study->bench))
        return;
    rz_bench_command_start(study->bench, &start, &command);
    rz_bench_command_add(&command, "%s", job->mode);
    rz_bench_command_add(&command, "%u", job->mib);
    rz_bench_command_add(&command, "%u", job->percent);
    rz_bench_command_add(&command, "%u", repetitions);
    bool good = rz_bench_study_run(study, &command, &run);
    const char *line = rz_bench_line(&run, "sample", NULL);
    study->failed += good && !line;
    for (unsigned i = 0; line && i < repetitions; i++, line = rz_bench_line(&run, "sample", line)) {
        char *rest;
        double memcpy_s = strtod(line, &rest), checkpoint_s = strtod(rest, NULL);
        if (plain)
            rz_bench_put(plain, i, bandwidth ? gigabytes / memcpy_s : memcpy_s * 1e3);
        rz_bench_put(checkpoint, i, bandwidth ? gigabytes / checkpoint_s : checkpoint_s * 1e3);
    }
    rz_bench_run_free(&run);
}

bool rz_bench_checkpoint_copy(struct rz_bench_study *study)
{
    static const unsigned sizes[] = {64, 4, 16, 256};
    static const char *const ours = "RZ_Checkpoint, GB/s", *const plain = "memcpy, GB/s";
    static struct rz_bench_table table;
    table = (struct rz_bench_table){
        .name = "checkpoint-copy",
        .title = "Writing a piece, every page changed: RZ_Checkpoint (copy, and a checksum of each "
                 "page) beside memcpy of the same bytes; one process, the commit not included",
        .rows_are = "MiB",
        .unit = "GB/s",
        .axis = RZ_BENCH_AXIS_LOG2,
        .ratios = true,
        .plot = true};
    unsigned n = study->bench->quick ? 1 : sizeof sizes / sizeof *sizes;
    for (unsigned i = 0; i < n; i++) {
        char row[16];
        snprintf(row, sizeof row, "%u", sizes[i]);
        struct rz_bench_samples *a = rz_bench_cell(&table, row, ours);
        measure(study, &(struct job){.mode = "copy", .mib = sizes[i], .percent = 100, .nodes = 1},
                true, rz_bench_cell(&table, row, plain), a);
    }
    rz_bench_table_show(study->bench, &table);
    struct rz_bench_interval ratio = rz_bench_interval_ratio(rz_bench_cell(&table, "64", ours),
                                                             rz_bench_cell(&table, "64", plain));
    rz_bench_claim_least(&study->claims, "bandwidth of RZ_Checkpoint over memcpy, 64 MiB", 0.5,
                         &ratio, "");
    return true;
}

bool rz_bench_checkpoint_pages(struct rz_bench_study *study)
{
    static const unsigned percents[] = {0, 1, 10, 100};
    static struct rz_bench_table table;
    static char title[256];
    unsigned mib = study->bench->quick ? PAGES_MIB_QUICK : PAGES_MIB;
    snprintf(title, sizeof title,
             "A checkpoint of %u MiB of which a share of the pages changed, ms: the call, and, one "
             "checkpoint after the other, with the copy to another node and the commit; memcpy of "
             "all for comparison",
             mib);
    table = (struct rz_bench_table){.name = "checkpoint-pages",
                                    .title = title,
                                    .rows_are = "pages changed, %",
                                    .unit = "ms",
                                    .plot = true};
    for (unsigned i = 0; i < sizeof percents / sizeof *percents; i++) {
        char row[16];
        snprintf(row, sizeof row, "%u", percents[i]);
        struct rz_bench_samples *call = rz_bench_cell(&table, row, "RZ_Checkpoint");
        struct rz_bench_samples *cycle = rz_bench_cell(&table, row, "with copy and commit");
        measure(study,
                &(struct job){.mode = "copy", .mib = mib, .percent = percents[i], .nodes = 1},
                false, rz_bench_cell(&table, row, "memcpy"), call);
        measure(study,
                &(struct job){.mode = "cycle",
                              .mib = mib,
                              .percent = percents[i],
                              .nodes = 2,
                              .repetitions_max = study->bench->quick ? QUICK_CYCLES : 0},
                false, NULL, cycle);
    }
    rz_bench_table_show(study->bench, &table);
    return true;
}

/* ---- files */

static void dd_once(struct rz_bench_study *study, unsigned repetition,
                    struct rz_bench_samples *samples)
{
    struct rz_bench_command command = {0};
    struct rz_bench_run run;
    rz_bench_command_add(&command, "dd");
    rz_bench_command_add(&command, "if=/dev/zero");
    rz_bench_command_add(&command, "of=%s/dd", study->bench->folder);
    rz_bench_command_add(&command, "bs=1M");
    rz_bench_command_add(&command, "count=%d", FILE_MIB);
    rz_bench_command_add(&command, "conv=fsync");
    rz_bench_command_add(&command, "status=none");
    if (rz_bench_study_run(study, &command, &run))
        rz_bench_put(samples, repetition, FILE_MIB * 1.048576 / run.wall_s);
    rz_bench_run_free(&run);
}

/* One job and one dd in turns, so that both meet the same disk. */
bool rz_bench_checkpoint_files(struct rz_bench_study *study)
{
    static const char *const row = "64";
    static struct rz_bench_table table;
    struct rz_bench *bench = study->bench;
    unsigned rounds = rz_bench_repetitions(bench, USUAL, 4) / FILES_IN_A_ROW, at = 0;
    char folder[PATH_MAX + 32];
    snprintf(folder, sizeof folder, "%s/checkpoints", bench->folder);
    struct job job = {.mode = "cycle",
                      .mib = FILE_MIB,
                      .percent = 100,
                      .nodes = 1,
                      .repetitions_max = FILES_IN_A_ROW,
                      .options = {"--checkpoint", "file", "--checkpoint-dir", folder, NULL}};
    table = (struct rz_bench_table){
        .name = "checkpoint-files",
        .title = "Pieces in files, one checkpoint after the other (--checkpoint file: written, "
                 "synchronised, named, committed), beside dd conv=fsync to the same folder, MB/s",
        .rows_are = "MiB",
        .unit = "MB/s",
        .ratios = true};
    struct rz_bench_samples *ours = rz_bench_cell(&table, row, "checkpoints, MB/s");
    struct rz_bench_samples *dd = rz_bench_cell(&table, row, "dd, MB/s");
    for (unsigned round = 0; round < rounds || round == 0; round++) {
        static struct rz_bench_samples one;
        one = (struct rz_bench_samples){0};
        measure(study, &job, false, NULL, &one);
        for (unsigned i = 0; i < one.n && at < RZ_BENCH_REPETITIONS_MAX; i++, at++) {
            rz_bench_put(ours, at, FILE_MIB * 1.048576 / (one.value[i] / 1e3));
            dd_once(study, at, dd);
        }
    }
    rz_bench_table_show(bench, &table);
    return true;
}
