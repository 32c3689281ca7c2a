#include "mpi/ft/council_letter.h"

#include "mpi/ft/council.h"
#include "mpi/p2p/message.h"
#include "mpi/p2p/note.h"
#include "port/kill_point.h"
#include "wire/protocol_message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No core's message is longer: a few words, every member of a job and as many items. */
#define LETTER_BYTES_MAX ((size_t)4 << 20)

struct rz_letter *rz_letters_unread;
static struct rz_letter **unread_last = &rz_letters_unread;

/* Others wait for what a letter says, and nothing could be promised to them without it. */
static _Noreturn void out_of_memory(void)
{
    fprintf(stderr, "rhizome: rank %u: no memory for a message of the repair protocols\n",
            rz_engine.info->self.rank);
    abort();
}

/* ---- Sending ---- */

void rz_letter_send(uint32_t process, uint64_t context, const struct rz_message *message,
                    const uint64_t *items)
{
    size_t bytes = rz_protocol_message_bytes(message->n_items);
    struct rz_note *note = rz_note_new(bytes);
    if (note == NULL) {
        out_of_memory();
    }
    rz_protocol_message_encode(message, items, note->bytes, bytes);
    note->envelope.kind = RZ_ENVELOPE_LETTER;
    note->envelope.context = context;
    rz_engine.counters.letters++;
    rz_kill_here(RZ_KILL_LETTER);
    rz_note_send(process, note);
}

/* ---- Arriving ---- */

void rz_letter_put(struct rz_letter *letter)
{
    letter->next = NULL;
    *unread_last = letter;
    unread_last = &letter->next;
}

static void put_down(const struct rz_envelope *envelope, const void *data, size_t bytes)
{
    if (bytes < RZ_PROTOCOL_HEADER_BYTES) {
        rz_engine.counters.foreign++;
        return;
    }
    uint32_t room = (uint32_t)((bytes - RZ_PROTOCOL_HEADER_BYTES) / sizeof(uint64_t));
    struct rz_letter *letter = malloc(sizeof(*letter) + room * sizeof(uint64_t));
    if (letter == NULL) {
        out_of_memory();
    }
    letter->context = envelope->context;
    letter->process = rz_message_from(envelope);
    letter->next = NULL;
    if (rz_protocol_message_decode(&letter->message, letter->items, room, data, bytes) != RZ_OK) {
        rz_engine.counters.foreign++;
        free(letter);
        return;
    }
    rz_letter_put(letter);
}

void rz_letter_arrived(struct rz_path *path, const struct rz_envelope *envelope, const void *data,
                       size_t bytes, rz_net_token_t token)
{
    rz_note_arrived(path, envelope, data, bytes, token, LETTER_BYTES_MAX, put_down);
}

/* ---- Reading ---- */

static struct rz_letter *take_first(void)
{
    struct rz_letter *letter = rz_letters_unread;
    rz_letters_unread = letter->next;
    if (rz_letters_unread == NULL) {
        unread_last = &rz_letters_unread;
    }
    return letter;
}

unsigned rz_letters_read(void)
{
    unsigned n = 0;
    while (rz_letters_unread != NULL) {
        rz_kill_here(RZ_KILL_READ);
        rz_council_letter(take_first());
        n++;
    }
    return n;
}

void rz_letters_close(void)
{
    while (rz_letters_unread != NULL) {
        free(take_first());
    }
}
