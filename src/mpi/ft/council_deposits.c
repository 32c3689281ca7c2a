/*
 * Decisions by way of the daemons. Who has decided leaves its call and may compute for long; a
 * member whose way to the decision a death has cut would wait until that one calls MPI again, and
 * so would one whose letter still waits for a connection. So each decision is laid where the own
 * daemon finds it (link/decisions.h), and who waits after a death, or for long, asks its daemon now
 * and then for that of the member whose word it waits for. What comes back is taken for the letter
 * that the other would write (docs/protocols/agree.md).
 */
#include "mpi/ft/council_state.h"

#include "mpi/ft/revoke_nodes.h"
#include "port/clock.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The others are mostly in the same call and answer at once themselves. */
#define ASK_SOON (2 * RZ_MILLISECOND)   /* after a death */
#define ASK_LATER (50 * RZ_MILLISECOND) /* without */
#define ASK_EVERY_MAX (250 * RZ_MILLISECOND)

enum { WORD_BYTES = 8 };

unsigned rz_councils_hurrying;

static unsigned n_asking; /* councils that ask, in a hurry or not */

static uint32_t next_deposit; /* the one that gives way next */

static uint64_t number_of(const struct rz_council *council)
{
    return rz_comm_number(council->context, council->first->process[0]);
}

/* ---- Depositing ---- */

static bool has_daemon(void)
{
    return rz_engine.info->waits != NULL && rz_engine_fault_tolerant();
}

static struct rz_decision_deposit *deposit_of(struct rz_council *council, uint64_t communicator)
{
    struct rz_decision_deposit *deposits = rz_engine.info->waits->decisions.deposit;
    struct rz_decision_deposit *own = council->deposit > 0 ? &deposits[council->deposit - 1] : NULL;
    if (own != NULL &&
        atomic_load_explicit(&own->communicator, memory_order_relaxed) == communicator) {
        return own;
    }
    council->deposit = 1 + next_deposit++ % RZ_DECISIONS_MAX;
    return &deposits[council->deposit - 1];
}

void rz_council_deposit(struct rz_council *council, uint64_t number)
{
    uint64_t words[RZ_DECISION_WORDS_MAX];
    struct rz_message message;
    const uint64_t *items = has_daemon() && council->owner != NULL
                                ? rz_agreement_deposit(council->agreement, number, &message)
                                : NULL;
    if (items == NULL || message.n_items >= RZ_DECISION_WORDS_MAX) {
        return;
    }
    words[0] = message.word[0];
    memcpy(words + 1, items, message.n_items * sizeof(*items));
    uint64_t communicator = number_of(council);
    rz_decision_write(deposit_of(council, communicator), communicator, number, words,
                      1 + message.n_items);
}

/* ---- Asking ---- */

void rz_council_ask_no_more(struct rz_council *council)
{
    n_asking -= council->asking.at != 0;
    rz_councils_hurrying -= council->asking.hurry;
    council->asking.at = 0;
    council->asking.hurry = false;
}

static void ask_from(struct rz_council *council, rz_time at, rz_time wait, bool hurry)
{
    rz_council_ask_no_more(council);
    if (has_daemon() && council->voting && council->owner != NULL) {
        council->asking.at = at;
        council->asking.wait = wait;
        council->asking.hurry = hurry;
        n_asking++;
        rz_councils_hurrying += hurry;
    }
}

void rz_council_ask_later(struct rz_council *council, rz_time now)
{
    ask_from(council, now + ASK_LATER, ASK_LATER, false);
}

void rz_council_ask_soon(struct rz_council *council, rz_time now)
{
    ask_from(council, now + ASK_SOON, ASK_SOON, true);
}

void rz_councils_ask_slowly(rz_time now)
{
    for (struct rz_council *council = n_asking > 0 ? rz_councils_first() : NULL; council != NULL;
         council = council->next) {
        rz_council_ask(council, now);
    }
}

static void ask_about(const struct rz_council *council, uint32_t process)
{
    const struct rz_member *member = rz_member_of(process);
    if (member->process != process) {
        return; /* another has its slot; its death will be told */
    }
    struct rz_link_message message = {
        .type = RZ_LINK_DECISION_ASK,
        .decision_ask = {.communicator = number_of(council),
                         .number = rz_agreement_proposed(council->agreement),
                         .rank = rz_process_slot(process),
                         .incarnation = rz_board_incarnation(member->word)}};
    rz_engine_tell_daemon(&message);
}

void rz_council_ask(struct rz_council *council, rz_time now)
{
    if (council->asking.at == 0 || council->asking.at > now) {
        return;
    }
    if (!council->voting || council->owner == NULL) {
        rz_council_ask_no_more(council);
        return;
    }
    rz_id member = rz_agreement_asked(council->agreement, council->asking.turn++);
    if (member != RZ_ID_NONE) {
        ask_about(council, rz_council_process(council, member));
    }
    rz_time wait = 2 * council->asking.wait;
    council->asking.wait = wait < ASK_EVERY_MAX ? wait : ASK_EVERY_MAX;
    council->asking.at = now + council->asking.wait;
}

/* ---- The answer ---- */

static uint64_t word_at(const uint8_t *value, uint32_t i)
{
    uint64_t word = 0;
    for (int byte = WORD_BYTES - 1; byte >= 0; byte--) {
        word = word << 8 | value[i * WORD_BYTES + (uint32_t)byte];
    }
    return word;
}

/* The letter that its process would write, or NULL: it answers nothing that was asked. */
static struct rz_letter *letter_of(const struct rz_council *council,
                                   const struct rz_link_decision *decision)
{
    uint32_t process = rz_process(decision->rank, decision->incarnation);
    uint32_t n_items = decision->value_length / WORD_BYTES - 1;
    rz_id from = rz_council_find_member(council, process);
    struct rz_message message;
    if (!council->voting || from == RZ_ID_NONE || rz_process_dead(process) ||
        !rz_agreement_deposited(council->agreement, from, decision->number,
                                word_at(decision->value, 0), n_items, &message)) {
        return NULL;
    }
    struct rz_letter *letter = malloc(sizeof(*letter) + n_items * sizeof(letter->items[0]));
    if (letter == NULL) {
        return NULL; /* it is asked for again */
    }
    letter->context = council->context;
    letter->process = process;
    letter->message = message;
    for (uint32_t i = 0; i < n_items; i++) {
        letter->items[i] = word_at(decision->value, i + 1);
    }
    return letter;
}

static void on_decision(void *arg, const struct rz_link_message *message, const int *fds,
                        unsigned n_fds)
{
    (void)arg;
    const struct rz_link_decision *decision = &message->decision;
    while (n_fds > 0) {
        close(fds[--n_fds]);
    }
    struct rz_council *council = rz_councils_first();
    while (council != NULL &&
           (council->agreement == NULL || number_of(council) != decision->communicator)) {
        council = council->next;
    }
    if (council == NULL || rz_engine.rollback || decision->rank >= rz_engine.info->n_slots ||
        decision->value_length < WORD_BYTES || decision->value_length % WORD_BYTES != 0) {
        return;
    }
    struct rz_letter *letter = letter_of(council, decision);
    if (letter != NULL) {
        rz_letter_put(letter);
    }
}

void rz_council_deposits_open(void)
{
    next_deposit = 0;
    rz_link_handle(rz_engine.link, RZ_LINK_DECISION, on_decision, NULL);
}
