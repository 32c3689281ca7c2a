/* SPDX-License-Identifier: BSD-3-Clause */
/* How the modules of a daemon are put together: which module is opened with which others, and in
 * which order the modules learn of a failure. */
#include "daemon/daemon_private.h"

#include "daemon/launcher/keeper.h"
#include "daemon/process/environment.h"
#include "daemon/state/scratch.h"
#include "daemon/store/store.h"
#include "port/child_process.h"
#include "port/clock.h"
#include "port/kill_point.h"

#include <stdio.h>
#include <stdlib.h>

/* The processes of a node that must stop get no time: nothing they do may be visible to others. */
#define STOP_GRACE_MS 0

/* ---- the order of subscribers ---- */

static void fence(void *arg, rz_id node, bool proof, bool first)
{
    const struct rz_daemon *daemon = arg;
    (void)proof, (void)first;
    rz_overlay_fence(daemon->overlay, node);
}

static void revocations_node_failed(void *revocations, rz_id node, bool proof, bool first)
{
    (void)first;
    rz_revocations_node_failed(revocations, node, proof);
}

static void recount(void *children, uint32_t slot, uint32_t incarnation, enum rz_end end)
{
    (void)slot, (void)incarnation;
    if (end != RZ_END_ORDER) {
        rz_children_recount(children);
    }
}

/*
 * The order in which the modules learn of a failure.
 *
 * A node: first all that it sends is dropped. Then the protocols learn of it: detection and
 * broadcast before agreement. Then, for the first report only, come the job's record and what
 * processes wait for: the board's words and the doorbells before names and spawns.
 *
 * A process: first what other processes wait for (the board), then the record, because an agreement
 * takes several messages. The process itself is ended before what it held is released. The
 * agreement comes last.
 */
static void subscribe(struct rz_daemon *daemon)
{
    struct rz_membership *membership = &daemon->own.membership;
    struct rz_store *store = rz_recovery_store(daemon->recovery);
    const struct {
        rz_node_failed_fn call;
        void *arg;
    } nodes[] = {
        {fence, daemon},
        {rz_store_node_failed, store},
        {rz_recovery_broadcast_failed, daemon->recovery},
        {revocations_node_failed, daemon->revocations},
        {rz_groups_node_failed, daemon->groups},
        {rz_recovery_agreement_failed, daemon->recovery},
        {rz_news_node_failed, &daemon->news},
        {daemon->detached ? rz_detached_node_failed : NULL, daemon->detached},
        {rz_placement_node_failed, daemon->placement},
        {rz_names_node_failed, daemon->names},
        {rz_pointers_node_failed, daemon->pointers},
        {daemon->file_marks ? rz_file_marks_node_failed : NULL, daemon->file_marks},
        {rz_spawns_node_failed, daemon->spawns},
        {rz_acknowledgements_node_failed, daemon->acknowledgements},
        {daemon->gateway ? rz_gateway_link_node_failed : NULL, daemon->gateway},
    };
    const struct {
        rz_process_failed_fn call;
        void *arg;
    } processes[] = {
        {rz_placement_process_failed, daemon->placement},
        {daemon->gateway ? rz_gateway_link_process_failed : NULL, daemon->gateway},
        {rz_news_process_failed, &daemon->news},
        {rz_child_life_process_failed, daemon->life},
        {rz_spawns_process_failed, daemon->spawns},
        {rz_acknowledgements_process_failed, daemon->acknowledgements},
        {rz_names_process_failed, daemon->names},
        {rz_groups_process_failed, daemon->groups},
        {recount, daemon->children},
        {rz_recovery_process_failed, daemon->recovery},
    };
    for (size_t i = 0; i < sizeof(nodes) / sizeof(*nodes); i++) {
        if (nodes[i].call) {
            rz_membership_on_node(membership, nodes[i].call, nodes[i].arg);
        }
    }
    for (size_t i = 0; i < sizeof(processes) / sizeof(*processes); i++) {
        if (processes[i].call) {
            rz_membership_on_process(membership, processes[i].call, processes[i].arg);
        }
    }
}

/* ---- detached ---- */

static void detached_end(void *arg, uint32_t grace_ms, bool complete)
{
    const struct rz_daemon *daemon = arg;
    rz_ending_begin(daemon->end, EXIT_SUCCESS, RZ_ERR_JOB_ENDED, grace_ms, complete);
}

