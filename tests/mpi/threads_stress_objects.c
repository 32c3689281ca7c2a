/* SPDX-License-Identifier: BSD-3-Clause */
/* Deeds of threads_stress that make, use and free what has a handle. */
#include "threads_stress.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* ---- Generalised requests: a thread completes what the others hand over ---- */

enum { QUEUE = 64 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t change;
    MPI_Request items[QUEUE];
    unsigned first, n;
    bool over;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};
static pthread_t completer;

static int on_query(void *extra, MPI_Status *status)
{
    (void)extra;
    MPI_Status_set_elements(status, MPI_INT, 3);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int on_free(void *extra)
{
    free(extra);
    return MPI_SUCCESS;
}

static int on_cancel(void *extra, int complete)
{
    (void)extra;
    (void)complete;
    return MPI_SUCCESS;
}

MPI_Request grequest_hand_over(void)
{
    MPI_Request request;
    MPI_Grequest_start(on_query, on_free, on_cancel, malloc(16), &request);
    pthread_mutex_lock(&queue.lock);
    CHECK(queue.n < QUEUE);
    queue.items[(queue.first + queue.n++) % QUEUE] = request;
    pthread_cond_signal(&queue.change);
    pthread_mutex_unlock(&queue.lock);
    return request;
}

static void *complete(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&queue.lock);
    while (!queue.over || queue.n > 0) {
        if (queue.n == 0) {
            pthread_cond_wait(&queue.change, &queue.lock);
            continue;
        }
        MPI_Request request = queue.items[queue.first % QUEUE];
        queue.first++;
        queue.n--;
        pthread_mutex_unlock(&queue.lock);
        MPI_Grequest_complete(request);
        pthread_mutex_lock(&queue.lock);
    }
    pthread_mutex_unlock(&queue.lock);
    return NULL;
}

/* ---- Communicators and groups ---- */

void use_comms(struct worker *me)
{
    MPI_Comm copy, half;
    char name[MPI_MAX_OBJECT_NAME];
    int order, length, out = me->rank, sum = 0;
    MPI_Comm_dup(me->comm, &copy);
    MPI_Comm_set_name(copy, "of a thread");
    MPI_Comm_get_name(copy, name, &length);
    CHECK(strcmp(name, "of a thread") == 0);
    MPI_Comm_split(copy, me->rank % 2, -me->rank, &half);
    MPI_Comm_compare(copy, me->comm, &order);
    CHECK(order == MPI_CONGRUENT);
    MPI_Allreduce(&out, &sum, 1, MPI_INT, MPI_SUM, copy);
    CHECK(sum == me->size * (me->size - 1) / 2);
    MPI_Barrier(half);
    MPI_Comm_free(&half);
    MPI_Comm_free(&copy);
}

void use_groups(struct worker *me)
{
    MPI_Group all, some, rest;
    MPI_Comm comm;
    int members[1] = {below(me, me->size)}, n, place;
    MPI_Comm_group(me->comm, &all);
    MPI_Group_incl(all, 1, members, &some);
    MPI_Group_difference(all, some, &rest);
    MPI_Group_size(rest, &n);
    CHECK(n == me->size - 1);
    MPI_Group_translate_ranks(some, 1, &(int){0}, all, &place);
    CHECK(place == members[0]);
    if (me->rank == members[0]) {
        MPI_Comm_create_group(me->comm, some, 5, &comm);
        MPI_Barrier(comm);
        MPI_Comm_free(&comm);
    }
    MPI_Group_free(&all);
    MPI_Group_free(&some);
    MPI_Group_free(&rest);
}

/* ---- Datatypes and info ---- */

void use_types(struct worker *me)
{
    int in[8] = {0}, out[8], bytes, position = 0;
    char packed[64];
    MPI_Datatype columns, resized;
    MPI_Aint lb, extent;
    MPI_Type_vector(2, 1, 3, MPI_INT, &columns);
    MPI_Type_create_resized(columns, 0, 4 * sizeof(int), &resized);
    MPI_Type_commit(&resized);
    MPI_Type_free(&columns);
    MPI_Type_get_extent(resized, &lb, &extent);
    MPI_Type_size(resized, &bytes);
    CHECK(extent == 4 * sizeof(int) && bytes == 2 * sizeof(int));
    for (int i = 0; i < 8; i++) {
        out[i] = me->rank * 8 + i;
    }
    MPI_Pack(out, 1, resized, packed, sizeof(packed), &position, me->comm);
    CHECK(position == bytes);
    MPI_Request request;
    MPI_Isend(out, 2, resized, me->right, 3, me->comm, &request);
    MPI_Type_free(&resized);
    MPI_Recv(in, 4, MPI_INT, me->left, 3, me->comm, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(in[0] == me->left * 8 && in[1] == me->left * 8 + 3 && in[2] == me->left * 8 + 4);
}

static __thread int errors_seen;

static void on_error(MPI_Comm *comm, int *code, ...)
{
    char text[MPI_MAX_ERROR_STRING];
    int size, length;
    MPI_Comm_size(*comm, &size);
    MPI_Error_string(*code, text, &length);
    errors_seen++;
}

void use_info_alone(struct worker *me)
{
    MPI_Info info, copy;
    MPI_Errhandler handler;
    char value[32];
    int length = sizeof(value), flag, n, class;
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", me->thread % 2 ? "odd" : "even");
    MPI_Info_set(info, "other", "value");
    MPI_Info_dup(info, &copy);
    MPI_Info_delete(info, "other");
    MPI_Info_free(&info);
    MPI_Info_get_string(copy, "key", &length, value, &flag);
    CHECK(flag && strcmp(value, me->thread % 2 ? "odd" : "even") == 0);
    MPI_Info_get_nkeys(copy, &n);
    CHECK(n == 2);
    MPI_Info_free(&copy);
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Errhandler_free(&handler);
    MPI_Add_error_class(&class);
    MPI_Add_error_string(class, "a class of a thread");
    MPI_Remove_error_string(class);
    MPI_Remove_error_class(class);
}

void use_info(struct worker *me)
{
    MPI_Info info;
    use_info_alone(me);
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "value");
    MPI_Comm_set_info(me->comm, info);
    MPI_Info_free(&info);
}

