/*
 * Invitations: by a word (comm/word.h) the survivors of a communicator tell a process that came in
 * place of a dead one of the new communicator to which it belongs.
 */
#ifndef RZ_MPI_INVITATION_H
#define RZ_MPI_INVITATION_H

#include "mpi/comm/comm.h"
#include "mpi/comm/word.h"

struct rz_invitation {
    uint64_t context;
    uint32_t n, index; /* which of how many communicators are repaired together */
    uint32_t rows;     /* rz_group.rows */
    uint32_t size;     /* of the group */
    uint32_t *process; /* [size] */
    bool *is_new;      /* [size]: is invited itself */
};

/* As a word to all of them that are new and live; MPI_ERR_NO_MEM. */
int rz_invitation_send(const struct rz_invitation *invitation);

/* Reads one; *invitation is to be freed, also when it is malformed. False: malformed, or of no use
 * to this process (it is not in the group, or a slot is not of this job). */
bool rz_invitation_read(struct rz_invitation *invitation, const struct rz_word *word);

/* Whether this process has the communicator of that id already, or had it. */
bool rz_invitation_known(uint64_t context);

void rz_invitation_free(struct rz_invitation *invitation);

#endif
