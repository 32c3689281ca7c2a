/* Revocation: from now on a communicator is of no use but to agree, to shrink, to ask and to free.
 */
#ifndef RZ_MPI_COMM_REVOKE_H
#define RZ_MPI_COMM_REVOKE_H

struct rz_comm;

/* comm is revoked, whoever said so: everything that is pending on it ends here. Once; harmless
 * again. */
void rz_comm_revoked(struct rz_comm *comm);

/* Revokes comm here and tells the other members; MPI_ERR_NO_MEM: they were not told. Not from
 * inside a callback of a transport. */
int rz_comm_revoke(struct rz_comm *comm);

#endif