/* ---- Attributes: callbacks ask MPI ---- */

static int on_copy(MPI_Comm old, int key, void *extra, void *value, void *copy, int *flag)
{
    int size;
    (void)key;
    (void)extra;
    MPI_Comm_size(old, &size);
    *(void **)copy = (char *)value + size;
    *flag = 1;
    return MPI_SUCCESS;
}

static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    int size;
    (void)key;
    (void)value;
    MPI_Comm_size(comm, &size);
    ++*(int *)extra;
    return MPI_SUCCESS;
}

/* A key of the thread, and one that all threads use on a communicator that they share. */
static int key_of_all, deleted_of_all;
static MPI_Comm comm_of_all;

void use_attributes(struct worker *me)
{
    int key, deleted = 0, flag;
    char *value, base[RANKS_MAX];
    MPI_Comm copy;
    MPI_Comm_create_keyval(on_copy, on_delete, &key, &deleted);
    MPI_Comm_set_attr(me->comm, key, base);
    MPI_Comm_dup(me->comm, &copy);
    MPI_Comm_get_attr(copy, key, &value, &flag);
    CHECK(flag && value == base + me->size);
    MPI_Comm_free(&copy);
    MPI_Comm_delete_attr(me->comm, key);
    CHECK(deleted == 2);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_get_attr(comm_of_all, key_of_all, &value, &flag);
    CHECK(flag);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
    CHECK(flag);
}

/* ---- Error handlers ---- */

/* Sets a handler of its own, which goes when the next is set. */
static void set_handler(MPI_Comm comm)
{
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
}

void use_errhandlers(struct worker *me)
{
    MPI_Errhandler before;
    int seen = errors_seen, word = 0, class;
    MPI_Comm_get_errhandler(me->comm, &before);
    set_handler(me->comm);
    CHECK(MPI_Send(&word, 1, MPI_INT, me->size, 1, me->comm) != MPI_SUCCESS);
    MPI_Comm_call_errhandler(me->comm, MPI_ERR_OTHER);
    CHECK(errors_seen == seen + 2);
    MPI_Comm_set_errhandler(me->comm, before);
    MPI_Errhandler_free(&before);
    /* One that all threads use gets another handler while errors are raised on it. */
    for (int i = 0; i < 40; i++) {
        set_handler(comm_of_all);
        int code = MPI_Send(&word, 1, MPI_INT, me->size, 1, comm_of_all);
        MPI_Error_class(code, &class);
        CHECK(class == MPI_ERR_RANK && errors_seen == seen + 3 + i);
    }
}

/* ---- The interface for tools ---- */

void use_tools(struct worker *me)
{
    static const char *const names[] = {"rz_messages_sent", "rz_bytes_received"};
    int provided, index, count;
    unsigned long long value, later;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    CHECK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
    MPI_T_pvar_get_index(names[below(me, 2)], MPI_T_PVAR_CLASS_COUNTER, &index);
    CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) == MPI_SUCCESS);
    MPI_T_pvar_start(session, handle);
    CHECK(MPI_T_pvar_read(session, handle, &value) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_read(session, handle, &later) == MPI_SUCCESS && later >= value);
    MPI_T_pvar_stop(session, handle);
    MPI_T_pvar_handle_free(session, &handle);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    CHECK(MPI_Wtime() > 0);
}

/* ---- Begin and end ---- */

void objects_begin(void)
{
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_of_all);
    MPI_Comm_create_keyval(on_copy, on_delete, &key_of_all, &deleted_of_all);
    MPI_Comm_set_attr(comm_of_all, key_of_all, NULL);
    CHECK(pthread_create(&completer, NULL, complete, NULL) == 0);
}

void objects_end(void)
{
    pthread_mutex_lock(&queue.lock);
    queue.over = true;
    pthread_cond_signal(&queue.change);
    pthread_mutex_unlock(&queue.lock);
    pthread_join(completer, NULL);
    MPI_Comm_free_keyval(&key_of_all);
    MPI_Comm_free(&comm_of_all);
    CHECK(deleted_of_all == 1);
}
