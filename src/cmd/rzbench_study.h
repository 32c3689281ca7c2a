/* What studies that end in a verdict have in common: their jobs, counted, and their claims. */
#ifndef RZ_CMD_RZBENCH_STUDY_H
#define RZ_CMD_RZBENCH_STUDY_H

#include "cmd/rzbench_interval.h"

struct rz_bench_study {
    struct rz_bench *bench;
    unsigned runs, failed; /* did not print what it should, or did not end well */
    rz_time limit;         /* of a run; 0: that of the command line */
    struct rz_bench_claims claims;
};

/* Runs a job, or what else a part needs; false: it was not complete, and that was said. The caller
 * frees the run in any case. */
bool rz_bench_study_run(struct rz_bench_study *study, const struct rz_bench_command *command,
                        struct rz_bench_run *run);

/* Adds the words of a text, with blanks between them. */
void rz_bench_study_words(struct rz_bench_command *command, const char *words);

/* rz_bench_parts_make with even shares; and shows what was claimed with the verdict. quick: the
 * time that --quick has where no budget was given. */
bool rz_bench_study_make(struct rz_bench_study *study, const char *const *names,
                         rz_bench_make_part_t make, rz_time quick);

#endif
