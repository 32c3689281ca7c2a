/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys and lists of attributes, and the calls of the user's copy and delete functions. The kinds of
 * objects are in attribute_comm.c and attribute_type.c.
 */
#include "mpi/type/attribute.h"

#include "mpi/engine/waiting.h"

#include <stdlib.h>

struct keyval {
    struct rz_keyval user;
    uint32_t references; /* held by the user and by attributes; 0: free */
    bool freed;          /* by the user */
};

struct rz_attribute {
    struct rz_attribute *next;
    int keyval;
    void *value;
};

/* The keys of users are numbers from here on; lower ones are the ABI's. */
#define KEYVAL_FIRST 0x10000

static struct keyval *keyvals;
static int n_keyvals, keyvals_max;

/* ---- Keys ---- */

static struct keyval *keyval_at(int number)
{
    return &keyvals[number - KEYVAL_FIRST];
}

/* The key with that number, if it is of this kind of object. */
static struct keyval *keyval_of(enum rz_object_kind of, int number)
{
    int i = number - KEYVAL_FIRST;
    bool there = i >= 0 && i < n_keyvals && keyvals[i].references > 0 && keyvals[i].user.of == of;
    return there ? &keyvals[i] : NULL;
}

static void keyval_release(int number)
{
    keyval_at(number)->references--;
}

int rz_keyval_make(const struct rz_keyval *keyval, int *number)
{
    int i = 0;
    while (i < n_keyvals && keyvals[i].references > 0) {
        i++;
    }
    if (i == keyvals_max) {
        int more = keyvals_max == 0 ? 16 : keyvals_max * 2;
        struct keyval *bigger = realloc(keyvals, (size_t)more * sizeof(*keyvals));
        if (!bigger) {
            return MPI_ERR_NO_MEM;
        }
        keyvals = bigger;
        keyvals_max = more;
    }
    n_keyvals = i == n_keyvals ? n_keyvals + 1 : n_keyvals;
    keyvals[i] = (struct keyval){.user = *keyval, .references = 1};
    *number = KEYVAL_FIRST + i;
    return MPI_SUCCESS;
}

/* Names the argument as both generations of the calls do (MPI_Keyval_, MPI_X_keyval). */
static int no_such_key(enum rz_object_kind of, int number)
{
    static const char *const names[][2] = {{"comm", "Comm"}, {"type", "Type"}, {"win", "Win"}};
    const char *const *name = names[of == RZ_OBJECT_COMM ? 0 : of == RZ_OBJECT_DATATYPE ? 1 : 2];
    const char *what = number == MPI_KEYVAL_INVALID ? "MPI_KEYVAL_INVALID"
                       : number < KEYVAL_FIRST      ? "a predefined key or none at all"
                                               : "no key, a freed one, or one of other objects";
    return rzm_error(MPI_ERR_KEYVAL, "keyval (%s_keyval) is %d, %s, not from MPI_%s_create_keyval",
                     name[0], number, what, name[1]);
}

int rz_keyval_free(enum rz_object_kind of, int *number)
{
    struct keyval *keyval = keyval_of(of, *number);
    if (!keyval || keyval->freed) {
        return no_such_key(of, *number);
    }
    keyval->freed = true;
    keyval_release(*number);
    *number = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}

/* ---- The user's functions run without the engine lock: they may call MPI. ---- */

static enum rz_object_kind kind_of(const struct rz_object *object)
{
    return (enum rz_object_kind)(object->magic - RZ_OBJECT_MAGIC);
}

/* The predefined functions of the ABI, which are constants and not called: 0 does nothing; a copy
 * function of 1 copies the value. */
static uintptr_t copy_word(const struct rz_keyval *keyval)
{
    return keyval->of == RZ_OBJECT_COMM       ? (uintptr_t)keyval->copy.comm
           : keyval->of == RZ_OBJECT_DATATYPE ? (uintptr_t)keyval->copy.type
                                              : (uintptr_t)keyval->copy.win;
}

static bool deletes_nothing(const struct rz_keyval *keyval)
{
    return keyval->of == RZ_OBJECT_COMM       ? keyval->delete.comm == MPI_COMM_NULL_DELETE_FN
           : keyval->of == RZ_OBJECT_DATATYPE ? keyval->delete.type == MPI_TYPE_NULL_DELETE_FN
                                              : keyval->delete.win == MPI_WIN_NULL_DELETE_FN;
}

static int run_delete(struct rz_object *object, const struct rz_attribute *attribute)
{
    struct rz_keyval keyval = keyval_at(attribute->keyval)->user;
    int number = attribute->keyval, error;
    void *value = attribute->value;
    if (deletes_nothing(&keyval)) {
        return MPI_SUCCESS;
    }
    void *handle = rz_object_handle(object, 0);
    rz_engine_unlock_for_user();
    switch (keyval.of) {
    case RZ_OBJECT_COMM:
        error = keyval.delete.comm((MPI_Comm)handle, number, value, keyval.extra);
        break;
    case RZ_OBJECT_DATATYPE:
        error = keyval.delete.type((MPI_Datatype)handle, number, value, keyval.extra);
        break;
    default:
        error = keyval.delete.win((MPI_Win)handle, number, value, keyval.extra);
    }
    rz_engine_lock_after_user();
    return error;
}

