/* Studies that end in a verdict. */
#include "cmd/rzbench_study.h"

#include "port/clock.h"

#include <string.h>

bool rz_bench_study_run(struct rz_bench_study *study, const struct rz_bench_command *command,
                        struct rz_bench_run *run)
{
    char text[2048];
    rz_bench_run(study->bench, command, study->limit, run);
    bool good = run->end == RZ_BENCH_ENDED && run->status == 0;
    if (run->end == RZ_BENCH_OUT_OF_TIME)
        return false;
    study->runs++;
    study->failed += !good;
    if (!good) {
        rz_bench_command_show(study->bench, command, text, sizeof text);
        fprintf(stderr, "rzbench: incomplete (status %d): %s\n%.1500s\n", run->status, text,
                run->output);
    }
    return good;
}

void rz_bench_study_words(struct rz_bench_command *command, const char *words)
{
    for (size_t length; *words; words += length + (words[length] == ' ')) {
        length = strcspn(words, " ");
        rz_bench_command_add(command, "%.*s", (int)length, words);
    }
}

bool rz_bench_study_make(struct rz_bench_study *study, const char *const *names,
                         rz_bench_make_part_t make, rz_time quick)
{
    struct rz_bench *bench = study->bench;
    if (bench->quick && !bench->budget)
        bench->deadline = rz_clock_now() + quick;
    bool good = rz_bench_parts_make(bench, names, NULL, make, study);
    rz_bench_claim_all(&study->claims, "runs complete: a good end, and all that was to be printed",
                       study->runs - study->failed, study->runs);
    rz_bench_claims_show(bench, &study->claims);
    return rz_bench_claims_verdict(&study->claims, bench->verdict, sizeof bench->verdict) && good;
}
