/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators as objects: context ids, the list of all communicators, what failures and
 * revocation do to them, the predefined ones and their process sets, and ids of communicators that
 * have ended.
 */

#include "mpi/comm/comm.h"

#include "base/random.h"
#include "base/trace.h"
#include "mpi/type/attribute.h"
#include "mpi/core/errhandler.h"
#include "mpi/engine/waiting.h"
#include "port/kill_point.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The predefined communicators are static objects, so that asking for their rank is safe even
 * between two epochs. */
struct rz_comm rz_comm_world, rz_comm_self;

static bool closing;               /* all communicators are being ended */
static struct rz_comm *living;     /* all communicators, linked by next and prev */
static struct rz_comm *free_first; /* memory of ended ones, linked by next: a stale handle reads an
                                      ended object, no foreign memory */

/* ---- Context ids ---- */

/* No other communicator has this id, now or later: see the head of comm.h. The low bits are for the
 * context offset. */
static uint64_t context_of(uint64_t a, uint64_t b, uint64_t c)
{
    return rz_mix(rz_mix(a, b), c) & ~(uint64_t)(RZ_CONTEXT_OFFSET_ROOM - 1);
}

/* Living communicators by their ids, whose bits are well mixed; linked by same_place. */
enum { CONTEXT_PLACES = 1 << 10 };
static struct rz_comm *by_context[CONTEXT_PLACES];

static struct rz_comm **context_place(uint64_t context)
{
    return &by_context[context / RZ_CONTEXT_OFFSET_ROOM % CONTEXT_PLACES];
}

struct rz_comm *rz_comm_by_context(uint64_t context)
{
    struct rz_comm *comm = *context_place(context);
    while (comm && comm->context != (context & ~(uint64_t)(RZ_CONTEXT_OFFSET_ROOM - 1))) {
        comm = comm->same_place;
    }
    return comm;
}

static void context_put(struct rz_comm *comm)
{
    struct rz_comm **place = context_place(comm->context);
    comm->same_place = *place;
    *place = comm;
}

static void context_take(const struct rz_comm *comm)
{
    struct rz_comm **link = context_place(comm->context);
    while (*link != comm) {
        link = &(*link)->same_place;
    }
    *link = comm->same_place;
}

/* ---- Communicators that have ended ---- */

/* Hashed by id, whose bits are well mixed: an id displaces the one that was in its place. */
enum { ENDED = 1 << 16 };
static uint64_t ended[ENDED];

static uint64_t *ended_place(uint64_t context)
{
    return &ended[context / RZ_CONTEXT_OFFSET_ROOM % ENDED];
}

void rz_comm_note_end(uint64_t context)
{
    *ended_place(context) = context;
}

bool rz_comm_has_ended(uint64_t context)
{
    return *ended_place(context) == context;
}

/* ---- Failures ---- */

/* Messages that have arrived are kept: their operation may still succeed. */
void rz_comm_stop_collectives(struct rz_comm *comm)
{
    comm->collectives_failed = true;
    if (comm->local) {
        comm->local->collectives_failed = true;
    }
}

bool rz_comm_holds(const struct rz_comm *comm, uint32_t process)
{
    return rz_group_find(comm->group, process) != MPI_UNDEFINED ||
           (comm->remote != comm->group && rz_group_find(comm->remote, process) != MPI_UNDEFINED);
}

bool rz_comms_hold(uint32_t process)
{
    for (const struct rz_comm *comm = living; comm; comm = comm->next) {
        if (rz_comm_holds(comm, process)) {
            return true;
        }
    }
    return false;
}

int rz_comm_failed(const struct rz_comm *comm)
{
    int failed = 0;
    for (uint32_t i = 0; i < rz_liveness.n_failed; i++) {
        failed += rz_comm_holds(comm, rz_liveness.failed[i]);
    }
    return failed;
}