static void detached_over(void *arg)
{
    const struct rz_daemon *daemon = arg;
    if (daemon->recovery) {
        rz_recovery_leave(daemon->recovery);
    }
}

static void detached_dump_waiting(void *arg)
{
    const struct rz_daemon *daemon = arg;
    rz_orders_dump_waiting(daemon->orders);
}

static rz_status_t open_detached(struct rz_daemon *daemon)
{
    const struct rz_detached_config config = {.own = &daemon->own,
                                              .children = daemon->children,
                                              .launcher = daemon->launcher,
                                              .overlay = daemon->overlay,
                                              .overlay_router = daemon->overlay_router,
                                              .lifeline_fd = daemon->lifeline_fd,
                                              .arg = daemon,
                                              .end = detached_end,
                                              .over = detached_over,
                                              .dump_waiting = detached_dump_waiting};
    rz_status_t status = rz_detached_open(&daemon->detached, &config);
    if (status == RZ_OK) {
        rz_ending_parts(daemon->end)->arg = daemon->detached;
        rz_ending_parts(daemon->end)->stays = rz_detached_stays;
    }
    return status;
}

/* ---- processes ---- */

static void ring_board(void *children)
{
    rz_children_ring(children, RZ_DOORBELL_BOARD);
}

static bool program(void *arg, uint32_t slot, struct rz_program *runs)
{
    const struct rz_daemon *daemon = arg;
    return rz_spawns_program(daemon->spawns, slot, runs);
}

static bool reports(void *arg, uint32_t slot, uint32_t incarnation)
{
    const struct rz_daemon *daemon = arg;
    return rz_spawns_reports(daemon->spawns, slot, incarnation);
}

static bool may_start(void *arg, uint32_t slot, struct rz_environment_given *given)
{
    const struct rz_daemon *daemon = arg;
    return rz_gateway_link_may_start(daemon->gateway, slot, given);
}

static void started(void *arg, const struct rz_child *process)
{
    const struct rz_daemon *daemon = arg;
    rz_gateway_link_started(daemon->gateway, process);
}

static void exiting(void *arg)
{
    const struct rz_daemon *daemon = arg;
    rz_gateway_link_drain(daemon->gateway);
}

static void executed(void *arg)
{
    const struct rz_daemon *daemon = arg;
    if (daemon->detached) {
        rz_detached_executed(daemon->detached);
    }
}

static void process_gone(void *arg, uint32_t slot, uint32_t incarnation)
{
    const struct rz_daemon *daemon = arg;
    if (daemon->endpoints) {
        rz_endpoints_forget(daemon->endpoints, slot, incarnation);
    }
    if (daemon->spawns) {
        rz_spawns_forget(daemon->spawns, slot, incarnation);
    }
}

static void child_ended(void *arg, struct rz_child *process)
{
    const struct rz_daemon *daemon = arg;
    rz_endpoints_ended(daemon->endpoints, process);
    rz_gateway_link_ended(daemon->gateway, process);
}

static void unrestored(void *arg, struct rz_child *process, int status)
{
    const struct rz_daemon *daemon = arg;
    char why[64];
    snprintf(why, sizeof(why), "its process has ended with status %d",
             rz_child_process_exit_of(status));
    rz_store_unrestored(rz_recovery_store(daemon->recovery), process, why);
}

static void reaped(void *arg)
{
    const struct rz_daemon *daemon = arg;
    rz_ending_look(daemon->end);
}

static rz_status_t open_board(struct rz_daemon *daemon)
{
    const struct rz_board_writer_config config = {.own = &daemon->own,
                                                  .processors =
                                                      rz_binding_processors(daemon->binding),
                                                  .arg = daemon->children,
                                                  .ring = ring_board};
    rz_status_t status = rz_board_writer_open(&daemon->board, &config);
    rz_ending_parts(daemon->end)->board = daemon->board;
    return status;
}

