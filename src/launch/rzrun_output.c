/* SPDX-License-Identifier: BSD-3-Clause */
/* The options about what the user sees of a job, and how a job starts and ends. */
#include "launch/rzrun_private.h"

#include "cli/quantity.h"

#include <string.h>

#define OPTIONS ((struct rz_rzrun_options *)target)

RZ_CLI_TAKE_FLAG(label, OPTIONS->label)

RZ_CLI_TAKE(output_wait)
{
    OPTIONS->output_wait_given = true;
    *why = "it needs a number of seconds, or a time like 300ms, 2s or 1h30m";
    return rz_quantity_seconds(value, &OPTIONS->output_wait);
}

RZ_CLI_TAKE(stdout)
{
    static const char *const words[] = {[RZ_STDOUT_AUTO] = "auto",
                                        [RZ_STDOUT_PTY] = "pty",
                                        [RZ_STDOUT_LINE] = "line",
                                        [RZ_STDOUT_FULL] = "full"};
    *why = "it is `auto`, `pty`, `line` or `full`";
    for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (strcmp(value, words[i]) == 0) {
            OPTIONS->rank_stdout = (enum rz_stdout)i;
            return true;
        }
    }
    return false;
}

RZ_CLI_TAKE_FLAG(progress, OPTIONS->progress)

RZ_CLI_TAKE(iterations)
{
    OPTIONS->progress = true;
    *why = "it is the number of the program's iterations";
    return rz_quantity_number(value, 1, UINT64_MAX, &OPTIONS->progress_total);
}

RZ_CLI_TAKE_FLAG(story, OPTIONS->story)
RZ_CLI_TAKE_TEXT(report, OPTIONS->report)
RZ_CLI_TAKE_TEXT(report_html, OPTIONS->report_html)
RZ_CLI_TAKE_TEXT(cases, OPTIONS->cases)
RZ_CLI_TAKE_TEXT(trace, OPTIONS->trace)
RZ_CLI_TAKE_TEXT(debugger, OPTIONS->debugger)

RZ_CLI_TAKE(debug_ranks)
{
    return rz_debugger_take_ranks(OPTIONS, value, why);
}

RZ_CLI_TAKE(debug_terminal)
{
    static const char *const words[] = {[RZ_DEBUG_AUTO] = "auto",
                                        [RZ_DEBUG_PLAIN] = "plain",
                                        [RZ_DEBUG_XTERM] = "xterm",
                                        [RZ_DEBUG_TMUX] = "tmux"};
    *why = "it is `auto`, `plain`, `xterm` or `tmux`";
    OPTIONS->debug_terminal_given = true;
    for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (strcmp(value, words[i]) == 0) {
            OPTIONS->debug_terminal = (enum rz_debug_terminal)i;
            return true;
        }
    }
    return false;
}

RZ_CLI_TAKE(log)
{
    static char text[512];
    *why = text;
    OPTIONS->levels_given = true;
    return rz_trace_levels_parse(&OPTIONS->levels, value, text, sizeof(text));
}

RZ_CLI_TAKE(timeout)
{
    *why = "it needs a number of seconds, or a time like 300ms, 2s or 1h30m";
    return rz_quantity_seconds(value, &OPTIONS->timeout) && OPTIONS->timeout > 0;
}

RZ_CLI_TAKE_FLAG(detach, OPTIONS->detach)

RZ_CLI_TAKE(spool)
{
    OPTIONS->spool_given = true;
    *why = "it needs a size from 128KiB to 64GiB, like 16MiB";
    return rz_quantity_bytes(value, UINT64_C(128) << 10, UINT64_C(64) << 30, &OPTIONS->spool_bytes);
}

RZ_CLI_TAKE(linger)
{
    OPTIONS->linger_given = true;
    return rz_rzrun_duration(value, &OPTIONS->linger, why);
}

/* Hexadecimal digits, as many as the job's number has or fewer. */
static bool job_number(const char *value, const char **number, const char **why)
{
    size_t n = strlen(value);
    *why = "it needs the job's number or its first digits, as rzrun --detach printed it and rzps "
           "shows it";
    *number = value;
    return n > 0 && n <= 16 && strspn(value, "0123456789abcdef") == n;
}

RZ_CLI_TAKE(attach)
{
    return job_number(value, &OPTIONS->attach, why);
}

RZ_CLI_TAKE(end)
{
    return job_number(value, &OPTIONS->finish, why);
}

RZ_CLI_TAKE(verbose)
{
    (void)value, (void)why;
    OPTIONS->verbosity++;
    return true;
}

RZ_CLI_TAKE(verbose_twice)
{
    return take_verbose(target, value, why) && take_verbose(target, value, why);
}

