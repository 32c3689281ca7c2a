/* Revocation: from now on a communicator is of no use but to agree, to shrink, to ask and to free.
 */
#ifndef RZ_MPI_COMM_REVOKE_H
#define RZ_MPI_COMM_REVOKE_H

#include <stdbool.h>

struct rz_comm;

/* comm is revoked, whoever said so: everything that is pending on it ends here. Once; harmless
 * again. */
void rz_comm_revoked(struct rz_comm *comm);

/* Revokes comm here and tells the other members; MPI_ERR_NO_MEM: they were not told. Not from
 * inside a callback of a transport. */
int rz_comm_revoke(struct rz_comm *comm);

/* Some revoked communicator still takes messages: rz_comms_shut is due before the transports are
 * looked at again. The calls that were pending on it return first. */
extern bool rz_comms_unshut;
void rz_comms_shut(void);

#endif
