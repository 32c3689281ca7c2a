/* Ports of this process; their names are published with the daemons. */
#ifndef RZ_MPI_SERVICE_H
#define RZ_MPI_SERVICE_H

/* All ports end: in finalize. */
void rz_ports_close(void);

#endif
