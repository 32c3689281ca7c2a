/* SPDX-License-Identifier: BSD-3-Clause */
/* rhizome/f2c.h: handles and statuses go to Fortran's form and back, predefined and made ones. */
#include "check.h"

#include <rhizome/f2c.h>
#include <string.h>

#define BACK(name, handle) (MPI_##name##_f2c(MPI_##name##_c2f(handle)) == (handle))

static void predefined_ones_are_numbers_of_the_abi(void)
{
    CHECK(MPI_Comm_c2f(MPI_COMM_WORLD) == 0x101 && MPI_Comm_f2c(0x102) == MPI_COMM_SELF);
    CHECK(BACK(Comm, MPI_COMM_NULL) && BACK(Group, MPI_GROUP_EMPTY) && BACK(Type, MPI_DOUBLE));
    CHECK(BACK(Op, MPI_SUM) && BACK(Info, MPI_INFO_ENV) && BACK(Request, MPI_REQUEST_NULL));
    CHECK(BACK(Errhandler, MPI_ERRORS_RETURN) && BACK(Message, MPI_MESSAGE_NO_PROC));
    CHECK(BACK(File, MPI_FILE_NULL) && BACK(Win, MPI_WIN_NULL) && BACK(Session, MPI_SESSION_NULL));
}

static void made_ones_come_back(void)
{
    MPI_Comm comm;
    MPI_Group group;
    MPI_Datatype type;
    MPI_Info info;
    MPI_Request request;
    int value, flag;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_group(comm, &group);
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Info_create(&info);
    MPI_Irecv(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
    CHECK(BACK(Comm, comm) && BACK(Group, group) && BACK(Type, type) && BACK(Info, info));
    MPI_Fint number = MPI_Request_c2f(request);
    request = MPI_Request_f2c(number);
    MPI_Cancel(&request);
    MPI_Status status, copy = {.MPI_SOURCE = 77};
    MPI_Fint words[MPI_F_STATUS_SIZE];
    MPI_Wait(&request, &status);
    CHECK(MPI_Status_c2f(&status, words) == MPI_SUCCESS);
    CHECK(words[MPI_F_SOURCE] == status.MPI_SOURCE && words[MPI_F_TAG] == status.MPI_TAG);
    CHECK(MPI_Status_f2c(words, &copy) == MPI_SUCCESS);
    CHECK(memcmp(&copy, &status, sizeof(copy)) == 0);
    MPI_Test_cancelled(&copy, &flag);
    CHECK(flag);
    CHECK(MPI_Status_f2c(MPI_F_STATUS_IGNORE, &copy) == MPI_ERR_ARG);
    CHECK(MPI_Status_c2f(MPI_STATUS_IGNORE, words) == MPI_ERR_ARG);
    MPI_Type_free(&type);
    MPI_Info_free(&info);
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
}

int main(void)
{
    MPI_Init(NULL, NULL);
    predefined_ones_are_numbers_of_the_abi();
    made_ones_come_back();
    MPI_Finalize();
    return 0;
}
