/* SPDX-License-Identifier: BSD-3-Clause */
/* rzsim: verifies (verify/sim) and measures (lab/study) the shipped protocol objects. */
#include "rzsim/rzsim.h"

#include "sim/sim.h"
#include "study/figure.h"
#include "study/options.h"

#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 128, PAGE_MAX = 16384, OPTIONS_MAX = 160 };

/* ---- the list ---- */

static void list_scenarios(const char *indent)
{
    const struct rz_sim_scenario *scenario;
    for (size_t i = 0; (scenario = rz_sim_scenario_at(i)); i++) {
        printf("%s%-8s %-22s %3u members, %u crashes: %s%s\n", indent, scenario->protocol->name,
               scenario->name, scenario->members, scenario->crashes, scenario->summary,
               scenario->violation_expected ? " (mutant: a violation is expected)" : "");
    }
}

static void list_studies(const char *indent)
{
    const struct rz_study *study;
    char most[32];
    for (size_t i = 0; (study = rz_study_at(i)); i++) {
        uint64_t model = study->members_max_model;
        rz_study_show_count(model > study->members_max ? model : study->members_max, most,
                            sizeof(most));
        printf("%s%-16s %s, up to %s %s\n", indent, study->name, study->summary, most,
               study->members_are);
    }
}

static void list_figures(const char *indent)
{
    const struct rz_figure *figure;
    for (size_t i = 0; (figure = rz_figure_at(i)); i++) {
        printf("%s%-20s %s: %s (%.0f s)\n", indent, figure->name, figure->source, figure->title,
               figure->seconds);
    }
}

static const struct rz_cli_option no_options[] = {{NULL, NULL, NULL, NULL, NULL}};

static const struct rz_cli list_cli = {.name = "rzsim list",
                                       .summary = "the scenarios, studies and figures",
                                       .synopsis = "[scenarios|studies|figures]",
                                       .description =
                                           "All three, or the one that is named, a line each.",
                                       .options = no_options};

static int list(int argc, char **argv)
{
    static const struct {
        const char *name, *heading;
        void (*print)(const char *indent);
    } parts[] = {{"scenarios", "Scenarios of components, for rzsim check PROTOCOL --scenario NAME",
                  list_scenarios},
                 {"studies", "Studies, for rzsim STUDY", list_studies},
                 {"figures", "Figures, for rzsim figure NAME", list_figures}};
    const char *word = rz_rzsim_word(&list_cli, argc, argv, NULL);
    bool found = false;
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        if (!word) {
            printf("%s%s\n\n", i > 0 ? "\n" : "", parts[i].heading);
            parts[i].print("  ");
        } else if (strcmp(word, parts[i].name) == 0) {
            parts[i].print("");
            found = true;
        }
    }
    if (word && !found) {
        rz_cli_refuse(&list_cli, "there are scenarios, studies and figures, but no '%s'", word);
    }
    return RZ_RZSIM_GOOD;
}

/* ---- the page of rzsim itself ---- */

static const struct {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"list", "the scenarios, studies and figures", list},
    {"check", "PROTOCOL: random schedules of a protocol, or every one", rz_rzsim_check},
    {"replay", "PROTOCOL: one schedule again, with its trace", rz_rzsim_replay},
    {"explain", "PROTOCOL: one run, step by step, as text, pictures or a page", rz_rzsim_explain},
    {"figure", "NAME|all: the figures of the papers from runs made now", rz_rzsim_figure},
    {"compare", "the failure detectors side by side", rz_rzsim_compare}};
enum { COMMANDS = sizeof(commands) / sizeof(*commands) };

static const char *epilogue(void)
{
    static char text[PAGE_MAX];
    const struct rz_study *study;
    size_t used = (size_t)snprintf(text, sizeof(text), "Commands\n");
    for (size_t i = 0; i < COMMANDS; i++) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "  %-16s %s\n", commands[i].name,
                                 commands[i].summary);
    }
    used += (size_t)snprintf(text + used, sizeof(text) - used, "\nStudies\n");
    for (size_t i = 0; (study = rz_study_at(i)) && used < sizeof(text); i++) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "  %-16s %s\n", study->name,
                                 study->summary);
    }
    if (used < sizeof(text)) {
        snprintf(
            text + used, sizeof(text) - used,
            "\nEach has its own --help.\n\n"
            "Exit status: 0; 1 a property does not hold, or a file or figure could not be "
            "written;\n2 the command line is wrong; 9 standard output could not be written.\n\n"
            "Examples:\n"
            "  rzsim check agree --seeds 1..10000\n"
            "  rzsim explain agree --members 7 --kill 3 --html agree.html\n"
            "  rzsim ring --nodes 4096 --kill 3 --hb-period 100ms --hb-timeout 300ms\n"
            "  rzsim figure all --out figures --budget 10m");
    }
    return text;
}