static rz_status_t open_processes(struct rz_daemon *daemon)
{
    rz_status_t status = rz_input_open(&daemon->input, &daemon->own);
    if (status == RZ_OK) {
        status = rz_outputs_open(&daemon->outputs, &daemon->own);
        rz_ending_parts(daemon->end)->outputs = daemon->outputs;
    }
    if (status == RZ_OK) {
        status = rz_link_router_open(&daemon->router, daemon->children);
    }
    if (status == RZ_OK) {
        status = rz_binding_open(&daemon->binding, &daemon->own.job);
    }
    if (status == RZ_OK) {
        status = open_board(daemon);
    }
    const struct rz_child_life_config life = {.own = &daemon->own,
                                              .children = daemon->children,
                                              .router = daemon->router,
                                              .board = daemon->board,
                                              .binding = daemon->binding,
                                              .input = daemon->input,
                                              .outputs = daemon->outputs,
                                              .inherited = &daemon->inherited,
                                              .arg = daemon,
                                              .program = program,
                                              .reports = reports,
                                              .may_start = may_start,
                                              .started = started,
                                              .executed = executed,
                                              .exiting = exiting,
                                              .gone = process_gone,
                                              .ended = child_ended,
                                              .unrestored = unrestored,
                                              .reaped = reaped};
    if (status == RZ_OK) {
        status = rz_child_life_open(&daemon->life, &life);
    }
    if (status == RZ_OK) {
        status = rz_watchdog_open(&daemon->watchdog, daemon->children);
    }
    if (status == RZ_OK) {
        status = rz_stall_open(&daemon->stall, daemon->children);
    }
    return status;
}

/* ---- recovery ---- */

static void on_unwatched(void *arg, rz_id node)
{
    const struct rz_daemon *daemon = arg;
    if (daemon->detached) {
        rz_detached_unwatched(daemon->detached, node);
    }
}

static void daemon_on_epoch(void *arg, uint32_t epoch, uint64_t generation)
{
    const struct rz_daemon *daemon = arg;
    (void)generation; /* the store restores it, and processes ask the store for it */
    rz_news_epoch(&daemon->news, epoch);
}

static void daemon_on_phase(void *arg, uint32_t epoch, enum rz_recover_phase phase)
{
    const struct rz_daemon *daemon = arg;
    rz_news_phase(&daemon->news, epoch, phase);
    rz_spawns_phase(daemon->spawns);
    if (phase == RZ_PHASE_RUN) {
        rz_snapshots_run(daemon->snapshots, epoch);
    }
}

static void on_failures_noted(void *arg)
{
    const struct rz_daemon *daemon = arg;
    if (!daemon->own.membership.ending) {
        rz_children_recount(daemon->children);
    }
}

static void on_spawns(void *arg, rz_status_t refused, const uint64_t *items, uint32_t n_items)
{
    const struct rz_daemon *daemon = arg;
    rz_spawns_decided(daemon->spawns, refused, items, n_items);
}

static void on_settled(void *arg)
{
    const struct rz_daemon *daemon = arg;
    rz_spawns_look(daemon->spawns);
}

static void on_committed(void *arg, uint32_t epoch, uint64_t number)
{
    const struct rz_daemon *daemon = arg;
    uint32_t before = rz_snapshots_attempt(daemon->snapshots, epoch, number - 1);
    rz_snapshots_committed(daemon->snapshots, epoch, number);
    rz_file_marks_committed(daemon->file_marks, before ? (uint64_t)epoch << 32 | before : 0);
    rz_news_committed(&daemon->news, epoch, number);
}

static void daemon_on_stop(void *arg, rz_status_t why, const char *words)
{
    const struct rz_daemon *daemon = arg;
    if (daemon->own.membership.ending) {
        return;
    }
    /* The job is over by an agreement, of which other daemons may not have heard yet. */
    bool over = rz_news_stop(&daemon->news, why, words);
    rz_ending_begin(daemon->end, over ? EXIT_SUCCESS : EXIT_FAILURE, over ? RZ_ERR_JOB_ENDED : why,
                    STOP_GRACE_MS, false);
}

static rz_status_t open_recovery(struct rz_daemon *daemon)
{
    const struct rz_recovery_config config = {.own = &daemon->own,
                                              .overlay = daemon->overlay,
                                              .overlay_router = daemon->overlay_router,
                                              .children = daemon->children,
                                              .router = daemon->router,
                                              .hooks = {.arg = daemon,
                                                        .unwatched = on_unwatched,
                                                        .epoch = daemon_on_epoch,
                                                        .phase = daemon_on_phase,
                                                        .failures_noted = on_failures_noted,
                                                        .spawns = on_spawns,
                                                        .settled = on_settled,
                                                        .committed = on_committed,
                                                        .stop = daemon_on_stop}};
    rz_status_t status = rz_recovery_open(&daemon->recovery, &config);
    rz_ending_parts(daemon->end)->recovery = daemon->recovery;
    return status;
}

