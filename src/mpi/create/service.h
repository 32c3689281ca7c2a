/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports of this process. The daemons keep the names under which they are published.
 */
#ifndef RZ_MPI_SERVICE_H
#define RZ_MPI_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

/* Reads the name of a port; false: it is none. */
bool rz_port_read(const char *name, uint64_t *job, uint32_t *slot, uint32_t *incarnation,
                  uint64_t *number);

/* The number of an open port of this process, by its name; 0: there is none. */
uint64_t rz_port_number(const char *name);
bool rz_port_is_open(uint64_t number);

/* The number of any open port of this process; 0: there is none. rz_port_remove closes an open
 * one. */
uint64_t rz_port_first(void);
void rz_port_remove(uint64_t number);

/* Whether a name is published that this process has published, and has not unpublished itself. */
bool rz_service_publishes(void);

/* Whether a thread of this process waits for the daemons' answer about a name. */
bool rz_service_asks(void);

#endif
