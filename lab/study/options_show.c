/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts made from the table of options: the options of one study with its defaults, refusals, and
 * the rules between options. */
#include "study/options_table.h"

#include "base/assert.h"

#include <string.h>

#define OPTIONS_MAX 64
#define HELP_MAX 256

/* ---- numbers for people ---- */

void rz_study_show_count(uint64_t count, char *out, size_t bytes)
{
    if (count >= 1024 && (count & (count - 1)) == 0) {
        snprintf(out, bytes, "2^%d", __builtin_ctzll(count));
    } else {
        snprintf(out, bytes, "%llu", (unsigned long long)count);
    }
}

void rz_study_show_time(rz_time time, char *out, size_t bytes)
{
    if (time >= RZ_SECOND) {
        snprintf(out, bytes, "%gs", (double)time / 1e9);
    } else if (time >= RZ_MILLISECOND) {
        snprintf(out, bytes, "%gms", (double)time / 1e6);
    } else {
        snprintf(out, bytes, "%gus", (double)time / 1e3);
    }
}

/* The default of an option; false: it has no meaningful one. */
static bool show_default(const struct rz_study_option *option,
                         const struct rz_study_options *options, char *out, size_t bytes)
{
    static const char *const trees[] = {"binary", "binstar", "binbin"};
    const void *at = (const char *)options + option->at;
    uint64_t wide = option->kind == COUNT64 || option->kind == TIME || option->kind == BYTES
                        ? *(const uint64_t *)at
                        : 0;
    uint32_t narrow = option->kind == COUNT ? *(const uint32_t *)at : 0;
    double number = option->kind == SHARE || option->kind == NUMBER ? *(const double *)at : 0;
    out[0] = 0;
    if (narrow > 0) {
        rz_study_show_count(narrow, out, bytes);
    } else if (option->kind == COUNT64) {
        rz_study_show_count(wide, out, bytes);
    } else if (option->kind == TIME && wide > 0 && wide != RZ_TIME_NEVER) {
        rz_study_show_time(wide, out, bytes);
    } else if (option->kind == SHARE && number > 0) {
        snprintf(out, bytes, "%g%%", number * 100);
    } else if (option->kind == NUMBER && number > 0) {
        snprintf(out, bytes, "%g", number);
    } else if (option->kind == BYTES && wide > 0) {
        snprintf(out, bytes, "%g", (double)wide / 1e6);
    } else if (option->kind == TREE) {
        snprintf(out, bytes, "%s", trees[options->tree]);
    }
    return out[0] != 0;
}

/* ---- the options of one study ---- */

static bool heeds(const struct rz_study *study, const struct rz_study_option *option)
{
    return !study || option->takes == 0 || (study->takes & option->takes) != 0;
}

static bool is_heading(const struct rz_study_option *option)
{
    return !option->cli.name;
}

static bool is_end(const struct rz_study_option *option)
{
    return !option->cli.name && !option->cli.help;
}

/* A heading appears only if an option of the study follows. */
static bool shown(const struct rz_study *study, const struct rz_study_option *option)
{
    if (!is_heading(option)) {
        return heeds(study, option);
    }
    for (option++; !is_heading(option); option++) {
        if (heeds(study, option)) {
            return true;
        }
    }
    return false;
}

static void members_help(const struct rz_study *study, char *out, size_t bytes)
{
    char most[32], model[32];
    rz_study_show_count(study->members_max, most, sizeof(most));
    rz_study_show_count(study->members_max_model, model, sizeof(model));
    if (study->members_max_model > study->members_max) {
        snprintf(out, bytes, "How many, as 4096 or 2^12; at most %s, with --model %s.", most,
                 model);
    } else {
        snprintf(out, bytes, "How many, as 4096 or 2^12; at most %s.", most);
    }
}

/* The study's own term for members comes first; the other terms mean the same. */
static void name_members(const struct rz_study *study, struct rz_cli_option *options, char *help)
{
    static const char *const words[] = {"--members", "--nodes", "--ranks"};
    const char *own = words[0];
    for (unsigned i = 1; i < sizeof(words) / sizeof(*words); i++) {
        if (strcmp(study->members_are, words[i] + 2) == 0) {
            own = words[i];
        }
    }
    static char same[32];
    snprintf(same, sizeof(same), "The same as %s.", own);
    options[0].name = own;
    options[0].help = help;
    for (unsigned i = 0, at = 1; i < sizeof(words) / sizeof(*words); i++) {
        if (words[i] != own) {
            options[at].name = words[i];
            options[at++].help = same;
        }
    }
}