const struct rz_cli_option rz_rzrun_output[] = {
    {NULL, NULL, NULL, "Output", NULL},
    {"--label", "-l --tag-output -tag-output -prepend-rank --prepend-rank", NULL,
     "Begin each line of output with the rank that wrote it.", take_label},
    {"--stdout", NULL, "auto|pty|line|full",
     "What the ranks' standard output is, and so when they write. pty: a pseudo-terminal: line by "
     "line, as at a terminal. line: a pipe; from MPI_Init on C programs write line by line, and "
     "lose no line when they fail. full: a pipe, written when a buffer is full, which is faster "
     "for very much output. auto (default): pty if rzrun's own is a terminal, else line.",
     take_stdout},
    {"--output-wait", NULL, "T",
     "When all ranks have ended, wait for processes that they have left and that still hold their "
     "standard output or error, for at most T (10s; 0: not at all): what these write until then is "
     "shown. What is left at the end is killed.",
     take_output_wait},
    {"--progress", NULL, NULL,
     "Show how far the program is, on standard error, on a terminal in one line that stays: "
     "iterations (RZ_Progress_mark) and their rate, failures, the age of the newest checkpoint.",
     take_progress},
    {"--iterations", NULL, "N",
     "With --progress, which it implies: the program's number of iterations, for the estimated "
     "end.",
     take_iterations},
    {"--story", NULL, NULL,
     "Print on standard error what failed, how it was noticed and how long each phase of the "
     "recovery took.",
     take_story},
    {"--report", NULL, "FILE",
     "Write everything that happened to FILE, one line `name=value ...` per event.", take_report},
    {"--report-html", NULL, "FILE",
     "At the end write a page to FILE that a browser shows without a network: what each rank did "
     "when, failures, recoveries and their phases, checkpoints, messages from rank "
     "to rank, hang reports (docs/report-html.md).",
     take_report_html},
    {"--cases", NULL, "FOLDER",
     "Write a case file (JSON, docs/cases.md) for each failure: which node reported it, on what "
     "evidence, "
     "when "
     "each daemon learnt of it, what was done.",
     take_cases},
    {"--debugger", NULL, "COMMAND",
     "Run the ranks under this command, as the shell reads it: --debugger 'gdb --args'. Tools that "
     "know MPIR (DDT, TotalView) start or attach to rzrun instead (docs/debugging.md).",
     take_debugger},
    {"--debug-ranks", NULL, "LIST", "Only these ranks: 0,3 or 4-7. Default: all.",
     take_debug_ranks},
    {"--debug-terminal", NULL, "auto|plain|xterm|tmux",
     "Where the debugger of a rank talks to you. xterm, tmux: in a window for each rank. plain: by "
     "the rank's own streams; only rank 0 has input. auto (default): in windows if rzrun runs in "
     "tmux or has DISPLAY.",
     take_debug_terminal},
    {"--trace", NULL, "FILE",
     "At the end write the last events of each process and daemon to FILE, as JSON that Perfetto "
     "(ui.perfetto.dev) opens; also of killed ones (docs/tracing.md).",
     take_trace},
    {"--log", NULL, "MODULE:LEVEL,...",
     "What is traced: modules are folders of the source, or mpi, daemon, all; levels are off, "
     "notice (default), info, debug. Has precedence over the environment variable RZ_LOG, which "
     "has the same form.",
     take_log},
    {"--verbose", "-v", NULL,
     "Print how rzrun understood the command line, then a line on standard error for each event of "
     "the job: nodes up, ranks started, joined, failed, ended, epochs, the end; daemons print what "
     "they do. -v -v: each event of the traces, too, at level info unless --log or RZ_LOG set "
     "another level.",
     take_verbose},
    {"-vv", NULL, NULL, "As -v -v.", take_verbose_twice},
    {NULL, NULL, NULL, "The job's start and end (docs/detached.md)", NULL},
    {"--timeout", "-timeout", "T",
     "End the job after this time (seconds, or 300ms, 1h30m), and print which rank waits for "
     "which.",
     take_timeout},
    {"--detach", NULL, NULL,
     "Start the job, print its number and return; the job continues by itself. Its standard input "
     "is "
     "empty.",
     take_detach},
    {"--spool", NULL, "SIZE",
     "Each node keeps the newest SIZE (4MiB) of a detached job's output, its result included; "
     "processes never wait for a reader.",
     take_spool},
    {"--linger", NULL, "T",
     "After its end a detached job keeps output and exit status for T (10m), unless they are "
     "fetched before.",
     take_linger},
    {"--attach", NULL, "JOB",
     "Instead of a program: show the output of the detached job JOB (its number, or the first "
     "digits of it), and return its exit status. Ctrl-C detaches from the job again, which "
     "continues. --host or --hostfile name its hosts, if they are others.",
     take_attach},
    {"--end", NULL, "JOB",
     "Instead of a program: end the detached job JOB, and discard what it kept. Hosts as for "
     "--attach.",
     take_end},
    {NULL, NULL, NULL, NULL, NULL},
};
