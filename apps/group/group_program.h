/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What programs of the dynamic group have in common: their command line, and a group that begins
 * with the live processes.
 *
 *     group_parse(&program, argc, argv);   the options; ends the process for --help and wrong ones
 *     MPI_Init(&argc, &argv);
 *     group_open(&group, NULL);            tolerates failures meanwhile
 *     ... RZ_Group_monitor_round(group.monitor, ...)
 *     group_acknowledge(&group);           so that the job ends with status 0
 *     status = group_close(&group, done);  1: no process has the result
 *
 * Written against C, mpi.h, mpi-ext.h and leave.h: copy it into a program.
 */
#ifndef GROUP_PROGRAM_H
#define GROUP_PROGRAM_H

#include <mpi.h>

#include <mpi-ext.h>
#include <stdbool.h>
#include <stdint.h>

enum { GROUP_SETTINGS_MAX = 16 };

/* ---- The command line ---- */

/* PROGRAM OPERAND [options]: an operand, which must be there, is a whole number. */
struct group_program {
    const char *name;
    const char *usage; /* lines, each ended by a newline; those of this module are put below */
    const char *operand;
    uint64_t least, most, *value;   /* of the operand: bounds, and where it goes */
    bool (*flag)(const char *name); /* takes an option without a value; false: there is none */
    bool (*option)(const char *name,
                   const char *value); /* and one with a value, which may be NULL */
};

/* Takes all arguments: the program's, `--group KEY=VALUE` and those of leave.h. Ends the process
 * with 0 for --help, and with 2 and one line on standard error for invalid arguments. program is
 * used until the process ends. */
void group_parse(const struct group_program *program, int argc, char **argv);

/* Prints an invalid setting, in one line, and ends the process with 2; before MPI is
 * initialised. */
_Noreturn void group_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* For the program's options: value is not of the expected kind; ends the process with 2. */
_Noreturn void group_wrong(const char *name, const char *value, const char *wanted);
/* The whole number in text; ends the process where it is none in these bounds. */
uint64_t group_number(const char *name, const char *text, uint64_t least, uint64_t most);

/* ---- Errors ---- */

/* Prints what failed and why, in one line, and ends the job with 1. error: an error of MPI. */
_Noreturn void group_fail(const char *what, int error);
/* The same, where there is an error. */
void group_must(const char *what, int error);

/* ---- The group ---- */

struct group {
    RZ_Group_monitor monitor;
    MPI_Comm comm;  /* of the initial processes; its errors return */
    int rank, size; /* in comm */
    int acknowledged;
};

/*
 * Starts a monitor, tested by leave_test, on MPI_COMM_WORLD, or on what is left of it if members
 * fail before the group exists: collective over the live processes. fixed: "KEY=VALUE", which
 * overrides the user's setting of that key, or NULL. Ends the job if the group cannot be started.
 */
void group_open(struct group *group, const char *fixed);

/* Acknowledges the failures known so far: the program continues without these processes. */
void group_acknowledge(struct group *group);

/* Whether this process is the first member of the latest view. */
bool group_is_first(const struct group *group);

/* leave_open for the group's programs. If all processes would leave permanently it ends the job
 * with 2 and one line: called by all, with the same arguments but rank. */
void group_leaving(int rank, int size, uint64_t moments);

/* Stops the monitor; local. group_close does this, too. */
void group_stop(struct group *group);

/*
 * The end of the group: all live members agree on whether no process has the result. Then one
 * prints this, and all return 1; else 0. The return value is the program's exit status. A process
 * that fails before the agreement is acknowledged.
 */
int group_close(struct group *group, bool has_result);

#endif