/* A process is gone: marks the communicators on which collectives can no longer succeed. */
static void gone(uint32_t process, bool failed)
{
    for (struct rz_comm *comm = failed ? living : NULL; comm; comm = comm->next) {
        if (rz_comm_holds(rz_comm_whole(comm), process)) {
            rz_comm_stop_collectives(comm);
        }
    }
}

/* The last request that ends may hold the last reference. */
void rz_comm_revoked(struct rz_comm *comm)
{
    if (comm->revoked) {
        return;
    }
    rz_comm_retain(comm);
    comm->revoked = true;
    RZ_TRACE(REVOKED, comm->context, 0, 0);
    if (comm->local) {
        comm->local->revoked = true;
    }
    rz_hooks_comm_revoked(comm);
    rz_engine.completions++; /* all waiting calls must look again */
    rz_comm_release(comm);
}

/* ---- Making and ending ---- */

static void comm_begin(struct rz_comm *comm, struct rz_group *group, struct rz_group *remote,
                       uint64_t context, uint16_t predefined, struct rz_errhandler *errhandler)
{
    memset(comm, 0, sizeof(*comm));
    rz_object_init(&comm->object, RZ_OBJECT_COMM, predefined);
    comm->object.flags = remote != group ? RZ_COMM_INTER : 0;
    comm->context = context;
    if (rz_comm_has_ended(context)) { /* a process that joins for a second time */
        *ended_place(context) = 0;
    }
    comm->group = group;
    comm->remote = remote;
    comm->head.peers = remote->size;
    comm->call = "";
    comm->errhandler = errhandler;
    rz_errhandler_retain(errhandler);
    comm->next = living;
    if (living) {
        living->prev = comm;
    }
    living = comm;
    context_put(comm);
}

/* Ends a communicator, except for its memory. */
static void comm_end(struct rz_comm *comm)
{
    if (comm->coll_free) {
        comm->coll_free(comm->coll);
    }
    if (comm->topology_free) {
        comm->topology_free(comm->topology);
    }
    rz_participations_forget(&comm->participations);
    if (comm->remote != comm->group || comm->group->size > 1) { /* else nobody asks for it */
        rz_comm_note_end(comm->context);
    }
    rz_hooks_comm_ends(comm, !closing && rz_comm_says_goodbye(comm));
    context_take(comm);
    *(comm->prev ? &comm->prev->next : &living) = comm->next;
    if (comm->next) {
        comm->next->prev = comm->prev;
    }
    rz_attributes_forget(&comm->attributes);
    rz_errhandler_release(comm->errhandler);
    if (comm->remote != comm->group) {
        rz_group_release(comm->remote);
    }
    rz_group_release(comm->group);
    if (comm->local) {
        comm->local->inter = NULL;
        rz_comm_release(comm->local);
    }
}

void rz_comm_free(struct rz_comm *comm)
{
    comm_end(comm);
    if (closing) { /* handles from before a roll-back refer to no object after it */
        rz_object_retire(&comm->object, sizeof(*comm));
        return;
    }
    comm->next = free_first;
    free_first = comm;
}

/* Makes a communicator. Retains the groups, which are the same one for an intra-communicator. */
static int comm_new(struct rz_errhandler *errhandler, struct rz_group *group,
                    struct rz_group *remote, uint64_t context, struct rz_comm **newcomm)
{
    struct rz_comm *comm = free_first;
    if (rz_comm_by_context(context)) {
        return rzm_error(MPI_ERR_INTERN, "two communicators have the same context id");
    }
    if (comm) {
        free_first = comm->next;
    } else if ((comm = malloc(sizeof(*comm))) == NULL) {
        return MPI_ERR_NO_MEM;
    }
    rz_group_retain(group);
    if (remote != group) {
        rz_group_retain(remote);
    }
    comm_begin(comm, group, remote, context, 0, errhandler);
    *newcomm = comm;
    return MPI_SUCCESS;
}

