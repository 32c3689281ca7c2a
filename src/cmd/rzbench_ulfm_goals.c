/* What the study ulfm was asked to show, beside what it measured: the last table of its report. */
#include "cmd/rzbench_ulfm.h"

#include <math.h>
#include <string.h>

static const char *const holds = "holds", *const differs = "**does not hold**",
                         *const told = "told", *const missing = "not measured";

/* NULL: there is no such cell. */
static const struct rz_bench_samples *cell_of(const struct rz_bench_table *table, const char *row,
                                              const char *column)
{
    for (unsigned r = 0; r < table->n_rows; r++)
        for (unsigned c = 0; c < table->n_columns; c++)
            if (strcmp(table->rows[r], row) == 0 && strcmp(table->columns[c], column) == 0)
                return &table->cells[r][c];
    return NULL;
}

/* One more; NULL: there are too many. */
static struct rz_bench_goal *add(struct rz_bench_ulfm *ulfm, const char *what)
{
    struct rz_bench_goal *goal = &ulfm->goals[ulfm->n_goals];
    if (ulfm->n_goals == RZ_BENCH_GOALS_MAX)
        return NULL;
    *goal = (struct rz_bench_goal){.verdict = missing};
    snprintf(goal->what, sizeof goal->what, "%s", what);
    ulfm->n_goals++;
    return goal;
}

static void assess(struct rz_bench_goal *goal, const struct rz_bench_summary *summary,
                   const char *unit, double most)
{
    char text[96];
    if (!isnan(most))
        snprintf(goal->asked, sizeof goal->asked, "at most %g%s", most, unit);
    if (summary->n == 0)
        return;
    rz_bench_summary_text(summary, text, sizeof text);
    snprintf(goal->measured, sizeof goal->measured, "%s%s, n = %u", text, unit, summary->n);
    goal->verdict = isnan(most) ? told : summary->median <= most ? holds : differs;
}

void rz_bench_ulfm_goal(struct rz_bench_ulfm *ulfm, const char *what, const char *unit, double most,
                        const struct rz_bench_table *table, const char *row, const char *column)
{
    const struct rz_bench_samples *cell = cell_of(table, row, column);
    struct rz_bench_summary summary = {0};
    struct rz_bench_goal *goal = add(ulfm, what);
    if (cell)
        summary = rz_bench_summarise(cell);
    if (goal)
        assess(goal, &summary, unit, most);
}

void rz_bench_ulfm_goal_ratio(struct rz_bench_ulfm *ulfm, const char *what, double most,
                              const struct rz_bench_table *table, const char *row, const char *a,
                              const char *b)
{
    const struct rz_bench_samples *above = cell_of(table, row, a), *below = cell_of(table, row, b);
    struct rz_bench_summary summary = {0};
    struct rz_bench_goal *goal = add(ulfm, what);
    if (above && below)
        summary = rz_bench_ratio(above, below);
    if (goal)
        assess(goal, &summary, "", most);
}

void rz_bench_ulfm_goal_count(struct rz_bench_ulfm *ulfm, const char *what, const char *asked,
                              unsigned good, unsigned all)
{
    struct rz_bench_goal *goal = add(ulfm, what);
    if (!goal)
        return;
    snprintf(goal->asked, sizeof goal->asked, "%s", asked);
    if (all == 0)
        return;
    snprintf(goal->measured, sizeof goal->measured, "%u of %u", good, all);
    goal->verdict = good == all ? holds : differs;
}

void rz_bench_ulfm_goals_show(struct rz_bench_ulfm *ulfm)
{
    if (ulfm->n_goals == 0)
        return;
    rz_bench_say(ulfm->bench, "\n### What was asked for\n\nEach from the tables above: medians "
                              "[smallest..largest].\n\n"
                              "| what | asked | measured | |\n|---|---|---|---|\n");
    for (unsigned i = 0; i < ulfm->n_goals; i++) {
        const struct rz_bench_goal *goal = &ulfm->goals[i];
        rz_bench_say(ulfm->bench, "| %s | %s | %s | %s |\n", goal->what, goal->asked,
                     goal->measured, goal->verdict);
    }
}
