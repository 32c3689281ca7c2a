#include "mpi/attribute.h"

#include "mpi/engine.h"
#include "mpi/error.h"

#include <mpi-ext.h>
#include <stdlib.h>

struct keyval {
    MPI_Comm_copy_attr_function *copy;
    MPI_Comm_delete_attr_function *delete;
    void *extra;
    uint32_t references; /* of the user, and of attributes; 0: free */
    bool freed;          /* by the user */
};

struct rz_attribute {
    struct rz_attribute *next;
    int keyval;
    void *value;
};

/* User's keys are numbers from here on; those below are the ABI's. */
#define KEYVAL_FIRST 0x10000

static struct keyval *keyvals;
static int n_keyvals, keyvals_max;

static struct keyval *keyval_of(int number)
{
    int i = number - KEYVAL_FIRST;
    return i >= 0 && i < n_keyvals && keyvals[i].references > 0 ? &keyvals[i] : NULL;
}

static void keyval_release(int number)
{
    keyvals[number - KEYVAL_FIRST].references--;
}

/* The functions of the ABI that mean something without being called. */
static bool copies_nothing(MPI_Comm_copy_attr_function *copy)
{
    return copy == MPI_COMM_NULL_COPY_FN;
}

static bool copies_value(MPI_Comm_copy_attr_function *copy)
{
    return copy == MPI_COMM_DUP_FN;
}

int rzm_comm_create_keyval(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *delete,
                           int *comm_keyval, void *extra_state)
{
    int i = 0;
    while (i < n_keyvals && keyvals[i].references > 0) {
        i++;
    }
    if (i == keyvals_max) {
        int more = keyvals_max == 0 ? 16 : keyvals_max * 2;
        struct keyval *bigger = realloc(keyvals, (size_t)more * sizeof(*keyvals));
        if (bigger == NULL) {
            return MPI_ERR_NO_MEM;
        }
        keyvals = bigger;
        keyvals_max = more;
    }
    n_keyvals = i == n_keyvals ? n_keyvals + 1 : n_keyvals;
    keyvals[i] =
        (struct keyval){.copy = copy, .delete = delete, .extra = extra_state, .references = 1};
    *comm_keyval = KEYVAL_FIRST + i;
    return MPI_SUCCESS;
}

static int no_such_key(int number)
{
    return rzm_error(MPI_ERR_KEYVAL, "%d is no key made by MPI_Comm_create_keyval", number);
}

int rzm_comm_free_keyval(int *comm_keyval)
{
    struct keyval *keyval = keyval_of(*comm_keyval);
    if (keyval == NULL || keyval->freed) {
        return no_such_key(*comm_keyval);
    }
    keyval->freed = true;
    keyval_release(*comm_keyval);
    *comm_keyval = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}

/* ---- The user's functions run without the engine lock: they may call MPI. ---- */

static int run_delete(struct rz_comm *comm, const struct rz_attribute *attribute)
{
    struct keyval keyval = *keyval_of(attribute->keyval);
    if (keyval.delete == MPI_COMM_NULL_DELETE_FN) {
        return MPI_SUCCESS;
    }
    rz_engine_unlock_for_user();
    int error =
        keyval.delete(rz_comm_handle(comm), attribute->keyval, attribute->value, keyval.extra);
    rz_engine_lock_after_user();
    return error;
}

static int run_copy(struct rz_comm *comm, const struct rz_attribute *attribute, void **value,
                    int *wanted)
{
    struct keyval keyval = *keyval_of(attribute->keyval);
    *wanted = !copies_nothing(keyval.copy);
    *value = attribute->value;
    if (copies_nothing(keyval.copy) || copies_value(keyval.copy)) {
        return MPI_SUCCESS;
    }
    rz_engine_unlock_for_user();
    int error = keyval.copy(rz_comm_handle(comm), attribute->keyval, keyval.extra, attribute->value,
                            value, wanted);
    rz_engine_lock_after_user();
    return error;
}

/* ---- Attributes ---- */

static struct rz_attribute **find(struct rz_comm *comm, int keyval)
{
    struct rz_attribute **at = &comm->attributes;
    while (*at != NULL && (*at)->keyval != keyval) {
        at = &(*at)->next;
    }
    return at;
}

