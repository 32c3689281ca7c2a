/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The begin of a group: each member gets a socket from its daemon; all exchange endpoint addresses
 * and what they know of one another; each starts its thread; and a uniform result
 * (agree/comm_uniform.h) makes all succeed or fail alike.
 *
 * No member leaves before the uniform result, since the others wait for its message; so a process
 * without memory for that message ends.
 */
#include "mpi/monitor/monitor.h"

#include "base/no_memory.h"
#include "base/random.h"
#include "mpi/agree/comm_uniform.h"
#include "mpi/create/comm_creation.h"
#include "port/kill_point.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define JOIN_CALL "RZ_Group_monitor_start"

/* Distinguishes the numbers of groups from those of communicators. */
enum { KIND_GROUP = 0x6d01 };

/* The other members wait for the messages of this process. */
static _Noreturn void no_memory(void)
{
    rz_no_memory("to start a group monitor");
}

static void *memory(size_t n, size_t size)
{
    void *made = calloc(n, size);
    if (!made) {
        no_memory();
    }
    return made;
}

/* ---- The socket ---- */

struct socket_question {
    uint64_t number;
    bool answered;
    rz_status_t status;
    int fd, line_fd; /* -1: none */
    struct rz_address address;
    uint8_t key[RZ_TESTER_KEY_BYTES];
    struct socket_question *next;
};

static struct socket_question *open_questions;
static uint64_t last_question;

static void take_socket(struct socket_question *question, const struct rz_link_message *message,
                        const int fds[2])
{
    question->answered = true;
    const struct rz_link_group_socket *told = &message->group_socket;
    question->status = (rz_status_t)told->status;
    if (told->key_length == sizeof(question->key) &&
        rz_address_take(&question->address, told->ip, told->ip_length, told->port)) {
        memcpy(question->key, told->key, sizeof(question->key));
    } else if (question->status == RZ_OK) {
        question->status = RZ_ERR_MALFORMED;
    }
    question->fd = fds[0];
    question->line_fd = fds[1];
    rz_engine.completions++;
}

static void on_socket(void *arg, const struct rz_link_message *message, const int *fds,
                      unsigned n_fds)
{
    (void)arg;
    struct socket_question *question = open_questions;
    while (question && question->number != message->group_socket.question) {
        question = question->next;
    }
    if (question && n_fds == 2) {
        take_socket(question, message, fds);
        return;
    }
    if (question) {
        take_socket(question, message, (const int[2]){-1, -1});
    }
    while (n_fds > 0) {
        close(fds[--n_fds]);
    }
}

static bool is_answered(void *arg)
{
    return ((struct socket_question *)arg)->answered;
}

static int ask_for_socket(struct socket_question *question)
{
    *question = (struct socket_question){
        .number = ++last_question, .fd = -1, .line_fd = -1, .next = open_questions};
    open_questions = question;
    rz_link_handle(rz_engine.link, RZ_LINK_GROUP_SOCKET, on_socket, NULL);
    struct rz_link_message message = {.type = RZ_LINK_GROUP_JOIN,
                                      .group_join = {.question = question->number}};
    rz_engine_tell_daemon(&message);
    struct rz_blocked blocked = {.call = JOIN_CALL, .peer = MPI_PROC_NULL, .tag = MPI_ANY_TAG};
    int error = rz_engine_wait(&blocked, is_answered, question);
    struct socket_question **at = &open_questions;
    while (*at != question) {
        at = &(*at)->next;
    }
    *at = question->next;
    rz_kill_here(RZ_KILL_GROUP_SOCKET);
    if (error == MPI_SUCCESS && (question->status != RZ_OK || question->fd < 0)) {
        error = rzm_error(MPI_ERR_OTHER, "the daemon of this node gave no socket: %s",
                          rz_status_text(question->status));
    }
    return error;
}

/* ---- What members exchange ---- */

struct ep_address {
    uint64_t terms;  /* the number of its terms */
    uint64_t agreed; /* the progress that it knows all members have reached */
    uint32_t error;  /* not 0: the error class because of which this process cannot continue */
    uint32_t slot, incarnation;
    struct rz_address address;
    uint16_t goes_on; /* it was a member of the earlier group */
};
_Static_assert(sizeof(struct ep_address) == 2 * sizeof(uint64_t) + 3 * sizeof(uint32_t) +
                                                sizeof(struct rz_address) + sizeof(uint16_t),
               "it is sent as it is: no byte is undefined");

static void ep_address_write(struct ep_address *ep_address, const struct rz_monitor *monitor,
                             int error, const struct socket_question *question)
{
    const struct rz_identity *me = &rz_engine.info->self;
    *ep_address = (struct ep_address){.terms = rz_monitor_terms_number(&monitor->terms),
                                      .agreed = (uint64_t)monitor->agreed,
                                      .error = (uint32_t)error,
                                      .slot = me->rank,
                                      .incarnation = me->incarnation,
                                      .address = question->address,
                                      .goes_on = monitor->group != NULL};
}

