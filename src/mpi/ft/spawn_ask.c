#include "mpi/ft/spawn_ask.h"

#include "base/linked_list.h"
#include "mpi/chapter.h"

#include <stdlib.h>

static struct rz_spawn_ask *wishes; /* by next */
static uint64_t last_question;

/* ---- Numbers ---- */

/* All bits of an incarnation, of which a number has the low ones: near to the present one. */
static uint32_t whole_incarnation(uint32_t process)
{
    const struct rz_member *member = rz_member_of(process);
    uint32_t present = rz_board_incarnation(member->word);
    if (rz_process_newer(process, member->process)) {
        return present + ((process - member->process) >> RZ_SLOT_BITS);
    }
    return present - ((member->process - process) >> RZ_SLOT_BITS);
}

uint32_t rz_spawn_after(uint32_t failed)
{
    return rz_process(rz_process_slot(failed), whole_incarnation(failed) + 1);
}

/* ---- Spawns ---- */

static void replaced(void *arg, const struct rz_link_message *message, const int *fds,
                     unsigned n_fds)
{
    (void)arg, (void)fds, (void)n_fds;
    uint64_t question = message->replaced.question;
    for (struct rz_spawn_ask *wish = wishes; wish != NULL; wish = wish->next) {
        if (question >= wish->first && question <= wish->last && wish->unanswered > 0) {
            wish->unanswered--;
            wish->refused[question - wish->first] = message->replaced.status != RZ_OK;
            wish->status =
                wish->status != RZ_OK ? wish->status : (rz_status_t)message->replaced.status;
            rz_engine.completions++;
        }
    }
}

static void ask(uint64_t question, uint32_t failed)
{
    uint8_t bytes[RZ_LINK_PAIR_BYTES];
    struct rz_link_process pair = {.slot = rz_process_slot(failed),
                                   .incarnation = whole_incarnation(failed) + 1};
    rz_link_put_pairs(bytes, &pair, 1);
    struct rz_link_message message = {
        .type = RZ_LINK_REPLACE,
        .replace = {.question = question, .spawns = bytes, .spawns_length = sizeof(bytes)}};
    rz_engine_tell_daemon(&message);
}

int rz_spawn_ask_ask(struct rz_spawn_ask *wish, const uint32_t *failed, uint32_t n)
{
    bool *refused = calloc(n + 1, sizeof(*refused));
    if (refused == NULL) {
        return MPI_ERR_NO_MEM;
    }
    *wish = (struct rz_spawn_ask){.first = last_question + 1,
                                  .last = last_question + n,
                                  .unanswered = n,
                                  .refused = refused,
                                  .next = wishes};
    last_question = wish->last;
    wishes = wish;
    rz_link_handle(rz_engine.link, RZ_LINK_REPLACED, replaced, NULL);
    for (uint32_t i = 0; i < n; i++) { /* each by itself, for some may be refused */
        ask(wish->first + i, failed[i]);
    }
    return MPI_SUCCESS;
}

void rz_spawn_ask_end(struct rz_spawn_ask *wish)
{
    rz_list_unlink(&wishes, wish);
    free(wish->refused);
    wish->refused = NULL;
}

/* ---- Acknowledged failures ---- */

static bool is_news(uint32_t process)
{
    const struct rz_member *member = rz_member_of(process);
    bool ended = member->process == process && rz_board_state(member->word) == RZ_PROCESS_ENDED;
    return rz_process_failed(process) && !ended && rz_process_newer(process, member->acknowledged);
}

void rz_failures_acknowledge(const uint32_t *process, uint32_t n)
{
    struct rz_link_process pairs[64];
    uint8_t bytes[sizeof(pairs) / sizeof(pairs[0]) * RZ_LINK_PAIR_BYTES];
    for (uint32_t i = 0; i < n && !rz_engine.info->alone;) {
        uint32_t told = 0;
        for (; i < n && told < sizeof(pairs) / sizeof(pairs[0]); i++) {
            if (is_news(process[i])) {
                rz_member_of(process[i])->acknowledged = process[i];
                pairs[told].slot = rz_process_slot(process[i]);
                pairs[told++].incarnation = whole_incarnation(process[i]);
            }
        }
        if (told > 0) {
            rz_link_put_pairs(bytes, pairs, told);
            rz_engine_tell_daemon(&(struct rz_link_message){
                .type = RZ_LINK_ACKNOWLEDGED,
                .acknowledged = {.processes = bytes,
                                 .processes_length = told * RZ_LINK_PAIR_BYTES}});
        }
    }
}
