#include "mpi/ft/inviters.h"

#include "mpi/chapter.h"
#include "mpi/comm/word.h"
#include "mpi/ft/invitation.h"
#include "port/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* An invitation comes within milliseconds, as a rule: nobody is asked before. And so long must it
 * be hopeless: words of the dead may still be on their way. */
#define ASK_AFTER RZ_SECOND

/* What such a word is about. */
enum { I_WAIT = 1, INVITE_NOBODY, MAY_INVITE };

/* This process invites nobody now: it waits itself, or has left. */
static bool waits, left;

static void tell(uint32_t process, uint64_t about)
{
    if (rz_word_send(process, RZ_WORD_WAITS, about, NULL, 0) != MPI_SUCCESS) {
        rz_engine_exit(RZ_ERR_NO_MEMORY); /* that process would wait for ever */
    }
}

static bool lives(uint32_t slot)
{
    return slot != rz_engine.info->self.rank && !rz_engine.members[slot].dead;
}

static void tell_all(uint64_t about)
{
    for (uint32_t slot = 0; slot < rz_engine.info->n_slots; slot++) {
        if (lives(slot)) {
            tell(rz_engine.members[slot].process, about);
        }
    }
}

void rz_inviters_begin(struct rz_inviters *inviters)
{
    *inviters = (struct rz_inviters){.begun = 0};
}

bool rz_inviters_gone(struct rz_inviters *inviters)
{
    rz_time now = rz_clock_now();
    inviters->begun = inviters->begun != 0 ? inviters->begun : now;
    if (now - inviters->begun < ASK_AFTER) {
        return false;
    }
    if (!inviters->asked) {
        inviters->asked = waits = true;
        tell_all(I_WAIT);
    }
    for (uint32_t slot = 0; slot < rz_engine.info->n_slots; slot++) {
        const struct rz_member *member = &rz_engine.members[slot];
        if (lives(slot) && member->invites_nobody != member->process) {
            inviters->hopeless_since = 0;
            return false;
        }
    }
    inviters->hopeless_since = inviters->hopeless_since != 0 ? inviters->hopeless_since : now;
    return now - inviters->hopeless_since >= ASK_AFTER;
}

void rz_inviters_joined(struct rz_inviters *inviters)
{
    *inviters = (struct rz_inviters){.begun = 0};
    if (waits) {
        waits = false;
        tell_all(MAY_INVITE);
    }
}

/* ---- The end, and words ---- */

enum invited { NOT_INVITED, INVITED, INVITED_AGAIN };

static enum invited look_at(const struct rz_word *word)
{
    if (word->kind != RZ_WORD_INVITE) {
        return NOT_INVITED;
    }
    struct rz_invitation invitation;
    bool of_use = rz_invitation_read(&invitation, word);
    bool again = of_use && rz_invitation_known(invitation.context);
    rz_invitation_free(&invitation);
    return again ? INVITED_AGAIN : of_use ? INVITED : NOT_INVITED;
}

static _Noreturn void end_for_another(void)
{
    fprintf(stderr,
            "rhizome: rank %u ends: others repair a communicator to which it belongs "
            "(RZ_Comm_replace), but it is in MPI_Finalize\n",
            rz_engine.info->self.rank);
    _exit(EXIT_FAILURE);
}

/* Those who asked before are told now. */
void rz_inviters_leave(void)
{
    left = true;
    for (const struct rz_word *word = rz_word_next(RZ_WORD_INVITE, NULL); word != NULL;
         word = rz_word_next(RZ_WORD_INVITE, word)) {
        if (look_at(word) == INVITED) {
            end_for_another();
        }
    }
    for (uint32_t slot = 0; slot < rz_engine.info->n_slots; slot++) {
        const struct rz_member *member = &rz_engine.members[slot];
        if (lives(slot) && member->awaits_invitation == member->process) {
            tell(member->process, INVITE_NOBODY);
        }
    }
}

bool rz_inviters_answer(const struct rz_word *word)
{
    struct rz_member *member = rz_member_of(word->process);
    if (word->kind != RZ_WORD_WAITS) {
        enum invited invited = look_at(word);
        if (invited == INVITED && left) {
            end_for_another();
        }
        return invited == INVITED_AGAIN;
    }
    if (word->about == I_WAIT) {
        member->awaits_invitation = word->process;
        member->invites_nobody = word->process;
    } else {
        member->invites_nobody = word->about == INVITE_NOBODY ? word->process : 0;
    }
    if (word->about == I_WAIT && (waits || left) && !rz_process_dead(word->process)) {
        tell(word->process, INVITE_NOBODY);
    }
    return true;
}

void rz_inviters_close(void)
{
    waits = left = false;
}
