/* SPDX-License-Identifier: BSD-3-Clause */
/* The runs of --rewind-check, and the answer. */
#include "launch/rewind_check.h"

#include "base/printable.h"
#include "launch/attempts.h"
#include "outcome/exit_codes.h"
#include "port/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* From one snapshot to the next at first, and at least: a program that ends before it was saved
 * twice is tried again with an eighth. One that cannot be saved so early is tried again later. */
#define CHECK_EVERY (250 * RZ_MILLISECOND)
#define CHECK_EVERY_MIN (10 * RZ_MILLISECOND)
#define CHECK_STEP 8

struct rewind_check {
    const struct rz_rzrun_options *options;
    const char *daemon;
    rz_time deadline, bound;
    off_t input;      /* where standard input began, if it can be read again */
    bool input_again; /* it can, or was not read */
    struct rz_check_run rewound, undisturbed[2];
};

/* ---- Words ---- */

__attribute__((format(printf, 1, 2))) static void check_says(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("rzrun: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

static int cannot(const char *why)
{
    check_says("this program cannot be rewound: %s", why);
    return EXIT_FAILURE;
}

static double seconds(rz_time time)
{
    return (double)time / RZ_SECOND;
}

static int bound_reached(const struct rewind_check *check, const char *why)
{
    check_says("no answer within %.0f s (--timeout): %s", seconds(check->bound), why);
    return RZ_EXIT_NO_ANSWER;
}

/* A line for the eye: no control characters, and not all of a long one. */
static void print_line(char *to, size_t max, struct rz_check_text line)
{
    size_t n = line.n < max - 8 ? line.n : max - 8;
    if (!line.at) {
        snprintf(to, max, "no such line");
        return;
    }
    *to++ = '"';
    memcpy(to, line.at, n);
    rz_printable(to, n, "");
    snprintf(to + n, 8, "%s\"", n < line.n ? "..." : "");
}

static void name_difference(char *to, size_t max, const struct rz_check_difference *found)
{
    char rewound[200], undisturbed[200];
    print_line(rewound, sizeof(rewound), found->rewound);
    print_line(undisturbed, sizeof(undisturbed), found->undisturbed);
    snprintf(to, max, "rank %u, standard %s, line %llu: %s; undisturbed: %s", found->rank,
             found->error ? "error" : "output", (unsigned long long)found->line, rewound,
             undisturbed);
}

static int differs(const struct rz_check_difference *found)
{
    char where[500];
    name_difference(where, sizeof(where), found);
    check_says("this program differs when it is rewound: %s", where);
    return EXIT_FAILURE;
}

static int can(const struct rewind_check *check, const char *how)
{
    uint32_t n = check->rewound.restored;
    check_says("this program can be rewound: all ranks were saved, ended, and restored in new "
               "processes %s; %s",
               n == 1 ? "once" : "twice", how);
    return EXIT_SUCCESS;
}

/* ---- One run ---- */

static void rewind_input(const struct rewind_check *check)
{
    if (check->input >= 0) {
        lseek(STDIN_FILENO, check->input, SEEK_SET);
    }
}

/* Returns whether the check goes on; otherwise its status is the run's. */
static bool run_once(struct rewind_check *check, struct rz_check_run *run, rz_time every,
                     unsigned part)
{
    static struct rz_rzrun_options options; /* large for a small stack */
    rz_time now = rz_clock_now();
    rz_time left = check->deadline > now ? check->deadline - now : 0;
    options = *check->options;
    *run = (struct rz_check_run){.tries = every > 0, .every = every, .bound = left / part};
    run->bound += RZ_MILLISECOND; /* 0 is none */
    rz_check_output_open(&run->output, options.n_ranks, RZ_CHECK_OUTPUT_MAX);
    options.check = run;
    options.timeout = 0;
    options.rewind = options.rewind_or_abort = run->tries;
    options.rewind_every = every;
    options.rewind_output = RZ_REWOUND_DROPPED;
    if (!run->tries) { /* what is asked for is told of the other run */
        options.on_failure = RZ_ON_FAILURE_ABORT;
        options.report = options.cases = options.report_html = options.trace = NULL;
    }
    rewind_input(check);
    int status = rz_attempts_run(&options, check->daemon);
    check->input_again &= check->input >= 0 || run->input == 0;
    run->status = status;
    return !run->interrupted && run->begun > 0 && status != RZ_EXIT_START &&
           status != RZ_EXIT_NOT_EXECUTABLE && status != RZ_EXIT_NOT_FOUND;
}

static void drop(struct rz_check_run *run)
{
    rz_check_output_close(&run->output);
}

/* ---- What it prints ---- */

static bool compare(const struct rewind_check *check, bool twice,
                    struct rz_check_difference *difference, uint64_t *lines)
{
    const struct rz_check_run *runs[] = {&check->rewound, &check->undisturbed[0],
                                         &check->undisturbed[1]};
    struct rz_check_runs all = {.rewound = &runs[0]->output,
                                .undisturbed = &runs[1]->output,
                                .again = twice ? &runs[2]->output : NULL,
                                .whole = true};
    for (int i = 0; i < 2 + twice; i++) {
        all.whole = all.whole && !runs[i]->bounded && !runs[i]->cut;
    }
    return rz_check_output_differs(&all, difference, lines);
}

/* Both runs have ended, with statuses that differ. */
static bool other_status(const struct rz_check_run *a, const struct rz_check_run *b)
{
    return !a->bounded && !b->bounded && !a->cut && a->status != b->status;
}

/* Nothing that it printed differs; but it did not end. */
static int say_did_not_end(const struct rewind_check *check)
{
    char why[240];
    snprintf(why, sizeof(why),
             "the program had not ended %.1f s after it was restored, and undisturbed it ends "
             "within %.1f s. A larger --timeout gives more time; if it hangs, see --hang-report",
             seconds(check->rewound.since), seconds(check->undisturbed[0].lasted));
    return bound_reached(check, why);
}

/* Whether the undisturbed runs differ, as far as both came. */
static bool undisturbed_differ(const struct rewind_check *check)
{
    const struct rz_check_run *plain = check->undisturbed;
    struct rz_check_difference difference;
    uint64_t lines;
    const struct rz_check_runs runs = {.rewound = &plain[0].output,
                                       .undisturbed = &plain[1].output,
                                       .whole = !plain[0].bounded && !plain[1].bounded};
    return rz_check_output_differs(&runs, &difference, &lines);
}

/* The second undisturbed run was too short to tell whether this line is the same each time. */
static int say_undecided(const struct rewind_check *check,
                         const struct rz_check_difference *difference)
{
    char where[500], why[700];
    name_difference(where, sizeof(where), difference);
    snprintf(why, sizeof(why),
             "no time is left to learn whether this line is the same each time; a larger --timeout "
             "gives more: %s",
             where);
    return bound_reached(check, why);
}

/* It was rewound; the first undisturbed run printed something else (difference, with a line other
 * than 0), or ended with another status. */
static int compare_again(struct rewind_check *check, struct rz_check_difference *difference)
{
    struct rz_check_run *plain = check->undisturbed;
    char how[160];
    uint64_t lines;
    if (!run_once(check, &plain[1], 0, 1)) {
        return plain[1].status;
    }
    if (compare(check, true, difference, &lines)) {
        return differs(difference);
    }
    if (other_status(&check->rewound, &plain[0]) && !other_status(&plain[0], &plain[1])) {
        check_says("this program differs when it is rewound: it ends with status %d, and "
                   "undisturbed with status %d",
                   check->rewound.status, plain[0].status);
        return EXIT_FAILURE;
    }
    if (check->rewound.bounded && !plain[0].bounded && !plain[1].bounded) {
        return say_did_not_end(check);
    }
    if (difference->line > 0 && !undisturbed_differ(check)) {
        return say_undecided(check, difference);
    }
    if (lines == 0) {
        return can(check, "what it prints differs from run to run, and was not compared");
    }
    snprintf(how, sizeof(how),
             "what it prints differs from run to run, and the %llu lines that do not are the same",
             (unsigned long long)lines);
    return can(check, how);
}

static int compare_all(struct rewind_check *check)
{
    struct rz_check_run *plain = &check->undisturbed[0];
    struct rz_check_difference difference = {.line = 0};
    uint64_t lines;
    if (!check->input_again) {
        return can(check, "what it prints was not compared, since standard input cannot be read "
                          "again (give it as a file: < FILE)");
    }
    if (!run_once(check, plain, 0, 2)) {
        return plain->status;
    }
    if (compare(check, false, &difference, &lines) || other_status(&check->rewound, plain)) {
        return compare_again(check, &difference);
    }
    if (check->rewound.bounded && !plain->bounded) {
        return say_did_not_end(check);
    }
    return can(check, check->rewound.bounded || check->rewound.cut || plain->bounded
                          ? "as far as it came, it printed what it prints undisturbed"
                          : "it printed what it prints undisturbed");
}

/* ---- Whether it is rewound ---- */

/* Why there was no snapshot, or no other one, for all that is known here. */
#define STOPS_FOR                                                                                  \
    "A rank stops for one when it calls MPI, and all wait for the last one: does each rank call "  \
    "MPI, and is no RZ_Rewind_forbid left open?"
#define NEVER_SAVED "no snapshot was made. " STOPS_FOR
#define SAVED_ONCE "too few snapshots were made. " STOPS_FOR

static int say_never_saved(const struct rewind_check *check)
{
    const struct rz_check_run *run = &check->rewound;
    return bound_reached(
        check, !run->joined       ? "no rank has called MPI_Init"
               : run->newest == 0 ? NEVER_SAVED " A larger --timeout gives more time"
               : run->kills == 0  ? SAVED_ONCE " A larger --timeout gives more time"
                                  : "the ranks were not restored in that time; a larger --timeout "
                                    "gives more time");
}

static int say_too_short(const struct rewind_check *check)
{
    const struct rz_check_run *run = &check->rewound;
    if (!run->joined) {
        check_says("no answer: the program ended without a call of MPI_Init");
    } else if (run->newest == 0 && run->lasted > CHECK_STEP * run->every + RZ_SECOND) {
        check_says("no answer: in the %.2f s until the program ended " NEVER_SAVED,
                   seconds(run->lasted));
    } else {
        check_says("no answer: the program ended after %.2f s, before it could be saved twice "
                   "(with a snapshot each %.0f ms) and a rank be killed; give it more work%s",
                   seconds(run->lasted), seconds(run->every) * 1000,
                   check->input_again ? "" : ", or its standard input as a file");
    }
    return RZ_EXIT_NO_ANSWER;
}

/* The end of what the first rank with such output wrote to standard error. */
static void show_errors(const struct rz_check_output *output)
{
    enum { SHOWN = 2000 };
    for (uint32_t rank = 0; rank < output->n_ranks; rank++) {
        const struct rz_bytes *bytes = &output->streams[rank * RZ_CHECK_STREAMS + 1].bytes;
        size_t n = bytes->n < SHOWN ? bytes->n : SHOWN;
        if (n > 0) {
            check_says("rank %u wrote to standard error:", rank);
            fwrite(bytes->at + bytes->n - n, 1, n, stderr);
            return;
        }
    }
}

/* It ended with a status other than 0, and nothing had been killed. */
static int say_failed(struct rewind_check *check)
{
    struct rz_check_run *plain = &check->undisturbed[0];
    int status = check->rewound.status;
    if (check->input_again && !run_once(check, plain, 0, 1)) {
        return plain->status;
    }
    if (!check->input_again || plain->bounded || plain->status != 0) {
        check_says("no answer: the program ends with status %d, without any failure%s%s", status,
                   *check->rewound.why ? ": " : "", check->rewound.why);
        show_errors(&check->rewound.output);
        return RZ_EXIT_NO_ANSWER;
    }
    check_says("this program cannot be rewound: while it is saved it ends with status %d, and "
               "undisturbed with 0",
               status);
    return EXIT_FAILURE;
}

/* Another try has a sense: *every is set. */
static bool next_try(const struct rewind_check *check, rz_time *every, bool *later)
{
    const struct rz_check_run *run = &check->rewound;
    if (!check->input_again || run->bounded || run->unrestored || run->restored > 0) {
        return false;
    }
    if (run->unsaved) {
        bool first = !*later;
        *later = true;
        *every *= CHECK_STEP;
        return first;
    }
    if (*later || run->status != 0 || !run->joined || *every <= CHECK_EVERY_MIN) {
        return false;
    }
    *every = *every / CHECK_STEP > CHECK_EVERY_MIN ? *every / CHECK_STEP : CHECK_EVERY_MIN;
    return true;
}

/* Returns true if the program was restored; else *status is the answer. */
static bool rewinds(struct rewind_check *check, int *status)
{
    struct rz_check_run *run = &check->rewound;
    rz_time every = check->options->rewind_every ? check->options->rewind_every : CHECK_EVERY;
    bool later = false;
    char unsaved[sizeof(run->why)] = "";
    do {
        drop(run);
        if (!run_once(check, run, every, 2)) {
            *status = run->status;
            return false;
        }
        if (run->unsaved) {
            snprintf(unsaved, sizeof(unsaved), "%s", run->why);
        }
    } while (next_try(check, &every, &later));
    if (run->restored > 0 && !run->unrestored && !run->unsaved && run->kills == run->restored) {
        return true;
    }
    *status = run->unrestored    ? cannot(run->why)
              : *unsaved         ? cannot(unsaved)
              : run->bounded     ? say_never_saved(check)
              : run->status == 0 ? say_too_short(check)
              : run->kills == 0  ? say_failed(check)
                                 : cannot(run->why);
    return false;
}

int rz_rewind_check_run(const struct rz_rzrun_options *options, const char *daemon)
{
    static struct rewind_check check; /* large for a small stack */
    struct stat info;
    int status;
    check =
        (struct rewind_check){.options = options,
                              .daemon = daemon,
                              .input = -1,
                              .input_again = true,
                              .bound = options->timeout ? options->timeout : RZ_REWIND_CHECK_BOUND};
    check.deadline = rz_clock_now() + check.bound;
    if (fstat(STDIN_FILENO, &info) == 0 && S_ISREG(info.st_mode)) {
        check.input = lseek(STDIN_FILENO, 0, SEEK_CUR);
    }
    if (rewinds(&check, &status)) {
        status = compare_all(&check);
    }
    drop(&check.rewound);
    drop(&check.undisturbed[0]);
    drop(&check.undisturbed[1]);
    return status;
}
