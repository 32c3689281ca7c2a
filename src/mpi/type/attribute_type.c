/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes of datatypes. */
#include "mpi/type/attribute.h"
#include "mpi/type/datatype.h"

int rzm_type_create_keyval(MPI_Type_copy_attr_function *type_copy_attr_fn,
                           MPI_Type_delete_attr_function *type_delete_attr_fn, int *type_keyval,
                           void *extra_state)
{
    struct rz_keyval keyval = {.of = RZ_OBJECT_DATATYPE,
                               .copy.type = type_copy_attr_fn,
                               .delete.type = type_delete_attr_fn,
                               .extra = extra_state};
    return rz_keyval_make(&keyval, type_keyval);
}

int rzm_type_free_keyval(int *type_keyval)
{
    return rz_keyval_free(RZ_OBJECT_DATATYPE, type_keyval);
}

int rzm_type_set_attr(struct rz_datatype *datatype, int type_keyval, void *attribute_val)
{
    return rz_attribute_set(&datatype->object, &datatype->attributes, type_keyval, attribute_val);
}

int rzm_type_get_attr(struct rz_datatype *datatype, int type_keyval, void *attribute_val, int *flag)
{
    return rz_attribute_get(&datatype->object, &datatype->attributes, type_keyval, attribute_val,
                            flag);
}

int rzm_type_delete_attr(struct rz_datatype *datatype, int type_keyval)
{
    return rz_attribute_delete(&datatype->object, &datatype->attributes, type_keyval);
}
