/* SPDX-License-Identifier: BSD-3-Clause */
/* rzsim STUDY: measures a protocol in virtual time. */
#include "rzsim/rzsim.h"

#include "chart/chart.h"
#include "sim/sim.h"
#include "study/options.h"

#include <stdlib.h>
#include <string.h>

/* The name of a study in messages: its cli, made for it. */
static const struct rz_cli *study_cli(const struct rz_study *study)
{
    static char name[64], description[512], most[32];
    static struct rz_cli cli;
    snprintf(name, sizeof(name), "rzsim %s", study->name);
    rz_study_show_count(study->members_max, most, sizeof(most));
    snprintf(
        description, sizeof(description),
        "Runs the shipped objects of up to %s %s on a network in virtual time, and tells when "
        "what happened and what it cost: a row for each trial. The same command gives the same "
        "table, but for the seconds it took.",
        most, study->members_are);
    cli = (struct rz_cli){
        .name = name,
        .summary = study->summary,
        .synopsis = "[OPTION]...",
        .description = description,
        .options = rz_study_cli_options(study),
        .epilogue = "Exit status: 0, 1 when something could not be written, 2 the command line is "
                    "wrong."};
    return &cli;
}

/* An option that belongs to another command or study is refused with its right place. */
static void refuse_foreign(const struct rz_cli *cli, const struct rz_study *study, const char *word)
{
    const char *why;
    if (rz_study_option_is_foreign(study, word, &why)) {
        rz_cli_refuse(cli, "%s", why);
    }
    for (const struct rz_cli_option *o = rz_rzsim_check_options; o->name || o->help; o++) {
        if (o->name && strcmp(o->name, word) == 0 && strcmp(word, "--members") != 0 &&
            rz_sim_find(study->name, NULL)) {
            rz_cli_refuse(cli, "%s belongs to rzsim check %s", word, study->name);
        }
    }
}

static void parse(const struct rz_cli *cli, struct rz_study_request *request, int argc, char **argv)
{
    const char *why;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) == 0) {
            refuse_foreign(cli, request->study, argv[i]);
        }
    }
    int at = rz_cli_parse(cli, argc, argv, request);
    if (at < argc) {
        rz_cli_refuse(cli, "'%s' is one word too many", argv[at]);
    }
    if (!rz_study_request_check(request, &why)) {
        rz_cli_refuse(cli, "%s", why);
    }
    request->options.progress = true;
}

static void title(const struct rz_study_request *request, char *out, size_t bytes)
{
    const struct rz_study *study = request->study;
    char failures[32] = "";
    if (study->takes & RZ_STUDY_KILL) {
        snprintf(failures, sizeof(failures), ", %u fail", request->options.kill);
    }
    snprintf(out, bytes, "%s: %llu %s%s, seed %llu", study->name,
             (unsigned long long)request->options.members, study->members_are, failures,
             (unsigned long long)request->options.seed);
}

static int show(const struct rz_study_request *request, const struct rz_table *table,
                const struct rz_chart *chart)
{
    const char *why = "";
    char text[64];
    if (rz_table_rows(table) == 1) {
        rz_table_print_row(table, 0, stdout);
    } else {
        rz_table_print(table, stdout);
        snprintf(text, sizeof(text), "\nOver %u trials", rz_table_rows(table));
        struct rz_table *summary = rz_table_summary(table, text, "trial");
        rz_table_print(summary, stdout);
        rz_table_destroy(summary);
    }
    if (request->csv && !rz_table_write_csv(table, request->csv, &why)) {
        return rz_rzsim_fail("no CSV", why);
    }
    if (request->plot && !rz_chart_draw(chart, request->plot, &why)) {
        return rz_rzsim_fail("no plot", why);
    }
    return fflush(stdout) == 0 ? RZ_RZSIM_GOOD : RZ_RZSIM_BAD;
}

int rz_rzsim_study(const struct rz_study *study, int argc, char **argv)
{
    struct rz_study_request request;
    const struct rz_cli *cli = study_cli(study);
    const char *why = "it does not say why";
    char text[256];
    rz_study_request_begin(&request, study);
    parse(cli, &request, argc, argv);
    title(&request, text, sizeof(text));
    struct rz_table *table = rz_table_create(text);
    struct rz_chart *chart = rz_chart_create(text, "virtual time (ms)", "");
    if (!study->run(&request.options, table, chart, &why)) {
        rz_cli_refuse(cli, "%s", why);
    }
    int status = show(&request, table, chart);
    rz_table_destroy(table);
    rz_chart_destroy(chart);
    return status;
}
