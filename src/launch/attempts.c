/* SPDX-License-Identifier: BSD-3-Clause */
/* The runs of a job, one after the other. */
#include "launch/attempts.h"

#include "base/no_memory.h"
#include "launch/session.h"
#include "outcome/exit_codes.h"
#include "port/clock.h"
#include "port/kill_point.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The layout of an attempt without some hosts ---- */

static bool is_without(const struct rz_left_out *left_out, const char *host)
{
    uint32_t i = 0;
    while (i < left_out->hosts.n && strcmp(left_out->hosts.texts[i], host) != 0) {
        i++;
    }
    return i < left_out->hosts.n;
}

void rz_left_out_add(struct rz_left_out *left_out, const char *host)
{
    if (!is_without(left_out, host)) {
        rz_texts_add(&left_out->hosts, host);
    }
}

void rz_left_out_clear(struct rz_left_out *left_out)
{
    rz_texts_clear(&left_out->hosts);
}

bool rz_left_out_settle(const struct rz_left_out *left_out, const struct rz_rzrun_options *job,
                        struct rz_rzrun_options *attempt)
{
    struct rz_launch_layout layout = {0};
    *attempt = *job;
    attempt->n_remote = 0;
    layout.nodes = calloc(job->layout.n_nodes, sizeof(*layout.nodes));
    rz_need_memory(layout.nodes, "for the list of nodes");
    for (uint32_t i = 0; i < job->layout.n_nodes; i++) {
        const struct rz_layout_node *node = &job->layout.nodes[i];
        if (node->remote && is_without(left_out, node->host)) {
            continue;
        }
        layout.nodes[layout.n_nodes] = *node;
        layout.nodes[layout.n_nodes++].place.spare = false;
        attempt->n_remote += node->remote;
    }
    bool enough = layout.n_nodes > 0 && layout.n_nodes >= rz_scheme_nodes(&job->scheme) &&
                  (!job->slots_limit || rz_layout_slots(&layout) >= job->n_ranks);
    if (enough) {
        rz_layout_place(&layout, job->n_ranks, job->map_by);
        attempt->layout = layout;
    } else {
        rz_layout_clear(&layout);
    }
    return enough;
}

/* ---- The attempts ---- */

static int run_all(struct rz_attempts *attempts, const struct rz_rzrun_options *options,
                   const char *daemon)
{
    for (;; attempts->n += !attempts->without) {
        struct rz_rzrun_options without;
        const struct rz_rzrun_options *used = options;
        if (!attempts->without) {
            rz_left_out_clear(&attempts->left_out);
        } else if (rz_left_out_settle(&attempts->left_out, options, &without)) {
            used = &without;
        }
        attempts->again = attempts->without = false;
        if (!rz_checkpoints_attempt(&attempts->checkpoints, options, attempts->n == 0)) {
            return RZ_EXIT_CHECKPOINT;
        }
        int status = rz_session_run(used, attempts, daemon);
        if (used == &without) {
            rz_layout_clear(&without.layout);
        }
        if (!attempts->again && !attempts->without) {
            return status;
        }
        if (attempts->ended_by) { /* it came while the last output was written */
            char text[RZ_ENDED_BY_TEXT];
            status = rz_attempts_ended_by_signal(attempts, text);
            if (*text) {
                fprintf(stderr, "rzrun: %s\n", text);
            }
            return status;
        }
        unsetenv(RZ_KILL_AT); /* a daemon that was to fail for a test has failed already */
    }
}

/* ---- --report-html ---- */

/* Of the command line the page has so many characters. */
#define COMMAND_CHARACTERS 4000u

static bool is_plain(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_=+/.,:@%^";
    return *word && word[strspn(word, plain)] == 0;
}

/* The command line as a shell takes it. */
static void write_command(char *const *line, FILE *out)
{
    const char *slash = strrchr(line[0], '/');
    fputs(slash ? slash + 1 : line[0], out);
    for (char *const *word = line + 1; *word; word++) {
        if (is_plain(*word)) {
            fprintf(out, " %s", *word);
            continue;
        }
        fputs(" '", out);
        for (const char *at = *word; *at; at++) {
            fputs(*at == '\'' ? "'\\''" : (char[]){*at, 0}, out);
        }
        fputc('\'', out);
    }
}

static bool open_page(struct rz_attempts *attempts, const struct rz_rzrun_options *options,
                      const char **why)
{
    if (!rz_outfile_open(&attempts->page, options->report_html, why)) {
        return false;
    }
    char *command = NULL;
    size_t bytes;
    FILE *out = open_memstream(&command, &bytes);
    rz_need_memory(out, "for a command line");
    write_command(options->line, out);
    fclose(out);
    rz_need_memory(command, "for a command line");
    if (bytes > COMMAND_CHARACTERS) {
        strcpy(command + COMMAND_CHARACTERS - 3, "...");
    }
    attempts->report = rz_html_report_open(&(struct rz_html_job){.command = command,
                                                                 .n_ranks = options->n_ranks,
                                                                 .n_nodes = options->layout.n_nodes,
                                                                 .begun = attempts->begun});
    free(command);
    return true;
}

static void close_page(struct rz_attempts *attempts, const struct rz_rzrun_options *options,
                       int status)
{
    const char *why;
    if (!attempts->report) {
        return;
    }
    if (!rz_html_report_begun(attempts->report)) {
        rz_html_report_attempt(attempts->report, 0, attempts->begun);
        rz_html_report_attempt_over(attempts->report, status, "the job could not begin",
                                    json_array(), rz_clock_now());
    }
    rz_html_report_write(attempts->report, attempts->page.file);
    if (!rz_outfile_close(&attempts->page, true, &why)) {
        fprintf(stderr, "rzrun: --report-html %s: %s\n", options->report_html, why);
    }
    rz_html_report_free(attempts->report);
}

int rz_attempts_run(const struct rz_rzrun_options *options, const char *daemon)
{
    struct rz_attempts *attempts = calloc(1, sizeof(*attempts)); /* large for a small stack */
    int status = RZ_EXIT_CHECKPOINT;
    const char *why;
    rz_need_memory(attempts, "for a job");
    attempts->begun = rz_clock_now();
    attempts->job = options;
    if (options->trace && !rz_trace_file_open(&attempts->trace, options->trace, &why)) {
        free(attempts);
        rz_cli_refuse(&rz_rzrun_cli, "--trace: %s", why);
    }
    if (options->report_html && !open_page(attempts, options, &why)) {
        free(attempts);
        rz_cli_refuse(&rz_rzrun_cli, "--report-html: %s", why);
    }
    if (rz_checkpoints_open(&attempts->checkpoints, options)) {
        status = run_all(attempts, options, daemon);
        rz_session_signals_restore();
        rz_checkpoints_close(&attempts->checkpoints, options, status);
    }
    if (!rz_trace_file_close(&attempts->trace, &why)) {
        fprintf(stderr, "rzrun: --trace %s: %s\n", options->trace, why);
    }
    close_page(attempts, options, status);
    rz_left_out_clear(&attempts->left_out);
    free(attempts);
    return status;
}
