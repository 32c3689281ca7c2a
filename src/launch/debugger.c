/* SPDX-License-Identifier: BSD-3-Clause */
/* A shell before each program looks at the rank, and executes either the program or the debugger
 * with it. It is replaced by that, so that the process stays the daemon's child, except with tmux:
 * there the program is a child of tmux, and joins by the daemon's link socket. */
#include "launch/debugger.h"

#include "base/no_memory.h"
#include "launch/rzrun_options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool rz_debugger_take_ranks(struct rz_rzrun_options *options, const char *value, const char **why)
{
    const char *at = value;
    *why = "it needs ranks like 0,3 or 4-7";
    for (;;) {
        char *end;
        unsigned long first = strtoul(at, &end, 10), last = first;
        bool good = *at >= '0' && *at <= '9';
        if (good && *end == '-') {
            at = end + 1;
            last = strtoul(at, &end, 10);
            good = *at >= '0' && *at <= '9';
        }
        if (!good || first > last || last >= RZ_RANKS_MAX || (*end && *end != ',')) {
            return false;
        }
        for (unsigned long rank = first; rank <= last; rank++) {
            char text[16];
            snprintf(text, sizeof(text), "%lu", rank);
            rz_texts_add(&options->debug_ranks, text);
        }
        if (!*end) {
            return true;
        }
        at = end + 1;
    }
}

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value && *value;
}

static bool is_in_path(const char *name)
{
    char path[4096];
    for (const char *at = getenv("PATH"); at && *at;) {
        size_t n = strcspn(at, ":");
        snprintf(path, sizeof(path), "%.*s/%s", (int)n, at, name);
        if (access(path, X_OK) == 0) {
            return true;
        }
        at += n + (at[n] == ':');
    }
    return false;
}

void rz_debugger_settle(struct rz_rzrun_options *options)
{
    enum rz_debug_terminal *where = &options->debug_terminal;
    bool tmux = is_set("TMUX") && is_in_path("tmux") && options->n_remote == 0;
    bool xterm = is_set("DISPLAY") && is_in_path("xterm");
    for (uint32_t i = 0; i < options->debug_ranks.n; i++) {
        if (strtoul(options->debug_ranks.texts[i], NULL, 10) >= options->n_ranks) {
            rz_cli_refuse(&rz_rzrun_cli, "--debug-ranks: there is no rank %s, they are 0 to %u",
                          options->debug_ranks.texts[i], options->n_ranks - 1);
        }
    }
    if (*where == RZ_DEBUG_TMUX && !tmux) {
        rz_cli_refuse(&rz_rzrun_cli, "--debug-terminal tmux: %s",
                      options->n_remote > 0
                          ? "ranks on other hosts cannot have windows of this tmux; take xterm"
                          : "rzrun must run in a window of tmux");
    }
    if (*where == RZ_DEBUG_XTERM && !xterm) {
        rz_cli_refuse(&rz_rzrun_cli, "--debug-terminal xterm: DISPLAY must be set, and xterm in "
                                     "PATH");
    }
    if (*where == RZ_DEBUG_AUTO) {
        *where = tmux ? RZ_DEBUG_TMUX : xterm ? RZ_DEBUG_XTERM : RZ_DEBUG_PLAIN;
    }
}

/* The rank's process waits for the window, and the window for it, each by a named pipe that the
 * other holds open: so both end by the end of either, also by SIGKILL. The folder is that of the
 * node's files, which the daemon removes. */
static const char in_tmux[] =
    "umask 077; mkdir -p \"$RZ_SCRATCH\"; f=$RZ_SCRATCH/debug.$RZ_RANK.$RZ_INCARNATION\n"
    "mkfifo \"$f.alive\" \"$f.open\" || exit 1\n"
    "export PWD; export -p | grep -v -e ' TMUX' > \"$f.env\"\n"
    "words=; for w; do words=\"$words '$(printf %%s \"$w\" | sed \"s/'/'\\\\\\\\''/g\")'\"; done\n"
    "cat > \"$f.run\" <<END\n"
    ". '$f.env'; cd \"\\$PWD\"\n"
    "{ cat '$f.alive' > /dev/null; tmux kill-pane -t \"\\$TMUX_PANE\"; } &\n"
    "exec 5> '$f.open'\n"
    "%s $words; echo \\$? > '$f.status'\n"
    "END\n"
    "tmux new-window -d -n \"rank $RZ_RANK\" \"sh '$f.run'\" || exit 1\n"
    "exec 4> \"$f.alive\"; cat \"$f.open\"; exit \"$(cat \"$f.status\" || echo 1)\"\n";

/* The shell's words for a rank under the debugger. */
static char *debugged(const struct rz_rzrun_options *options)
{
    static const char *const forms[] = {[RZ_DEBUG_PLAIN] = "exec %s \"$@\"\n",
                                        [RZ_DEBUG_XTERM] =
                                            "exec xterm -T \"rank $RZ_RANK\" -e %s \"$@\"\n",
                                        [RZ_DEBUG_TMUX] = in_tmux};
    const char *form = forms[options->debug_terminal];
    size_t bytes = strlen(form) + strlen(options->debugger) + 1;
    char *text = malloc(bytes);
    rz_need_memory(text, "for the command line");
    snprintf(text, bytes, form, options->debugger); /* NOLINT: one of the forms above */
    return text;
}

static char *debug_script(const struct rz_rzrun_options *options)
{
    char *words = debugged(options), *text;
    size_t bytes = strlen(words) + 128 + 16 * (size_t)options->debug_ranks.n, n;
    text = malloc(bytes);
    rz_need_memory(text, "for the command line");
    n = (size_t)snprintf(text, bytes, "case ,");
    for (uint32_t i = 0; i < options->debug_ranks.n; i++) {
        n += (size_t)snprintf(text + n, bytes - n, "%s,", options->debug_ranks.texts[i]);
    }
    snprintf(text + n, bytes - n, " in *\",$RZ_RANK,\"*%s) ;; *) exec \"$@\" ;; esac\n%s",
             options->debug_ranks.n > 0 ? "" : "|,", words);
    free(words);
    return text;
}

void rz_debugger_apply(struct rz_rzrun_options *options)
{
    static char shell[] = "/bin/sh", flag[] = "-c", name[] = "rzrun --debugger";
    if (!options->debugger) {
        return;
    }
    options->debug_script = debug_script(options);
    for (uint32_t i = 0; i < options->n_contexts; i++) {
        struct rz_context *part = &options->contexts[i];
        uint32_t n = 0;
        while (part->program[n]) {
            n++;
        }
        char **words = calloc(n + 5, sizeof(*words));
        rz_need_memory(words, "for the command line");
        words[0] = shell;
        words[1] = flag;
        words[2] = options->debug_script;
        words[3] = name;
        memcpy(words + 4, part->program, n * sizeof(*words));
        free(part->program);
        part->program = words;
    }
}
