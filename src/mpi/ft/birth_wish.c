#include "mpi/ft/birth_wish.h"

#include "base/linked_list.h"
#include "mpi/chapter.h"

#include <stdlib.h>

static struct rz_birth_wish *wishes; /* by next */
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

uint32_t rz_birth_after(uint32_t dead)
{
    return rz_process(rz_process_slot(dead), whole_incarnation(dead) + 1);
}

/* ---- Births ---- */

static void born(void *arg, const struct rz_link_message *message, const int *fds, unsigned n_fds)
{
    (void)arg, (void)fds, (void)n_fds;
    uint64_t question = message->born.question;
    for (struct rz_birth_wish *wish = wishes; wish != NULL; wish = wish->next) {
        if (question >= wish->first && question <= wish->last && wish->unanswered > 0) {
            wish->unanswered--;
            wish->refused[question - wish->first] = message->born.status != RZ_OK;
            wish->status = wish->status != RZ_OK ? wish->status : (rz_status_t)message->born.status;
            rz_engine.completions++;
        }
    }
}

static void ask(uint64_t question, uint32_t dead)
{
    uint8_t bytes[RZ_LINK_PAIR_BYTES];
    struct rz_link_process pair = {.slot = rz_process_slot(dead),
                                   .incarnation = whole_incarnation(dead) + 1};
    rz_link_put_pairs(bytes, &pair, 1);
    struct rz_link_message message = {
        .type = RZ_LINK_REPLACE,
        .replace = {.question = question, .births = bytes, .births_length = sizeof(bytes)}};
    rz_engine_tell_daemon(&message);
}

int rz_birth_wish_ask(struct rz_birth_wish *wish, const uint32_t *dead, uint32_t n)
{
    bool *refused = calloc(n + 1, sizeof(*refused));
    if (refused == NULL) {
        return MPI_ERR_NO_MEM;
    }
    *wish = (struct rz_birth_wish){.first = last_question + 1,
                                   .last = last_question + n,
                                   .unanswered = n,
                                   .refused = refused,
                                   .next = wishes};
    last_question = wish->last;
    wishes = wish;
    rz_link_handle(rz_engine.link, RZ_LINK_BORN, born, NULL);
    for (uint32_t i = 0; i < n; i++) { /* each by itself, for some may be refused */
        ask(wish->first + i, dead[i]);
    }
    return MPI_SUCCESS;
}

void rz_birth_wish_end(struct rz_birth_wish *wish)
{
    rz_list_unlink(&wishes, wish);
    free(wish->refused);
    wish->refused = NULL;
}

/* ---- Acknowledged deaths ---- */

static bool is_news(uint32_t process)
{
    const struct rz_member *member = rz_member_of(process);
    bool ended = member->process == process && rz_board_verdict(member->word) == RZ_VERDICT_ENDED;
    return rz_process_dead(process) && !ended && rz_process_newer(process, member->acknowledged);
}

void rz_deaths_acknowledge(const uint32_t *process, uint32_t n)
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
