/* The stream to rzrun: what it orders, what it is told. */
#ifndef RZ_DAEMON_LAUNCHER_H
#define RZ_DAEMON_LAUNCHER_H

#include "daemon/daemon.h"

struct rz_launcher;

/* Takes the stream fd over. Its end, or anything malformed on it, ends the daemon. */
rz_status_t rz_launcher_open(struct rz_launcher **launcher, struct rz_daemon *daemon, int fd);

/* Says where the overlay listens: the first message. */
void rz_launcher_say_listening(struct rz_launcher *launcher, uint32_t node, const char *address,
                               uint16_t tcp_port, uint16_t udp_port);

/* Waits at most timeout_ms until everything queued is written. */
void rz_launcher_flush(struct rz_launcher *launcher, uint32_t timeout_ms);
void rz_launcher_close(struct rz_launcher *launcher);

#endif
