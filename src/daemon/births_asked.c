/* What processes of this node ask for, and their answers. */
#include "daemon/births_private.h"

#include "base/assert.h"
#include "daemon/link_service.h"

#include <stdlib.h>

/* ---- answers */

static void answer_born(const struct rz_births *births, const struct rz_births_wish *wish,
                        rz_status_t status)
{
    struct rz_link_message message = {
        .type = RZ_LINK_BORN, .born = {.question = wish->question, .status = (uint32_t)status}};
    const struct rz_child *p = rz_child_of(births->daemon, wish->asker);
    if (p && p->incarnation == wish->incarnation)
        rz_daemon_link_send(births->daemon, wish->asker, &message, -1);
}

static void answer_spawned(const struct rz_births *births, const struct rz_births_wish *wish,
                           rz_status_t status)
{
    uint32_t n = status == RZ_OK ? wish->order->n_born : 0;
    uint8_t *pairs = malloc((size_t)n * RZ_LINK_PAIR_BYTES + 1);
    rz_assert(pairs != NULL);
    if (n > 0)
        rz_link_put_pairs(pairs, wish->order->processes, n);
    struct rz_link_message message = {.type = RZ_LINK_SPAWNED,
                                      .spawned = {.question = wish->question,
                                                  .status = (uint32_t)status,
                                                  .processes = pairs,
                                                  .processes_length = n * RZ_LINK_PAIR_BYTES}};
    const struct rz_child *p = rz_child_of(births->daemon, wish->asker);
    if (p && p->incarnation == wish->incarnation)
        rz_daemon_link_send(births->daemon, wish->asker, &message, -1);
    free(pairs);
}

static void wish_remove(struct rz_births *births, struct rz_births_wish **at)
{
    struct rz_births_wish *wish = *at;
    *at = wish->next;
    if (wish->order)
        rz_births_order_release(births, wish->order);
    free(wish->births);
    free(wish->told);
    free(wish);
}

/* RZ_IN_PROGRESS: not decided yet, or its decision has not been carried out here. */
static rz_status_t birth_status(const struct rz_births *births, const struct rz_link_process *birth)
{
    const struct rz_daemon *daemon = births->daemon;
    enum rz_recover_birth what =
        rz_recovery_birth(daemon->recovery, birth->slot, birth->incarnation);
    if (what == RZ_BIRTH_REFUSED)
        return births->refused != RZ_OK ? births->refused : RZ_ERR_UNSUPPORTED;
    if (daemon->places[birth->slot].incarnation < birth->incarnation)
        return births->slots[birth->slot].never + 1 == birth->incarnation ? RZ_ERR_SYSTEM
                                                                          : RZ_IN_PROGRESS;
    return what == RZ_BIRTH_TAKEN ? RZ_ERR_EXISTS : RZ_OK;
}

/* Once each, and not before the incarnation before it is known here: a birth says that it is dead.
 */
static void wish_tell(const struct rz_births *births, struct rz_births_wish *wish)
{
    for (uint32_t i = 0; i < wish->n; i++) {
        const struct rz_link_process *birth = &wish->births[i];
        if (wish->told[i] ||
            births->daemon->places[birth->slot].incarnation + 1 < birth->incarnation)
            continue;
        uint64_t item = rz_recover_pack_birth(birth->slot, birth->incarnation);
        wish->told[i] = true;
        rz_recovery_want(births->daemon->recovery, &item, 1);
    }
}

/* The answer to a REPLACE: when all births are decided; the first refusal is its status. */
static rz_status_t births_status(const struct rz_births *births, const struct rz_births_wish *wish)
{
    rz_status_t first = RZ_OK;
    for (uint32_t i = 0; i < wish->n; i++) {
        rz_status_t status = birth_status(births, &wish->births[i]);
        if (status == RZ_IN_PROGRESS)
            return status;
        first = first == RZ_OK ? status : first;
    }
    return first;
}

/* True: answered. */
static bool look_at_replace(const struct rz_births *births, struct rz_births_wish *wish)
{
    rz_status_t status = births_status(births, wish);
    if (status == RZ_IN_PROGRESS)
        wish_tell(births, wish);
    else
        answer_born(births, wish, status);
    return status != RZ_IN_PROGRESS;
}

/* True: answered. */
static bool look_at_spawn(const struct rz_births *births, const struct rz_births_wish *wish)
{
    if (wish->order->processes)
        answer_spawned(births, wish, RZ_OK);
    else if (wish->refused)
        answer_spawned(births, wish, wish->why);
    return wish->order->processes || wish->refused;
}

void rz_births_look(struct rz_daemon *daemon)
{
    struct rz_births *births = daemon->births;
    for (struct rz_births_wish **at = &births->wishes; *at && !daemon->ending;) {
        struct rz_births_wish *wish = *at;
        if (wish->order ? look_at_spawn(births, wish) : look_at_replace(births, wish))
            wish_remove(births, at);
        else
            at = &wish->next;
    }
}

/* ---- what processes ask */

/* Why nothing can be born in this job; NULL: it can. */
static const char *refusal(const struct rz_daemon *daemon, bool replace)
{
    const struct rz_daemon_job *job = &daemon->job;
    if (job->flags & RZ_JOB_NO_FT)
        return "with --no-ft no process can be started while the job runs";
    if (job->detector == RZ_DETECTOR_FLAT)
        return "with --detector flat no process can be started while the job runs";
    if (replace && job->flags & RZ_JOB_REPLACE_NEVER)
        return "with --on-failure continue or restart no process is replaced";
    if (rz_recovery_is_repairing(daemon->recovery))
        return "in a job that has entered MPIX_Reinit no process can be started but by its repair";
    return NULL;
}