static void send_revocations(void *arg, rz_id to, const struct rz_message *message,
                             const uint64_t *items)
{
    const struct rz_daemon *daemon = arg;
    rz_overlay_send_protocol(daemon->overlay, to, message, items, false);
}

static void write_revocations(void *arg, const uint64_t *revocations, uint32_t n)
{
    const struct rz_daemon *daemon = arg;
    for (uint32_t i = 0; i < n; i++) {
        rz_board_writer_revoked(daemon->board, revocations[i]);
    }
    rz_board_writer_publish(daemon->board);
}

static void revocations_message(void *revocations, const struct rz_message *message,
                                const uint64_t *items)
{
    rz_revocations_message(revocations, message, items);
}

static rz_status_t open_revocations(struct rz_daemon *daemon)
{
    const struct rz_revocations_config config = {.n_nodes = daemon->own.job.n_nodes,
                                                 .self = daemon->own.job.node,
                                                 .base = daemon->own.base,
                                                 .arg = daemon,
                                                 .send = send_revocations,
                                                 .learnt = write_revocations};
    rz_status_t status = rz_revocations_open(&daemon->revocations, &config);
    if (status == RZ_OK) {
        rz_overlay_router_protocol(daemon->overlay_router, RZ_PROTOCOL_SPREAD, RZ_REVOCATIONS_VIEW,
                                   revocations_message, daemon->revocations);
    }
    return status;
}

/* ---- requests of processes ---- */

static rz_status_t open_groups_and_names(struct rz_daemon *daemon)
{
    const struct rz_groups_config groups = {.own = &daemon->own,
                                            .children = daemon->children,
                                            .router = daemon->router,
                                            .overlay = daemon->overlay,
                                            .overlay_router = daemon->overlay_router};
    const struct rz_names_config names = {.own = &daemon->own,
                                          .children = daemon->children,
                                          .router = daemon->router,
                                          .overlay = daemon->overlay,
                                          .overlay_router = daemon->overlay_router};
    const struct rz_pointers_config pointers = {.own = &daemon->own,
                                                .children = daemon->children,
                                                .router = daemon->router,
                                                .overlay = daemon->overlay,
                                                .overlay_router = daemon->overlay_router};
    rz_status_t status = rz_groups_open(&daemon->groups, &groups);
    status = status == RZ_OK ? rz_names_open(&daemon->names, &names) : status;
    return status == RZ_OK ? rz_pointers_open(&daemon->pointers, &pointers) : status;
}

static void marks_dropped(void *arg, struct rz_child *process, const char *why)
{
    const struct rz_daemon *daemon = arg;
    rz_store_unrestored(rz_recovery_store(daemon->recovery), process, why);
}

static rz_status_t open_file_marks(struct rz_daemon *daemon)
{
    const struct rz_file_marks_config config = {.own = &daemon->own,
                                                .router = daemon->router,
                                                .overlay = daemon->overlay,
                                                .overlay_router = daemon->overlay_router,
                                                .unrestored = marks_dropped,
                                                .arg = daemon};
    const struct rz_restored_files_config restored = {.own = &daemon->own,
                                                      .children = daemon->children,
                                                      .router = daemon->router,
                                                      .overlay = daemon->overlay,
                                                      .overlay_router = daemon->overlay_router};
    rz_status_t status = rz_file_marks_open(&daemon->file_marks, &config);
    return status == RZ_OK ? rz_restored_files_open(&daemon->restored_files, &restored) : status;
}

static rz_status_t open_snapshots(struct rz_daemon *daemon)
{
    const struct rz_snapshots_config config = {.own = &daemon->own,
                                               .input = daemon->input,
                                               .children = daemon->children,
                                               .board = daemon->board,
                                               .router = daemon->router,
                                               .overlay = daemon->overlay,
                                               .overlay_router = daemon->overlay_router};
    return rz_snapshots_open(&daemon->snapshots, &config);
}

