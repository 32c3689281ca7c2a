/*
 * The daemon's side of the link protocol (wire/link_messages.h): who joins, who wants to reach
 * whom, what reaches recovery and store.
 */
#ifndef RZ_DAEMON_LINK_SERVICE_H
#define RZ_DAEMON_LINK_SERVICE_H

#include "daemon/child.h"

struct rz_link_service;

rz_status_t rz_link_service_open(struct rz_link_service **service, struct rz_daemon *daemon);
void rz_link_service_close(struct rz_link_service *service);

/* Attends to the link of a new process; takes fd over. */
rz_status_t rz_link_service_attach(struct rz_child *process, int fd);

/* Deals with everything that the process has sent so far (it may be failed). */
void rz_link_service_drain(struct rz_child *process);

/* A message to a process that has joined; one that does not read is killed. */
void rz_link_service_send(struct rz_child *process, const struct rz_link_message *message);
/* With descriptors, which stay the caller's. */
void rz_link_service_send_with(struct rz_child *process, const struct rz_link_message *message,
                               const int *fds, unsigned n_fds);

/* It has ended in order, whether it ever joined or not: who asked for its endpoint address hears
 * that there is none. */
void rz_link_service_ended(struct rz_child *process);

/* The process was spawned, by decision: who asked for its endpoint address before that is attended
 * to. */
void rz_link_service_spawned(struct rz_daemon *daemon, uint32_t rank, uint32_t incarnation);

/* Closes its link and forgets its questions. May be repeated. */
void rz_link_service_forget(struct rz_child *process);

#endif