void rz_births_tell_refusal(struct rz_births *births, const char *why)
{
    rz_daemon_log(births->daemon, births->refusal_told ? 1 : 0, "%s", why);
    births->refusal_told = true;
}

static struct rz_births_wish *wish_new(struct rz_births *births, const struct rz_child *asker,
                                       uint64_t question)
{
    struct rz_births_wish *wish = calloc(1, sizeof *wish);
    rz_assert(wish != NULL);
    *wish = (struct rz_births_wish){.next = births->wishes,
                                    .asker = asker->rank,
                                    .incarnation = asker->incarnation,
                                    .question = question};
    births->wishes = wish;
    return wish;
}

/* Pairs of slots of the job and incarnations that replace one. */
static bool read_births(const struct rz_daemon *daemon, struct rz_births_wish *wish,
                        const struct rz_link_replace *asked)
{
    wish->n = asked->births_length / RZ_LINK_PAIR_BYTES;
    wish->births = calloc(wish->n + 1, sizeof *wish->births);
    wish->told = calloc(wish->n + 1, sizeof *wish->told);
    rz_assert(wish->births && wish->told);
    rz_link_get_pairs(asked->births, asked->births_length, wish->births, wish->n);
    if (asked->births_length % RZ_LINK_PAIR_BYTES != 0)
        return false;
    for (uint32_t i = 0; i < wish->n; i++)
        if (wish->births[i].slot >= daemon->job.n_slots || wish->births[i].incarnation < 2)
            return false;
    return true;
}

bool rz_births_replace(struct rz_child *asker, const struct rz_link_replace *asked)
{
    struct rz_births *births = asker->daemon->births;
    const char *why = refusal(asker->daemon, true);
    struct rz_births_wish *wish = wish_new(births, asker, asked->question);
    bool good = read_births(asker->daemon, wish, asked);
    if (good && !why && !look_at_replace(births, wish))
        return true;
    if (good && why) {
        rz_births_tell_refusal(births, why);
        answer_born(births, wish, RZ_ERR_UNSUPPORTED);
    }
    wish_remove(births, &births->wishes);
    return good;
}

static void send_order(struct rz_daemon *daemon, uint32_t serial, const struct rz_link_spawn *asked)
{
    const struct rz_overlay_message message = {
        .type = RZ_OVERLAY_SPAWN_ORDER,
        .spawn_order = {.serial = serial,
                        .count = asked->count,
                        .commands = asked->commands,
                        .commands_length = asked->commands_length,
                        .parent = asked->parent,
                        .parent_length = asked->parent_length}};
    for (rz_id node = 0; node < daemon->job.n_nodes; node++)
        if (node != daemon->job.node && !rz_recovery_node_dead(daemon->recovery, node))
            rz_overlay_send(daemon->overlay, node, &message);
}

/* RZ_OK: the wish is on its way. */
static rz_status_t spawn_want(struct rz_births *births, struct rz_births_wish *wish,
                              const struct rz_link_spawn *asked)
{
    struct rz_daemon *daemon = births->daemon;
    /* First of all: nobody needs memory for more processes than there can be. */
    if (asked->count > daemon->job.n_slots - daemon->job.n_ranks)
        return RZ_ERR_NO_MEMORY;
    if (births->serial + 1 >= RZ_RECOVER_COHORT_SERIALS_MAX)
        return RZ_ERR_UNSUPPORTED;
    struct rz_births_order *order =
        rz_births_order_of(births, daemon->job.node, births->serial + 1);
    if (!rz_births_order_fill(births, order, asked->commands, asked->commands_length,
                              asked->count)) {
        rz_births_order_release(births, order);
        return RZ_ERR_INVALID;
    }
    /* A serial that is used up must be wanted: the next ones wait for it everywhere. */
    births->serial++;
    order->users++;
    wish->order = order;
    rz_births_order_parent(order, asked->parent, asked->parent_length);
    send_order(daemon, births->serial, asked);
    uint64_t item = rz_recover_pack_cohort(daemon->job.node, births->serial, asked->count);
    rz_recovery_want(daemon->recovery, &item, 1);
    return RZ_OK;
}

bool rz_births_spawn(struct rz_child *asker, const struct rz_link_spawn *asked)
{
    struct rz_births *births = asker->daemon->births;
    const char *why = refusal(asker->daemon, false);
    struct rz_births_wish *wish = wish_new(births, asker, asked->question);
    if (why)
        rz_births_tell_refusal(births, why);
    rz_status_t status = why ? RZ_ERR_UNSUPPORTED : spawn_want(births, wish, asked);
    if (status != RZ_OK) {
        answer_spawned(births, wish, status);
        wish_remove(births, &births->wishes);
    }
    return true;
}

void rz_births_forget(struct rz_daemon *daemon, uint32_t slot, uint32_t incarnation)
{
    if (!daemon->births)
        return;
    for (struct rz_births_wish **at = &daemon->births->wishes; *at;)
        if ((*at)->asker == slot && (*at)->incarnation == incarnation)
            wish_remove(daemon->births, at);
        else
            at = &(*at)->next;
}

void rz_births_wish_refused(struct rz_births *births, uint32_t serial, rz_status_t why)
{
    for (struct rz_births_wish *wish = births->wishes; wish; wish = wish->next)
        if (wish->order && wish->order->serial == serial) {
            wish->refused = true;
            wish->why = why;
        }
}

void rz_births_wishes_close(struct rz_births *births)
{
    while (births->wishes)
        wish_remove(births, &births->wishes);
}
