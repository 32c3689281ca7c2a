/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Abi_*: what the library says of itself, and what a Fortran binding may tell it, once. All of
 * it at any time. */
#include "abi_check.h"

#include <stdlib.h>
#include <string.h>

static int number(MPI_Info info, const char *key)
{
    char value[32] = "";
    int room = sizeof(value), flag = 0;
    GOOD(MPI_Info_get_string(info, key, &room, value, &flag));
    return flag ? atoi(value) : -1;
}

static void versions(void)
{
    int major = -1, minor = -1;
    MPI_Info info = MPI_INFO_NULL;
    GOOD(MPI_Abi_get_version(&major, &minor));
    CHECK(major == MPI_ABI_VERSION && minor == MPI_ABI_SUBVERSION);
    CHECK(major == 1 && minor == 0);
    GOOD(MPI_Get_version(&major, &minor));
    CHECK(major == MPI_VERSION && minor == MPI_SUBVERSION);
    GOOD(MPI_Abi_get_info(&info));
    CHECK(number(info, "mpi_aint_size") == sizeof(MPI_Aint));
    CHECK(number(info, "mpi_count_size") == sizeof(MPI_Count));
    CHECK(number(info, "mpi_offset_size") == sizeof(MPI_Offset));
    GOOD(MPI_Info_free(&info));
    CHECK(info == MPI_INFO_NULL);
}

static MPI_Info types_of_fortran(const char *integer_size)
{
    MPI_Info info;
    GOOD(MPI_Info_create(&info));
    GOOD(MPI_Info_set(info, "mpi_integer_size", integer_size));
    GOOD(MPI_Info_set(info, "mpi_double_precision_size", "8"));
    GOOD(MPI_Info_set(info, "mpi_integer8_supported", "true"));
    return info;
}

/* A library without Fortran knows nothing before it is told. */
static void fortran_before(void)
{
    MPI_Info info = MPI_INFO_ENV;
    int32_t yes = 0, no = 0;
    int is_set = -1;
    GOOD(MPI_Abi_get_fortran_info(&info));
    CHECK(info == MPI_INFO_NULL);
    GOOD(MPI_Abi_get_fortran_booleans(sizeof(yes), &yes, &no, &is_set));
    CHECK(is_set == 0);
}

/* What cannot be is refused, and does not count as told. */
static void fortran_refused(void)
{
    int64_t same = 3;
    int is_set;
    MPI_Info wrong = types_of_fortran("8"), nonsense = types_of_fortran("four");
    REFUSED(MPI_Abi_set_fortran_info(MPI_INFO_NULL), MPI_ERR_INFO);
    REFUSED(MPI_Abi_set_fortran_info(wrong), MPI_ERR_ABI);
    REFUSED(MPI_Abi_set_fortran_info(nonsense), MPI_ERR_ABI);
    for (int size = -1; size < 20; size++) {
        if (size != 1 && size != 2 && size != 4 && size != 8 && size != 16) {
            REFUSED(MPI_Abi_set_fortran_booleans(size, &same, &same), MPI_ERR_ARG);
            REFUSED(MPI_Abi_get_fortran_booleans(size, &same, &same, &is_set), MPI_ERR_ARG);
        }
    }
    REFUSED(MPI_Abi_set_fortran_booleans(sizeof(same), &same, &same), MPI_ERR_ARG);
    REFUSED(MPI_Abi_set_fortran_booleans(sizeof(same), &same, NULL), MPI_ERR_ARG);
    GOOD(MPI_Info_free(&wrong));
    GOOD(MPI_Info_free(&nonsense));
    fortran_before();
}

static void fortran_told(void)
{
    int32_t yes = -1, no = 0, got_yes = 9, got_no = 9;
    int64_t wide_yes = -1, wide_no = 0;
    int is_set = -1;
    MPI_Info told = types_of_fortran("4"), got, again;
    GOOD(MPI_Abi_set_fortran_info(told));
    REFUSED(MPI_Abi_set_fortran_info(told), MPI_ERR_ABI);
    /* The library keeps a copy, and gives copies. */
    GOOD(MPI_Info_set(told, "mpi_integer_size", "2"));
    GOOD(MPI_Info_free(&told));
    GOOD(MPI_Abi_get_fortran_info(&got));
    CHECK((uintptr_t)got >= 0x1000);
    CHECK(number(got, "mpi_integer_size") == 4);
    CHECK(number(got, "mpi_double_precision_size") == 8);
    CHECK(number(got, "mpi_real_size") == -1);
    GOOD(MPI_Info_delete(got, "mpi_integer_size"));
    GOOD(MPI_Abi_get_fortran_info(&again));
    CHECK(number(again, "mpi_integer_size") == 4);
    GOOD(MPI_Info_free(&again));
    GOOD(MPI_Info_free(&got));

    GOOD(MPI_Abi_set_fortran_booleans(sizeof(yes), &yes, &no));
    REFUSED(MPI_Abi_set_fortran_booleans(sizeof(yes), &yes, &no), MPI_ERR_ABI);
    REFUSED(MPI_Abi_set_fortran_booleans(sizeof(wide_yes), &wide_yes, &wide_no), MPI_ERR_ABI);
    GOOD(MPI_Abi_get_fortran_booleans(sizeof(yes), &got_yes, &got_no, &is_set));
    CHECK(is_set == 1 && got_yes == -1 && got_no == 0);
    GOOD(MPI_Abi_get_fortran_booleans(sizeof(wide_yes), &wide_yes, &wide_no, &is_set));
    CHECK(is_set == 0);
}

int main(int argc, char **argv)
{
    versions();
    fortran_before();
    GOOD(MPI_Init(&argc, &argv));
    GOOD(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    versions();
    fortran_refused();
    fortran_told();
    GOOD(MPI_Finalize());
    versions();
    return abi_faults != 0;
}
