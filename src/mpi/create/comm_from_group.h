/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Comm_create_from_group and its variant for inter-communicators. */
#ifndef RZ_MPI_COMM_FROM_GROUP_H
#define RZ_MPI_COMM_FROM_GROUP_H

/* Creations with equal members and name are numbered: forgets the numbers, at the end of an
 * epoch. */
void rz_comm_from_group_close(void);

#endif
