/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rzdoctor --hosts: whether jobs on several hosts will work, before the first one.
 *
 * On each host runs `rzdoctor link`, all at once, started as rzrun starts daemons there: by ssh, by
 * the command of --launch-agent, by srun in a job of Slurm. It reads one order (a JSON object, a
 * line) after the other from standard input, and answers each by a line of standard output that
 * begins with RZ_LINK_MARK: greetings of a login shell do no harm. It ends with its standard input,
 * and with it everything that it started. A host that does not answer is waited for beside all
 * others, up to --start-timeout, and is given no more orders.
 *
 *   (its start)                           {version, abi, machine}
 *   {do: clock}                           {ns}: its time of day
 *   {do: check, path, libraries}          {findings}: as `rzdoctor check --json` has them
 *   {do: reach, to, interface, token}     {ip, other, to, us}: its address, by the rule of daemons,
 *                                         one of the other family at the same interface, or "", and
 *                                         a round trip to the first address of `to` that answers
 *   {do: serve, ip, ports, token}         {at, udp}: answers connections and datagrams there from
 *                                         now on
 *   {do: trip, to, udp, token}            {us}: a round trip to another host that serves, after a
 *                                         datagram was answered, too
 *   {do: rate, to, token}                 {mb_s}: bytes to it for a short time
 *
 * or {error} to any of them. Orders with `to` have within_ns, the time to connect to each address.
 * The token is random, and new for each run: what serves accepts no connection or datagram that
 * does not begin with it.
 */
#ifndef RZ_CMD_RZDOCTOR_HOSTS_H
#define RZ_CMD_RZDOCTOR_HOSTS_H

#include "cmd/rzdoctor.h"

#include "launch/clock_offset.h"
#include "launch/rzrun_options.h"
#include "port/socket.h"
#include "remote/dialog.h"

#define RZ_LINK_MARK "rhizome-doctor "
#define RZ_LINK_RZD "rzd (Rhizome) "   /* how the line begins in which rzd says its version */
enum { RZ_LINK_TOKEN = 32 };           /* characters */
enum { RZ_LINK_ANSWER_MAX = 1 << 20 }; /* bytes of the longest line */

/* ---- the end on each host ---- */

/* Reads orders and answers them until standard input ends. Its exit status. */
int rz_doctor_link(void);

/* Serves in a process of its own, which ends with this one: listens at an address for streams
 * and at one for datagrams (NULL: none), port 0: any that is free; they are completed. -1: it
 * cannot listen, or there is no further process. */
int rz_doctor_serve(struct rz_address *stream, struct rz_address *datagram, const char *token);
void rz_doctor_serve_end(int pid); /* -1: nothing */

/* ---- measures, each with a bound on time; false: *why, static text ---- */

struct rz_link_target {
    struct rz_address address;
    const char *token;
    rz_time within; /* to connect; 0, or more than that: 3 s */
};

/* The best of some round trips, in microseconds. *from: the address of this end. */
bool rz_link_trip(const struct rz_link_target *to, double *us, struct rz_address *from,
                  const char **why);
/* Whether a datagram is answered. */
bool rz_link_datagram(const struct rz_link_target *to, const char **why);
bool rz_link_rate(const struct rz_link_target *to, double *mb_s, const char **why);

/* ---- the other hosts, seen from here ---- */

enum { RZ_HOST_WORD = 200 };

/* One that is checked, and its agent. */
struct rz_doctor_host {
    const char *name;
    bool lost;                       /* it has not answered an order, and is given no more */
    char address[RZ_ADDRESS_TEXT];   /* where it serves; "": it does not */
    char other[RZ_ADDRESS_TEXT];     /* of the other family (IPv4, IPv6); "": there is none */
    char datagrams[RZ_ADDRESS_TEXT]; /* the same by UDP */
    int next;                        /* to which it measures the way */
    double us;                       /* the round trip that was measured last */
    struct rz_clock_offset clock;    /* its time of day */
    struct rz_dialog *dialog;        /* with `rzdoctor link` there */
    char version[64];                /* of rzd there; "": not known */
    char word[RZ_HOST_WORD];         /* the last line that was said by it or of it */
    json_t *answer;                  /* to the order that was given last; NULL: none yet */
};

/* ---- the checks ---- */

void rz_doctor_check_hosts(struct rz_doctor_report *report, const struct rz_rzrun_options *run);

/* What Slurm's settings do to jobs that lose a host. Says nothing where there is no Slurm. */
void rz_doctor_check_slurm(struct rz_doctor_report *report);

#endif
