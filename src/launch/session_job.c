/* SPDX-License-Identifier: BSD-3-Clause */
/* Describes the job to the daemons: the message JOB. */
#include "launch/session.h"

#include "base/no_memory.h"
#include "launch/mpir.h"
#include "outcome/exit_codes.h"
#include "port/kill_point.h"
#include "wire/cursor.h"

#include <stdlib.h>

static void put_list(struct rz_wire_writer *w, char *const *texts)
{
    for (; texts && *texts; texts++) {
        rz_wire_put_text(w, *texts);
    }
}

static void put_numbers(struct rz_wire_writer *w, const uint32_t *numbers, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        rz_wire_put_u32(w, numbers[i]);
    }
}

uint32_t rz_session_job_flags(const struct rz_launch_session *session)
{
    const struct rz_rzrun_options *options = session->options;
    bool at_failure_over =
        options->on_failure == RZ_ON_FAILURE_RESTART || options->on_failure == RZ_ON_FAILURE_ABORT;
    bool foreign = options->mpi == RZ_MPI_PMIX || options->mpi == RZ_MPI_PMI1;
    bool never_replace = foreign || options->no_ft || at_failure_over ||
                         options->on_failure == RZ_ON_FAILURE_CONTINUE;
    bool tolerant = options->with_ft ||
                    (options->on_failure_given && options->on_failure == RZ_ON_FAILURE_CONTINUE);
    bool never_repair = never_replace || options->on_failure == RZ_ON_FAILURE_REPLACE;
    return (never_repair ? RZ_JOB_REPAIR_NEVER : 0) | (never_replace ? RZ_JOB_REPLACE_NEVER : 0) |
           (options->lost_together ? RZ_JOB_LOST_TOGETHER : 0) |
           (options->slots_limit ? RZ_JOB_SLOTS_LIMIT : 0) | (at_failure_over ? RZ_JOB_ABORT : 0) |
           (options->on_failure == RZ_ON_FAILURE_REPAIR && !foreign ? RZ_JOB_REPAIRS : 0) |
           (options->no_ft ? RZ_JOB_NO_FT : 0) | (options->bind_to_core ? RZ_JOB_BIND_CORE : 0) |
           (options->report_bindings ? RZ_JOB_TELL_BINDING : 0) |
           (session->switch_fd >= 0 ? RZ_JOB_ONE_MACHINE : 0) |
           (options->rank_stdout == RZ_STDOUT_PTY ? RZ_JOB_PTY : 0) |
           (options->mpi == RZ_MPI_PMIX ? RZ_JOB_PMIX : 0) | (tolerant ? RZ_JOB_TOLERANT : 0) |
           (options->mpi == RZ_MPI_PMI1 ? RZ_JOB_PMI1 : 0) |
           (options->oversubscribed ? RZ_JOB_OVERSUBSCRIBED : 0) |
           (options->rewind ? RZ_JOB_REWIND : 0) |
           (options->rewind_or_abort ? RZ_JOB_REWIND_OR_ABORT : 0) |
           (session->attempts->report ? RZ_JOB_TRAFFIC : 0) |
           (options->rewind && options->rewind_output == RZ_REWOUND_HELD ? RZ_JOB_HOLD_OUTPUT : 0) |
           (options->accept_failures ? RZ_JOB_ACCEPT_FAILURES : 0) |
           (options->detach ? RZ_JOB_DETACHED : 0);
}

/* A program that is run again from its beginning can distinguish the first run from a later one. */
static void put_attempt(struct rz_wire_writer *w, const struct rz_launch_session *session)
{
    char text[32];
    snprintf(text, sizeof(text), "RZ_ATTEMPT=%u", session->attempts->n + 1);
    if (session->options->on_failure == RZ_ON_FAILURE_RESTART) {
        rz_wire_put_text(w, text);
    }
}

static void put_checkpoints(struct rz_launch_job *job, const struct rz_launch_session *session)
{
    const struct rz_rzrun_options *options = session->options;
    const struct rz_checkpoints *checkpoints = &session->attempts->checkpoints;
    job->scheme = options->scheme.kind;
    job->scheme_data = options->scheme.data;
    job->scheme_parity = options->scheme.parity;
    job->checkpoint_folder = checkpoints->used ? checkpoints->path : "";
    job->checkpoint_name = checkpoints->used ? checkpoints->folder.name : "";
    job->checkpoint_run = checkpoints->run;
    job->checkpoint_keep = options->checkpoint_keep;
    job->restored_run = checkpoints->restored.run;
    job->restored_epoch = checkpoints->restored.epoch;
    job->restored_number = checkpoints->restored.number;
}

