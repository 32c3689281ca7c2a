/* SPDX-License-Identifier: BSD-3-Clause */
/* rzsim compare: the failure detectors side by side. */
#include "rzsim/rzsim.h"

#include "chart/chart.h"
#include "cli/quantity.h"
#include "study/compare.h"

#include <string.h>

#define REQUEST ((struct request *)target)

struct request {
    struct rz_study_options options;
    uint64_t members_max;
    const char *csv, *plot, *report;
};

RZ_CLI_TAKE(max_members)
{
    *why = "it needs a whole number from 16 to 1048576, as 4096 or 2^12";
    return rz_quantity_power(value, 16, 1u << 20, &REQUEST->members_max);
}

RZ_CLI_TAKE(trials)
{
    uint64_t trials;
    *why = "it needs a whole number from 1 to 10000";
    if (!rz_quantity_number(value, 1, 10000, &trials)) {
        return false;
    }
    REQUEST->options.trials = (uint32_t)trials;
    return true;
}

RZ_CLI_TAKE(seed)
{
    *why = "it needs a whole number";
    return rz_quantity_power(value, 0, UINT64_MAX, &REQUEST->options.seed);
}

RZ_CLI_TAKE(period)
{
    *why = "it needs a time like 100ms";
    return rz_quantity_duration(value, &REQUEST->options.hb_period) &&
           REQUEST->options.hb_period > 0;
}

RZ_CLI_TAKE_TEXT(csv, REQUEST->csv)

RZ_CLI_TAKE(plot)
{
    *why = "a drawing ends in .svg, .png or .pdf";
    REQUEST->plot = value;
    return rz_chart_kind(value) != NULL;
}

RZ_CLI_TAKE_TEXT(report, REQUEST->report)

/* The rows of one case from `at` on; returns where they end. */
static uint32_t end_of_case(const struct rz_table *table, uint32_t at)
{
    uint32_t end = at;
    while (end < rz_table_rows(table) &&
           strcmp(rz_table_text_at(table, end, "case"), rz_table_text_at(table, at, "case")) == 0) {
        end++;
    }
    return end;
}

/* The table in Markdown, with the command that makes it again and the drawing: one failure, no
 * failure, and faults. */
static bool write_report(const struct request *request, const struct rz_table *table, int argc,
                         char **argv)
{
    FILE *out = fopen(request->report, "w");
    if (!out) {
        return false;
    }
    const char *name = request->plot ? strrchr(request->plot, '/') : NULL;
    fprintf(out, "# The failure detectors side by side\n\n`rzsim");
    for (int i = 0; i < argc; i++) {
        fprintf(out, " %s", argv[i]);
    }
    fprintf(out, "`\n\n%s\n\n", rz_compare_legend);
    if (request->plot) {
        fprintf(out, "![Failure detectors](%s)\n\n", name ? name + 1 : request->plot);
    }
    uint32_t failed = end_of_case(table, 0), calm = end_of_case(table, failed);
    rz_table_markdown_rows(table, "One failure", 0, failed, out);
    fputc('\n', out);
    rz_table_markdown_rows(table, "Quiet", failed, calm, out);
    fputc('\n', out);
    rz_table_markdown_rows(table, "Faults of the network", calm, rz_table_rows(table), out);
    bool written = !ferror(out);
    return fclose(out) == 0 && written;
}

const struct rz_cli_option rz_rzsim_compare_options[] = {
    {NULL, NULL, NULL, "What is run, and written", NULL},
    {"--max-members", NULL, "N", "From 16 members up to so many. Default: 2^16.", take_max_members},
    {"--period", NULL, "T", "Period of all: heartbeats, probes, cycles. Default: 100ms.",
     take_period},
    {"--trials", NULL, "N",
     "Trials for each row. Default: forty of small groups, one of large ones.", take_trials},
    {"--seed", NULL, "S", "Seed of the first trial. Default: 1.", take_seed},
    {"--csv", NULL, "FILE", "The table as CSV.", take_csv},
    {"--plot", NULL, "FILE", "A drawing, by gnuplot: .svg, .png or .pdf.", take_plot},
    {"--report", NULL, "FILE", "The table as Markdown, with the drawing.", take_report},
    {NULL, NULL, NULL, NULL, NULL}};

static const struct rz_cli cli = {
    .name = "rzsim compare",
    .summary = "the failure detectors side by side",
    .synopsis = "[OPTION]...",
    .description =
        "The heartbeat ring with its broadcast, SWIM with and without Lifeguard, and "
        "gossip 1, 2 and 3, all with the same period: time to detection and until all "
        "know, messages, false failure reports, over the number of members, under loss and "
        "with slow members.",
    .options = rz_rzsim_compare_options,
    .epilogue = "Exit status: 0, 1 when something could not be written, 2 the command line is "
                "wrong."};

int rz_rzsim_compare(int argc, char **argv)
{
    struct request request = {0};
    const char *why = "it does not say why";
    rz_study_defaults(&request.options);
    request.options.trials = 0;
    int at = rz_cli_parse(&cli, argc, argv, &request);
    if (at < argc) {
        rz_cli_refuse(&cli, "'%s' is one word too many", argv[at]);
    }
    request.options.progress = true;
    struct rz_table *table = rz_table_create("Failure detectors");
    struct rz_chart *chart = rz_chart_create("Failure detectors", "members", "");
    if (!rz_compare(&request.options, request.members_max, table, chart, &why)) {
        rz_cli_refuse(&cli, "%s", why);
    }
    int status = RZ_RZSIM_GOOD;
    rz_table_print(table, stdout);
    if (request.csv && !rz_table_write_csv(table, request.csv, &why)) {
        status = rz_rzsim_fail("no CSV", why);
    }
    if (request.plot && !rz_chart_draw(chart, request.plot, &why)) {
        status = rz_rzsim_fail("no plot", why);
    }
    if (request.report && !write_report(&request, table, argc, argv)) {
        status = rz_rzsim_fail("no report", request.report);
    }
    rz_table_destroy(table);
    rz_chart_destroy(chart);
    return status;
}
