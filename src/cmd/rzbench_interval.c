#include "cmd/rzbench_interval.h"

#include <math.h>
#include <string.h>

double rz_bench_t95(unsigned freedom)
{
    static const double exact[] = {12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646,
                                   2.3060,  2.2622, 2.2281, 2.2010, 2.1788, 2.1604, 2.1448,
                                   2.1314,  2.1199, 2.1098, 2.1009, 2.0930, 2.0860};
    const double z = 1.959964;
    if (freedom == 0)
        return NAN;
    if (freedom <= sizeof exact / sizeof *exact)
        return exact[freedom - 1];
    double f = freedom; /* the expansion of Cornish and Fisher: right to four digits from here on */
    return z + (pow(z, 3) + z) / (4 * f) + (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96 * f * f);
}

struct rz_bench_interval rz_bench_interval(const struct rz_bench_samples *samples)
{
    struct rz_bench_summary summary = rz_bench_summarise(samples);
    struct rz_bench_interval interval = {.median = summary.median, .half = NAN};
    double sum = 0, squares = 0;
    for (unsigned i = 0; i < samples->n; i++)
        if (isfinite(samples->value[i])) {
            sum += samples->value[i];
            interval.n++;
        }
    if (interval.n == 0)
        return interval;
    interval.mean = sum / interval.n;
    for (unsigned i = 0; i < samples->n; i++)
        if (isfinite(samples->value[i]))
            squares += pow(samples->value[i] - interval.mean, 2);
    if (interval.n > 1)
        interval.half =
            rz_bench_t95(interval.n - 1) * sqrt(squares / (interval.n - 1) / interval.n);
    return interval;
}

struct rz_bench_interval rz_bench_interval_ratio(const struct rz_bench_samples *a,
                                                 const struct rz_bench_samples *b)
{
    struct rz_bench_samples ratios = {0};
    for (unsigned i = 0; i < a->n && i < b->n; i++)
        if (isfinite(a->value[i]) && isfinite(b->value[i]) && b->value[i] > 0)
            rz_bench_put(&ratios, i, a->value[i] / b->value[i]);
    return rz_bench_interval(&ratios);
}

void rz_bench_interval_text(const struct rz_bench_interval *interval, char *out, size_t bytes)
{
    char median[32], low[32], high[32];
    rz_bench_number_text(interval->median, median, sizeof median);
    rz_bench_number_text(interval->mean - interval->half, low, sizeof low);
    rz_bench_number_text(interval->mean + interval->half, high, sizeof high);
    if (interval->n == 0)
        snprintf(out, bytes, "-");
    else if (interval->n == 1)
        snprintf(out, bytes, "%s", median);
    else
        snprintf(out, bytes, "%s (%s..%s)", median, low, high);
}

/* ---- What was asked for ---- */

/* One more; NULL: there are too many. */
static struct rz_bench_claim *add(struct rz_bench_claims *claims, const char *what)
{
    if (claims->n == RZ_BENCH_CLAIMS_MAX)
        return NULL;
    struct rz_bench_claim *claim = &claims->claims[claims->n++];
    *claim = (struct rz_bench_claim){.holds = RZ_BENCH_NOT_MEASURED};
    snprintf(claim->what, sizeof claim->what, "%s", what);
    return claim;
}

static void assess(struct rz_bench_claims *claims, const char *what, const char *word, double bound,
                   enum rz_bench_holds holds, const struct rz_bench_interval *measured,
                   const char *unit)
{
    struct rz_bench_claim *claim = add(claims, what);
    char text[96];
    if (!claim)
        return;
    snprintf(claim->asked, sizeof claim->asked, "%s %g%s", word, bound, unit);
    if (measured->n == 0)
        return;
    rz_bench_interval_text(measured, text, sizeof text);
    snprintf(claim->measured, sizeof claim->measured, "%s%s, n = %u", text, unit, measured->n);
    claim->holds = holds;
}

static enum rz_bench_holds holds_if(bool good)
{
    return good ? RZ_BENCH_HOLDS : RZ_BENCH_DOES_NOT_HOLD;
}