/* Whether a process that is gone ended in order. If its slot has been used again and the end is no
 * longer known, the answer makes no difference. */
static bool ended_well(uint32_t process)
{
    const struct rz_member *member = rz_member_of(process);
    return member->process == process && rz_board_state(member->word) == RZ_PROCESS_ENDED;
}

static void look_back_at(struct rz_comm *comm, const struct rz_group *group)
{
    for (int i = 0; i < group->size; i++) {
        uint32_t process = group->process[i];
        if (rz_process_failed(process) && !ended_well(process)) {
            rz_liveness_list_failed(process);
            rz_comm_stop_collectives(comm);
        }
    }
}

/* Applies failures and revocations that happened before the communicator was made. */
static void look_back(struct rz_comm *comm)
{
    if (rz_liveness.failures) {
        look_back_at(comm, comm->group);
        if (comm->remote != comm->group) {
            look_back_at(comm, comm->remote);
        }
    }
    rz_hooks_comm_begun(comm);
}

/* Collective operations of an inter-communicator run partly within the local group: makes the
 * hidden communicator for that. */
static int hidden_new(struct rz_comm *inter)
{
    struct rz_comm *local;
    uint64_t context = context_of(inter->context, inter->group->process[0], 0x10ca1);
    int error = comm_new(inter->errhandler, inter->group, inter->group, context, &local);
    if (error == MPI_SUCCESS) {
        local->inter = inter;
        inter->local = local;
    }
    return error;
}

int rz_comm_make(const uint64_t words[3], struct rz_group *group, struct rz_group *remote,
                 struct rz_errhandler *errhandler, struct rz_comm **newcomm)
{
    struct rz_comm *made;
    rz_kill_here(RZ_KILL_COMM);
    uint64_t context = context_of(words[0], words[1], words[2]);
    int error = comm_new(errhandler, group, remote ? remote : group, context, &made);
    if (error == MPI_SUCCESS && remote) {
        error = hidden_new(made);
        if (error != MPI_SUCCESS) {
            rz_comm_release(made);
        }
    }
    if (error == MPI_SUCCESS) {
        look_back(made);
        *newcomm = made;
    }
    return error;
}

int rz_comm_derive(struct rz_comm *parent, struct rz_group *group, uint64_t operation,
                   uint64_t colour, struct rz_comm **newcomm)
{
    uint64_t words[3] = {parent->context, operation, colour};
    group->session = parent->group->session;
    return rz_comm_make(words, group, NULL, parent->errhandler, newcomm);
}

int rz_comm_derive_alone(struct rz_comm *parent, struct rz_group *group, uint64_t *context,
                         struct rz_comm **newcomm)
{
    static uint64_t made;
    if (*context == 0) {
        const struct rz_identity *me = &rz_engine.info->self;
        *context = context_of((uint64_t)me->rank << 32 | me->incarnation, ++made,
                              (uint64_t)rz_engine.epoch << 32 | 0xc0de);
    }
    int error = comm_new(parent->errhandler, group, group, *context, newcomm);
    if (error == MPI_SUCCESS) {
        look_back(*newcomm);
    }
    return error;
}

/* ---- The predefined communicators ---- */

/* The group of MPI_COMM_WORLD: the ranks of the job, or the processes that were spawned together.
 * what: distinguishes this world from others of the epoch. */
static struct rz_group *world_group(uint64_t *what)
{
    const struct rz_link_info *info = rz_engine.info;
    const struct rz_link_cohort_info *cohort = &info->cohort;
    uint32_t n = cohort->processes ? cohort->n : info->n_ranks;
    uint32_t *all = malloc(n * sizeof(*all));
    *what = 1;
    for (uint32_t i = 0; all && i < n; i++) {
        all[i] = rz_liveness.members[i].process;
        if (cohort->processes) {
            const struct rz_link_process *process = &cohort->processes[i];
            all[i] = rz_engine_number(process->slot, process->incarnation);
            *what = rz_mix(*what, (uint64_t)process->slot << 32 | process->incarnation);
        }
    }
    struct rz_group *group = all ? rz_group_new((int)n, all) : NULL;
    free(all);
    return group;
}