const struct rz_cli_option *rz_study_cli_options(const struct rz_study *study)
{
    static struct rz_cli_option options[OPTIONS_MAX];
    static char helps[OPTIONS_MAX][HELP_MAX];
    struct rz_study_request request;
    char text[32];
    size_t n = 0;
    if (study) {
        rz_study_request_begin(&request, study);
    }
    for (const struct rz_study_option *o = rz_study_option_table; !is_end(o); o++) {
        if (!shown(study, o)) {
            continue;
        }
        rz_assert(n + 1 < OPTIONS_MAX);
        options[n] = o->cli;
        char *help = helps[n];
        snprintf(help, HELP_MAX, "%s", o->cli.help);
        if (study && o->kind == COUNT64 && o->at == offsetof(struct rz_study_options, members)) {
            members_help(study, help, HELP_MAX);
        }
        if (study && show_default(o, &request.options, text, sizeof(text))) {
            snprintf(help + strlen(help), HELP_MAX - strlen(help), " Default: %s.", text);
        }
        options[n++].help = help;
    }
    options[n] = (struct rz_cli_option){0};
    if (study) {
        name_members(study, &options[1], helps[1]);
    }
    return options;
}

bool rz_study_option_is_foreign(const struct rz_study *study, const char *word, const char **why)
{
    static char text[2048];
    size_t length = strcspn(word, "=");
    const struct rz_study_option *o = rz_study_option_table;
    while (!is_end(o) && (is_heading(o) || strlen(o->cli.name) != length ||
                          strncmp(o->cli.name, word, length) != 0)) {
        o++;
    }
    if (is_end(o) || heeds(study, o)) {
        return false;
    }
    int used = snprintf(text, sizeof(text), "%s has no '%s'; it takes", study->name, o->cli.name);
    const char *comma = "";
    for (o = rz_study_option_table; !is_end(o) && (size_t)used < sizeof(text); o++) {
        if (!is_heading(o) && heeds(study, o)) {
            used += snprintf(text + used, sizeof(text) - (size_t)used, "%s %s", comma, o->cli.name);
            comma = ",";
        }
    }
    *why = text;
    return true;
}

/* ---- one request ---- */

void rz_study_request_begin(struct rz_study_request *request, const struct rz_study *study)
{
    *request = (struct rz_study_request){.study = study};
    rz_study_defaults(&request->options);
    request->options.members = study->members_default;
    if (study->defaults) {
        study->defaults(&request->options);
    }
}

static bool members_fit(const struct rz_study_request *request, const char **why)
{
    static char text[128];
    const struct rz_study *study = request->study;
    const struct rz_study_options *options = &request->options;
    uint64_t most = options->model ? study->members_max_model : study->members_max;
    char shown_most[32], shown_model[32];
    if (options->members <= most) {
        return true;
    }
    rz_study_show_count(most, shown_most, sizeof(shown_most));
    rz_study_show_count(study->members_max_model, shown_model, sizeof(shown_model));
    bool hint = !options->model && study->members_max_model > most;
    snprintf(text, sizeof(text), "%s goes up to %s %s%s%s", study->name, shown_most,
             study->members_are, hint ? ", with --model to " : "", hint ? shown_model : "");
    *why = text;
    return false;
}

bool rz_study_request_check(const struct rz_study_request *request, const char **why)
{
    const struct rz_study_options *options = &request->options;
    uint32_t takes = request->study->takes;
    uint64_t lives = options->members * (options->flat ? options->per_node : 1); /* that can end */
    if (!members_fit(request, why)) {
        return false;
    }
    *why = "--kill must leave a member alive";
    if ((takes & RZ_STUDY_KILL) && options->kill >= lives) {
        return false;
    }
    *why = "--hb-timeout must be longer than --hb-period";
    if ((takes & RZ_STUDY_HEARTBEAT) && options->hb_timeout <= options->hb_period) {
        return false;
    }
    *why = "--slow must leave a member that is not slow";
    return !(takes & RZ_STUDY_SLOW) || options->slow < lives;
}
