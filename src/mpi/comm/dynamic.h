/*
 * Processes that come later: what spawn, connect, accept and join have in common. Everything stays
 * inside one universe, the daemons of this job, so that a number names a process for all of them.
 */
#ifndef RZ_MPI_DYNAMIC_H
#define RZ_MPI_DYNAMIC_H

#include "mpi/comm/intercomm.h"

/*
 * The other half of rz_news_tell: all of comm say how they fared, up a tree. At root the first
 * error of anybody; at others their own, or what they hear of. Ends with MPI_ERR_PROC_FAILED or
 * MPI_ERR_REVOKED where one failed or revoked comm.
 */
int rz_dynamic_confirm(struct rz_comm *comm, uint64_t operation, int root, int error);

/*
 * The end of it: root tells all how they have fared together, which is its own error. So who
 * returns MPI_SUCCESS knows that all have come as far as it has, though others may return an error.
 * All that have confirmed take part. The error of the call.
 */
int rz_dynamic_result(struct rz_comm *comm, uint64_t operation, int root, int error);

/* Whether a member of comm failed, or it was revoked: nobody waits there for others any more. And
 * the error that this is. */
bool rz_dynamic_is_broken(const struct rz_comm *comm);
int rz_dynamic_why_broken(const struct rz_comm *comm);

/* Whether that process has failed or has left the job. False of one whose spawn our board does not
 * show yet. */
bool rz_dynamic_is_gone(uint32_t process);

/* Whether it left in good order. */
bool rz_dynamic_has_ended(uint32_t process);

/* The inter-communicator of comm's group and remote, once the board shows all of it. The error
 * handler of comm. As rz_comm_make. */
int rz_dynamic_make(const uint64_t words[3], struct rz_comm *comm, struct rz_group *remote,
                    const char *call, struct rz_comm **newcomm);

/* A word that nobody else of this process says, for as long as the job lasts. */
uint64_t rz_dynamic_word(void);

/*
 * Whether members of comm part in an orderly way, because nothing else brings them together at the
 * end: it was made by spawn, connect, accept or join, or reaches beyond the world of this process.
 * To end such a one is a part in an agreement of all its members. So whoever waits for the others,
 * in MPI_Comm_disconnect, MPI_Finalize or MPIX_Comm_agree, waits for none that has ended it.
 */
bool rz_dynamic_says_farewell(const struct rz_comm *comm);

/* Waits until the other members of such a comm have come to give it up, too, or it is revoked; the
 * failed are not waited for. MPI_SUCCESS (at once for others) or RZM_ROLLBACK. */
int rz_dynamic_part(struct rz_comm *comm, const char *call);

/* In MPI_Finalize: the same for all that are left, and for the world of a spawned process, which
 * the daemons' barrier does not count; and nobody leaves to whom others still look for what was
 * agreed on a communicator that this process has ended. */
int rz_dynamic_finish(void);

/* ---- The end of connect and accept that hears from others (connect.c) ---- */

struct rz_setup_message;

/* A word has come. True: it was answered at once, and nobody will take it; it stays the caller's.
 * Not from inside a callback of a transport. */
bool rz_connect_answers(const struct rz_setup_message *word);

/* That port is closed: who waits before it is turned away. */
void rz_connect_port_closed(uint64_t port);

/* As rz_connect_answers, of what the spawned tell their root (comm_spawn.c): nobody spawns here any
 * more whom it concerns. */
bool rz_spawn_answers(const struct rz_setup_message *word);

/* ---- The processes of a spawn, among themselves (parent.c) ---- */

/*
 * Once MPI_COMM_WORLD stands: makes the inter-communicator with the parents and waits until their
 * root has told all of this world to go on. Does not return where the spawn came to nothing: then
 * none of the spawned processes goes on, and they leave without a word. An error class.
 */
int rz_parent_meet(void);

/* comm ends: MPI_Comm_get_parent does not give it any more. */
void rz_parent_ends(const struct rz_comm *comm);

/* What the parents of a spawn give to the spawned; of the caller, by free(). MPI_ERR_NO_MEM. */
struct rz_parent_message {
    uint64_t words[3]; /* of the inter-communicator */
    uint64_t order;    /* READY and GO are about this */
    uint32_t root;     /* the process that spawned */
    uint32_t n;        /* parents */
};
int rz_parent_write(const struct rz_parent_message *protocol_message,
                    const struct rz_group *parents, struct rz_news *news);

/* ---- What is to be started (spawn_commands.c) ---- */

struct rz_spawn_wish {
    int count;
    char *const *commands;
    char ***argvs; /* NULL, or [count], each NULL or ending with NULL */
    const int *maxprocs;
    struct rz_info **infos; /* [count], each may be NULL */
};

/* As the daemons read it (wire/spawn_order.h), and how many processes that makes. The order is of
 * the caller, by free(). MPI_ERR_NO_MEM, MPI_ERR_ARG, MPI_ERR_SPAWN: it is too long. */
int rz_spawn_commands_write(const struct rz_spawn_wish *wish, struct rz_news *order,
                            uint32_t *n_processes);

/* Why no process can be started while this job runs, to follow "no process can be started"; NULL:
 * it can, as far as this process knows. */
const char *rz_dynamic_refusal(void);

#endif