int rz_comms_open(void)
{
    const struct rz_link_info *info = rz_engine.info;
    uint64_t what, epoch = (uint64_t)rz_engine.epoch << 32;
    struct rz_group *all_ranks = world_group(&what);
    struct rz_group *me = rz_group_new(1, &rz_engine.self);
    if (!all_ranks || !me) {
        free(all_ranks);
        free(me);
        return MPI_ERR_NO_MEM;
    }
    struct rz_errhandler *first = rz_errhandler_initial();
    bool replaces = rz_engine.late && info->restarted;
    what = replaces ? rz_mix(what, (uint64_t)info->self.rank << 32 | info->self.incarnation) : what;
    comm_begin(&rz_comm_world, all_ranks, all_ranks, context_of(info->self.job, epoch, what), 0x101,
               first);
    comm_begin(&rz_comm_self, me, me, context_of(info->self.job, epoch | rz_engine.self, 2), 0x102,
               first);
    rz_comm_world.revoked = rz_comm_world.unshared = replaces;
    strcpy(rz_comm_world.name, "MPI_COMM_WORLD");
    strcpy(rz_comm_self.name, "MPI_COMM_SELF");
    look_back(&rz_comm_world);
    return MPI_SUCCESS;
}

/* Protocols have ended already; but objects that ended since may have restarted some. */
void rz_comms_close(void)
{
    rz_hooks_stop();
    closing = true;
    while (living) {
        struct rz_comm *comm = living;
        comm->object.references = 1;
        comm->local = NULL; /* it is ended later in this loop */
        if (comm->object.predefined != 0) {
            rz_object_release(&comm->object);
            comm_end(comm);
        } else {
            rz_comm_release(comm);
        }
    }
    closing = false;
}

/* ---- Process sets ---- */

const char *const rz_process_sets[RZ_PROCESS_SETS] = {"mpi://WORLD", "mpi://SELF"};

unsigned rz_process_set_comm(const char *name)
{
    for (unsigned i = 0; i < RZ_PROCESS_SETS; i++) {
        if (strcasecmp(name, rz_process_sets[i]) == 0) {
            return 0x101 + i;
        }
    }
    return 0;
}

/* ---- Goodbyes ---- */

static bool reaches_beyond(const struct rz_comm *comm)
{
    const struct rz_link_info *info = rz_engine.info;
    const struct rz_group *groups[] = {comm->group, comm->remote};
    bool spawned = info->self.rank >= info->n_ranks;
    for (int side = 0; side < (comm->group != comm->remote ? 2 : 1); side++) {
        for (int i = 0; i < groups[side]->size; i++) {
            uint32_t process = groups[side]->process[i];
            bool beyond = spawned ? rz_group_find(rz_comm_world.group, process) == MPI_UNDEFINED
                                  : rz_process_slot(process) >= info->n_ranks;
            if (beyond) {
                return true;
            }
        }
    }
    return false;
}

bool rz_comm_says_goodbye(const struct rz_comm *comm)
{
    return comm->met || reaches_beyond(comm);
}

/* ---- Inquiries ---- */

int rz_comm_admit(const struct rz_comm *comm)
{
    bool alone = rz_comm_size(comm) == 1 && rz_comm_peers(comm) == 1;
    return alone || !rz_engine.comes_again
               ? MPI_SUCCESS
               : rzm_error(MPI_ERR_OTHER, "this process was started again in the place of one that "
                                          "failed: before MPIX_Reinit it cannot communicate, "
                                          "because the others have passed this part");
}

int rz_comm_enter(const struct rz_comm *comm)
{
    int error = rz_engine_begin();
    return error != MPI_SUCCESS ? error : rz_comm_admit(comm);
}

