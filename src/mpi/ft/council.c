#include "mpi/ft/council_state.h"

#include "mpi/ft/comm_revoke.h"
#include "mpi/ft/comm_uniform.h"
#include "port/clock.h"
#include "port/kill_point.h"
#include "proto/spread/spread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a revocation spreads: all there is to know of it. */
#define ITEM_REVOKED UINT64_C(1)

RZ_PROTO_ROOM(spread, RZ_ROOM_SPREAD);

static struct rz_council *councils;
static struct rz_letter *strays; /* letters for communicators that do not exist here yet */
static unsigned busy;    /* frames that may hold a council: while there are any, none is freed */
static unsigned n_timed; /* councils whose engine may have a deadline */
static bool to_speak;    /* rz_councils_wake */

rz_time rz_councils_deadline = RZ_TIME_NEVER;

void rz_council_no_memory(void)
{
    fprintf(stderr, "rhizome: rank %u: no memory for what communicators agree on\n",
            rz_engine.info->self.rank);
    abort();
}

/* ---- Councils ---- */

struct rz_council *rz_councils_first(void)
{
    return councils;
}

struct rz_council *rz_council_at(uint64_t context)
{
    struct rz_council *council = councils;
    while (council != NULL && council->context != context) {
        council = council->next;
    }
    return council;
}

/* NULL: no memory. */
struct rz_council *rz_council_new(struct rz_comm *comm, struct rz_group *const groups[2],
                                  uint64_t context, struct rz_council **owner)
{
    struct rz_council *council = calloc(1, sizeof(*council));
    if (council == NULL) {
        return NULL;
    }
    council->context = context;
    council->comm = comm;
    council->owner = owner;
    council->first = groups[0];
    council->second = groups[1];
    rz_group_retain(council->first);
    if (council->second != NULL) {
        rz_group_retain(council->second);
    }
    council->self = rz_council_find_member(council, rz_engine.self);
    council->per_node = rz_council_rows_of_nodes(council);
    council->motions_last = &council->motions;
    council->next = councils;
    councils = council;
    *owner = council;
    return council;
}

/* The council of comm, made at the first use; NULL: no memory. */
static struct rz_council *council_of(struct rz_comm *comm)
{
    struct rz_group *groups[2];
    rz_council_order_groups(comm, groups);
    return comm->council != NULL ? comm->council
                                 : rz_council_new(comm, groups, comm->context, &comm->council);
}

static void letters_free(struct rz_letter *letter)
{
    while (letter != NULL) {
        struct rz_letter *next = letter->next;
        free(letter);
        letter = next;
    }
}

static void council_free(struct rz_council *council)
{
    if (council->owner != NULL) {
        *council->owner = NULL;
    }
    rz_group_release(council->first);
    if (council->second != NULL) {
        rz_group_release(council->second);
    }
    n_timed -= council->timed;
    rz_council_ask_no_more(council);
    rz_agreement_close(council->agreement);
    letters_free(council->early);
    rz_hosted_close(&council->spread);
    free(council);
}

/* ---- Revocation ---- */

static void send_action(void *arg, const struct rz_action *action)
{
    const struct rz_council *council = arg;
    for (uint32_t i = 0; i < action->n_to; i++) {
        rz_letter_send(rz_council_process(council, action->to[i]), council->context,
                       &action->message, action->items);
    }
}

static void spread_stepped(void *arg, const struct rz_actions *actions)
{
    const struct rz_council *council = arg;
    rz_kill_here(RZ_KILL_STEP);
    for (uint32_t i = 0; i < actions->count; i++) {
        if (actions->v[i].kind == RZ_ACTION_SEND) {
            send_action(arg, &actions->v[i]);
        } else if (council->comm != NULL) {
            rz_comm_revoked(council->comm);
        }
    }
}

static void step_spread(struct rz_council *council, const struct rz_event *event)
{
    if (!rz_hosted_step(&council->spread, event, spread_stepped, council)) {
        rz_council_no_memory();
    }
}

static void spread_death(struct rz_council *council, rz_id member)
{
    if (council->spread.state != NULL) {
        step_spread(
            council,
            &(struct rz_event){.kind = RZ_EVENT_DEATH, .ids = &member, .n_ids = 1, .arg = {true}});
    }
}

/* What was learnt before a core was there. */
static void catch_up(struct rz_council *council,
                     void (*death)(struct rz_council *council, rz_id member))
{
    for (rz_id member = 0; member < rz_council_size(council); member++) {
        if (rz_process_dead(rz_council_process(council, member))) {
            death(council, member);
        }
    }
}

