/* SPDX-License-Identifier: BSD-3-Clause */
/* The shared file pointer: questions to the daemon, and the calls that only move it. */
#include "mpi/io/shared_pointer.h"

#include "base/linked_list.h"
#include "mpi/engine/waiting.h"

static struct rz_shared_question *open_questions;
static uint64_t last_number;

static bool is_only_member(const struct rz_file *file)
{
    return rz_comm_size(file->comm) == 1;
}

void rz_shared_pointer_begin(struct rz_file *file, MPI_Count place)
{
    file->shared.generation++;
    file->shared.initial = file->shared.own = place;
}

/* ---- Questions ---- */

static void pointed(void *arg, const struct rz_link_message *message, const int *fds,
                    unsigned n_fds)
{
    (void)arg, (void)fds, (void)n_fds;
    struct rz_shared_question *question = open_questions;
    while (question && question->number != message->pointed.question) {
        question = question->next;
    }
    if (question) {
        question->status = (rz_status_t)message->pointed.status;
        question->value = (int64_t)message->pointed.value;
        question->answered = true;
        rz_shared_question_drop(question);
        rz_engine.completions++;
    }
}

static void answer_here(struct rz_shared_question *question, struct rz_file *file,
                        enum rz_pointer_question what, MPI_Count value)
{
    question->answered = true;
    question->status = RZ_OK;
    question->value = file->shared.own;
    file->shared.own = what == RZ_POINTER_SET ? value : file->shared.own + value;
}

static void tell_keeper(const struct rz_file *file, uint64_t number, enum rz_pointer_question what,
                        MPI_Count value)
{
    struct rz_link_message message = {.type = RZ_LINK_POINTER,
                                      .pointer = {.question = number,
                                                  .what = what,
                                                  .node = file->shared.node,
                                                  .key = file->comm->context,
                                                  .generation = file->shared.generation,
                                                  .initial = (uint64_t)file->shared.initial,
                                                  .value = (uint64_t)value}};
    rz_engine_tell_daemon(&message);
}

void rz_shared_question_ask(struct rz_shared_question *question, struct rz_file *file,
                            enum rz_pointer_question what, MPI_Count value)
{
    *question = (struct rz_shared_question){0};
    if (is_only_member(file)) {
        answer_here(question, file, what, value);
        return;
    }
    question->number = ++last_number;
    question->open = true;
    question->next = open_questions;
    open_questions = question;
    rz_link_handle(rz_engine.link, RZ_LINK_POINTED, pointed, NULL);
    tell_keeper(file, question->number, what, value);
}

void rz_shared_question_drop(struct rz_shared_question *question)
{
    if (question->open) {
        rz_list_unlink(&open_questions, question);
        question->open = false;
    }
}

int rz_shared_question_result(const struct rz_shared_question *question, const struct rz_file *file,
                              MPI_Count *place)
{
    if (question->status == RZ_ERR_PROC_FAILED) {
        return rzm_error(MPI_ERR_PROC_FAILED,
                         "the shared pointer of \"%.120s\" is lost with the node of rank 0",
                         file->name);
    }
    if (question->status == RZ_OK) {
        *place = question->value;
    }
    return rzm_status_class(question->status);
}

static bool is_answered(void *arg)
{
    return ((const struct rz_shared_question *)arg)->answered;
}

int rz_shared_pointer_ask(struct rz_file *file, enum rz_pointer_question what, MPI_Count value,
                          const char *call, MPI_Count *before)
{
    struct rz_shared_question question;
    int error = rz_engine_begin();
    if (error != MPI_SUCCESS) {
        return error;
    }
    rz_shared_question_ask(&question, file, what, value);
    struct rz_blocked blocked = {
        .call = call, .comm = file->comm, .peer = MPI_PROC_NULL, .tag = MPI_ANY_TAG};
    if (!question.answered) {
        error = rz_engine_wait(&blocked, is_answered, &question);
    }
    rz_shared_question_drop(&question);
    return error != MPI_SUCCESS ? error : rz_shared_question_result(&question, file, before);
}

void rz_shared_pointer_end(struct rz_file *file)
{
    if (!is_only_member(file) && rz_comm_rank(file->comm) == 0) {
        tell_keeper(file, 0, RZ_POINTER_DROP, 0);
    }
}

/* ---- Calls ---- */

int rzm_file_get_position_shared(struct rz_file *fh, MPI_Offset *offset)
{
    return rz_shared_pointer_ask(fh, RZ_POINTER_ADD, 0, "MPI_File_get_position_shared", offset);
}

int rzm_file_seek_shared(struct rz_file *fh, MPI_Offset offset, int whence)
{
    MPI_Count mine[2] = {offset, whence}, least[4], both[4], place = 0, before = 0;
    int error = rz_file_need_seek(fh);
    error = error != MPI_SUCCESS ? error : rz_file_drain(fh, "MPI_File_seek_shared");
    if (error != MPI_SUCCESS) {
        return error;
    }
    for (int i = 0; i < 2; i++) {
        both[i] = mine[i];
        both[2 + i] = -mine[i];
    }
    error = rzm_allreduce(both, least, 4, rz_datatype_of(MPI_INT64_T), rz_op_predefined(0x22),
                          fh->comm);
    if (error == MPI_SUCCESS && (least[0] != -least[2] || least[1] != -least[3])) {
        error = rzm_error(MPI_ERR_NOT_SAME, "offset or whence are not the same at all processes");
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (rz_comm_rank(fh->comm) == 0) {
        error = whence == MPI_SEEK_CUR ? rzm_file_get_position_shared(fh, &before) : MPI_SUCCESS;
        error =
            error != MPI_SUCCESS ? error : rz_file_seek_from(fh, before, offset, whence, &place);
        if (error == MPI_SUCCESS) {
            error =
                rz_shared_pointer_ask(fh, RZ_POINTER_SET, place, "MPI_File_seek_shared", &before);
        }
        if (error == RZM_ROLLBACK) {
            return error;
        }
    }
    return rz_file_spread_error(fh, error);
}
