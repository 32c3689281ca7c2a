/* SPDX-License-Identifier: BSD-3-Clause */
/* Asks `rzps serve` on other hosts, all at once, and gathers what they answer; and what it does
 * there: it reads questions, and answers each with the documents of the daemons there. */
#include "view/look_hosts.h"

#include "base/no_memory.h"
#include "base/printable.h"
#include "port/clock.h"
#include "remote/dialog.h"
#include "view/look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- The end here ---- */

enum { LINE_MAX_BYTES = 256 << 20, WORD_MAX = 200 };

/* An agent that has not answered for this time is stopped. */
#define SILENT_MAX (30 * RZ_SECOND)
/* One that has ended is started again after this time since its start. */
#define AGAIN_AFTER (10 * RZ_SECOND)

struct look_host {
    json_t *pages; /* its answer in this look; NULL: none yet */
    bool waited;   /* for its answer in this look */
    bool answers;  /* it has answered when it was asked last */
    bool stopped;  /* its agent was told to end */
    bool silent;   /* in the look that ended last */
    rz_time begun; /* when its agent was started */
    char word[WORD_MAX];
};

struct rz_look_hosts {
    struct rz_look_hosts_config config;
    size_t n_words;
    const char **words; /* of an agent: those of the configuration, host, command */
    struct look_host *hosts;
    struct rz_dialog *dialogs;
    bool asked; /* a look has begun before */
};

static bool take_line(void *arg, char *line)
{
    struct look_host *host = arg;
    const size_t n = strlen(RZ_LOOK_MARK);
    if (strncmp(line, RZ_LOOK_MARK, n) != 0) {
        snprintf(host->word, sizeof(host->word), "%s", line);
        return false;
    }
    json_t *answer = json_loads(line + n, 0, NULL);
    if (json_is_array(answer)) {
        json_decref(host->pages);
        host->pages = answer;
        host->answers = true;
        return true;
    }
    const char *error = json_string_value(json_object_get(answer, "error"));
    snprintf(host->word, sizeof(host->word), "%s", error ? error : "its answer is no document");
    rz_printable(host->word, strlen(host->word), ""); /* JSON may have hidden it */
    json_decref(answer);
    return true;
}

static void start(struct rz_look_hosts *hosts, size_t i)
{
    struct look_host *host = &hosts->hosts[i];
    struct rz_dialog *dialog = &hosts->dialogs[i];
    host->begun = rz_clock_now();
    host->stopped = host->answers = false;
    host->word[0] = '\0';
    hosts->words[hosts->n_words] = hosts->config.names[i];
    hosts->words[hosts->n_words + 1] = hosts->config.command;
    dialog->heard = take_line;
    dialog->arg = host;
    dialog->line_max = LINE_MAX_BYTES;
    rz_dialog_start(dialog, hosts->words, false);
}

void rz_look_hosts_open(struct rz_look_hosts **result, const struct rz_look_hosts_config *config)
{
    struct rz_look_hosts *hosts = calloc(1, sizeof(*hosts));
    rz_need_memory(hosts, "for other hosts");
    hosts->config = *config;
    while (config->words[hosts->n_words]) {
        hosts->n_words++;
    }
    hosts->words = calloc(hosts->n_words + 3, sizeof(*hosts->words));
    hosts->hosts = calloc(config->n + 1, sizeof(*hosts->hosts));
    hosts->dialogs = calloc(config->n + 1, sizeof(*hosts->dialogs));
    rz_need_memory(hosts->words && hosts->hosts && hosts->dialogs, "for other hosts");
    memcpy(hosts->words, config->words, hosts->n_words * sizeof(*hosts->words));
    rz_dialogs_prepare();
    for (size_t i = 0; i < config->n; i++) {
        start(hosts, i);
    }
    *result = hosts;
}

/* Stops an agent that is silent, and starts one again that has ended. */
static void renew(struct rz_look_hosts *hosts, size_t i)
{
    struct look_host *host = &hosts->hosts[i];
    struct rz_dialog *dialog = &hosts->dialogs[i];
    rz_time now = rz_clock_now();
    if (dialog->pid >= 0 && dialog->waits && now - dialog->ordered > SILENT_MAX) {
        rz_dialog_stop(dialog);
        host->stopped = true;
    }
    if (dialog->pid < 0 && now - host->begun > AGAIN_AFTER) {
        start(hosts, i);
    }
}