static rz_status_t open_arbiter_and_decisions(struct rz_daemon *daemon)
{
    const struct rz_arbiter_config arbiter = {.own = &daemon->own,
                                              .children = daemon->children,
                                              .router = daemon->router,
                                              .board = daemon->board,
                                              .overlay = daemon->overlay,
                                              .overlay_router = daemon->overlay_router,
                                              .recovery = daemon->recovery};
    const struct rz_decision_cache_config decisions = {.own = &daemon->own,
                                                       .children = daemon->children,
                                                       .router = daemon->router,
                                                       .overlay = daemon->overlay,
                                                       .overlay_router = daemon->overlay_router,
                                                       .recovery = daemon->recovery};
    rz_status_t status = rz_arbiter_open(&daemon->arbiter, &arbiter);
    return status == RZ_OK ? rz_decision_cache_open(&daemon->decisions, &decisions) : status;
}

static rz_status_t open_endpoints_and_placement(struct rz_daemon *daemon)
{
    const struct rz_endpoints_config endpoints = {.own = &daemon->own,
                                                  .children = daemon->children,
                                                  .life = daemon->life,
                                                  .router = daemon->router,
                                                  .overlay = daemon->overlay,
                                                  .overlay_router = daemon->overlay_router,
                                                  .recovery = daemon->recovery};
    const struct rz_placement_config placement = {.own = &daemon->own,
                                                  .board = daemon->board,
                                                  .groups = daemon->groups,
                                                  .recovery = daemon->recovery};
    rz_status_t status = rz_endpoints_open(&daemon->endpoints, &endpoints);
    return status == RZ_OK ? rz_placement_open(&daemon->placement, &placement) : status;
}

static rz_status_t open_spawns(struct rz_daemon *daemon)
{
    const struct rz_spawns_config config = {.own = &daemon->own,
                                            .children = daemon->children,
                                            .life = daemon->life,
                                            .router = daemon->router,
                                            .board = daemon->board,
                                            .overlay = daemon->overlay,
                                            .overlay_router = daemon->overlay_router,
                                            .recovery = daemon->recovery,
                                            .placement = daemon->placement,
                                            .endpoints = daemon->endpoints,
                                            .names = daemon->names};
    return rz_spawns_open(&daemon->spawns, &config);
}

static void gateway_ready(void *arg)
{
    const struct rz_daemon *daemon = arg;
    rz_news_start_all(&daemon->news);
}

static rz_status_t open_gateway(struct rz_daemon *daemon)
{
    const struct rz_gateway_link_config config = {.own = &daemon->own,
                                                  .children = daemon->children,
                                                  .router = daemon->router,
                                                  .overlay = daemon->overlay,
                                                  .overlay_router = daemon->overlay_router,
                                                  .spawns = daemon->spawns,
                                                  .arg = daemon,
                                                  .ready = gateway_ready};
    return rz_gateway_link_open(&daemon->gateway, &config);
}

/* Programs of other MPIs do not know it. Without it those that keep their inherited link run. */
static void open_link_socket(struct rz_daemon *daemon)
{
    const struct rz_link_socket_config config = {.own = &daemon->own, .children = daemon->children};
    if (!daemon->gateway && rz_link_socket_open(&daemon->link_socket, &config) != RZ_OK) {
        rz_report_log(&daemon->own.report, 1,
                      "has no socket for processes whose descriptors are closed before they start");
    }
}

static rz_status_t open_link_service_and_barrier(struct rz_daemon *daemon)
{
    const struct rz_link_service_config service = {.own = &daemon->own,
                                                   .router = daemon->router,
                                                   .life = daemon->life,
                                                   .board = daemon->board,
                                                   .arbiter = daemon->arbiter,
                                                   .endpoints = daemon->endpoints,
                                                   .groups = daemon->groups,
                                                   .revocations = daemon->revocations,
                                                   .spawns = daemon->spawns};
    const struct rz_barrier_config barrier = {.children = daemon->children,
                                              .router = daemon->router,
                                              .recovery = daemon->recovery,
                                              .groups = daemon->groups};
    rz_status_t status = rz_link_service_open(&daemon->link_service, &service);
    if (status == RZ_OK) {
        open_link_socket(daemon);
        status = rz_acknowledgements_open(&daemon->acknowledgements, &daemon->own, daemon->router,
                                          daemon->board);
    }
    return status == RZ_OK ? rz_barrier_open(&daemon->barrier, &barrier) : status;
}

/* ---- requests of rzrun and other commands ---- */

