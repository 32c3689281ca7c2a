/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An access in atomic mode waits for the lock of a program that is no process of the job. Meanwhile
 * the other calls of its process, and of other ranks, go on: the lock ends when they have. The
 * argument is the name of the file.
 */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { INTS = 100 };

static int to_locker[2], from_locker[2];
static pid_t locker;
static const char *path;

static void order(char what)
{
    char done;
    SO(write(to_locker[1], &what, 1) == 1 && read(from_locker[0], &done, 1) == 1);
}

/* Another process: locks all of the file at each order, and unlocks it at the next one. */
static void be_locker(void)
{
    char what;
    int fd = -1;
    close(to_locker[1]);
    while (read(to_locker[0], &what, 1) == 1) {
        struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        fd = fd < 0 ? open(path, O_RDWR) : fd;
        all.l_type = what == 'l' ? F_WRLCK : F_UNLCK;
        if (fcntl(fd, F_SETLKW, &all) != 0 || write(from_locker[1], &what, 1) != 1) {
            _exit(1);
        }
    }
    _exit(0);
}

static void start_locker(void)
{
    SO(pipe(to_locker) == 0 && pipe(from_locker) == 0);
    locker = fork();
    if (locker == 0) {
        be_locker();
    }
    close(to_locker[0]);
}

static void check_values(const int *values)
{
    for (int i = 0; i < INTS; i++) {
        SO(values[i] == i);
    }
}

static void *read_alone(void *file)
{
    int values[INTS] = {0};
    SO(MPI_File_read_at(*(MPI_File *)file, 0, values, INTS, MPI_INT, MPI_STATUS_IGNORE) ==
       MPI_SUCCESS);
    check_values(values);
    return NULL;
}

/* All that the lock's end waits for. */
static void talk(void)
{
    int rank, sum = 0, one = 1, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 20; i++) {
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        SO(sum == size);
    }
}

static void in_a_thread(MPI_File file)
{
    pthread_t thread;
    order('l');
    SO(pthread_create(&thread, NULL, read_alone, &file) == 0);
    usleep(50000); /* so that it waits */
    talk();
    order('u');
    pthread_join(thread, NULL);
}

static void collectively(MPI_File file)
{
    int values[INTS] = {0};
    MPI_Request request;
    order('l');
    SO(MPI_File_iread_at_all(file, 0, values, INTS, MPI_INT, &request) == MPI_SUCCESS);
    talk();
    order('u');
    SO(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    check_values(values);
}

int main(int argc, char **argv)
{
    int rank, level, values[INTS], status;
    char name[4096];
    MPI_File file;
    snprintf(name, sizeof(name), "%s.%s", argc > 1 ? argv[1] : "locked",
             getenv("RZ_RANK") ? getenv("RZ_RANK") : "0");
    path = name;
    start_locker();
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < INTS; i++) {
        values[i] = i;
    }
    SO(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) ==
       MPI_SUCCESS);
    MPI_File_write_at(file, 0, values, INTS, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_set_atomicity(file, 1);
    for (int i = 0; i < 5; i++) {
        in_a_thread(file);
        collectively(file);
    }
    MPI_File_close(&file);
    MPI_Finalize();
    close(to_locker[1]);
    SO(waitpid(locker, &status, 0) == locker && status == 0);
    unlink(path);
    return 0;
}
