#include "mpi/ft/council.h"

#include "host/hosted.h"
#include "mpi/ft/comm_revoke.h"
#include "port/kill_point.h"
#include "proto/agree/agree.h"
#include "proto/spread/spread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a revocation spreads: all there is to know of it. */
#define ITEM_REVOKED UINT64_C(1)

/* A message that is of no core: the communicator was here and has ended. In the room of agreement:
 * everybody has decided all that was agreed. In that of revocation: who says so will tell nobody.
 */
#define TYPE_OVER 255

RZ_PROTO_ROOM(agree, RZ_ROOM_AGREE);
RZ_PROTO_ROOM(spread, RZ_ROOM_SPREAD);

struct rz_council {
    uint64_t context;
    struct rz_comm *comm;            /* NULL: it has ended */
    struct rz_group *first, *second; /* retained; second: NULL or of an inter-communicator */
    rz_id self;
    uint32_t per_node; /* this many members in a row are on one node; 0: no such row */
    struct rz_hosted agree, spread;
    struct rz_motion *motions, **motions_last; /* the first is being voted on */
    bool voting, decided;
    struct rz_motion farewell; /* once the communicator has ended */
    bool over;                 /* nobody asks any more: it goes when none of its code runs */
    struct rz_council *next;
};

static struct rz_council *councils;
static struct rz_letter *strays; /* letters for communicators that do not exist here yet */
static unsigned busy; /* frames that may hold a council: while there are any, none is freed */

static _Noreturn void out_of_memory(void)
{
    fprintf(stderr, "rhizome: rank %u: no memory for what communicators agree on\n",
            rz_engine.info->self.rank);
    abort();
}

/* ---- Members ---- */

static uint32_t council_size(const struct rz_council *council)
{
    return (uint32_t)(council->first->size + (council->second ? council->second->size : 0));
}

uint32_t rz_council_process(const struct rz_council *council, rz_id member)
{
    uint32_t n_first = (uint32_t)council->first->size;
    return member < n_first ? council->first->process[member]
                            : council->second->process[member - n_first];
}

bool rz_council_second(const struct rz_comm *comm)
{
    return comm->remote != comm->group && comm->remote->process[0] < comm->group->process[0];
}

/* The groups of comm in the order in which its members are numbered; the second may be NULL. */
static void order_groups(const struct rz_comm *comm, struct rz_group *groups[2])
{
    bool inter = comm->remote != comm->group, swap = rz_council_second(comm);
    groups[0] = swap ? comm->remote : comm->group;
    groups[1] = !inter ? NULL : swap ? comm->group : comm->remote;
}

static rz_id member_of(struct rz_group *const groups[2], uint32_t process)
{
    int rank = rz_group_find(groups[0], process);
    if (rank != MPI_UNDEFINED) {
        return (rz_id)rank;
    }
    rank = groups[1] != NULL ? rz_group_find(groups[1], process) : MPI_UNDEFINED;
    return rank != MPI_UNDEFINED ? (rz_id)(groups[0]->size + rank) : RZ_ID_NONE;
}

rz_id rz_council_member(const struct rz_comm *comm, uint32_t process)
{
    struct rz_group *groups[2];
    order_groups(comm, groups);
    return member_of(groups, process);
}

static rz_id council_member(const struct rz_council *council, uint32_t process)
{
    struct rz_group *groups[2] = {council->first, council->second};
    return member_of(groups, process);
}

/*
 * How many members in a row share a node, if they stand in rows of one length. By the nodes where
 * the epoch began, which all processes see alike.
 */
static uint32_t rows_of_nodes(const struct rz_council *council)
{
    uint32_t n = council_size(council), length = 0;
    for (rz_id i = 0, begin = 0; i < n; i++) {
        uint32_t node = rz_engine.members[rz_council_process(council, i)].home;
        bool row_ends =
            i + 1 == n || rz_engine.members[rz_council_process(council, i + 1)].home != node;
        if (!row_ends) {
            continue;
        }
        uint32_t row = i + 1 - begin;
        if ((length != 0 && row > length) || (length != 0 && row < length && i + 1 < n)) {
            return 0;
        }
        length = length != 0 ? length : row;
        begin = i + 1;
    }
    return length;
}

/* ---- Councils ---- */