static const char *on_stdin(void *arg, const struct rz_launch_message *message)
{
    const struct rz_daemon *daemon = arg;
    rz_status_t status =
        rz_input_feed(daemon->input, message->stdin_data.data, message->stdin_data.data_length,
                      message->stdin_data.end, message->stdin_data.reader);
    return status == RZ_OK ? NULL : "STDIN: more than was requested";
}

static const char *on_save(void *arg, const struct rz_launch_message *message)
{
    const struct rz_daemon *daemon = arg;
    (void)message;
    rz_store_save(rz_recovery_store(daemon->recovery));
    return NULL;
}

static char *status_page(void *arg)
{
    const struct rz_daemon *daemon = arg;
    return rz_status_page_write(&daemon->page);
}

static const char *attach(void *arg, int fd)
{
    const struct rz_daemon *daemon = arg;
    return daemon->detached
               ? rz_detached_attach(daemon->detached, fd)
               : "the rzrun that started it still runs: the job was not started with --detach";
}

static rz_status_t open_orders(struct rz_daemon *daemon)
{
    const struct rz_orders_config config = {.own = &daemon->own,
                                            .children = daemon->children,
                                            .overlay = daemon->overlay,
                                            .launcher = daemon->launcher,
                                            .lifeline_fd = daemon->lifeline_fd};
    rz_launcher_handle(daemon->launcher, RZ_LAUNCH_STDIN, RZ_LAUNCHER_IN_JOB, on_stdin, daemon);
    rz_launcher_handle(daemon->launcher, RZ_LAUNCH_SAVE, RZ_LAUNCHER_IN_JOB, on_save, daemon);
    return rz_orders_open(&daemon->orders, &config);
}

static void open_control(struct rz_daemon *daemon)
{
    const struct rz_control_config config = {
        .own = &daemon->own, .arg = daemon, .status = status_page, .attach = attach};
    daemon->page = (struct rz_status_page){.own = &daemon->own,
                                           .children = daemon->children,
                                           .board = daemon->board,
                                           .groups = daemon->groups,
                                           .detached = daemon->detached,
                                           .recovery = daemon->recovery,
                                           .begun = rz_clock_now()};
    if (rz_control_open(&daemon->control, &config) != RZ_OK) {
        rz_report_log(&daemon->own.report, 1, "has no control socket: rzps will not see it");
    }
}

/* ---- all modules ---- */

static rz_status_t open_modules(struct rz_daemon *daemon)
{
    static rz_status_t (*const steps[])(struct rz_daemon * daemon) = {open_processes,
                                                                      open_recovery,
                                                                      open_revocations,
                                                                      open_groups_and_names,
                                                                      open_snapshots,
                                                                      open_file_marks,
                                                                      open_arbiter_and_decisions,
                                                                      open_endpoints_and_placement,
                                                                      open_spawns,
                                                                      open_gateway,
                                                                      open_link_service_and_barrier,
                                                                      open_orders};
    const struct rz_daemon_job *job = &daemon->own.job;
    rz_status_t status = rz_membership_open(&daemon->own.membership, job->n_nodes, job->n_slots);
    if (status == RZ_OK) {
        status = rz_children_open(&daemon->children, &daemon->own);
    }
    rz_ending_parts(daemon->end)->children = daemon->children;
    if (status == RZ_OK) {
        status = rz_overlay_router_open(&daemon->overlay_router);
    }
    if (status == RZ_OK && job->flags & RZ_JOB_DETACHED) {
        status = open_detached(daemon);
    }
    for (size_t i = 0; status == RZ_OK && i < sizeof(steps) / sizeof(*steps); i++) {
        status = steps[i](daemon);
    }
    if (status != RZ_OK) {
        return status;
    }
    daemon->news = (struct rz_daemon_news){.own = &daemon->own,
                                           .children = daemon->children,
                                           .life = daemon->life,
                                           .board = daemon->board,
                                           .groups = daemon->groups,
                                           .placement = daemon->placement,
                                           .recovery = daemon->recovery};
    subscribe(daemon);
    return RZ_OK;
}

/* The keeper removes the scratch folder when the daemon is killed. Without a keeper it would
 * stay. */
static void name_scratch(struct rz_daemon *daemon)
{
    struct rz_daemon_job *job = &daemon->own.job;
    rz_scratch_choose(job->scratch, job->id, job->node);
    if (daemon->lifeline_fd >= 0) {
        rz_keeper_folder(daemon->lifeline_fd, job->scratch);
    }
}

