/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPIX_Reinit while files are open: ranks kill themselves in the middle of collective, split and
 * non-blocking accesses. The roll-back closes the files, their handles are stale from then on, and
 * a file with rz_commit that was not closed keeps its old contents.
 *
 * Arguments: [DEATHS].
 */
#include "check.h"

#include <dirent.h>
#include <mpi-ext.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { STEPS = 24, WORDS = 3000 };

static int failures_wanted, passes, rank, size;
static char name[64], committed[80];
static MPI_File file, safe, split;
static int data[WORDS];

static void fail_perhaps(int step)
{
    int incarnation;
    RZ_Incarnation(&incarnation);
    if (passes == 1 && incarnation == 1 && rank < failures_wanted && step == 4 + 3 * rank) {
        raise(SIGKILL);
    }
}

static void check_closed(void)
{
    char path[320], target[256];
    DIR *folder = opendir("/proc/self/fd");
    CHECK(folder != NULL);
    for (struct dirent *entry; (entry = readdir(folder));) {
        snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
        ssize_t n = readlink(path, target, sizeof(target) - 1);
        target[n > 0 ? n : 0] = '\0';
        CHECK(strncmp(target, name, strlen(name)) != 0);
    }
    closedir(folder);
}

/* Whether a file that begins like the committed one is left: the other one of a commit. */
static bool something_is_left(void)
{
    bool left = false;
    DIR *folder = opendir("/tmp");
    for (struct dirent *entry; (entry = readdir(folder));) {
        left |= strstr(entry->d_name, ".rz-commit.") != NULL &&
                strncmp(entry->d_name, committed + strlen("/tmp/"), strlen(committed) - 5) == 0;
    }
    closedir(folder);
    return left;
}

static void open_all(void)
{
    MPI_Info info;
    MPI_Datatype block, filetype;
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL,
                        &file) == MPI_SUCCESS);
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, MPI_INFO_NULL, &split) == MPI_SUCCESS);
    MPI_Info_create(&info);
    MPI_Info_set(info, "rz_commit", "true");
    CHECK(MPI_File_open(MPI_COMM_WORLD, committed, MPI_MODE_RDWR | MPI_MODE_CREATE, info, &safe) ==
          MPI_SUCCESS);
    MPI_Info_free(&info);
    MPI_Type_contiguous(10, MPI_INT, &block);
    MPI_Type_create_resized(block, 0, 10 * size * (MPI_Aint)sizeof(int), &filetype);
    MPI_Type_commit(&filetype);
    MPI_Type_free(&block);
    MPI_File *files[] = {&file, &safe, &split};
    for (int i = 0; i < 3; i++) {
        CHECK(MPI_File_set_view(*files[i], 10 * rank * (MPI_Offset)sizeof(int), MPI_INT, filetype,
                                "native", MPI_INFO_NULL) == MPI_SUCCESS);
    }
    MPI_Type_free(&filetype);
}

static void one_step(int step)
{
    MPI_Request requests[3];
    for (int i = 0; i < WORDS; i++) {
        data[i] = step * 1000 + rank;
    }
    MPI_File_iwrite_at_all(file, 0, data, WORDS, MPI_INT, &requests[0]);
    MPI_File_iwrite_at(file, WORDS, data, WORDS, MPI_INT, &requests[1]);
    MPI_File_iwrite_at_all(safe, 0, data, WORDS, MPI_INT, &requests[2]);
    MPI_File_write_at_all_begin(split, 2 * WORDS, data, WORDS, MPI_INT);
    fail_perhaps(step);
    MPI_File_write_at_all_end(split, data, MPI_STATUS_IGNORE);
    CHECK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_write_shared(safe, NULL, 0, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

static int point(int argc, char **argv, MPIX_Reinit_state_t state)
{
    (void)argc, (void)argv, (void)state;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(name, sizeof(name), "/tmp/rz-file-reinit-%s", getenv("RZ_TEST_NAME"));
    snprintf(committed, sizeof(committed), "%s-committed", name);
    check_closed();
    if (passes++ > 0) {
        int amode;
        CHECK(MPI_File_get_amode(file, &amode) == MPI_ERR_FILE);
        CHECK(MPI_File_get_amode(safe, &amode) == MPI_ERR_FILE);
    }
    CHECK(access(committed, F_OK) != 0);
    MPI_Barrier(MPI_COMM_WORLD);
    open_all();
    for (int step = 0; step < STEPS; step++) {
        one_step(step);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(access(committed, F_OK) != 0);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_close(&safe) == MPI_SUCCESS);
    CHECK(access(committed, F_OK) == 0 && !something_is_left());
    CHECK(MPI_File_close(&split) == MPI_SUCCESS);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    if (rank == 0) {
        CHECK(MPI_File_delete(name, MPI_INFO_NULL) == MPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return 0;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    failures_wanted = argc > 1 ? atoi(argv[1]) : 1;
    CHECK(MPIX_Reinit(argc, argv, point) == 0);
    if (rank == 0) {
        CHECK(MPI_File_delete(committed, MPI_INFO_NULL) == MPI_SUCCESS);
    }
    MPI_Finalize();
    return 0;
}