static int run_copy(struct rz_object *object, const struct rz_attribute *attribute, void **value,
                    int *wanted)
{
    struct rz_keyval keyval = keyval_at(attribute->keyval)->user;
    int number = attribute->keyval, error;
    void *old = attribute->value;
    *wanted = copy_word(&keyval) != (uintptr_t)MPI_COMM_NULL_COPY_FN;
    *value = old;
    if (!*wanted || copy_word(&keyval) == (uintptr_t)MPI_COMM_DUP_FN) {
        return MPI_SUCCESS;
    }
    void *handle = rz_object_handle(object, 0);
    rz_engine_unlock_for_user();
    switch (keyval.of) {
    case RZ_OBJECT_COMM:
        error = keyval.copy.comm((MPI_Comm)handle, number, keyval.extra, old, value, wanted);
        break;
    case RZ_OBJECT_DATATYPE:
        error = keyval.copy.type((MPI_Datatype)handle, number, keyval.extra, old, value, wanted);
        break;
    default:
        error = keyval.copy.win((MPI_Win)handle, number, keyval.extra, old, value, wanted);
    }
    rz_engine_lock_after_user();
    return error;
}

/* ---- Attributes ---- */

static struct rz_attribute **find(struct rz_attribute **at, int keyval)
{
    while (*at && (*at)->keyval != keyval) {
        at = &(*at)->next;
    }
    return at;
}

static int attach(struct rz_attribute **list, int keyval, void *value)
{
    struct rz_attribute *attribute = malloc(sizeof(*attribute));
    if (!attribute) {
        return MPI_ERR_NO_MEM;
    }
    *attribute = (struct rz_attribute){.next = *list, .keyval = keyval, .value = value};
    *list = attribute;
    keyval_at(keyval)->references++;
    return MPI_SUCCESS;
}

static void detach(struct rz_attribute **at)
{
    struct rz_attribute *attribute = *at;
    *at = attribute->next;
    keyval_release(attribute->keyval);
    free(attribute);
}

int rz_attribute_set(struct rz_object *object, struct rz_attribute **list, int keyval, void *value)
{
    const struct keyval *key = keyval_of(kind_of(object), keyval);
    if (!key || key->freed) {
        return no_such_key(kind_of(object), keyval);
    }
    if (!*find(list, keyval)) {
        return attach(list, keyval, value);
    }
    int error = run_delete(object, *find(list, keyval));
    if (error == MPI_SUCCESS) {
        struct rz_attribute *attribute = *find(list, keyval);
        if (!attribute) { /* the user's function has deleted it */
            return attach(list, keyval, value);
        }
        attribute->value = value;
    }
    return error;
}

int rz_attribute_get(const struct rz_object *object, struct rz_attribute *const *list, int keyval,
                     void *value, int *flag)
{
    if (!keyval_of(kind_of(object), keyval)) {
        return no_such_key(kind_of(object), keyval);
    }
    const struct rz_attribute *attribute = *list;
    while (attribute && attribute->keyval != keyval) {
        attribute = attribute->next;
    }
    *flag = attribute != NULL;
    if (attribute) {
        *(void **)value = attribute->value;
    }
    return MPI_SUCCESS;
}

int rz_attribute_delete(struct rz_object *object, struct rz_attribute **list, int keyval)
{
    if (!keyval_of(kind_of(object), keyval)) {
        return no_such_key(kind_of(object), keyval);
    }
    struct rz_attribute **at = find(list, keyval);
    if (!*at) {
        return MPI_SUCCESS; /* the call fails by a delete function alone (MPI 5.0, 7.7.2) */
    }
    int error = run_delete(object, *at);
    at = find(list, keyval);
    if (error == MPI_SUCCESS && *at) {
        detach(at);
    }
    return error;
}

/* Oldest attribute first, so that the copy has the order of the original. */
static int copy_from(struct rz_object *from, const struct rz_attribute *attribute,
                     struct rz_attribute **to)
{
    if (!attribute) {
        return MPI_SUCCESS;
    }
    int error = copy_from(from, attribute->next, to);
    if (error != MPI_SUCCESS) {
        return error;
    }
    void *value;
    int wanted, keyval = attribute->keyval;
    error = run_copy(from, attribute, &value, &wanted);
    return error != MPI_SUCCESS || !wanted ? error : attach(to, keyval, value);
}

int rz_attributes_copy(struct rz_object *from, struct rz_attribute *const *list,
                       struct rz_attribute **to)
{
    return copy_from(from, *list, to);
}

int rz_attributes_delete(struct rz_object *object, struct rz_attribute **list)
{
    while (*list) {
        int keyval = (*list)->keyval;
        int error = run_delete(object, *list);
        if (error != MPI_SUCCESS) {
            return error;
        }
        struct rz_attribute **at = find(list, keyval);
        if (*at) {
            detach(at);
        }
    }
    return MPI_SUCCESS;
}

void rz_attributes_forget(struct rz_attribute **list)
{
    while (*list) {
        detach(list);
    }
}
