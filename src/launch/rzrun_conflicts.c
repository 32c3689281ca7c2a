/* SPDX-License-Identifier: BSD-3-Clause */
/* One table of pairs. What is refused here needs no other knowledge than that both were given; what
 * depends on values, hosts or the machine is checked where that is settled. */
#include "launch/rzrun_private.h"

/* Names as the user writes them, and whether the command line has that. */
#define OPTIONS_LOOKED_AT(OPTION)                                                                  \
    OPTION(accept_failures, "--accept-failures", o->accept_failures)                               \
    OPTION(agree, "--agree", o->agree_given)                                                       \
    OPTION(cases, "--cases", o->cases != NULL)                                                     \
    OPTION(checkpoint, "--checkpoint", o->scheme_given)                                            \
    OPTION(checkpoint_dir, "--checkpoint-dir DIR", o->checkpoint_dir != NULL)                      \
    OPTION(debugger, "--debugger", o->debugger != NULL)                                            \
    OPTION(debug_ranks, "--debug-ranks", o->debug_ranks.n > 0)                                     \
    OPTION(debug_terminal, "--debug-terminal", o->debug_terminal_given)                            \
    OPTION(detach, "--detach", o->detach)                                                          \
    OPTION(detector, "--detector", o->detector_given)                                              \
    OPTION(hang_report, "--hang-report", o->hang_report > 0)                                       \
    OPTION(hang_timeout, "--hang-timeout", o->hang_timeout > 0)                                    \
    OPTION(heartbeats, "--hb-period or --hb-timeout", o->hb_given)                                 \
    OPTION(inject, "--inject", o->n_faults > 0)                                                    \
    OPTION(label, "--label", o->label)                                                             \
    OPTION(linger, "--linger", o->linger_given)                                                    \
    OPTION(max_restarts, "--max-restarts", o->restarts_given)                                      \
    OPTION(netns, "--adapter netns", o->adapter == RZ_ADAPTER_NETNS)                               \
    OPTION(no_ft, "--no-ft", o->no_ft)                                                             \
    OPTION(nodes, "--nodes", o->emulated_nodes > 0)                                                \
    OPTION(on_failure, "--on-failure", o->on_failure_given)                                        \
    OPTION(on_failure_abort, "--on-failure abort", o->on_failure == RZ_ON_FAILURE_ABORT)           \
    OPTION(on_failure_continue, "--on-failure continue", o->on_failure == RZ_ON_FAILURE_CONTINUE)  \
    OPTION(on_failure_restart, "--on-failure restart", o->on_failure == RZ_ON_FAILURE_RESTART)     \
    OPTION(output_wait, "--output-wait", o->output_wait_given)                                     \
    OPTION(place_lost, "--place-lost", o->place_lost_given)                                        \
    OPTION(progress, "--progress", o->progress)                                                    \
    OPTION(ranks, "-n", o->contexts[0].n_ranks > 0)                                                \
    OPTION(readmit, "--readmit", o->readmit)                                                       \
    OPTION(report, "--report", o->report != NULL)                                                  \
    OPTION(report_bindings, "--report-bindings", o->report_bindings)                               \
    OPTION(report_html, "--report-html", o->report_html != NULL)                                   \
    OPTION(rewind, "--rewind T", o->rewind)                                                        \
    OPTION(rewind_any, "--rewind T or --rewind-check", o->rewind || o->rewind_check)               \
    OPTION(rewind_check, "--rewind-check", o->rewind_check)                                        \
    OPTION(rewind_hold, "--rewind-output hold", o->rewind_output == RZ_REWOUND_HELD)               \
    OPTION(rewind_or_abort, "--rewind-or-abort", o->rewind_or_abort)                               \
    OPTION(rewind_output, "--rewind-output", o->rewind_output_given)                               \
    OPTION(rewind_scheme, "--rewind-scheme", o->rewind_scheme_given)                               \
    OPTION(restart, "--restart", o->restart)                                                       \
    OPTION(seed, "--seed", o->seed_given)                                                          \
    OPTION(silence, "--silence-timeout", o->silence_given)                                         \
    OPTION(spares, "--spares", o->n_spares > 0 || o->all_spares)                                   \
    OPTION(spool, "--spool", o->spool_given)                                                       \
    OPTION(story, "--story", o->story)                                                             \
    OPTION(timeout, "--timeout", o->timeout > 0)                                                   \
    OPTION(trace, "--trace", o->trace != NULL)                                                     \
    OPTION(with_ft, "--with-ft mpi", o->with_ft)

#define LOOK(name, text, condition) LOOK_##name,
enum look { OPTIONS_LOOKED_AT(LOOK) LOOK_COUNT };

#define FIRST_FAILURE "without fault tolerance the first failure ends the job"
#define NO_REPLACEMENT "with the second no process is started again"
#define STAYS "the first needs an rzrun that stays"