static struct rz_council *council_find(uint64_t context)
{
    struct rz_council *council = councils;
    while (council != NULL && council->context != context) {
        council = council->next;
    }
    return council;
}

/* The council of comm, made at the first use; NULL: no memory. */
static struct rz_council *council_of(struct rz_comm *comm)
{
    if (comm->council != NULL) {
        return comm->council;
    }
    struct rz_council *council = calloc(1, sizeof(*council));
    if (council == NULL) {
        return NULL;
    }
    struct rz_group *groups[2];
    order_groups(comm, groups);
    council->context = comm->context;
    council->comm = comm;
    council->first = groups[0];
    council->second = groups[1];
    rz_group_retain(council->first);
    if (council->second != NULL) {
        rz_group_retain(council->second);
    }
    council->self = council_member(council, rz_engine.info->self.rank);
    council->per_node = rows_of_nodes(council);
    council->motions_last = &council->motions;
    council->next = councils;
    councils = council;
    comm->council = council;
    return council;
}

static void council_free(struct rz_council *council)
{
    if (council->comm != NULL) {
        council->comm->council = NULL;
    }
    rz_group_release(council->first);
    if (council->second != NULL) {
        rz_group_release(council->second);
    }
    rz_hosted_close(&council->agree);
    rz_hosted_close(&council->spread);
    free(council);
}

/* ---- Stepping the cores ---- */

static void decided(struct rz_council *council, const struct rz_action *action)
{
    struct rz_motion *motion = council->motions;
    rz_assert(council->voting && motion != NULL);
    motion->number = action->arg[0];
    motion->and = action->arg[1];
    motion->min = action->arg[2];
    motion->max = action->arg[3];
    council->decided = true;
}

struct step {
    struct rz_council *council;
    const struct rz_hosted *core;
};

static void carry_out(const struct step *step, const struct rz_action *action)
{
    struct rz_council *council = step->council;
    if (action->kind == RZ_ACTION_SEND) {
        for (uint32_t i = 0; i < action->n_to; i++) {
            rz_letter_send(rz_council_process(council, action->to[i]), council->context,
                           &action->message, action->items);
        }
    } else if (step->core == &council->spread) {
        if (council->comm != NULL) {
            rz_comm_revoked(council->comm);
        }
    } else if (action->what == RZ_AGREE_DECIDED) {
        decided(council, action);
    }
}

static void stepped(void *arg, const struct rz_actions *actions)
{
    rz_kill_here(RZ_KILL_STEP);
    for (uint32_t i = 0; i < actions->count; i++) {
        carry_out(arg, &actions->v[i]);
    }
}

static void core_step(struct rz_council *council, struct rz_hosted *core,
                      const struct rz_event *event)
{
    struct step step = {council, core};
    if (!rz_hosted_step(core, event, stepped, &step)) {
        out_of_memory();
    }
}

static void core_death(struct rz_council *council, struct rz_hosted *core, rz_id member)
{
    if (core->state != NULL) {
        core_step(
            council, core,
            &(struct rz_event){.kind = RZ_EVENT_DEATH, .ids = &member, .n_ids = 1, .arg = {true}});
    }
}

/* What was learnt before this core was there. */
static void core_catch_up(struct rz_council *council, struct rz_hosted *core)
{
    for (rz_id member = 0; member < council_size(council); member++) {
        if (rz_engine.members[rz_council_process(council, member)].dead) {
            core_death(council, core, member);
        }
    }
}

/* Makes a core where there is none yet. */
static bool core_open(struct rz_council *council, struct rz_hosted *core,
                      const struct rz_proto_room *room, const void *config)
{
    if (core->state != NULL) {
        return true;
    }
    if (!rz_hosted_open(core, room, config, council->self, 0, 0)) {
        return false;
    }
    core_catch_up(council, core);
    return true;
}

/* One motion is voted on at a time, so that what is agreed dead is that of the decision told. */
static bool agree_open(struct rz_council *council)
{
    const struct rz_agree_config config = {
        .n_members = council_size(council),
        .view = (uint32_t)council->context,
        .in_flight_max = 1,
        .tree = council->per_node > 1 ? RZ_AGREE_BIN_BIN : RZ_AGREE_BINARY,
        .per_node = council->per_node,
    };
    return core_open(council, &council->agree, &rz_proto_room_agree, &config);
}