struct rz_comm *rz_comms_first(void)
{
    return living;
}

int rz_comm_rank(const struct rz_comm *comm)
{
    return comm->group->rank;
}

int rz_comm_size(const struct rz_comm *comm)
{
    return comm->group->size;
}

int rzm_comm_rank(struct rz_comm *comm, int *rank)
{
    *rank = comm->group->rank;
    return MPI_SUCCESS;
}

int rzm_comm_size(struct rz_comm *comm, int *size)
{
    *size = comm->group->size;
    return MPI_SUCCESS;
}

int rzm_comm_remote_size(struct rz_comm *comm, int *size)
{
    if (!(comm->object.flags & RZ_COMM_INTER)) {
        return rzm_error(MPI_ERR_COMM, "comm is no inter-communicator");
    }
    *size = comm->remote->size;
    return MPI_SUCCESS;
}

int rzm_comm_test_inter(struct rz_comm *comm, int *flag)
{
    *flag = (comm->object.flags & RZ_COMM_INTER) != 0;
    return MPI_SUCCESS;
}

int rzm_comm_group(struct rz_comm *comm, struct rz_group **group)
{
    rz_group_retain(comm->group);
    *group = comm->group;
    return MPI_SUCCESS;
}

int rzm_comm_remote_group(struct rz_comm *comm, struct rz_group **group)
{
    if (!(comm->object.flags & RZ_COMM_INTER)) {
        return rzm_error(MPI_ERR_COMM, "comm is no inter-communicator");
    }
    rz_group_retain(comm->remote);
    *group = comm->remote;
    return MPI_SUCCESS;
}

int rzm_comm_compare(struct rz_comm *comm1, struct rz_comm *comm2, int *result)
{
    if (comm1 == comm2) {
        *result = MPI_IDENT;
        return MPI_SUCCESS;
    }
    if ((comm1->object.flags & RZ_COMM_INTER) != (comm2->object.flags & RZ_COMM_INTER)) {
        *result = MPI_UNEQUAL;
        return MPI_SUCCESS;
    }
    int local, remote;
    int error = rzm_group_compare(comm1->group, comm2->group, &local);
    error = error != MPI_SUCCESS ? error : rzm_group_compare(comm1->remote, comm2->remote, &remote);
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (local == MPI_IDENT && remote == MPI_IDENT) {
        *result = MPI_CONGRUENT;
    } else {
        *result = local == MPI_UNEQUAL || remote == MPI_UNEQUAL ? MPI_UNEQUAL : MPI_SIMILAR;
    }
    return MPI_SUCCESS;
}

int rzm_comm_set_name(struct rz_comm *comm, const char *comm_name)
{
    rz_object_name_set(comm->name, comm_name);
    return MPI_SUCCESS;
}

int rzm_comm_get_name(struct rz_comm *comm, char *comm_name, int *resultlen)
{
    rz_object_name_get(comm ? comm->name : "MPI_COMM_NULL", comm_name, resultlen);
    return MPI_SUCCESS;
}

uint64_t rz_comm_number(uint64_t context, uint32_t first)
{
    return rz_mix(rz_mix(context, rz_engine.epoch), first);
}

/* ---- For the engine ---- */

static void describe(const struct rz_comm *comm, struct rz_wait_text *text)
{
    comm = rz_comm_whole(comm); /* the communicator that the user knows */
    text->context = comm->context;
    text->members = (uint32_t)comm->group->size;
    if (comm->remote != comm->group) {
        text->members += (uint32_t)comm->remote->size;
    }
    size_t n = strnlen(comm->name, sizeof(text->name) - 1);
    memcpy(text->name, comm->name, n);
    text->name[n] = '\0';
}

const struct rz_hooks rz_comm_hooks = {
    .gone = gone,
    .holds = rz_comms_hold,
    .discard = rz_comms_close,
    .close = rz_group_forget_empty,
    .describe_comm = describe,
};