static bool spread_open(struct rz_council *council)
{
    const struct rz_spread_config config = {.n_members = rz_council_size(council),
                                            .view = (uint32_t)council->context,
                                            .order = RZ_SPREAD_TREE_FIRST};
    if (council->spread.state != NULL) {
        return true;
    }
    if (!rz_hosted_open(&council->spread, &rz_proto_room_spread, &config, council->self, 0, 0)) {
        return false;
    }
    catch_up(council, spread_death);
    return true;
}

/* ---- The engine of agreement ---- */

static void agreement_death(struct rz_council *council, rz_id member)
{
    if (council->agreement != NULL) {
        rz_agreement_death(council->agreement, rz_clock_now(), member);
    }
}

static void agreement_letter(struct rz_council *council, const struct rz_letter *letter)
{
    rz_agreement_message(council->agreement, rz_clock_now(), &letter->message, letter->items);
}

/*
 * With the first motion of this process, for then the communicator's hints say which engine it is,
 * at all members alike. What others said before waits until then.
 */
bool rz_council_open_engine(struct rz_council *council, enum rz_agreement_engine wanted)
{
    uint32_t n = rz_council_size(council);
    const struct rz_agreement_config config = {.engine = rz_agreement_for(wanted, n),
                                               .n_members = n,
                                               .per_node = council->per_node,
                                               .self = council->self,
                                               .context = council->context};
    const struct rz_agreement_host host = {
        .send = send_action, .no_memory = rz_council_no_memory, .arg = council};
    if (council->agreement != NULL) {
        return true;
    }
    council->agreement = rz_agreement_open(&config, &host);
    if (council->agreement == NULL) {
        return false;
    }
    council->timed = config.engine >= RZ_AGREEMENT_GOSSIP1;
    n_timed += council->timed;
    catch_up(council, agreement_death);
    for (struct rz_letter *letter; (letter = council->early) != NULL; free(letter)) {
        council->early = letter->next;
        agreement_letter(council, letter);
    }
    return true;
}

static void keep_early(struct rz_council *council, struct rz_letter *letter)
{
    struct rz_letter **last = &council->early;
    while (*last != NULL) {
        last = &(*last)->next;
    }
    letter->next = NULL;
    *last = letter;
}

static void set_deadline(void)
{
    rz_councils_deadline = to_speak ? 0 : RZ_TIME_NEVER;
    bool any = n_timed > 0 || rz_councils_hurrying > 0;
    for (const struct rz_council *council = any ? councils : NULL; council != NULL;
         council = council->next) {
        rz_time at = council->timed ? rz_agreement_deadline(council->agreement) : RZ_TIME_NEVER;
        at = council->asking.hurry && council->asking.at < at ? council->asking.at : at;
        rz_councils_deadline = at < rz_councils_deadline ? at : rz_councils_deadline;
    }
}

/* ---- Motions ---- */

static void vote(struct rz_council *council)
{
    struct rz_motion *motion = council->motions;
    council->voting = true;
    rz_time now = rz_clock_now();
    rz_agreement_propose(council->agreement, now, motion->and, motion->min, motion->max);
    rz_council_ask_later(council, now);
}

struct rz_motion *rz_council_take_first(struct rz_council *council)
{
    struct rz_motion *motion = council->motions;
    council->motions = motion->next;
    if (council->motions == NULL) {
        council->motions_last = &council->motions;
    }
    return motion;
}

static rz_id *copy_dead(const struct rz_decision *decision)
{
    rz_id *copy = malloc((decision->n_dead + 1) * sizeof(*copy));
    if (copy == NULL) {
        rz_council_no_memory();
    }
    memcpy(copy, decision->dead, decision->n_dead * sizeof(*copy));
    return copy;
}

/* What the decision says of who did not take part; one that had left in order before is among the
 * failed from now on, too: the user is told that somebody is missing, and must find out who. */
static void learn_dead(const struct rz_council *council, const rz_id *dead, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t process = rz_council_process(council, dead[i]);
        rz_engine_learn_death(process);
        if (rz_process_dead(process)) {
            rz_engine_list_dead(process);
        }
    }
}

/*
 * The first motion was decided. No core is on the stack: what is told may come back here. While the
 * dead are learnt this council does not go on to the next motion: who is told of this one may
 * withdraw that.
 */