void rz_bench_claim_least(struct rz_bench_claims *claims, const char *what, double least,
                          const struct rz_bench_interval *measured, const char *unit)
{
    assess(claims, what, "at least", least, holds_if(measured->median >= least), measured, unit);
}

void rz_bench_claim_most(struct rz_bench_claims *claims, const char *what, double most,
                         const struct rz_bench_interval *measured, const char *unit)
{
    assess(claims, what, "at most", most, holds_if(measured->median <= most), measured, unit);
}

void rz_bench_claim_not_less(struct rz_bench_claims *claims, const char *what, double bound,
                             const struct rz_bench_interval *measured, const char *unit)
{
    bool chance = measured->n > 1 && measured->mean + measured->half >= bound;
    assess(claims, what, "within the interval not less than", bound,
           chance && measured->median < bound ? RZ_BENCH_HOLDS_WITHIN
                                              : holds_if(measured->median >= bound),
           measured, unit);
}

void rz_bench_claim_all(struct rz_bench_claims *claims, const char *what, unsigned good,
                        unsigned all)
{
    struct rz_bench_claim *claim = add(claims, what);
    if (!claim)
        return;
    snprintf(claim->asked, sizeof claim->asked, "all");
    if (all == 0)
        return;
    snprintf(claim->measured, sizeof claim->measured, "%u of %u", good, all);
    claim->holds = holds_if(good == all);
}

void rz_bench_claim_excuse(struct rz_bench_claims *claims, const char *why)
{
    struct rz_bench_claim *claim = claims->n > 0 ? &claims->claims[claims->n - 1] : NULL;
    if (!claim || claim->holds != RZ_BENCH_DOES_NOT_HOLD)
        return;
    claim->holds = RZ_BENCH_EXCUSED;
    snprintf(claim->why, sizeof claim->why, "%s", why);
}

void rz_bench_claim_remark(struct rz_bench_claims *claims, const char *remark)
{
    struct rz_bench_claim *claim = claims->n > 0 ? &claims->claims[claims->n - 1] : NULL;
    if (claim && claim->holds == RZ_BENCH_DOES_NOT_HOLD)
        snprintf(claim->why, sizeof claim->why, "%s", remark);
}

/* As "; 2 not measured"; nothing for none. */
static void add_rest(char *rest, size_t bytes, unsigned n, const char *what)
{
    size_t used = strlen(rest);
    if (n > 0)
        snprintf(rest + used, bytes - used, "; %u %s", n, what);
}

bool rz_bench_claims_verdict(const struct rz_bench_claims *claims, char *line, size_t bytes)
{
    unsigned count[RZ_BENCH_EXCUSED + 1] = {0};
    char rest[64] = "";
    for (unsigned i = 0; i < claims->n; i++)
        count[claims->claims[i].holds]++;
    unsigned holds = count[RZ_BENCH_HOLDS] + count[RZ_BENCH_HOLDS_WITHIN];
    unsigned measured = holds + count[RZ_BENCH_DOES_NOT_HOLD];
    bool good = measured > 0 && count[RZ_BENCH_DOES_NOT_HOLD] == 0;
    add_rest(rest, sizeof rest, count[RZ_BENCH_EXCUSED], "excused");
    add_rest(rest, sizeof rest, count[RZ_BENCH_NOT_MEASURED], "not measured");
    snprintf(line, bytes, "verdict: %s (%u of %u%s)",
             good           ? "holds"
             : measured > 0 ? "does not hold"
                            : "nothing was measured",
             holds, measured, rest);
    return good;
}

void rz_bench_claims_show(struct rz_bench *bench, const struct rz_bench_claims *claims)
{
    static const char *const words[] = {"not measured", "holds", "holds within the interval",
                                        "**does not hold**", "**does not hold**; not counted: "};
    if (claims->n == 0)
        return;
    rz_bench_say(bench, "\n### What was asked for\n\n"
                        "| what | asked | measured | |\n|---|---|---|---|\n");
    for (unsigned i = 0; i < claims->n; i++) {
        const struct rz_bench_claim *claim = &claims->claims[i];
        rz_bench_say(bench, "| %s | %s | %s | %s%s |\n", claim->what, claim->asked, claim->measured,
                     words[claim->holds], claim->why);
    }
}