static void put_contexts(struct rz_wire_writer *w, const struct rz_rzrun_options *options)
{
    for (uint32_t i = 0; i < options->n_contexts; i++) {
        const struct rz_context *context = &options->contexts[i];
        uint32_t n_words = 0;
        while (context->program[n_words]) {
            n_words++;
        }
        rz_wire_put_u32(w, context->n_ranks);
        rz_wire_put_text(w, context->directory);
        rz_wire_put_u32(w, n_words);
        put_list(w, context->program);
        rz_wire_put_u32(w, context->environment.n);
        put_list(w, context->environment.texts);
    }
}

/* w[0]: the first program, w[1]: the environment, w[2]: if there are several programs, all of
 * them. */
static void put_programs(struct rz_wire_writer w[3], const struct rz_launch_session *session)
{
    const struct rz_rzrun_options *options = session->options;
    put_list(&w[0], options->contexts[0].program);
    put_list(&w[1], options->environment.texts);
    put_attempt(&w[1], session);
    if (rz_mpir_is_debugged()) {
        rz_wire_put_text(&w[1], "RZ_DEBUG_GATE=1");
    }
    if (options->n_contexts == 1) {
        put_list(&w[1], options->contexts[0].environment.texts);
    } else {
        put_contexts(&w[2], options);
    }
}

void rz_session_send_job(struct rz_launch_session *session)
{
    const struct rz_rzrun_options *options = session->options;
    const struct rz_launch_layout *layout = &options->layout;
    size_t part = RZ_LAUNCH_JOB_MAX / 4;
    uint8_t *parts = malloc(6 * part);
    rz_need_memory(parts, "for the description of the job");
    struct rz_wire_writer w[6];
    for (unsigned i = 0; i < 6; i++) {
        rz_wire_writer_init(&w[i], parts + i * part, part);
    }
    put_numbers(&w[0], layout->placement, layout->n_ranks);
    put_numbers(&w[1], layout->slots, layout->n_nodes);
    for (uint32_t i = 0; i < layout->n_nodes; i++) {
        rz_wire_put_bytes(&w[2], session->nodes[i].address.ip, RZ_IP_BYTES);
        rz_wire_put_u32(&w[2], session->nodes[i].tcp_port);
        rz_wire_put_u32(&w[2], session->nodes[i].udp_port);
        rz_wire_put_u32(&w[2], session->nodes[i].daemon_pid);
    }
    put_programs(&w[3], session);
    bool overflow = false;
    for (unsigned i = 0; i < 6; i++) {
        overflow |= w[i].overflow;
    }
    struct rz_launch_message message = {
        .type = RZ_LAUNCH_JOB,
        .job = {.job = session->job,
                .key = session->key,
                .key_length = sizeof(session->key),
                .n_nodes = layout->n_nodes,
                .n_ranks = layout->n_ranks,
                .hb_period_ns = options->hb_period,
                .hb_timeout_ns = options->hb_timeout,
                .detector = options->detector,
                .hang_timeout_ns = options->hang_timeout,
                .hang_report_ns = options->hang_report,
                .restarts_max = options->restarts_max,
                .rewind_ns = options->rewind_every,
                .flags = rz_session_job_flags(session),
                .verbosity = options->verbosity,
                .spool_bytes = options->spool_bytes,
                .output_wait_ns = options->output_wait,
                .linger_ns = options->linger,
                .timeout_ns = options->detach ? options->timeout : 0,
                .placement = w[0].start,
                .placement_length = (uint32_t)(w[0].at - w[0].start),
                .slots = w[1].start,
                .slots_length = (uint32_t)(w[1].at - w[1].start),
                .addresses = w[2].start,
                .addresses_length = (uint32_t)(w[2].at - w[2].start),
                .arguments = w[3].start,
                .arguments_length = (uint32_t)(w[3].at - w[3].start),
                .environment = w[4].start,
                .environment_length = (uint32_t)(w[4].at - w[4].start),
                .contexts = w[5].start,
                .contexts_length = (uint32_t)(w[5].at - w[5].start),
                .directory = options->contexts[0].directory}};
    put_checkpoints(&message.job, session);
    session->started = true;
    if (overflow) {
        rz_outcome_decide(&session->referee.outcome, RZ_EXIT_START,
                          "the program's arguments or environment are too long");
        rz_launch_session_end(session, 0);
    }
    for (uint32_t i = 0; i < layout->n_nodes && !overflow; i++) {
        message.job.node = i;
        message.job.share = layout->nodes[i].share;
        message.job.shares = layout->nodes[i].remote ? 1 : layout->n_nodes - options->n_remote;
        rz_node_send(&session->nodes[i], &message);
        rz_kill_here(RZ_KILL_LAUNCH_JOB);
    }
    free(parts);
}