/* JOB has the address by which the other daemons reach this one. */
static void settle_family(struct rz_daemon *daemon)
{
    const struct rz_daemon_job *job = &daemon->own.job;
    struct rz_overlay *unused = daemon->other_overlay;
    if (!unused) {
        return;
    }
    const struct rz_overlay_peer other = rz_overlay_own(unused);
    if (rz_address_same_ip(&job->peers[job->node].address, &other.address)) {
        unused = daemon->overlay;
        daemon->overlay = daemon->other_overlay;
    }
    daemon->other_overlay = NULL;
    rz_overlay_close(unused);
}

rz_status_t rz_daemon_begin_job(struct rz_daemon *daemon, const struct rz_launch_job *message,
                                const char **why)
{
    rz_kill_here(RZ_KILL_DAEMON_JOB);
    rz_status_t status = rz_job_read(&daemon->own.job, message, why);
    if (status != RZ_OK) {
        return status;
    }
    daemon->has_job = true;
    daemon->own.job.preloaded = daemon->preloaded.n > 0 ? &daemon->preloaded : NULL;
    settle_family(daemon);
    daemon->own.report.node = daemon->own.job.node;
    daemon->own.report.verbosity = daemon->own.job.verbosity;
    rz_launcher_in_job(daemon->launcher);
    name_scratch(daemon);
    if (getenv(RZ_KILL_AT) && !rz_kill_plan) {
        /* The kill points of a daemon are numbered by node, not by rank. */
        rz_kill_arm(getenv(RZ_KILL_AT), daemon->own.job.node);
    }
    status = open_modules(daemon);
    *why = rz_status_text(status);
    if (status == RZ_OK) {
        open_control(daemon);
    } else { /* rzrun may hear first from another node that this one has failed */
        rz_report_log(&daemon->own.report, 0, "cannot begin the job: %s", *why);
    }
    if (status == RZ_OK && daemon->own.job.node == 0) {
        /* The other daemons would report the same. */
        rz_environment_tell_overruled(&daemon->own);
    }
    rz_kill_here(RZ_KILL_DAEMON_OPEN);
    return status;
}

void rz_daemon_end_job(struct rz_daemon *daemon)
{
    struct rz_spawns *spawns = daemon->spawns;
    struct rz_endpoints *endpoints = daemon->endpoints;
    daemon->spawns = NULL; /* from here on processes can request no spawns and no endpoints */
    daemon->endpoints = NULL;
    rz_recovery_close(daemon->recovery);
    daemon->recovery = NULL;
    rz_revocations_close(daemon->revocations);
    rz_control_close(daemon->control);
    rz_orders_close(daemon->orders);
    rz_barrier_close(daemon->barrier);
    rz_link_socket_close(daemon->link_socket);
    daemon->link_socket = NULL;
    rz_acknowledgements_close(daemon->acknowledgements);
    rz_link_service_close(daemon->link_service);
    rz_spawns_close(spawns);
    rz_placement_close(daemon->placement);
    rz_endpoints_close(endpoints);
    rz_gateway_link_close(daemon->gateway);
    daemon->gateway = NULL;
    rz_decision_cache_close(daemon->decisions);
    rz_arbiter_close(daemon->arbiter);
    rz_snapshots_close(daemon->snapshots);
    rz_restored_files_close(daemon->restored_files);
    rz_file_marks_close(daemon->file_marks);
    rz_pointers_close(daemon->pointers);
    rz_names_close(daemon->names);
    rz_groups_close(daemon->groups);
    rz_watchdog_close(daemon->watchdog);
    rz_stall_close(daemon->stall);
    rz_child_life_close(daemon->life);
    rz_binding_close(daemon->binding);
    rz_link_router_close(daemon->router);
    rz_board_writer_close(daemon->board);
    rz_input_close(daemon->input);
    rz_outputs_close(daemon->outputs);
    daemon->outputs = NULL;
    rz_detached_close(daemon->detached);
    daemon->detached = NULL;
    if (daemon->overlay) {
        rz_overlay_close(daemon->overlay);
    }
    if (daemon->other_overlay) {
        rz_overlay_close(daemon->other_overlay);
    }
    rz_overlay_router_close(daemon->overlay_router);
    rz_children_close(daemon->children);
    rz_membership_close(&daemon->own.membership);
    rz_job_clear(&daemon->own.job);
}
