/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPIX_File_revoke: one process revokes a file while the others wait in a call on it, of each kind;
 * what a revoked file still does; and with the argument fails, after the failure of the last rank.
 * Needs two processes or more. Leaves no file.
 */
#include "ulfm.h"

#include <mpi-ext.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { WORDS = 4000 };

static int rank, size;
static char name[128];
static int words[WORDS];

static MPI_File open_file(int more, const char *hint)
{
    MPI_File file;
    MPI_Info info;
    MPI_Info_create(&info);
    if (hint) {
        MPI_Info_set(info, hint, "true");
    }
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | more, info,
                        &file) == MPI_SUCCESS);
    MPI_Info_free(&info);
    CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD); /* nobody revokes it in these calls */
    return file;
}

static void fill(MPI_File file, int value)
{
    for (int i = 0; i < WORDS; i++) {
        words[i] = value;
    }
    MPI_Offset at = (MPI_Offset)rank * WORDS;
    CHECK(MPI_File_write_at_all(file, at, words, WORDS, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_sync(file) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
}

static bool is_revoked(MPI_File file)
{
    int flag = -1;
    CHECK(MPIX_File_is_revoked(file, &flag) == MPI_SUCCESS && (flag == 0 || flag == 1));
    return flag == 1;
}

static void check_refused(int error)
{
    CHECK(class_of(error) == MPI_ERR_REVOKED);
}

/* What a file does that this process knows to be revoked. */
static void check_revoked(MPI_File file)
{
    MPI_Offset bytes;
    MPI_Group failed;
    int amode, n;
    CHECK(is_revoked(file));
    check_refused(MPI_File_write_at(file, 0, words, 1, MPI_INT, MPI_STATUS_IGNORE));
    check_refused(MPI_File_read(file, words, 1, MPI_INT, MPI_STATUS_IGNORE));
    check_refused(MPI_File_read_shared(file, words, 1, MPI_INT, MPI_STATUS_IGNORE));
    check_refused(MPI_File_read_all(file, words, 1, MPI_INT, MPI_STATUS_IGNORE));
    check_refused(MPI_File_write_ordered(file, words, 1, MPI_INT, MPI_STATUS_IGNORE));
    check_refused(MPI_File_sync(file));
    check_refused(MPI_File_set_size(file, 4));
    check_refused(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    MPI_Request request = MPI_REQUEST_NULL;
    check_refused(MPI_File_iwrite_at(file, 0, words, 1, MPI_INT, &request));
    CHECK(request == MPI_REQUEST_NULL);
    CHECK(MPI_File_get_size(file, &bytes) == MPI_SUCCESS);
    CHECK(MPI_File_get_amode(file, &amode) == MPI_SUCCESS && (amode & MPI_MODE_RDWR) != 0);
    CHECK(MPI_File_seek(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    CHECK(MPIX_File_get_failed(file, &failed) == MPI_SUCCESS);
    MPI_Group_size(failed, &n);
    CHECK(n <= 1);
    MPI_Group_free(&failed);
    CHECK(MPIX_File_revoke(file) == MPI_SUCCESS);
}

/* ---- The call in which the others wait ---- */

static void in_write_all(MPI_File file)
{
    check_refused(MPI_File_write_at_all(file, (MPI_Offset)rank * WORDS, words, WORDS, MPI_INT,
                                        MPI_STATUS_IGNORE));
}

static void in_wait(MPI_File file)
{
    MPI_Request requests[3];
    int error[3];
    for (int i = 0; i < 3; i++) {
        error[i] = MPI_File_iwrite_at_all(file, (MPI_Offset)rank * WORDS, words, WORDS, MPI_INT,
                                          &requests[i]);
    }
    for (int i = 2; i >= 0; i--) { /* it may be known already */
        check_refused(error[i] == MPI_SUCCESS ? MPI_Wait(&requests[i], MPI_STATUS_IGNORE)
                                              : error[i]);
    }
}

static void in_split(MPI_File file)
{
    int error = MPI_File_write_at_all_begin(file, 0, words, 8, MPI_INT);
    check_refused(error == MPI_SUCCESS ? MPI_File_write_at_all_end(file, words, MPI_STATUS_IGNORE)
                                       : error);
}

static void in_sync(MPI_File file)
{
    check_refused(MPI_File_sync(file));
}

static void in_ordered(MPI_File file)
{
    check_refused(MPI_File_write_ordered(file, words, WORDS, MPI_INT, MPI_STATUS_IGNORE));
}

static void in_view(MPI_File file)
{
    check_refused(MPI_File_set_view(file, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
}

/* A file beside it goes on. */
static void revoked_while(void (*waits)(MPI_File file), int who)
{
    MPI_File file = open_file(0, NULL), other;
    char name_beside[160];
    snprintf(name_beside, sizeof(name_beside), "%s.beside", name);
    CHECK(MPI_File_open(MPI_COMM_WORLD, name_beside,
                        MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                        &other) == MPI_SUCCESS);
    fill(file, 1);
    if (rank == who) {
        CHECK(MPIX_File_revoke(file) == MPI_SUCCESS);
    } else {
        waits(file);
    }
    check_revoked(file);
    CHECK(!is_revoked(other));
    fill(other, 2);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS && file == MPI_FILE_NULL);
    CHECK(MPI_File_close(&other) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        CHECK(MPI_File_delete(name, MPI_INFO_NULL) == MPI_SUCCESS);
        CHECK(access(name_beside, F_OK) != 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- Closing ---- */

/* All the others may close before they know, while they know, or after. */
static void revoked_in_close(int who)
{
    MPI_File file = open_file(0, NULL);
    if (rank == who) {
        CHECK(MPIX_File_revoke(file) == MPI_SUCCESS);
    }
    CHECK(MPI_File_close(&file) == MPI_SUCCESS && file == MPI_FILE_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void nothing_is_committed(int who)
{
    MPI_File file = open_file(0, NULL);
    fill(file, 3);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    file = open_file(0, "rz_commit");
    fill(file, 4);
    if (rank == who) {
        CHECK(MPIX_File_revoke(file) == MPI_SUCCESS);
    }
    check_refused(MPI_File_close(&file));
    CHECK(file == MPI_FILE_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    file = open_file(0, NULL);
    CHECK(MPI_File_read_at_all(file, (MPI_Offset)rank * WORDS, words, WORDS, MPI_INT,
                               MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(words[0] == 3 && words[WORDS - 1] == 3);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

static void deleted_on_close(int who)
{
    MPI_File file = open_file(MPI_MODE_DELETE_ON_CLOSE, NULL);
    fill(file, 5);
    if (rank == who) {
        CHECK(MPIX_File_revoke(file) == MPI_SUCCESS);
    }
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(access(name, F_OK) != 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void of_one_process(void)
{
    MPI_File file;
    char own[160];
    snprintf(own, sizeof(own), "%s.%d", name, rank);
    CHECK(MPI_File_open(MPI_COMM_SELF, own,
                        MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                        &file) == MPI_SUCCESS);
    CHECK(MPIX_File_revoke(file) == MPI_SUCCESS);
    check_revoked(file);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS && access(own, F_OK) != 0);
}

/* ---- After a failure ---- */

static void repaired(void)
{
    MPI_File file = open_file(0, NULL);
    MPI_Group failed;
    MPI_Comm survivors;
    int n;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    fill(file, 6);
    if (rank == size - 1) {
        raise(SIGKILL);
    }
    /* Only the first rank learns of the failure by a call; the others wait for something that it
     * never does. */
    if (rank == 0) {
        int error = MPI_SUCCESS;
        while (error == MPI_SUCCESS) {
            error = MPI_Recv(words, 1, MPI_INT, size - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        CHECK(class_of(error) == MPI_ERR_PROC_FAILED);
        CHECK(MPIX_File_revoke(file) == MPI_SUCCESS);
    } else {
        int error = MPI_File_sync(file);
        CHECK(class_of(error) == MPI_ERR_REVOKED || class_of(error) == MPI_ERR_PROC_FAILED);
    }
    CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &survivors) == MPI_SUCCESS);
    MPI_Barrier(survivors);
    while (!is_revoked(file)) {
    }
    CHECK(MPIX_File_get_failed(file, &failed) == MPI_SUCCESS);
    MPI_Group_size(failed, &n);
    CHECK(n == 1);
    MPI_Group_free(&failed);
    check_refused(MPI_File_read_at(file, 0, words, 1, MPI_INT, MPI_STATUS_IGNORE));
    int error = MPI_File_close(&file);
    CHECK(error == MPI_SUCCESS || class_of(error) == MPI_ERR_PROC_FAILED);
    CHECK(file == MPI_FILE_NULL);
    CHECK(MPI_File_open(survivors, name, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                        &file) == MPI_SUCCESS);
    CHECK(MPI_File_read_at_all(file, 0, words, WORDS, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(words[0] == 6);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    MPI_Comm_free(&survivors);
}

int main(int argc, char **argv)
{
    void (*const calls[])(MPI_File) = {in_write_all, in_wait,    in_split,
                                       in_sync,      in_ordered, in_view};
    const char *folder = getenv("TMPDIR");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int number = (int)getpid();
    MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(name, sizeof(name), "%s/rz-file-revoke.%d", folder ? folder : "/tmp", number);
    if (argc > 1 && strcmp(argv[1], "fails") == 0) {
        repaired();
    } else {
        for (int k = 0; k < 6; k++) {
            revoked_while(calls[k], k % size);
        }
        for (int k = 0; k < 10; k++) {
            revoked_in_close(k % size);
        }
        nothing_is_committed(size - 1);
        deleted_on_close(0);
        of_one_process();
    }
    MPI_Finalize();
    return 0;
}
