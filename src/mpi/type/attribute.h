/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attributes that users cache on communicators, datatypes and windows. The three kinds differ only
 * in the types of the user's functions; an object with attributes holds a list.
 */
#ifndef RZ_MPI_ATTRIBUTE_H
#define RZ_MPI_ATTRIBUTE_H

#include "mpi/impl.h"

struct rz_attribute;

union rz_attribute_copy {
    MPI_Comm_copy_attr_function *comm;
    MPI_Type_copy_attr_function *type;
    MPI_Win_copy_attr_function *win;
};

union rz_attribute_delete {
    MPI_Comm_delete_attr_function *comm;
    MPI_Type_delete_attr_function *type;
    MPI_Win_delete_attr_function *win;
};

/* The arguments with which the user made a key. of: RZ_OBJECT_COMM, _DATATYPE or _WIN. */
struct rz_keyval {
    enum rz_object_kind of;
    union rz_attribute_copy copy;
    union rz_attribute_delete delete;
    void *extra;
};

/* MPI_X_create_keyval. MPI_ERR_NO_MEM. */
int rz_keyval_make(const struct rz_keyval *keyval, int *number);

/* MPI_X_free_keyval: attributes with this key stay. *number becomes MPI_KEYVAL_INVALID.
 * MPI_ERR_KEYVAL. */
int rz_keyval_free(enum rz_object_kind of, int *number);

/*
 * MPI_X_set_attr and variants, on the list of an object (not freed; its magic tells its kind).
 * Functions of the user run without the engine lock; a result other than MPI_SUCCESS ends the call.
 * MPI_ERR_KEYVAL: no key of this kind. An attribute that is not there is deleted without an error.
 */
int rz_attribute_set(struct rz_object *object, struct rz_attribute **list, int keyval, void *value);
int rz_attribute_get(const struct rz_object *object, struct rz_attribute *const *list, int keyval,
                     void *value, int *flag);
int rz_attribute_delete(struct rz_object *object, struct rz_attribute **list, int keyval);

/* MPI_X_dup: runs the copy functions, oldest attribute first. */
int rz_attributes_copy(struct rz_object *from, struct rz_attribute *const *list,
                       struct rz_attribute **to);

/* MPI_X_free: runs the delete functions, newest attribute first. */
int rz_attributes_delete(struct rz_object *object, struct rz_attribute **list);

/* The object ends at a roll-back, without a call of the user: no function of the user runs. */
void rz_attributes_forget(struct rz_attribute **list);

#endif