static bool spread_open(struct rz_council *council)
{
    const struct rz_spread_config config = {.n_members = council_size(council),
                                            .view = (uint32_t)council->context,
                                            .order = RZ_SPREAD_TREE_FIRST};
    return core_open(council, &council->spread, &rz_proto_room_spread, &config);
}

/* ---- Motions ---- */

static void vote(struct rz_council *council)
{
    struct rz_motion *motion = council->motions;
    council->voting = true;
    core_step(council, &council->agree,
              &(struct rz_event){.kind = RZ_EVENT_CALL,
                                 .call = RZ_AGREE_PROPOSE,
                                 .arg = {motion->and, motion->min, motion->max}});
}

static struct rz_motion *motion_take(struct rz_council *council)
{
    struct rz_motion *motion = council->motions;
    council->motions = motion->next;
    if (council->motions == NULL) {
        council->motions_last = &council->motions;
    }
    council->voting = council->decided = false;
    return motion;
}

static rz_id *copy_dead(const struct rz_council *council, uint32_t *n)
{
    const rz_id *dead = rz_agree_dead(council->agree.state, n);
    rz_id *copy = malloc((*n + 1) * sizeof(*copy));
    if (copy == NULL) {
        out_of_memory();
    }
    memcpy(copy, dead, *n * sizeof(*copy));
    return copy;
}

/* The first motion was decided. No core is on the stack: what is told may come back here. */
static void announce(struct rz_council *council)
{
    rz_kill_here(RZ_KILL_DECIDED);
    struct rz_motion *motion = motion_take(council);
    rz_id *dead = copy_dead(council, &motion->n_dead);
    for (uint32_t i = 0; i < motion->n_dead; i++) {
        rz_engine_learn_death(rz_council_process(council, dead[i]));
    }
    motion->dead = dead;
    motion->decided(motion, council);
    free(dead);
}

/* After each step: tells what was decided, and goes on to the next motion. */
static void council_go_on(struct rz_council *council)
{
    if (council->agree.state != NULL && rz_agree_knows_dead(council->agree.state, council->self)) {
        rz_engine_exit(RZ_ERR_FENCED); /* the others hold us for dead */
    }
    while (council->decided || (!council->voting && council->motions != NULL)) {
        if (council->decided) {
            announce(council);
        } else {
            vote(council);
        }
    }
}

static void motion_append(struct rz_council *council, struct rz_motion *motion)
{
    motion->next = NULL;
    *council->motions_last = motion;
    council->motions_last = &motion->next;
    council_go_on(council);
}

/* Those that are over go, where nobody looks at them any more. */
static void sweep(void)
{
    struct rz_council **at = &councils;
    while (busy == 0 && *at != NULL) {
        struct rz_council *council = *at;
        if (council->over) {
            *at = council->next;
            council_free(council);
        } else {
            at = &council->next;
        }
    }
}

int rz_council_propose(struct rz_comm *comm, struct rz_motion *motion)
{
    struct rz_council *council = council_of(comm);
    if (council == NULL || !agree_open(council)) {
        return MPI_ERR_NO_MEM;
    }
    busy++;
    motion_append(council, motion);
    busy--;
    sweep();
    return MPI_SUCCESS;
}

/* ---- Letters ---- */

/* That member has ended the communicator. For the ring of those who have not, which carries a
 * revocation to all of them, it is as if it had died. */
static void is_over(struct rz_council *council, enum rz_room room, rz_id member)
{
    if (member != RZ_ID_NONE && room == RZ_ROOM_AGREE) {
        council->over = council->comm == NULL;
    } else if (member != RZ_ID_NONE && room == RZ_ROOM_SPREAD) {
        core_death(council, &council->spread, member);
    }
}

static void read_letter(struct rz_council *council, const struct rz_letter *letter)
{
    const struct rz_message *message = &letter->message;
    struct rz_event event = {.kind = RZ_EVENT_RECEIVE, .message = message, .items = letter->items};
    if (message->type == TYPE_OVER) {
        is_over(council, message->room, council_member(council, letter->process));
    } else if (message->from >= council_size(council) ||
               rz_council_process(council, message->from) != letter->process) {
        rz_engine.counters.foreign++;
    } else if (message->room == RZ_ROOM_AGREE && agree_open(council)) {
        core_step(council, &council->agree, &event);
    } else if (message->room == RZ_ROOM_SPREAD && spread_open(council)) {
        core_step(council, &council->spread, &event);
    } else {
        rz_engine.counters.foreign++;
    }
    council_go_on(council);
}