static int attach(struct rz_comm *comm, int keyval, void *value)
{
    struct rz_attribute *attribute = malloc(sizeof(*attribute));
    if (attribute == NULL) {
        return MPI_ERR_NO_MEM;
    }
    *attribute = (struct rz_attribute){.next = comm->attributes, .keyval = keyval, .value = value};
    comm->attributes = attribute;
    keyval_of(keyval)->references++;
    return MPI_SUCCESS;
}

static void detach(struct rz_attribute **at)
{
    struct rz_attribute *attribute = *at;
    *at = attribute->next;
    keyval_release(attribute->keyval);
    free(attribute);
}

int rzm_comm_set_attr(struct rz_comm *comm, int keyval, void *value)
{
    if (keyval_of(keyval) == NULL || keyval_of(keyval)->freed) {
        return no_such_key(keyval);
    }
    struct rz_attribute **at = find(comm, keyval);
    if (*at == NULL) {
        return attach(comm, keyval, value);
    }
    int error = run_delete(comm, *at);
    if (error == MPI_SUCCESS) {
        (*at)->value = value;
    }
    return error;
}

int rzm_comm_delete_attr(struct rz_comm *comm, int keyval)
{
    struct rz_attribute **at = find(comm, keyval);
    if (*at == NULL) {
        return rzm_error(MPI_ERR_KEYVAL, "the communicator has no attribute with key %d", keyval);
    }
    int error = run_delete(comm, *at);
    if (error == MPI_SUCCESS) {
        detach(find(comm, keyval));
    }
    return error;
}

/* What the library itself says about the job; NULL: not one of these keys. */
static const void *predefined_value(int keyval)
{
    static int tag_ub = RZ_TAG_UB, io = MPI_ANY_SOURCE, host = MPI_PROC_NULL, wtime_is_global = 0;
    static int universe_size, appnum = 0;
    universe_size = (int)rz_engine.info->n_ranks;
    switch (keyval) {
    case MPI_TAG_UB:
        return &tag_ub;
    case MPI_IO:
        return &io;
    case MPI_HOST:
        return &host;
    case MPI_WTIME_IS_GLOBAL:
        return &wtime_is_global;
    case MPI_UNIVERSE_SIZE:
        return &universe_size;
    case MPI_APPNUM:
        return &appnum;
    case MPI_LASTUSEDCODE:
        return &rz_error_last_used;
    default:
        return NULL;
    }
}

int rzm_comm_get_attr(struct rz_comm *comm, int keyval, void *attribute_val, int *flag)
{
    const void *value = predefined_value(keyval);
    *flag = value != NULL;
    if (value == NULL) {
        if (keyval_of(keyval) == NULL) {
            return no_such_key(keyval);
        }
        struct rz_attribute *attribute = *find(comm, keyval);
        *flag = attribute != NULL;
        value = attribute != NULL ? attribute->value : NULL;
    }
    if (*flag) {
        *(const void **)attribute_val = value;
    }
    return MPI_SUCCESS;
}

/* Oldest first, so that the copy has the same order as the original. */
static int copy_from(struct rz_comm *from, struct rz_comm *to, const struct rz_attribute *attribute)
{
    if (attribute == NULL) {
        return MPI_SUCCESS;
    }
    int error = copy_from(from, to, attribute->next);
    if (error != MPI_SUCCESS) {
        return error;
    }
    void *value;
    int wanted;
    error = run_copy(from, attribute, &value, &wanted);
    return error != MPI_SUCCESS || !wanted ? error : attach(to, attribute->keyval, value);
}

int rz_attributes_copy(struct rz_comm *from, struct rz_comm *to)
{
    return copy_from(from, to, from->attributes);
}

int rz_attributes_delete(struct rz_comm *comm)
{
    while (comm->attributes != NULL) {
        int error = run_delete(comm, comm->attributes);
        if (error != MPI_SUCCESS) {
            return error;
        }
        detach(&comm->attributes);
    }
    return MPI_SUCCESS;
}

void rz_attributes_forget(struct rz_comm *comm)
{
    while (comm->attributes != NULL) {
        detach(&comm->attributes);
    }
}
