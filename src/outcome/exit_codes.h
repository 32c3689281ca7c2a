/* SPDX-License-Identifier: BSD-3-Clause */
/* The meaning of rzrun's exit status if it is not the program's own. Help and code are generated
 * from this one table. */
#ifndef RZ_OUTCOME_EXIT_CODES_H
#define RZ_OUTCOME_EXIT_CODES_H

#define RZ_EXIT_TABLE(X)                                                                           \
    X(RZ_EXIT_BAD_LINE, 2, "the command line is wrong")                                            \
    X(RZ_EXIT_SLOTS, 3, "more ranks than slots (left), or than cores to bind them to")             \
    X(RZ_EXIT_START, 4, "a daemon or a process could not be started")                              \
    X(RZ_EXIT_LOST, 5, "the job lost all its nodes, or its quorum")                                \
    X(RZ_EXIT_RESTARTS, 6, "too many restarts without a newly committed checkpoint")               \
    X(RZ_EXIT_NO_JOB, 7, "--attach, --end: there is no such job, or it cannot be reached")         \
    X(RZ_EXIT_CHECKPOINT, 8, "checkpoints cannot be kept, or none can be read back")               \
    X(RZ_EXIT_OUTPUT, 9, "output could not be written or was not read, or input not read")         \
    X(RZ_EXIT_MEMORY, 10, "rzrun had no memory left")                                              \
    X(RZ_EXIT_NO_ANSWER, 11, "--rewind-check came to no answer")                                   \
    X(RZ_EXIT_SAVED, 75, "a signal ended the job, and --restart continues it (--checkpoint-dir)")  \
    X(RZ_EXIT_TIMEOUT, 124, "--timeout ran out")                                                   \
    X(RZ_EXIT_NOT_EXECUTABLE, 126, "the program cannot be executed")                               \
    X(RZ_EXIT_NOT_FOUND, 127, "the program was not found")

#define RZ_EXIT_ENUM(name, value, text) name = (value),
enum rz_exit { RZ_EXIT_TABLE(RZ_EXIT_ENUM) };
#undef RZ_EXIT_ENUM

#endif
