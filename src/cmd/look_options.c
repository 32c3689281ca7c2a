/* SPDX-License-Identifier: BSD-3-Clause */
/* rztop and rzps on other hosts: names and agents as rzrun has them, and one look at all. */
#include "cmd/look_options.h"

#include "base/no_memory.h"
#include "base/printable.h"
#include "cli/quantity.h"
#include "launch/host_options.h"
#include "port/clock.h"
#include "view/look.h"

#include <stdlib.h>
#include <string.h>

/* How long a host is waited for at first, unless --start-timeout says another time. */
#define START_TIMEOUT (10 * RZ_SECOND)
enum { FIRST_HEAR_MS = 100 };

#define LOOK_OPTIONS ((struct rz_look_options *)target)

RZ_CLI_TAKE(host)
{
    return rz_layout_add_hosts(&LOOK_OPTIONS->run.layout, value, why);
}

RZ_CLI_TAKE(hostfile)
{
    return rz_layout_add_hostfile(&LOOK_OPTIONS->run.layout, value, why);
}

RZ_CLI_TAKE(start_timeout)
{
    *why = "it is a time of at least 1s, like 5s or 1m";
    return rz_quantity_seconds(value, &LOOK_OPTIONS->run.start_timeout) &&
           LOOK_OPTIONS->run.start_timeout >= RZ_SECOND;
}

const struct rz_cli_option rz_look_options_hosts[] = {
    {NULL, NULL, NULL, "Other hosts (docs/clusters.md)", NULL},
    {"--host", "-H", "HOST,...",
     "Also ask the daemons of these hosts, which are reached by ssh. Numbers of ranks, as in "
     "rzrun --host, may be there.",
     take_host},
    {"--hostfile", "-f", "FILE", "The same from a file, as of rzrun --hostfile.", take_hostfile},
    {"--start-timeout", NULL, "T",
     "Wait this time (10s) for the first answers of hosts. What has not answered then is named, "
     "and the rest is shown.",
     take_start_timeout},
    {NULL, NULL, NULL, NULL, NULL}};

/* ---- begin and end ---- */

static void settle(struct rz_look_options *options, const struct rz_cli *cli)
{
    struct rz_rzrun_options *run = &options->run;
    char path[RZ_LOOK_PATH];
    run->named = true;
    if (run->start_timeout == 0) {
        run->start_timeout = START_TIMEOUT;
    }
    rz_host_options_elsewhere(run);
    rz_host_options_agent(run, cli);
    if (!rz_host_options_program(run, "rzps", path, sizeof(path))) {
        rz_cli_refuse(cli, "the path of this command is not known, or has a quote in it: --prefix "
                           "says where Rhizome is on other hosts");
    }
    snprintf(options->command, sizeof(options->command), "exec '%s' serve", path);
    options->names = calloc(run->n_remote + 1, sizeof(*options->names));
    rz_need_memory(options->names, "for other hosts");
    for (uint32_t i = 0, n = 0; i < run->layout.n_nodes; i++) {
        if (run->layout.nodes[i].remote) {
            options->names[n++] = run->layout.nodes[i].host;
        }
    }
}

void rz_look_options_open(struct rz_look_options *options, const struct rz_cli *cli,
                          struct rz_look_hosts **hosts)
{
    *hosts = NULL;
    if (options->run.layout.n_nodes == 0) {
        return;
    }
    settle(options, cli);
    if (options->run.n_remote > 0) {
        const struct rz_look_hosts_config config = {
            .words = (const char *const *)options->run.agent.texts,
            .command = options->command,
            .names = options->names,
            .n = options->run.n_remote};
        rz_look_hosts_open(hosts, &config);
    }
}

void rz_look_options_close(struct rz_look_options *options, struct rz_look_hosts *hosts)
{
    rz_look_hosts_close(hosts);
    free(options->names);
    json_decref(options->words);
    rz_layout_clear(&options->run.layout);
    rz_texts_clear(&options->run.agent);
}

/* ---- looks ---- */

rz_status_t rz_look_options_take(struct rz_look_options *options, struct rz_look_hosts *hosts,
                                 const char *prefix, json_t **jobs)
{
    json_t *pages = json_array();
    rz_need_memory(pages, "for the documents of jobs");
    rz_status_t status = rz_look(prefix, options->all, pages);
    if (hosts) {
        rz_look_hosts_take(hosts, pages);
    }
    json_decref(options->words);
    options->words = rz_look_words(pages);
    if (status == RZ_OK) {
        *jobs = rz_look_jobs(pages);
    }
    json_decref(pages);
    return status;
}

rz_status_t rz_look_options_look(struct rz_look_options *options, struct rz_look_hosts *hosts,
                                 const char *prefix, json_t **jobs)
{
    rz_time until = rz_clock_now() + options->run.start_timeout;
    if (hosts) {
        rz_look_hosts_ask(hosts, prefix, options->all);
    }
    while (hosts && rz_look_hosts_hear(hosts, -1, FIRST_HEAR_MS) && rz_clock_now() < until) {
        ;
    }
    return rz_look_options_take(options, hosts, prefix, jobs);
}

/* ---- hosts that do not answer, and pages that were passed over ---- */

void rz_look_options_complain(const struct rz_look_options *options,
                              const struct rz_look_hosts *hosts, const char *speaker)
{
    struct rz_look_silent silent;
    for (size_t i = 0; hosts && rz_look_hosts_silent(hosts, i, &silent); i++) {
        const char *remedy =
            silent.status >= 0 ? rz_host_options_remedy(&options->run, silent.status) : "";
        fprintf(stderr, "%s: %s does not answer%s%s", speaker, silent.name,
                *silent.word ? ": " : "", silent.word);
        if (silent.status >= 0) {
            fprintf(stderr, " (%s ended with status %d)", options->run.agent.texts[0],
                    silent.status);
        }
        fprintf(stderr, "%s%s\n", *remedy ? "; " : "", remedy);
    }
    for (size_t i = 0; i < json_array_size(options->words); i++) {
        fprintf(stderr, "%s: %s\n", speaker, json_string_value(json_array_get(options->words, i)));
    }
}

void rz_look_options_notice(const struct rz_look_options *options,
                            const struct rz_look_hosts *hosts, char *text, size_t bytes)
{
    struct rz_look_silent silent;
    const char *passed = json_string_value(json_array_get(options->words, 0));
    *text = '\0';
    if (!hosts || !rz_look_hosts_silent(hosts, 0, &silent)) {
        rz_printable_ascii(text, bytes, passed ? passed : "");
        return;
    }
    size_t used = (size_t)snprintf(text, bytes, "%s", silent.name);
    const char *word = silent.word, *verb = "does";
    for (size_t i = 1; used < bytes && rz_look_hosts_silent(hosts, i, &silent); i++) {
        used += (size_t)snprintf(text + used, bytes - used, ", %s", silent.name);
        word = "";
        verb = "do";
    }
    if (used < bytes) {
        snprintf(text + used, bytes - used, " %s not answer%s%s", verb, *word ? ": " : "", word);
    }
    rz_printable_ascii(text, bytes, text);
}