static void announce(struct rz_council *council, const struct rz_decision *decision)
{
    rz_kill_here(RZ_KILL_DECIDED);
    rz_assert(council->voting && council->motions != NULL);
    struct rz_motion *motion = rz_council_take_first(council);
    rz_id *dead = copy_dead(decision);
    motion->number = decision->number;
    motion->and = decision->and;
    motion->min = decision->min;
    motion->max = decision->max;
    motion->n_dead = decision->n_dead;
    council->owes = motion != &council->farewell && council->of == 0;
    learn_dead(council, dead, motion->n_dead);
    council->voting = false;
    motion->dead = dead;
    motion->decided(motion, council);
    free(dead);
}

/* After each event: tells what was decided, and goes on to the next motion. */
static void council_go_on(struct rz_council *council)
{
    struct rz_decision decision;
    if (council->agreement == NULL || council->over) {
        return;
    }
    if (rz_agreement_knows_dead(council->agreement, council->self)) {
        rz_engine_exit(RZ_ERR_FENCED); /* the others hold us for dead */
    }
    for (;;) {
        if (rz_agreement_take(council->agreement, &decision)) {
            rz_council_ask_no_more(council);
            rz_council_deposit(council, decision.number);
            announce(council, &decision);
        } else if (!council->voting && council->motions != NULL && !council->motions->reserved) {
            vote(council);
        } else {
            break;
        }
    }
    set_deadline();
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
            set_deadline();
        } else {
            at = &council->next;
        }
    }
}

int rz_council_propose(struct rz_comm *comm, struct rz_motion *motion)
{
    struct rz_council *council = council_of(comm);
    if (council == NULL || !rz_council_open_engine(council, rz_comm_agreement(comm))) {
        return MPI_ERR_NO_MEM;
    }
    rz_council_append(council, motion);
    return MPI_SUCCESS;
}

void rz_council_append(struct rz_council *council, struct rz_motion *motion)
{
    busy++;
    motion_append(council, motion);
    busy--;
    sweep();
}

void rz_council_continue(struct rz_council *council)
{
    busy++;
    council_go_on(council);
    busy--;
    sweep();
}

void rz_council_waits_for(const struct rz_council *council, struct rz_blocked *blocked)
{
    if (council == NULL || !council->voting) {
        return;
    }
    rz_id member = rz_agreement_awaited(council->agreement);
    blocked->operation = rz_agreement_proposed(council->agreement);
    if (member != RZ_ID_NONE) {
        blocked->peer = rz_council_process(council, member);
    }
}

bool rz_council_owes(const struct rz_comm *comm)
{
    return comm->council != NULL && comm->council->owes;
}

const struct rz_council *rz_council_in_debt(void)
{
    const struct rz_council *council = councils;
    while (council != NULL && !(council->owner == NULL && council->owes)) {
        council = council->next;
    }
    return council;
}

bool rz_council_has_proposed(const struct rz_comm *comm)
{
    return comm->council != NULL && comm->council->agreement != NULL;
}

unsigned rz_council_engine(const struct rz_comm *comm)
{
    return rz_agreement_engine_of(comm->council->agreement);
}

/* ---- Letters ---- */

/* That member has ended the communicator. For the ring of those who have not, which carries a
 * revocation to all of them, it is as if it had died. */
static void is_over(struct rz_council *council, enum rz_room room, rz_id member)
{
    if (member != RZ_ID_NONE && rz_agreement_speaks(room)) {
        council->over |= council->owner == NULL;
        if (council->owner != NULL && council->of != 0) {
            rz_rulings_given_up(council->owner);
        }
    } else if (member != RZ_ID_NONE && room == RZ_ROOM_SPREAD) {
        spread_death(council, member);
    }
}

