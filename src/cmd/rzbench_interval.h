/*
 * Means with their 95 % intervals by Student's t-distribution, as the study recovery and the paper
 * it follows state them; and what a study was asked to show. Arithmetic and words only.
 */
#ifndef RZ_CMD_RZBENCH_INTERVAL_H
#define RZ_CMD_RZBENCH_INTERVAL_H

#include "cmd/rzbench.h"

/* n: the values that there are. With fewer than two there is no interval: half is NAN. */
struct rz_bench_interval {
    unsigned n;
    double median, mean, half; /* mean - half .. mean + half */
};

/* The t of 95 % for so many degrees of freedom (two-sided); NAN for 0. */
double rz_bench_t95(unsigned freedom);

struct rz_bench_interval rz_bench_interval(const struct rz_bench_samples *samples);
/* Of a / b, of each repetition, in which both ran one after the other. */
struct rz_bench_interval rz_bench_interval_ratio(const struct rz_bench_samples *a,
                                                 const struct rz_bench_samples *b);
/* "median (low..high)"; "median" where there is no interval; "-" where there is nothing. */
void rz_bench_interval_text(const struct rz_bench_interval *interval, char *out, size_t bytes);

/* --- what was asked for --- */

enum { RZ_BENCH_CLAIMS_MAX = 96, RZ_BENCH_CLAIM_TEXT_MAX = 192 };

enum rz_bench_holds {
    RZ_BENCH_NOT_MEASURED,
    RZ_BENCH_HOLDS,
    RZ_BENCH_HOLDS_WITHIN, /* as far as chance goes; the median alone would say no */
    RZ_BENCH_DOES_NOT_HOLD,
    RZ_BENCH_EXCUSED /* does not hold, and does not decide */
};

struct rz_bench_claim {
    char what[RZ_BENCH_CLAIM_TEXT_MAX], asked[RZ_BENCH_CLAIM_TEXT_MAX],
        measured[RZ_BENCH_CLAIM_TEXT_MAX], why[RZ_BENCH_CLAIM_TEXT_MAX];
    enum rz_bench_holds holds;
};

struct rz_bench_claims {
    struct rz_bench_claim claims[RZ_BENCH_CLAIMS_MAX];
    unsigned n;
};

/* The median is at least, or at most, so much. */
void rz_bench_claim_least(struct rz_bench_claims *claims, const char *what, double least,
                          const struct rz_bench_interval *measured, const char *unit);
void rz_bench_claim_most(struct rz_bench_claims *claims, const char *what, double most,
                         const struct rz_bench_interval *measured, const char *unit);
/* Not less than bound, unless by chance: neither the median nor the whole 95 % interval is below
 * it. */
void rz_bench_claim_not_less(struct rz_bench_claims *claims, const char *what, double bound,
                             const struct rz_bench_interval *measured, const char *unit);
/* All of them did as they should. */
void rz_bench_claim_all(struct rz_bench_claims *claims, const char *what, unsigned good,
                        unsigned all);

/* The latest claim, where it does not hold, is shown with why, and does not decide the verdict. */
void rz_bench_claim_excuse(struct rz_bench_claims *claims, const char *why);

/* The latest claim, where it does not hold, is shown with this, and counts all the same. */
void rz_bench_claim_remark(struct rz_bench_claims *claims, const char *remark);

/* The verdict in one line: "verdict: holds (5 of 5; 1 not measured)". True: at least one was
 * measured, and none failed but those excused. */
bool rz_bench_claims_verdict(const struct rz_bench_claims *claims, char *line, size_t bytes);
void rz_bench_claims_show(struct rz_bench *bench, const struct rz_bench_claims *claims);

#endif
