/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes of datatypes: copy and delete functions at dup, set, delete and free. */
#include "check.h"

#include <stdbool.h>
#include <string.h>

static int copies, deletes, last_deleted;
static MPI_Datatype last_type;

static int copy_and_add(MPI_Datatype type, int keyval, void *extra, void *in, void *out, int *flag)
{
    int size;
    MPI_Type_size(type, &size); /* MPI may be called */
    CHECK(keyval != MPI_KEYVAL_INVALID && size > 0);
    copies++;
    *(int **)out = (int *)in + *(int *)extra;
    *flag = 1;
    return MPI_SUCCESS;
}

static int copy_not(MPI_Datatype type, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)type, (void)keyval, (void)extra, (void)in, (void)out;
    copies++;
    *flag = 0;
    return MPI_SUCCESS;
}

static int copy_fails(MPI_Datatype type, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)type, (void)keyval, (void)extra, (void)in, (void)out, (void)flag;
    return MPI_ERR_OTHER;
}

static int note_delete(MPI_Datatype type, int keyval, void *value, void *extra)
{
    (void)keyval, (void)extra;
    deletes++;
    last_deleted = *(int *)value;
    last_type = type;
    return MPI_SUCCESS;
}

static int delete_fails(MPI_Datatype type, int keyval, void *value, void *extra)
{
    (void)type, (void)keyval, (void)extra;
    return *(int *)value == 0 ? MPI_SUCCESS : MPI_ERR_OTHER;
}

static int *get(MPI_Datatype type, int keyval)
{
    int *value = NULL, flag = -1;
    CHECK(MPI_Type_get_attr(type, keyval, &value, &flag) == MPI_SUCCESS);
    return flag ? value : NULL;
}

static void dup_copies_as_the_keys_say(void)
{
    int values[3] = {10, 11, 12}, step = 1, added, plain, not, none;
    MPI_Datatype type, twin;
    MPI_Type_create_keyval(copy_and_add, note_delete, &added, &step);
    MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &plain, NULL);
    MPI_Type_create_keyval(copy_not, note_delete, &not, NULL);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, note_delete, &none, NULL);
    MPI_Type_contiguous(2, MPI_INT, &type);
    CHECK(!get(type, added));
    MPI_Type_set_attr(type, added, &values[0]);
    MPI_Type_set_attr(type, plain, &values[1]);
    MPI_Type_set_attr(type, not, &values[2]);
    MPI_Type_set_attr(type, none, &values[2]);
    MPI_Type_dup(type, &twin);
    CHECK(copies == 2 && get(twin, added) == &values[1] && get(twin, plain) == &values[1]);
    CHECK(!get(twin, not ) && !get(twin, none) && get(type, none) == &values[2]);
    MPI_Type_set_attr(twin, added, &values[2]); /* deletes the old value */
    CHECK(deletes == 1 && last_deleted == 11 && last_type == twin);
    MPI_Type_delete_attr(twin, added);
    CHECK(deletes == 2 && last_deleted == 12 && !get(twin, added));
    MPI_Type_free(&twin);
    CHECK(deletes == 2); /* only the one without delete function was left */
    int gone = added;
    MPI_Type_free_keyval(&added);
    CHECK(added == MPI_KEYVAL_INVALID && get(type, gone) == &values[0]);
    CHECK(MPI_Type_set_attr(type, gone, &values[1]) == MPI_ERR_KEYVAL);
    MPI_Type_free(&type);
    CHECK(deletes == 5 && type == MPI_DATATYPE_NULL);
    MPI_Type_free_keyval(&plain);
    MPI_Type_free_keyval(&not );
    MPI_Type_free_keyval(&none);
}

static void other_types_do_not_inherit(void)
{
    int key, value = 1;
    MPI_Datatype type, outer, part;
    MPI_Type_create_keyval(MPI_TYPE_DUP_FN, note_delete, &key, NULL);
    deletes = 0;
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_set_attr(type, key, &value);
    MPI_Type_create_resized(type, 0, 16, &outer);
    CHECK(!get(outer, key));
    MPI_Type_free(&type);
    CHECK(deletes == 1); /* though outer is made of it */
    MPI_Type_get_contents(outer, 0, 2, 1, NULL, (MPI_Aint[2]){0}, &part);
    CHECK(!get(part, key));
    MPI_Type_free(&part);
    MPI_Type_free(&outer);
    CHECK(deletes == 1);
    MPI_Type_set_attr(MPI_INT, key, &value); /* predefined types carry attributes, too */
    CHECK(get(MPI_INT, key) == &value);
    MPI_Type_delete_attr(MPI_INT, key);
    MPI_Type_free_keyval(&key);
}

static void errors_of_the_user_s_functions_end_the_call(void)
{
    int bad_copy, bad_delete, value = 1;
    MPI_Datatype type, twin = MPI_DATATYPE_NULL;
    MPI_Type_create_keyval(copy_fails, MPI_TYPE_NULL_DELETE_FN, &bad_copy, NULL);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, delete_fails, &bad_delete, NULL);
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_set_attr(type, bad_copy, &value);
    CHECK(MPI_Type_dup(type, &twin) == MPI_ERR_OTHER && twin == MPI_DATATYPE_NULL);
    MPI_Type_delete_attr(type, bad_copy);
    MPI_Type_set_attr(type, bad_delete, &value);
    CHECK(MPI_Type_delete_attr(type, bad_delete) == MPI_ERR_OTHER);
    CHECK(MPI_Type_free(&type) == MPI_ERR_OTHER && type != MPI_DATATYPE_NULL);
    CHECK(get(type, bad_delete) == &value);
    value = 0;
    CHECK(MPI_Type_free(&type) == MPI_SUCCESS);
    MPI_Type_free_keyval(&bad_copy);
    MPI_Type_free_keyval(&bad_delete);
}

static void keys_are_of_one_kind(void)
{
    int of_type, of_comm, value = 1, flag;
    void *got;
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &of_type, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &of_comm, NULL);
    CHECK(MPI_Type_set_attr(MPI_INT, of_comm, &value) == MPI_ERR_KEYVAL);
    CHECK(MPI_Comm_set_attr(MPI_COMM_SELF, of_type, &value) == MPI_ERR_KEYVAL);
    CHECK(MPI_Type_get_attr(MPI_INT, MPI_TAG_UB, &got, &flag) == MPI_ERR_KEYVAL);
    CHECK(MPI_Type_delete_attr(MPI_INT, of_comm) == MPI_ERR_KEYVAL);
    CHECK(MPI_Type_delete_attr(MPI_INT, of_type) == MPI_SUCCESS); /* nothing to delete */
    int copy = of_type;
    CHECK(MPI_Comm_free_keyval(&copy) == MPI_ERR_KEYVAL);
    MPI_Type_free_keyval(&of_type);
    MPI_Comm_free_keyval(&of_comm);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    dup_copies_as_the_keys_say();
    other_types_do_not_inherit();
    errors_of_the_user_s_functions_end_the_call();
    keys_are_of_one_kind();
    MPI_Finalize();
    return 0;
}