/* Refused together. */
static const struct {
    enum look a, b;
    const char *why;
} conflicts[] = {
    {LOOK_with_ft, LOOK_no_ft, "one asks for fault tolerance, and the other for none"},
    {LOOK_on_failure, LOOK_no_ft, FIRST_FAILURE},
    {LOOK_spares, LOOK_no_ft, FIRST_FAILURE},
    {LOOK_accept_failures, LOOK_no_ft, FIRST_FAILURE},
    {LOOK_detector, LOOK_no_ft, "without fault tolerance nothing detects failures"},
    {LOOK_heartbeats, LOOK_no_ft, "without fault tolerance there are no heartbeats"},
    {LOOK_checkpoint, LOOK_no_ft, "without fault tolerance checkpoints are not kept"},
    {LOOK_place_lost, LOOK_no_ft, FIRST_FAILURE},
    {LOOK_max_restarts, LOOK_no_ft, FIRST_FAILURE},
    {LOOK_agree, LOOK_no_ft, "without fault tolerance an agreement is a plain allreduce"},
    {LOOK_accept_failures, LOOK_on_failure_abort, "the second lets the first failure end the job"},
    {LOOK_accept_failures, LOOK_on_failure_restart,
     "the second lets the first failure end the job, which then restarts"},
    {LOOK_place_lost, LOOK_on_failure_abort, NO_REPLACEMENT},
    {LOOK_place_lost, LOOK_on_failure_continue, NO_REPLACEMENT},
    {LOOK_place_lost, LOOK_on_failure_restart, "the second places all ranks again"},
    {LOOK_max_restarts, LOOK_on_failure_abort, NO_REPLACEMENT},
    {LOOK_readmit, LOOK_on_failure_abort, "the second lets the first failure end the job"},
    {LOOK_inject, LOOK_detach, STAYS},
    {LOOK_hang_report, LOOK_detach, STAYS},
    {LOOK_label, LOOK_detach, "output is labelled where it is shown: --attach JOB --label"},
    {LOOK_report, LOOK_detach, STAYS},
    {LOOK_report_html, LOOK_detach, STAYS},
    {LOOK_cases, LOOK_detach, STAYS},
    {LOOK_trace, LOOK_detach, STAYS},
    {LOOK_story, LOOK_detach, STAYS},
    {LOOK_progress, LOOK_detach, STAYS},
    {LOOK_rewind_check, LOOK_detach, "the first says its answer at the end"},
    {LOOK_rewind_check, LOOK_checkpoint_dir, "the first runs the program several times"},
    {LOOK_rewind_check, LOOK_restart, "the first runs the program several times"},
    {LOOK_rewind_check, LOOK_inject, "the first kills a rank by itself"},
    {LOOK_rewind_hold, LOOK_detach, STAYS},
    {LOOK_on_failure_restart, LOOK_detach, "rzrun must stay to restart the job"},
    {LOOK_netns, LOOK_detach, "the nodes cannot be reached from outside their networks"},
    {LOOK_checkpoint_dir, LOOK_detach, "rzrun must stay to manage the files"},
    {LOOK_debugger, LOOK_rewind_any, "images are of the program alone, not of a debugger"},
};

/* The first has an effect with the second only. */
static const struct {
    enum look a, b;
    const char *why;
} needs[] = {
    {LOOK_rewind_or_abort, LOOK_rewind, "it says what happens where no image can be made"},
    {LOOK_rewind_scheme, LOOK_rewind_any, "it says how images are kept"},
    {LOOK_rewind_output, LOOK_rewind_any, "it says what is shown again after a rewind"},
    {LOOK_readmit, LOOK_checkpoint_dir, "lost hosts get ranks by a restart from the files there"},
    {LOOK_seed, LOOK_inject, "it is the seed of random faults"},
    {LOOK_spool, LOOK_detach, "an rzrun that stays shows all output at once"},
    {LOOK_linger, LOOK_detach, "an rzrun that stays has the result at once"},
    {LOOK_debug_ranks, LOOK_debugger, "it says which ranks run under it"},
    {LOOK_debug_terminal, LOOK_debugger, "it says where it talks to you"},
};

#define NAME(name, text, condition) text,
#define GIVEN(name, text, condition) condition,
static const char *const names[LOOK_COUNT] = {OPTIONS_LOOKED_AT(NAME)};

void rz_rzrun_conflicts_attach(const struct rz_rzrun_options *o)
{
    const bool given[LOOK_COUNT] = {OPTIONS_LOOKED_AT(GIVEN)};
    const char *what = o->attach ? "--attach" : "--end";
    for (unsigned i = 0; i < LOOK_COUNT; i++) {
        if (given[i] && i != LOOK_label) {
            rz_cli_refuse(&rz_rzrun_cli,
                          "%s and %s cannot be combined: the second is for a job that already "
                          "runs, as it was started",
                          names[i], what);
        }
    }
}

void rz_rzrun_conflicts_check(const struct rz_rzrun_options *o)
{
    const bool given[LOOK_COUNT] = {OPTIONS_LOOKED_AT(GIVEN)};
    for (size_t i = 0; i < sizeof(conflicts) / sizeof(*conflicts); i++) {
        if (given[conflicts[i].a] && given[conflicts[i].b]) {
            rz_cli_refuse(&rz_rzrun_cli, "%s and %s cannot be combined: %s", names[conflicts[i].a],
                          names[conflicts[i].b], conflicts[i].why);
        }
    }
    for (size_t i = 0; i < sizeof(needs) / sizeof(*needs); i++) {
        if (given[needs[i].a] && !given[needs[i].b]) {
            rz_cli_refuse(&rz_rzrun_cli, "%s has no effect without %s: %s", names[needs[i].a],
                          names[needs[i].b], needs[i].why);
        }
    }
}
