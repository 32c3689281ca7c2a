/* SPDX-License-Identifier: BSD-3-Clause */
/* rzsim explain: a run of a protocol, step by step (lab/explain). */
#include "rzsim/rzsim.h"

#include "port/outfile.h"
#include "cli/quantity.h"
#include "explain/explain.h"
#include "sim/sim.h"

#define REQUEST ((struct request *)target)

struct request {
    struct rz_explain_options options;
    const char *svg, *html, *timeline;
    uint32_t step; /* 0: all */
};

static bool small(const char *value, uint64_t low, uint32_t *out)
{
    uint64_t wide;
    if (!rz_quantity_number(value, low, 1u << 24, &wide)) {
        return false;
    }
    *out = (uint32_t)wide;
    return true;
}

RZ_CLI_TAKE(members)
{
    *why = "it needs a whole number from 2";
    return small(value, 2, &REQUEST->options.members);
}

RZ_CLI_TAKE(kill)
{
    *why = "it needs a whole number";
    return small(value, 0, &REQUEST->options.kill);
}

RZ_CLI_TAKE(seed)
{
    *why = "it needs a whole number";
    return rz_quantity_number(value, 0, UINT64_MAX, &REQUEST->options.seed);
}

RZ_CLI_TAKE(plan)
{
    *why = "that is no plan as rzsim explain or a violation prints it";
    REQUEST->options.plan = value;
    return rz_sim_plan_valid(value);
}

RZ_CLI_TAKE(step)
{
    *why = "it needs a whole number from 1";
    return small(value, 1, &REQUEST->step);
}

RZ_CLI_TAKE_TEXT(svg, REQUEST->svg)
RZ_CLI_TAKE_TEXT(html, REQUEST->html)
RZ_CLI_TAKE_TEXT(timeline, REQUEST->timeline)

const struct rz_cli_option rz_rzsim_explain_options[] = {
    {NULL, NULL, NULL, "Which run", NULL},
    {"--members", NULL, "N", "Members of the view. Default: as fits the protocol.", take_members},
    {"--kill", NULL, "K", "So many of them fail, drawn by the seed. Default: 1.", take_kill},
    {"--seed", NULL, "S", "Draws which fail, and when. Default: 1.", take_seed},
    {"--plan", NULL, "FAULTS",
     "Failures and other faults as rzsim explain prints them, in place of --kill.", take_plan},
    {NULL, NULL, NULL, "What is written", NULL},
    {"--html", NULL, "FILE", "One page with a slider, which needs no network.", take_html},
    {"--svg", NULL, "FILE", "All steps side by side.", take_svg},
    {"--step", NULL, "I", "With --svg: this step alone.", take_step},
    {"--timeline", NULL, "FILE", "The run as SVG: a line for each member, time across.",
     take_timeline},
    {NULL, NULL, NULL, NULL, NULL}};

static const struct rz_cli explain_cli = {
    .name = "rzsim explain",
    .summary = "show a run of a protocol, step by step",
    .synopsis = "agree|ring|spread|gossip|recover [OPTION]...",
    .description =
        "Runs the shipped objects of a protocol once, with failures, and shows what each member "
        "does and why: members, messages, states, and a sentence for each step. All transfers take "
        "the same time, so that what happens together is one step. Without a file to write, prints "
        "the sentences. The same command makes the same files.",
    .options = rz_rzsim_explain_options,
    .epilogue =
        "Exit status: 0, 1 something could not be written, or a property does not hold, 2 the "
        "command\nline is wrong.\n\n"
        "Examples:\n"
        "  rzsim explain agree --members 7 --kill 3 --html agree.html\n"
        "  rzsim explain ring --svg ring.svg"};

static void check(struct request *request, const char *name)
{
    if (!name) {
        rz_cli_refuse(&explain_cli, "name a protocol: agree, ring, spread, gossip or recover");
    }
    request->options.subject = rz_explain_find(name);
    if (!request->options.subject) {
        rz_cli_refuse(&explain_cli, "no '%s': it explains agree, ring, spread, gossip and recover",
                      name);
    }
    uint32_t most = rz_explain_members_max(request->options.subject);
    if (request->options.members > most) {
        rz_cli_refuse(&explain_cli, "a picture of %s has at most %u members", name, most);
    }
    if (request->options.members > 0 && request->options.kill != UINT32_MAX &&
        request->options.kill >= request->options.members) {
        rz_cli_refuse(&explain_cli, "--kill must leave a member alive");
    }
    if (request->step > 0 && !request->svg) {
        rz_cli_refuse(&explain_cli, "--step needs --svg");
    }
}

static bool write_file(const char *path, const struct rz_explain *explain,
                       void (*draw)(const struct rz_explain *, FILE *), uint32_t step)
{
    struct rz_outfile out;
    const char *why = "";
    if (!path) {
        return true;
    }
    bool good = rz_outfile_open(&out, path, &why);
    if (good && step > 0) {
        rz_explain_draw_step(explain, step, out.file);
    } else if (good) {
        draw(explain, out.file);
    }
    if (good) {
        good = rz_outfile_close(&out, true, &why);
    }
    if (!good) {
        rz_rzsim_fail("no picture", why);
    }
    return good;
}

int rz_rzsim_explain(int argc, char **argv)
{
    struct request request = {.options = {.kill = UINT32_MAX, .seed = 1}};
    const char *why = "";
    check(&request, rz_rzsim_word(&explain_cli, argc, argv, &request));
    struct rz_explain *explain = rz_explain_run(&request.options, &why);
    if (!explain) {
        return rz_rzsim_fail("this run cannot be shown", why);
    }
    bool good = true;
    if (request.step > rz_explain_steps(explain)) {
        fprintf(stderr, "rzsim: this run has %u steps\n", rz_explain_steps(explain));
        good = false;
    } else if (!request.svg && !request.html && !request.timeline) {
        rz_explain_print(explain, stdout);
    } else {
        good = write_file(request.svg, explain, rz_explain_draw_sheet, request.step) &&
               write_file(request.html, explain, rz_explain_draw_page, 0) &&
               write_file(request.timeline, explain, rz_explain_draw_timeline, 0);
    }
    rz_explain_destroy(explain);
    return good ? RZ_RZSIM_GOOD : RZ_RZSIM_BAD;
}