static struct rz_comm *comm_find(uint64_t context)
{
    struct rz_comm *comm = rz_comms_first();
    while (comm != NULL && comm->context != context) {
        comm = comm->next;
    }
    return comm;
}

/*
 * Where nobody knows the communicator: it has ended, or does not exist here yet. Who speaks of a
 * second agreement has seen us decide the first one, so that we have taken part and are done with
 * it; else it does not exist here yet.
 */
static void letter_without_council(struct rz_letter *letter)
{
    const struct rz_message *message = &letter->message;
    bool was_here = message->type == TYPE_OVER || rz_comm_has_ended(letter->context) ||
                    (message->room == RZ_ROOM_AGREE && message->seq > 1);
    if (was_here && message->type != TYPE_OVER) {
        struct rz_message over = {
            .room = message->room, .type = TYPE_OVER, .view = message->view, .seq = message->seq};
        rz_letter_send(letter->process, letter->context, &over, NULL);
    }
    if (was_here) {
        free(letter);
        return;
    }
    struct rz_letter **last = &strays;
    while (*last != NULL) {
        last = &(*last)->next;
    }
    letter->next = NULL;
    *last = letter;
}

void rz_council_letter(struct rz_letter *letter)
{
    struct rz_council *council = council_find(letter->context);
    struct rz_comm *comm = council == NULL ? comm_find(letter->context) : NULL;
    council = comm != NULL ? council_of(comm) : council;
    if (council == NULL) {
        letter_without_council(letter);
        return;
    }
    busy++;
    read_letter(council, letter);
    busy--;
    free(letter);
    sweep();
}

void rz_councils_comm_begun(void)
{
    struct rz_letter *letters = strays;
    strays = NULL;
    while (letters != NULL) {
        struct rz_letter *letter = letters;
        letters = letter->next;
        rz_council_letter(letter);
    }
}

/* ---- What befalls councils ---- */

void rz_councils_death(uint32_t process)
{
    busy++;
    for (struct rz_council *council = councils; council != NULL; council = council->next) {
        rz_id member = council_member(council, process);
        if (member != RZ_ID_NONE) {
            core_death(council, &council->agree, member);
            core_death(council, &council->spread, member);
            council_go_on(council);
        }
    }
    busy--;
    sweep();
}

int rz_council_revoke(struct rz_comm *comm)
{
    struct rz_council *council = council_of(comm);
    if (council == NULL || !spread_open(council)) {
        return MPI_ERR_NO_MEM;
    }
    uint64_t item = ITEM_REVOKED;
    busy++;
    core_step(
        council, &council->spread,
        &(struct rz_event){
            .kind = RZ_EVENT_CALL, .call = RZ_SPREAD_BROADCAST, .items = &item, .n_items = 1});
    busy--;
    sweep();
    return MPI_SUCCESS;
}

static void farewell_decided(struct rz_motion *motion, struct rz_council *council)
{
    (void)motion;
    council->over = true;
}

/*
 * What was agreed is kept for those who may still ask. One more agreement, for which nobody waits,
 * tells that all have decided everything before it.
 */
void rz_council_comm_ends(struct rz_comm *comm)
{
    struct rz_council *council = comm->council;
    if (council == NULL) {
        return;
    }
    council->comm = NULL;
    comm->council = NULL;
    if (council->agree.state == NULL || rz_agree_proposed(council->agree.state) == 0) {
        council->over = true; /* a revocation asks nothing of who has ended it */
        sweep();
        return;
    }
    council->farewell = (struct rz_motion){.decided = farewell_decided};
    busy++;
    motion_append(council, &council->farewell);
    busy--;
    sweep();
}

void rz_councils_close(void)
{
    while (councils != NULL) {
        struct rz_council *council = councils;
        councils = council->next;
        council_free(council);
    }
    while (strays != NULL) {
        struct rz_letter *letter = strays;
        strays = letter->next;
        free(letter);
    }
}
