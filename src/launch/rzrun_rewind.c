/* SPDX-License-Identifier: BSD-3-Clause */
/* --rewind: programs that are restored from images of their memory. */
#include "launch/rzrun_private.h"

#include "cli/quantity.h"

#include <string.h>

#define OPTIONS ((struct rz_rzrun_options *)target)

/* A snapshot stops all ranks for a moment. */
#define REWIND_MIN_NS (10 * RZ_MILLISECOND)

RZ_CLI_TAKE(rewind)
{
    *why = "it needs the time from one snapshot to the next, 10ms or more: 30s, 5m";
    OPTIONS->rewind = true;
    return rz_quantity_duration(value, &OPTIONS->rewind_every) &&
           OPTIONS->rewind_every >= REWIND_MIN_NS;
}

RZ_CLI_TAKE(rewind_scheme)
{
    OPTIONS->rewind_scheme_given = true;
    return rz_scheme_parse(value, &OPTIONS->rewind_scheme, why);
}

RZ_CLI_TAKE_FLAG(rewind_or_abort, OPTIONS->rewind_or_abort)

RZ_CLI_TAKE_FLAG(rewind_check, OPTIONS->rewind_check)

RZ_CLI_TAKE(rewind_output)
{
    OPTIONS->rewind_output_given = true;
    static const char *const names[] = {[RZ_REWOUND_DROPPED] = "drop",
                                        [RZ_REWOUND_REPEATED] = "repeat",
                                        [RZ_REWOUND_HELD] = "hold"};
    *why = "it is `drop`, `repeat` or `hold`";
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (strcmp(value, names[i]) == 0) {
            OPTIONS->rewind_output = (enum rz_rewound_output)i;
            return true;
        }
    }
    return false;
}

const struct rz_cli_option rz_rzrun_rewind[] = {
    {NULL, NULL, NULL, "Programs that do nothing about failures (docs/unmodified.md)", NULL},
    {"--rewind", NULL, "T",
     "Each T (30s), all ranks stop for a moment, and an image of the memory of each is kept as "
     "--rewind-scheme says. After a failure all ranks continue from the last images; before the "
     "first ones, from the start of the program. The program needs no change.",
     take_rewind},
    {"--rewind-scheme", NULL, "SCHEME",
     "Where images are kept: memory, buddy (default), xor:K, rs:K+M or file, as --checkpoint says.",
     take_rewind_scheme},
    {"--rewind-or-abort", NULL, NULL,
     "End the job if a rank cannot be saved, instead of going on without a new snapshot.",
     take_rewind_or_abort},
    {"--rewind-check", NULL, NULL,
     "Find out whether --rewind is for this program: it is saved twice, a rank is killed, all "
     "continue in new processes to the end, and what it prints, which is not shown, is compared "
     "with undisturbed runs. rzrun says that it can be rewound (status 0), that it cannot or "
     "differs "
     "(status 1), or that there is no answer (status 11), and why; within --timeout, or 120s.",
     take_rewind_check},
    {"--rewind-output", NULL, "HOW",
     "What a rank has written after the image from which it continues, it writes again. drop "
     "(default): as many bytes of its output as were shown already are not shown again, which is "
     "right for a program that writes the same again. repeat: all is shown. hold: what a rank "
     "writes "
     "is shown when the next snapshot is safe, or the job ends, and is discarded if a failure "
     "comes "
     "before, so that nothing is shown that did not happen in the end; beyond 64MiB what waits is "
     "shown as with drop.",
     take_rewind_output},
    {NULL, NULL, NULL, NULL, NULL},
};

static bool sets(const struct rz_texts *environment, const char *entry)
{
    for (uint32_t i = 0; i < environment->n; i++) {
        if (strcmp(environment->texts[i], entry) == 0) {
            return true;
        }
    }
    return false;
}

/* In any part of the command line, or for all of them. */
static bool anywhere(const struct rz_rzrun_options *options, const char *entry)
{
    bool set = sets(&options->environment, entry);
    for (uint32_t i = 0; i < options->n_contexts; i++) {
        set = set || sets(&options->contexts[i].environment, entry);
    }
    return set;
}

/* It runs the program several times, as it needs (rewind_check.h). */
static void settle_check(struct rz_rzrun_options *options)
{
    options->rewind = options->rewind_or_abort = true;
}

/* Images are the only checkpoints of the job: there is one setting, with two names. */
static void settle_scheme(struct rz_rzrun_options *options)
{
    const struct rz_scheme *scheme = &options->rewind_scheme;
    char mine[RZ_SCHEME_TEXT_MAX], other[RZ_SCHEME_TEXT_MAX];
    if (!options->rewind_scheme_given) {
        return;
    }
    rz_scheme_text(scheme, mine);
    rz_scheme_text(&options->scheme, other);
    if (options->scheme_given && strcmp(mine, other) != 0) {
        rz_cli_refuse(&rz_rzrun_cli,
                      "--rewind-scheme %s and --checkpoint %s cannot be combined: with --rewind "
                      "they are the same setting",
                      mine, other);
    }
    options->scheme = *scheme;
}

void rz_rzrun_rewind_settle(struct rz_rzrun_options *options)
{
    if (options->rewind_check) {
        settle_check(options);
    }
    bool foreign = options->mpi == RZ_MPI_PMIX || options->mpi == RZ_MPI_PMI1;
    const char *other = options->no_ft ? "--no-ft"
                        : foreign      ? "--mpi"
                        : options->on_failure_given && options->on_failure != RZ_ON_FAILURE_REPAIR
                            ? "--on-failure"
                        : options->detector == RZ_DETECTOR_FLAT ? "--detector flat"
                        : anywhere(options, "RZ_NET=ucx")       ? "--net ucx"
                                                                : NULL;
    if (!options->rewind) {
        return;
    }
    if (other) {
        rz_cli_refuse(&rz_rzrun_cli, "--rewind and %s cannot be combined", other);
    }
    options->on_failure = RZ_ON_FAILURE_REPAIR;
    settle_scheme(options);
}
