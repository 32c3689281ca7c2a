/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends setup messages as control messages, and keeps those that have arrived in a list until a
 * call takes them or the layer answers them.
 */
#include "mpi/create/setup_message.h"

#include "base/no_memory.h"
#include "mpi/impl.h"
#include "mpi/engine/control_message.h"
#include "mpi/engine/epoch_check.h"
#include "mpi/engine/hooks.h"
#include "mpi/engine/liveness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No setup message is longer: it carries the groups of some communicators. */
#define WORD_BYTES_MAX ((size_t)64 << 20)

static struct rz_setup_message *unread, **unread_last = &unread;

static void put_down(const struct rz_envelope *envelope, const void *data, size_t bytes)
{
    if ((uint32_t)envelope->tag >= RZ_SETUP_COUNT) {
        rz_engine.counters.foreign++;
        return;
    }
    struct rz_setup_message *word = malloc(sizeof(*word) + bytes);
    if (!word) {
        /* The receiver waits for an answer. */
        rz_no_memory("for a control message of another process");
    }
    word->next = NULL;
    word->looked_at = word->withdrawn = false;
    word->kind = (enum rz_setup_kind)envelope->tag;
    word->process = rz_message_from(envelope);
    word->about = envelope->context;
    word->bytes = bytes;
    if (bytes > 0) {
        memcpy(word->data, data, bytes);
    }
    *unread_last = word;
    unread_last = &word->next;
    rz_work_set(RZ_WORK_SETUP_MESSAGES, true);
    rz_engine.completions++; /* waiting calls must look again */
}

void rz_setup_message_arrived(struct rz_path *path, const struct rz_envelope *envelope,
                              const void *data, size_t bytes, rz_net_token_t token)
{
    static const struct rz_control_message_kind kind = {WORD_BYTES_MAX, put_down};
    rz_control_message_arrived(path, envelope, data, bytes, token, &kind);
}

/* ---- Sending ---- */

int rz_setup_message_send(uint32_t process, enum rz_setup_kind kind, uint64_t about,
                          const void *data, size_t bytes)
{
    struct rz_control_message *note =
        bytes <= WORD_BYTES_MAX ? rz_control_message_new(bytes) : NULL;
    if (!note) {
        return MPI_ERR_NO_MEM;
    }
    if (bytes > 0) {
        memcpy(note->bytes, data, bytes);
    }
    note->envelope.kind = RZ_ENVELOPE_SETUP;
    note->envelope.context = about;
    note->envelope.tag = (int32_t)kind;
    if (process != rz_engine.self) {
        rz_control_message_send(process, note);
        return MPI_SUCCESS;
    }
    note->envelope.slot = rz_engine.info->self.rank;
    note->envelope.incarnation = rz_engine.info->self.incarnation;
    put_down(&note->envelope, note->bytes, bytes);
    rz_control_message_free(note);
    return MPI_SUCCESS;
}

/* ---- Reading ---- */

static struct rz_setup_message *take(struct rz_setup_message **at)
{
    struct rz_setup_message *word = *at;
    if (word) {
        *at = word->next;
        unread_last = !word->next ? at : unread_last;
    }
    return word;
}

struct rz_setup_message *rz_setup_message_take(enum rz_setup_kind kind, uint64_t about)
{
    struct rz_setup_message **at = &unread;
    while (*at && ((*at)->kind != kind || (*at)->about != about)) {
        at = &(*at)->next;
    }
    return take(at);
}

struct rz_setup_message *rz_setup_message_next(enum rz_setup_kind kind,
                                               const struct rz_setup_message *after)
{
    struct rz_setup_message *word = after ? after->next : unread;
    while (word && word->kind != kind) {
        word = word->next;
    }
    return word;
}

void rz_setup_message_drop(struct rz_setup_message *word)
{
    struct rz_setup_message **at = &unread;
    while (*at != word) {
        at = &(*at)->next;
    }
    free(take(at));
}

unsigned rz_setup_messages_look(void)
{
    unsigned n = 0;
    rz_work_set(RZ_WORK_SETUP_MESSAGES, false);
    for (struct rz_setup_message **at = &unread; *at;) {
        bool is_new = !(*at)->looked_at;
        (*at)->looked_at = true;
        n += is_new;
        if (is_new && rz_hooks_answers(*at)) {
            free(take(at));
        } else {
            at = &(*at)->next;
        }
    }
    return n;
}

void rz_setup_messages_close(void)
{
    while (unread) {
        struct rz_setup_message *word = unread;
        unread = word->next;
        free(word);
    }
    unread_last = &unread;
}
