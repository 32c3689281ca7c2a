/* The job as JOB describes it, and what is derived from its key. */
#ifndef RZ_DAEMON_JOB_H
#define RZ_DAEMON_JOB_H

#include "daemon/daemon.h"

/*
 * Copies what `message` says into *job. On RZ_ERR_INVALID (a value out of its bounds, arrays that
 * disagree) or RZ_ERR_NO_MEMORY *why (static text) says what is wrong, and nothing is left to free.
 */
rz_status_t rz_job_read(struct rz_daemon_job *job, const struct rz_launch_job *message,
                        const char **why);
void rz_job_clear(struct rz_daemon_job *job);

/* Which of the job's programs a rank runs (MPI_APPNUM), from 0, and that program, whose texts
 * belong to the job. Slots behind the ranks: the first one. */
uint32_t rz_job_appnum(const struct rz_daemon_job *job, uint32_t slot);
struct rz_program rz_job_program(const struct rz_daemon_job *job, uint32_t slot);

/* What process (rank, incarnation) proves itself with: derived from the job key, which stays
 * between daemons. */
void rz_job_process_key(const struct rz_daemon_job *job, uint32_t rank, uint32_t incarnation,
                        uint8_t key[RZ_JOB_KEY_BYTES]);

/* With --detector flat: what all processes of the job prove to one another that they belong to it.
 * Each of them holds it, so it is no proof against one of them. */
void rz_job_ring_key(const struct rz_daemon_job *job, uint8_t key[RZ_JOB_KEY_BYTES]);

/* The same for connections between processes of different nodes (net/tcp). */
void rz_job_net_key(const struct rz_daemon_job *job, uint8_t key[RZ_JOB_KEY_BYTES]);

/* The same for datagrams of dynamic groups (groups.h). */
void rz_job_group_key(const struct rz_daemon_job *job, uint8_t key[RZ_JOB_KEY_BYTES]);

/* Whether all nodes of the job are on one machine (their addresses are loopback ones). */
bool rz_job_single_host(const struct rz_daemon_job *job);

#endif