/* The names of commands and studies, with a blank between two. */
static const char *first_words(void)
{
    static char text[1024];
    const struct rz_study *study;
    size_t used = 0;
    for (size_t i = 0; i < COMMANDS && used < sizeof(text); i++) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s ", commands[i].name);
    }
    for (size_t i = 0; (study = rz_study_at(i)) && used < sizeof(text); i++) {
        used +=
            (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? " " : "", study->name);
    }
    return text;
}

static struct rz_cli rzsim_cli(void)
{
    return (struct rz_cli){
        .name = "rzsim",
        .summary = "test and measure the protocols in virtual time",
        .synopsis = "COMMAND|STUDY [OPTION]...",
        .description =
            "Runs the protocol objects that the daemons run. check and replay test them: random "
            "schedules or every schedule, with crashes, and the properties checked after each "
            "step. explain shows one run in pictures. A study measures one on a simulated network; "
            "figure redraws what "
            "the papers show.",
        .options = no_options,
        .words = first_words(),
        .epilogue = epilogue()};
}

/* The manual page has the options of all commands, each under a heading. */
static size_t add_options(struct rz_cli_option *all, size_t n, const char *heading,
                          const struct rz_cli_option *options)
{
    all[n++] = (struct rz_cli_option){.help = heading};
    for (; (options->name || options->help) && n + 2 < OPTIONS_MAX; options++) {
        if (options->name) {
            all[n++] = *options;
        }
    }
    all[n] = (struct rz_cli_option){0};
    return n;
}

static const struct rz_cli_option *all_options(void)
{
    static struct rz_cli_option all[OPTIONS_MAX];
    size_t n = 0;
    n = add_options(all, n, "Of rzsim check", rz_rzsim_check_options);
    n = add_options(all, n, "Of rzsim replay", rz_rzsim_replay_options);
    n = add_options(all, n, "Of rzsim explain", rz_rzsim_explain_options);
    n = add_options(all, n, "Of rzsim figure", rz_rzsim_figure_options);
    n = add_options(all, n, "Of rzsim compare", rz_rzsim_compare_options);
    add_options(all, n, "Of studies; each takes what concerns it", rz_study_cli_options(NULL));
    return all;
}

/* ---- which command ---- */

const char *rz_rzsim_word(const struct rz_cli *cli, int argc, char **argv, void *target)
{
    int at = rz_cli_parse(cli, argc, argv, target);
    if (at >= argc) {
        return NULL;
    }
    const char *word = argv[at];
    at += rz_cli_parse(cli, argc - at, argv + at, target);
    if (at < argc) {
        rz_cli_refuse(cli, "'%s' is one word too many", argv[at]);
    }
    return word;
}

int rz_rzsim_fail(const char *what, const char *why)
{
    fprintf(stderr, "rzsim: %s: %s\n", what, why);
    return RZ_RZSIM_BAD;
}

static _Noreturn void refuse_command(const struct rz_cli *cli, const char *word)
{
    const char *names[NAMES_MAX + 1] = {NULL};
    const struct rz_study *study;
    size_t n = 0;
    for (size_t i = 0; i < COMMANDS; i++) {
        names[n++] = commands[i].name;
    }
    for (size_t i = 0; n < NAMES_MAX && (study = rz_study_at(i)); i++) {
        names[n++] = study->name;
    }
    if (rz_sim_find(word, NULL)) {
        rz_cli_refuse(cli, "%s is no study; rzsim check %s tests it", word, word);
    }
    const char *nearest = rz_cli_nearest(word, names);
    if (nearest) {
        rz_cli_refuse(cli, "there is no command or study '%s'; did you mean %s?", word, nearest);
    }
    rz_cli_refuse(cli, "there is no command or study '%s'", word);
}

int main(int argc, char **argv)
{
    struct rz_cli cli = rzsim_cli();
    if (argc > 1 && (strcmp(argv[1], "--man") == 0 || strncmp(argv[1], "--completion", 12) == 0)) {
        cli.options = all_options();
    }
    int at = rz_cli_parse(&cli, argc, argv, NULL);
    if (at >= argc) {
        rz_cli_refuse(&cli, "say what to do: a command, or a study");
    }
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(argv[at], commands[i].name) == 0) {
            return rz_cli_finish(cli.name, commands[i].run(argc - at, argv + at));
        }
    }
    const struct rz_study *study = rz_study_find(argv[at]);
    if (study) {
        return rz_cli_finish(cli.name, rz_rzsim_study(study, argc - at, argv + at));
    }
    refuse_command(&cli, argv[at]);
}