/* Checks the endpoint addresses of all members; all get the same result, since all have the same
 * addresses. error: of this process, as in its own entry. */
static int ep_addresses_check(const struct ep_address *ep_addresses, int n, int error)
{
    for (int k = 0; k < n; k++) {
        if (ep_addresses[k].error != 0) {
            return (int)ep_addresses[k].error == error
                       ? error
                       : rzm_error((int)ep_addresses[k].error,
                                   "rank %d could not start its monitor", k);
        }
    }
    for (int k = 1; k < n; k++) {
        if (ep_addresses[k].terms != ep_addresses[0].terms) {
            return rzm_error(MPI_ERR_OTHER, "info differs between rank 0 and rank %d", k);
        }
    }
    return MPI_SUCCESS;
}

/* ---- The first counters of a group that continues another ---- */

/* What this process knew of a member of comm, as an item; an odd counter for a new member, which
 * must be voted in. */
static uint32_t counter_before(const struct rz_monitor_group *old, uint32_t process, bool is_new)
{
    int rank = old ? rz_group_find(old->comm->group, process) : MPI_UNDEFINED;
    uint32_t counter = rank != MPI_UNDEFINED && old->snapshot
                           ? atomic_load(&old->snapshot->member[rank].counter)
                           : 0;
    return is_new ? 1 : counter;
}

static void lists_join(uint32_t n, const struct ep_address *ep_addresses, const uint64_t *all,
                       struct rz_diagnose_list *lists, uint32_t *counters)
{
    uint32_t n_lists = 0;
    for (uint32_t k = 0; k < n; k++) {
        const uint64_t *row = all + (size_t)k * (n + 1);
        if (ep_addresses[k].goes_on) {
            lists[n_lists++] =
                (struct rz_diagnose_list){.from = k, .items = row + 1, .n_items = (uint32_t)row[0]};
        }
    }
    rz_diagnose_join(n, n_lists, lists, counters);
}

/* All members of the earlier group exchange what they know; a new member computes the same
 * counters. */
static int counters_exchange(struct rz_comm *comm, uint64_t operation,
                             const struct rz_monitor_group *old,
                             const struct ep_address *ep_addresses, uint32_t *counters)
{
    uint32_t n = (uint32_t)comm->group->size;
    size_t row = n + 1;
    uint64_t *mine = memory(row, sizeof(*mine)), *all = memory(row * n, sizeof(*all));
    struct rz_diagnose_list *lists = memory(n, sizeof(*lists));
    for (uint32_t k = 0; k < n; k++) {
        uint32_t counter = counter_before(old, comm->group->process[k], !ep_addresses[k].goes_on);
        if (counter > 0) {
            mine[++mine[0]] = RZ_DIAGNOSE_ITEM(k, counter);
        }
    }
    int error = rz_comm_exchange(comm, operation, mine, row * sizeof(*mine), all);
    if (error == MPI_SUCCESS) {
        lists_join(n, ep_addresses, all, lists, counters);
    }
    free(mine);
    free(all);
    free(lists);
    return error;
}

/* ---- All steps together ---- */

static void group_fill(struct rz_monitor_group *group, const struct ep_address *ep_addresses,
                       const uint32_t *counters, struct rz_tester_peer *peers)
{
    struct rz_link_process process;
    for (int k = 0; k < group->n; k++) {
        peers[k] = (struct rz_tester_peer){.slot = ep_addresses[k].slot,
                                           .incarnation = ep_addresses[k].incarnation,
                                           .address = ep_addresses[k].address};
        process = (struct rz_link_process){ep_addresses[k].slot, ep_addresses[k].incarnation};
        rz_link_put_pairs(group->processes + (size_t)k * RZ_LINK_PAIR_BYTES, &process, 1);
        group->counter[k] = counters[k];
        group->why[k] = counters[k] % 2 == 0 ? RZ_GROUP_RECOMMENDED : RZ_GROUP_SLOW;
        if (counters[k] % 2 == 0) {
            group->view[k / 64] |= UINT64_C(1) << (k % 64);
        }
    }
}

static int thread_start(const struct rz_monitor *monitor, struct rz_monitor_group *group,
                        struct socket_question *question, const struct rz_tester_peer *peers)
{
    const struct rz_tester_entry *module = rz_monitor_tester();
    struct rz_tester_config config = {.info = rz_engine.info,
                                      .n = (uint32_t)group->n,
                                      .self = (uint32_t)group->self,
                                      .peer = peers,
                                      .counter = group->counter,
                                      .fd = question->fd,
                                      .line_fd = question->line_fd,
                                      .key = question->key,
                                      .number = group->number,
                                      .terms = monitor->terms.tests,
                                      .test = monitor->test,
                                      .arg = monitor->test_state,
                                      .kill_plan = rz_kill_plan};
    rz_status_t status = module->open(&group->tester, &config);
    if (status != RZ_OK) {
        return rzm_error(status == RZ_ERR_NO_MEMORY ? MPI_ERR_NO_MEM : MPI_ERR_OTHER,
                         "the monitor's thread could not be started: %s", rz_status_text(status));
    }
    question->fd = question->line_fd = -1; /* the thread owns them */
    group->snapshot = module->snapshot(group->tester);
    return MPI_SUCCESS;
}

