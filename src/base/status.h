/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Status codes, grouped by what an error affects: message < link < process < group < job.
 */
#ifndef RZ_BASE_STATUS_H
#define RZ_BASE_STATUS_H

#define RZ_STATUS_TABLE(X)                                                                         \
    X(RZ_OK, "success")                                                                            \
    X(RZ_IN_PROGRESS, "not finished yet")                                                          \
    X(RZ_ERR_INVALID, "invalid argument")                                                          \
    X(RZ_ERR_NO_MEMORY, "out of memory")                                                           \
    X(RZ_ERR_UNSUPPORTED, "not supported by this build")                                           \
    X(RZ_ERR_SYSTEM, "the operating system refused")                                               \
    X(RZ_ERR_TIMEOUT, "no answer within the bound")                                                \
    X(RZ_ERR_FILE_SIZE, "a file, as which memory that processes share counts, would be larger "    \
                        "than this user allows: "                                                  \
                        "raise `ulimit -f`")                                                       \
    X(RZ_ERR_NO_DESCRIPTORS, "no descriptor is left: raise the hard limit of open files, "         \
                             "`ulimit -Hn`")                                                       \
    X(RZ_ERR_TOO_MANY, "a process may have no more of these at a time")                            \
    /* message */                                                                                  \
    X(RZ_ERR_TRUNCATE, "message longer than the receive buffer")                                   \
    X(RZ_ERR_MALFORMED, "malformed message")                                                       \
    X(RZ_ERR_CANCELLED, "cancelled")                                                               \
    /* link */                                                                                     \
    X(RZ_ERR_CLOSED, "connection closed by the peer")                                              \
    X(RZ_ERR_VERSION, "peer speaks another version of the protocol")                               \
    X(RZ_ERR_AUTHENTICATION, "peer did not prove that it belongs to this job")                     \
    X(RZ_ERR_REFUSED, "its daemon refused this process, and has reported why")                     \
    /* process */                                                                                  \
    X(RZ_ERR_PROC_FAILED, "the process failed")                                                    \
    X(RZ_ERR_PROC_FAILED_PENDING, "a process that might have matched failed")                      \
    /* group */                                                                                    \
    X(RZ_ERR_REVOKED, "the communicator was revoked")                                              \
    /* job */                                                                                      \
    X(RZ_ERR_ROLLBACK, "the job is rolling back to its restart point")                             \
    X(RZ_ERR_FENCED, "this process or node was declared failed")                                   \
    X(RZ_ERR_NO_QUORUM, "this side of a partition has no quorum")                                  \
    X(RZ_ERR_EXISTS, "the name is taken")                                                          \
    X(RZ_ERR_NOT_FOUND, "there is no such name")                                                   \
    X(RZ_ERR_JOB_ENDED, "the job has ended")                                                       \
    X(RZ_ERR_NO_SLOTS, "no slot is left on the live nodes")                                        \
    X(RZ_ERR_CHECKPOINT_LOST, "a checkpoint that the job must restore is lost or damaged")         \
    X(RZ_ERR_CHECKPOINT_UNKEPT, "checkpoints cannot be kept")

#define RZ_STATUS_ENUM(code, text) code,
typedef enum rz_status { RZ_STATUS_TABLE(RZ_STATUS_ENUM) RZ_STATUS_COUNT } rz_status_t;
#undef RZ_STATUS_ENUM

/* The text of a status; never NULL. */
const char *rz_status_text(rz_status_t status);

#endif