/* Frees the letter, or keeps it. */
static void read_letter(struct rz_council *council, struct rz_letter *letter)
{
    const struct rz_message *message = &letter->message;
    if (message->type == RZ_COUNCIL_OVER) {
        is_over(council, message->room, rz_council_find_member(council, letter->process));
    } else if (message->room == RZ_ROOM_SPREAD && message->type == RZ_COUNCIL_ANNOUNCED) {
        rz_council_announced(council, letter);
    } else if (message->from >= rz_council_size(council) ||
               rz_council_process(council, message->from) != letter->process) {
        rz_engine.counters.foreign++;
    } else if (rz_agreement_speaks(message->room) && council->agreement == NULL) {
        keep_early(council, letter);
        return;
    } else if (rz_agreement_speaks(message->room)) {
        agreement_letter(council, letter);
    } else if (message->room == RZ_ROOM_SPREAD && spread_open(council)) {
        step_spread(council, &(struct rz_event){.kind = RZ_EVENT_RECEIVE,
                                                .message = message,
                                                .items = letter->items});
    } else {
        rz_engine.counters.foreign++;
    }
    free(letter);
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
    bool announces = message->room == RZ_ROOM_SPREAD && message->type == RZ_COUNCIL_ANNOUNCED;
    bool was_here = message->type == RZ_COUNCIL_OVER || rz_comm_has_ended(letter->context) ||
                    (rz_agreement_speaks(message->room) &&
                     rz_agreement_motion_of(letter->context, message) > 1);
    if (was_here && announces) {
        rz_council_announced_too_late(letter);
    } else if (was_here && message->type != RZ_COUNCIL_OVER) {
        struct rz_message over = {.room = message->room,
                                  .type = RZ_COUNCIL_OVER,
                                  .view = message->view,
                                  .seq = message->seq};
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
    struct rz_council *council = rz_council_at(letter->context);
    struct rz_comm *comm = council == NULL ? comm_find(letter->context) : NULL;
    council = comm != NULL ? council_of(comm) : council;
    if (council == NULL) {
        letter_without_council(letter);
        return;
    }
    busy++;
    read_letter(council, letter);
    busy--;
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
        rz_id member = rz_council_find_member(council, process);
        if (member != RZ_ID_NONE) {
            agreement_death(council, member);
            spread_death(council, member);
            council_go_on(council);
            rz_council_ask_soon(council, rz_clock_now());
        }
    }
    set_deadline();
    rz_rulings_death(process);
    busy--;
    sweep();
}

void rz_councils_wake(void)
{
    to_speak = true;
    set_deadline();
}

unsigned rz_councils_tick(void)
{
    rz_time now = rz_clock_now();
    if (now < rz_councils_deadline) {
        return 0;
    }
    busy++;
    if (to_speak) {
        to_speak = false;
        rz_rulings_speak();
    }
    for (struct rz_council *council = councils; council != NULL; council = council->next) {
        if (council->timed && rz_agreement_deadline(council->agreement) <= now) {
            rz_agreement_tick(council->agreement, now);
            council_go_on(council);
        }
        rz_council_ask(council, now);
    }
    busy--;
    sweep();
    set_deadline();
    return 1;
}

int rz_council_revoke(struct rz_comm *comm)
{
    struct rz_council *council = council_of(comm);
    if (council == NULL || !spread_open(council)) {
        return MPI_ERR_NO_MEM;
    }
    uint64_t item = ITEM_REVOKED;
    busy++;
    step_spread(council, &(struct rz_event){.kind = RZ_EVENT_CALL,
                                            .call = RZ_SPREAD_BROADCAST,
                                            .items = &item,
                                            .n_items = 1});
    busy--;
    sweep();
    return MPI_SUCCESS;
}

void rz_council_open(struct rz_comm *comm)
{
    struct rz_council *council = council_of(comm);
    if (council != NULL) {
        rz_council_open_engine(council, rz_comm_agreement(comm));
    }
}

static void farewell(struct rz_council *council);

/* Not all members have ended the communicator: who still has it may agree on more than one thing,
 * and each of them waits for all members. A motion of theirs has a minimum not above the maximum.
 */
static void farewell_decided(struct rz_motion *motion, struct rz_council *council)
{
    if (council->of == 0 && motion->min <= motion->max) {
        farewell(council);
    } else {
        council->over = true;
    }
}

/* What others agree on meanwhile has the flag 0. */
static void farewell(struct rz_council *council)
{
    council->farewell = (struct rz_motion){.and = UINT64_MAX, .decided = farewell_decided};
    if (council->of == 0) {
        council->farewell.and = 0;
        council->farewell.min = UINT64_MAX;
    }
    rz_council_append(council, &council->farewell);
}

/*
 * What was agreed is kept for those who may still ask. Further agreements, for which nobody waits,
 * take part in what others agree on; the first one with nothing else in it tells that all have
 * decided everything before it.
 */
void rz_council_dismiss(struct rz_council **owner)
{
    struct rz_council *council = *owner;
    *owner = NULL;
    council->owner = NULL;
    council->comm = NULL;
    rz_comm_note_end(council->context);
    if (council->agreement == NULL) {
        council->over = true; /* a revocation asks nothing of who has ended it */
        sweep();
        return;
    }
    farewell(council);
}

void rz_council_comm_ends(struct rz_comm *comm, bool farewell)
{
    if (comm->council != NULL) {
        comm->council->owes &= farewell;
        rz_council_dismiss(&comm->council);
    }
    rz_rulings_comm_ends(comm);
}

void rz_councils_close(void)
{
    while (councils != NULL) {
        struct rz_council *council = councils;
        councils = council->next;
        council_free(council);
    }
    rz_rulings_close();
    letters_free(strays);
    strays = NULL;
    set_deadline();
}