static int group_make(const struct rz_monitor *monitor, uint64_t operation,
                      const struct ep_address *ep_addresses, struct socket_question *question,
                      struct rz_monitor_group *group)
{
    rz_assert(group->n > 1);
    uint32_t *counters = memory((size_t)group->n, sizeof(*counters));
    struct rz_tester_peer *peers = memory((size_t)group->n, sizeof(*peers));
    int error = MPI_SUCCESS;
    bool goes_on = false;
    for (int k = 0; k < group->n; k++) {
        goes_on = goes_on || ep_addresses[k].goes_on;
        /* This process may have missed the last rounds of the earlier group. */
        MPI_Count agreed = (MPI_Count)ep_addresses[k].agreed;
        group->agreed = agreed > group->agreed ? agreed : group->agreed;
    }
    if (goes_on) {
        error = counters_exchange(group->comm, operation, monitor->group, ep_addresses, counters);
        if (error == MPI_ERR_NO_MEM) {
            no_memory();
        }
    }
    if (error == MPI_SUCCESS) {
        group_fill(group, ep_addresses, counters, peers);
        error = thread_start(monitor, group, question, peers);
    }
    free(counters);
    free(peers);
    return error;
}

/* All steps except the uniform result. Its messages are those of a collective operation on the
 * communicator: they end at all members when one fails, or when it is revoked. */
static int tell_and_make(const struct rz_monitor *monitor, uint64_t operation, int error,
                         struct rz_monitor_group *group)
{
    struct socket_question question = {.fd = -1, .line_fd = -1};
    if (error == MPI_SUCCESS && !rz_monitor_tester()) {
        error = MPI_ERR_OTHER;
    }
    if (error == MPI_SUCCESS) {
        error = ask_for_socket(&question);
    }
    struct ep_address mine, *ep_addresses = memory((size_t)group->n, sizeof(*ep_addresses));
    ep_address_write(&mine, monitor, error, &question);
    if (error != RZM_ROLLBACK) {
        int told = rz_comm_exchange(group->comm, operation, &mine, sizeof(mine), ep_addresses);
        if (told == MPI_ERR_NO_MEM) {
            no_memory();
        }
        error = told != MPI_SUCCESS ? told : ep_addresses_check(ep_addresses, group->n, error);
    }
    rz_kill_here(RZ_KILL_GROUP_EP_ADDRESSES);
    if (error == MPI_SUCCESS) {
        error = group_make(monitor, operation, ep_addresses, &question, group);
    }
    if (question.fd >= 0) {
        close(question.fd);
        close(question.line_fd);
    }
    free(ep_addresses);
    return error;
}

/* The row of results is for this call alone. A member that never makes the call, because the
 * communicator is revoked, learns of the row and refuses in it. A roll-back ends both. */
static int join_others(const struct rz_monitor *monitor, uint64_t operation, int error,
                       struct rz_monitor_group *group)
{
    struct rz_uniform_results *row = rz_uniform_results_new(group->comm, operation);
    struct rz_uniform_result diagnosis = {.all = true};
    if (!row) {
        no_memory();
    }
    rz_uniform_result_begin(row, &diagnosis);
    error = tell_and_make(monitor, operation, error, group);
    rz_kill_here(RZ_KILL_GROUP_MADE);
    int common =
        error != RZM_ROLLBACK ? rz_uniform_result_wait(&diagnosis, error, JOIN_CALL) : error;
    if (common != RZM_ROLLBACK) {
        rz_uniform_results_end(row);
    }
    return (common == MPI_ERR_OTHER || common == MPI_ERR_NO_MEM) && error == MPI_SUCCESS
               ? rzm_error(common, "another process could not start its monitor")
               : common;
}

int rz_monitor_join(struct rz_comm *comm, const struct rz_monitor *monitor, int error,
                    struct rz_monitor_group **group)
{
    uint64_t operation;
    int begun = rz_comm_create_begin(comm, JOIN_CALL, &operation);
    if (begun != MPI_SUCCESS) {
        return error != MPI_SUCCESS && begun != RZM_ROLLBACK ? error : begun;
    }
    struct rz_monitor_group *made = rz_monitor_group_new(comm);
    if (!made) {
        no_memory();
    }
    uint64_t word = rz_mix(rz_mix(comm->context, operation), KIND_GROUP);
    made->number = rz_comm_number(word, comm->group->process[0]);
    error = made->n > 1 ? join_others(monitor, operation, error, made) : error;
    rz_comm_create_end(comm);
    if (error != MPI_SUCCESS) {
        rz_monitor_group_end(made);
        return error;
    }
    *group = made;
    return MPI_SUCCESS;
}
