/* SPDX-License-Identifier: BSD-3-Clause */
/* Info objects; classes and codes of errors. */
#include "arguments.h"

#include "check.h"

#include <string.h>

void rows_info(void)
{
    char long_key[MPI_MAX_INFO_KEY + 1], long_value[MPI_MAX_INFO_VAL + 1];
    memset(long_key, 'k', sizeof(long_key) - 1);
    memset(long_value, 'v', sizeof(long_value) - 1);
    long_key[MPI_MAX_INFO_KEY] = '\0';
    long_value[MPI_MAX_INFO_VAL] = '\0';
    ROW(MPI_ERR_INFO_KEY, "MPI_Info_set", "key", MPI_Info_set(good.info, long_key, "v"));
    ROW(MPI_ERR_INFO_KEY, "MPI_Info_set", "key", MPI_Info_set(good.info, "", "v"));
    ROW(MPI_ERR_INFO_VALUE, "MPI_Info_set", "value", MPI_Info_set(good.info, "k", long_value));
    ROW(MPI_ERR_INFO_VALUE, "MPI_Info_set", "value", MPI_Info_set(good.info, "k", ""));
    ROW(MPI_ERR_INFO_NOKEY, "MPI_Info_delete", "key", MPI_Info_delete(good.info, "none"));
    ROW(MPI_ERR_INFO_KEY, "MPI_Info_delete", "key", MPI_Info_delete(good.info, long_key));
    ROW(MPI_ERR_INFO_KEY, "MPI_Info_get", "key",
        MPI_Info_get(good.info, long_key, 8, out.text, &out.flag));
    ROW(MPI_ERR_INFO_KEY, "MPI_Info_get_string", "key",
        MPI_Info_get_string(good.info, long_key, &out.length, out.text, &out.flag));
    ROW(MPI_ERR_INFO_KEY, "MPI_Info_get_valuelen", "key",
        MPI_Info_get_valuelen(good.info, long_key, &out.number, &out.flag));
    ROW(MPI_ERR_ARG, "MPI_Info_get", "valuelen",
        MPI_Info_get(good.info, "key", -1, out.text, &out.flag));
    ROW(MPI_ERR_ARG, "MPI_Info_get_string", "buflen",
        MPI_Info_get_string(good.info, "key", &(int){-1}, out.text, &out.flag));
    ROW(MPI_ERR_ARG, "MPI_Info_get_nthkey", "n", MPI_Info_get_nthkey(good.info, 1, out.text));
    ROW(MPI_ERR_INFO, "MPI_Info_set", "info", MPI_Info_set(MPI_INFO_ENV, "k", "v"));
    ROW(MPI_ERR_INFO, "MPI_Info_delete", "info", MPI_Info_delete(MPI_INFO_ENV, "wdir"));
    ROW(MPI_ERR_INFO, "MPI_Info_free", "info", MPI_Info_free(&(MPI_Info){MPI_INFO_ENV}));
    ROW(MPI_ERR_INFO, "MPI_Comm_dup_with_info", "info",
        MPI_Comm_dup_with_info(good.comm, gone.info, &out.comm));
}

void rows_errors(void)
{
    int class = 0, code = 0;
    ROW(MPI_ERR_ARG, "MPI_Error_class", "errorcode", MPI_Error_class(123456, &out.number));
    ROW(MPI_ERR_ARG, "MPI_Error_class", "errorcode", MPI_Error_class(-1, &out.number));
    ROW(MPI_ERR_ARG, "MPI_Error_string", "errorcode",
        MPI_Error_string(123456, out.text, &out.number));
    ROW(MPI_ERR_ARG, "MPI_Add_error_code", "errorclass", MPI_Add_error_code(123456, &out.number));
    ROW(MPI_ERR_ARG, "MPI_Add_error_code", "errorclass",
        MPI_Add_error_code(MPI_SUCCESS, &out.number));
    ROW(MPI_ERR_ARG, "MPI_Add_error_string", "errorcode",
        MPI_Add_error_string(MPI_ERR_RANK, "mine"));
    ROW(MPI_ERR_ARG, "MPI_Remove_error_class", "errorclass", MPI_Remove_error_class(MPI_ERR_RANK));
    ROW(MPI_ERR_ARG, "MPI_Remove_error_code", "errorcode", MPI_Remove_error_code(MPI_ERR_RANK));
    ROW(MPI_ERR_ARG, "MPI_Remove_error_string", "errorcode", MPI_Remove_error_string(MPI_ERR_RANK));
    CHECK(MPI_Add_error_class(&class) == MPI_SUCCESS);
    CHECK(MPI_Add_error_code(class, &code) == MPI_SUCCESS);
    ROW(MPI_ERR_ARG, "MPI_Remove_error_class", "errorclass", MPI_Remove_error_class(class));
    ROW(MPI_ERR_ARG, "MPI_Remove_error_class", "errorclass", MPI_Remove_error_class(code));
    ROW(MPI_ERR_ARG, "MPI_Remove_error_code", "errorcode", MPI_Remove_error_code(class));
    ROW(MPI_ERR_ARG, "MPI_Remove_error_string", "errorcode", MPI_Remove_error_string(code));
    CHECK(MPI_Remove_error_code(code) == MPI_SUCCESS);
    CHECK(MPI_Remove_error_class(class) == MPI_SUCCESS);
    ROW(MPI_ERR_ARG, "MPI_Error_class", "errorcode", MPI_Error_class(class, &out.number));
}