void rz_look_hosts_ask(struct rz_look_hosts *hosts, const char *prefix, bool all_users)
{
    json_t *question = json_pack("{s:s?,s:b}", "prefix", prefix, "all", all_users);
    char *text = question ? json_dumps(question, JSON_COMPACT) : NULL;
    rz_need_memory(text, "for a question");
    for (size_t i = 0; i < hosts->config.n; i++) {
        struct look_host *host = &hosts->hosts[i];
        struct rz_dialog *dialog = &hosts->dialogs[i];
        renew(hosts, i);
        json_decref(host->pages);
        host->pages = NULL;
        bool free_to_ask = dialog->pid >= 0 && !dialog->waits && !host->stopped;
        host->waited = free_to_ask && (host->answers || !hosts->asked);
        if (free_to_ask) {
            rz_dialog_order(dialog, text);
        }
    }
    hosts->asked = true;
    free(text);
    json_decref(question);
}

bool rz_look_hosts_hear(struct rz_look_hosts *hosts, int fd, int within_ms)
{
    rz_dialogs_hear(hosts->dialogs, hosts->config.n, fd, within_ms);
    for (size_t i = 0; i < hosts->config.n; i++) {
        if (hosts->hosts[i].waited && hosts->dialogs[i].pid >= 0 && hosts->dialogs[i].waits) {
            return true;
        }
    }
    return false;
}

void rz_look_hosts_take(struct rz_look_hosts *hosts, json_t *pages)
{
    for (size_t i = 0; i < hosts->config.n; i++) {
        struct look_host *host = &hosts->hosts[i];
        host->silent = !host->pages;
        host->answers = host->pages || (host->answers && !host->waited);
        json_array_extend(pages, host->pages);
        json_decref(host->pages);
        host->pages = NULL;
    }
}

bool rz_look_hosts_silent(const struct rz_look_hosts *hosts, size_t i,
                          struct rz_look_silent *silent)
{
    for (size_t k = 0; k < hosts->config.n; k++) {
        const struct rz_dialog *dialog = &hosts->dialogs[k];
        if (hosts->hosts[k].silent && i-- == 0) {
            *silent = (struct rz_look_silent){.name = hosts->config.names[k],
                                              .status = dialog->pid < 0 ? dialog->status : -1,
                                              .word = hosts->hosts[k].word};
            return true;
        }
    }
    return false;
}

void rz_look_hosts_close(struct rz_look_hosts *hosts)
{
    if (!hosts) {
        return;
    }
    rz_dialogs_end(hosts->dialogs, hosts->config.n);
    for (size_t i = 0; i < hosts->config.n; i++) {
        json_decref(hosts->hosts[i].pages);
    }
    free(hosts->words);
    free(hosts->hosts);
    free(hosts->dialogs);
    free(hosts);
}

/* ---- The end on each host ---- */

/* It ends after this time without a question. */
enum { IDLE_S = 900 };

static json_t *answer_to(const char *line)
{
    json_t *question = json_loads(line, 0, NULL), *pages = json_array();
    const char *prefix = json_string_value(json_object_get(question, "prefix"));
    bool all_users = json_is_true(json_object_get(question, "all"));
    rz_need_memory(pages, "for the documents of jobs");
    if (rz_look(prefix, all_users, pages) != RZ_OK) {
        json_decref(pages);
        pages = json_pack("{s:s}", "error", "its sockets cannot be listed: is /proc mounted?");
    }
    json_decref(question);
    return pages;
}

int rz_look_serve(void)
{
    char *line = NULL;
    size_t room = 0;
    bool good = true;
    alarm(IDLE_S);
    while (good && getline(&line, &room, stdin) > 0) {
        alarm(IDLE_S);
        json_t *answer = answer_to(line);
        char *text = json_dumps(answer, JSON_COMPACT | JSON_REAL_PRECISION(6));
        rz_need_memory(text, "for the documents of jobs");
        printf("%s%s\n", RZ_LOOK_MARK, text);
        good = fflush(stdout) == 0;
        free(text);
        json_decref(answer);
    }
    free(line);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
