/* SPDX-License-Identifier: BSD-3-Clause */
/* Making and sending messages about windows. */
#include "mpi/rma/rma_message.h"

#include "base/no_memory.h"
#include "mpi/engine/control_message.h"
#include "mpi/engine/hooks.h"
#include "mpi/engine/waiting.h"

#include <stdlib.h>

#define FOR_WINDOW "for a message about a window"

/* Messages that wait to be sent, oldest first. */
struct listed {
    struct listed *next;
    struct rz_control_message *note;
    uint32_t process;
};
static struct listed *listed_first, **listed_last = &listed_first;

static struct rz_control_message *note_new(const struct rz_win *win, size_t bytes)
{
    struct rz_control_message *note = rz_control_message_new(bytes);
    if (note) {
        note->envelope.kind = RZ_ENVELOPE_WINDOW;
        note->envelope.context = win->comm->context;
        note->envelope.source = win->rank;
    }
    return note;
}

static void list_note(uint32_t process, struct rz_control_message *note)
{
    struct listed *listed = malloc(sizeof(*listed));
    rz_need_memory(listed, FOR_WINDOW);
    *listed = (struct listed){.note = note, .process = process};
    *listed_last = listed;
    listed_last = &listed->next;
    rz_work_set(RZ_WORK_WINDOWS, true);
}

unsigned rz_rma_send_listed(void)
{
    unsigned sent = 0;
    struct listed *listed;
    while ((listed = listed_first) != NULL) {
        listed_first = listed->next;
        if (!listed_first) {
            listed_last = &listed_first;
        }
        rz_control_message_send(listed->process, listed->note);
        free(listed);
        sent++;
    }
    return sent;
}

bool rz_rma_all_sent(void)
{
    return !listed_first;
}

void rz_rma_drop_listed(void)
{
    struct listed *listed;
    while ((listed = listed_first) != NULL) {
        listed_first = listed->next;
        rz_control_message_free(listed->note);
        free(listed);
    }
    listed_last = &listed_first;
}

/* Lists a message without data. */
static void list_head(uint32_t process, struct rz_control_message *note,
                      const struct rz_window_message *head)
{
    struct rz_wire_writer writer;
    rz_need_memory(note, FOR_WINDOW); /* that process may wait for it */
    rz_wire_writer_init(&writer, note->bytes, RZ_WINDOW_HEAD_BYTES);
    rz_window_head_put(&writer, head);
    list_note(process, note);
}

void rz_rma_tell(struct rz_win *win, int rank, enum rz_rma_kind kind, uint32_t what,
                 uint64_t number)
{
    struct rz_window_message head = {.kind = kind, .what = what, .number = number};
    list_head(rz_win_target(win, rank)->process, note_new(win, RZ_WINDOW_HEAD_BYTES), &head);
}

void rz_rma_tell_left(uint32_t process, uint64_t context)
{
    struct rz_window_message head = {.kind = RZ_RMA_LEFT};
    struct rz_control_message *note = rz_control_message_new(RZ_WINDOW_HEAD_BYTES);
    if (note) {
        note->envelope.kind = RZ_ENVELOPE_WINDOW;
        note->envelope.context = context;
    }
    list_head(process, note, &head);
}

/* ---- Operations ---- */

static size_t data_bytes(const struct rz_rma_operation *operation)
{
    size_t bytes = (size_t)rz_rma_bytes(operation);
    return !operation->data ? 0 : operation->what == RZ_RMA_SWAP ? 2 * bytes : bytes;
}

static size_t front_of(const struct rz_rma_operation *operation)
{
    return RZ_WINDOW_HEAD_BYTES + rz_shape_bytes(&operation->shape) +
           rz_shape_bytes(&operation->basic);
}

size_t rz_rma_message_bytes(const struct rz_rma_operation *operation)
{
    return front_of(operation) + data_bytes(operation);
}

struct rz_control_message *rz_rma_operation_message(const struct rz_win *win,
                                                    const struct rz_rma_operation *operation,
                                                    uint64_t at, uint64_t number)
{
    size_t bytes = data_bytes(operation);
    size_t front = front_of(operation);
    struct rz_control_message *note = note_new(win, front + bytes);
    if (!note) {
        return NULL;
    }
    struct rz_window_message head = {.kind = RZ_RMA_OPERATE,
                                     .what = operation->what,
                                     .op = operation->op,
                                     .basic = operation->number,
                                     .wants_result = operation->wants_result,
                                     .number = number,
                                     .at = at,
                                     .count = (uint64_t)operation->count,
                                     .bytes = bytes};
    struct rz_wire_writer writer;
    rz_wire_writer_init(&writer, note->bytes, front);
    rz_window_head_put(&writer, &head);
    rz_shape_put(&operation->shape, &writer);
    rz_shape_put(&operation->basic, &writer);
    rz_assert(!writer.overflow && writer.at == writer.end);
    if (bytes > 0) {
        memcpy(note->bytes + front, operation->data, bytes);
    }
    return note;
}

void rz_rma_send(const struct rz_win *win, int rank, struct rz_control_message *message)
{
    rz_rma_send_listed(); /* what was told before it arrives before it */
    rz_control_message_send(rz_win_target(win, rank)->process, message);
}

void rz_rma_list(const struct rz_win *win, int rank, struct rz_control_message *message)
{
    list_note(rz_win_target(win, rank)->process, message);
}

int rz_rma_send_row_head(struct rz_win *win, int rank, const struct rz_rma_operation *operation,
                         uint64_t at, uint64_t number)
{
    struct rz_control_message *note = note_new(win, RZ_WINDOW_HEAD_BYTES);
    if (!note) {
        return MPI_ERR_NO_MEM;
    }
    struct rz_window_message head = {.kind = RZ_RMA_ROW,
                                     .what = operation->what,
                                     .number = number,
                                     .at = at,
                                     .count = (uint64_t)rz_rma_bytes(operation)};
    struct rz_wire_writer writer;
    rz_wire_writer_init(&writer, note->bytes, RZ_WINDOW_HEAD_BYTES);
    rz_window_head_put(&writer, &head);
    rz_rma_send_listed(); /* what was told before it arrives before it */
    rz_control_message_send(rz_win_target(win, rank)->process, note);
    return MPI_SUCCESS;
}

bool rz_rma_operation_get(const struct rz_window_message *head, struct rz_wire_reader *reader,
                          struct rz_rma_operation *operation)
{
    *operation = (struct rz_rma_operation){.what = (enum rz_rma_what)head->what,
                                           .op = head->op,
                                           .number = (enum rz_number)head->basic,
                                           .count = (MPI_Count)head->count,
                                           .wants_result = head->wants_result != 0};
    if (head->what >= RZ_RMA_WHAT_COUNT || head->basic >= RZ_NUMBER_COUNT ||
        !rz_shape_get(&operation->shape, reader)) {
        return false;
    }
    if (!rz_shape_get(&operation->basic, reader) ||
        (size_t)(reader->end - reader->at) != head->bytes) {
        rz_rma_operation_end(operation);
        return false;
    }
    operation->data = head->bytes > 0 ? (const char *)reader->at : NULL;
    if (data_bytes(operation) != head->bytes) {
        rz_rma_operation_end(operation);
        return false;
    }
    return true;
}

void rz_rma_operation_end(struct rz_rma_operation *operation)
{
    rz_shape_end(&operation->shape);
    rz_shape_end(&operation->basic);
}

/* ---- Answers ---- */

struct rz_control_message *rz_rma_answer_new(const struct rz_win *win, uint64_t number, int error,
                                             size_t bytes, char **result)
{
    struct rz_control_message *note = note_new(win, RZ_WINDOW_HEAD_BYTES + bytes);
    if (note) {
        struct rz_window_message head = {
            .kind = RZ_RMA_ANSWER, .error = (uint32_t)error, .number = number, .bytes = bytes};
        struct rz_wire_writer writer;
        rz_wire_writer_init(&writer, note->bytes, RZ_WINDOW_HEAD_BYTES);
        rz_window_head_put(&writer, &head);
        *result = (char *)note->bytes + RZ_WINDOW_HEAD_BYTES;
    }
    return note;
}
