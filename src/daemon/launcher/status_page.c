/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the status document: one JSON object about the daemon, the job, its nodes and ranks, and
 * the processes of this node with their waits. */
#include "daemon/launcher/status_page.h"

#include "net/datagram/datagram.h"
#include "port/clock.h"
#include "port/process.h"
#include "wire/protocol_encoding.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

#define PAGE_NAME_MAX_BYTES 128 /* longer names are cut */
#define HEARTBEAT_BYTES                                                                            \
    (RZ_DATAGRAM_HEADER_BYTES + RZ_PROTOCOL_HEADER_BYTES + RZ_DATAGRAM_PROOF_BYTES)

static const char *const detectors[] = {
    [RZ_DETECTOR_RING] = "ring", [RZ_DETECTOR_SWIM] = "swim", [RZ_DETECTOR_FLAT] = "flat"};
static const char *const phases[] = {
    [RZ_PHASE_ENTER] = "enter", [RZ_PHASE_RUN] = "run", [RZ_PHASE_LEFT] = "left"};

static void set_field(json_t *object, const char *key, json_t *value)
{
    /* Without memory value is NULL, and the field is missing. */
    json_object_set_new(object, key, value);
}

/* Names come from the program. In a name that is not UTF-8 each byte beyond ASCII is written as
 * \xNN. */
static json_t *json_name_of(const char *name)
{
    json_t *text = json_string(name);
    char escaped[4 * PAGE_NAME_MAX_BYTES + 1], *at = escaped;
    if (text) {
        return text;
    }
    for (; *name && at < escaped + 4 * (PAGE_NAME_MAX_BYTES - 1); name++) {
        bool ascii = (unsigned char)*name < 0x80;
        at += snprintf(at, 5, ascii ? "%c" : "\\x%02x", (unsigned char)*name);
    }
    return json_string(escaped);
}

static json_t *hexadecimal(uint64_t number)
{
    char text[24];
    snprintf(text, sizeof(text), "%016" PRIx64, number);
    return json_string(text);
}

static json_t *seconds(rz_time time)
{
    return json_real((double)time / 1e9);
}

/* ---- The job ---- */

static json_t *nodes(const struct rz_status_page *looked)
{
    json_t *list = json_array();
    char text[RZ_ADDRESS_TEXT];
    for (uint32_t node = 0; node < looked->own->job.n_nodes; node++) {
        const struct rz_address *address = &looked->own->job.peers[node].address;
        json_t *one = json_object();
        bool failed = node != looked->own->job.node &&
                      rz_membership_node_has_failed(&looked->own->membership, node);
        set_field(one, "node", json_integer(node));
        set_field(one, "address", json_string(rz_address_ip_text(address, text)));
        set_field(one, "state", json_string(failed ? "failed" : "alive"));
        set_field(one, "slots", json_integer(looked->own->job.slots[node]));
        json_array_append_new(list, one);
    }
    return list;
}

/* over: of a detached job whose result is fixed no process is left. */
static const char *state_of(const struct rz_status_page *looked, uint32_t rank, bool over)
{
    const struct rz_membership_slot *place = &looked->own->membership.slots[rank];
    const struct rz_child *p = rz_child_of(looked->children, rank);
    if (looked->own->membership.slots[rank].failed >= place->incarnation ||
        rz_membership_node_has_failed(&looked->own->membership, place->node)) {
        return "failed";
    }
    bool ended = over || rz_board_writer_state(looked->board, rank) == RZ_PROCESS_ENDED;
    return ended || (p && p->state == RZ_CHILD_LEFT) ? "ended" : "alive";
}

static json_t *ranks(const struct rz_status_page *looked, bool over)
{
    json_t *list = json_array();
    for (uint32_t rank = 0; looked->own->membership.epoch > 0 && rank < looked->own->job.n_slots;
         rank++) {
        if (looked->own->membership.slots[rank].incarnation == 0) {
            continue;
        }
        json_t *one = json_object();
        set_field(one, "rank", json_integer(rank));
        set_field(one, "spawned", json_boolean(rank >= looked->own->job.n_ranks));
        set_field(one, "node", json_integer(looked->own->membership.slots[rank].node));
        set_field(one, "incarnation",
                  json_integer(looked->own->membership.slots[rank].incarnation));
        set_field(one, "state", json_string(state_of(looked, rank, over)));
        json_array_append_new(list, one);
    }
    return list;
}

/* ---- The processes of this node ---- */

static json_t *number_or_any(uint32_t number)
{
    return number == RZ_WAIT_ANY ? json_string("any") : json_integer(number);
}

static json_t *waits_of(const struct rz_child *p, rz_time now)
{
    json_t *list = json_array();
    for (uint32_t i = 0; p->share.waits && i < RZ_WAITS_MAX; i++) {
        struct rz_wait_text w;
        if (!rz_wait_read(&p->share.waits->wait[i], &w)) {
            continue;
        }
        json_t *one = json_object();
        set_field(one, "call", json_string(w.call));
        set_field(one, "communicator", hexadecimal(w.context));
        set_field(one, "name", json_name_of(w.name));
        set_field(one, "operation", json_integer((json_int_t)w.operation));
        set_field(one, "peer", number_or_any(w.flags & RZ_WAIT_OTHERS ? RZ_WAIT_ANY : w.peer));
        set_field(one, "tag", number_or_any(w.tag));
        set_field(one, "seconds", seconds(now > w.since_ns ? now - w.since_ns : 0));
        json_array_append_new(list, one);
    }
    return list;
}

static void set_usage(json_t *one, const struct rz_child *p)
{
    struct rz_process_usage usage;
    if (rz_process_usage(p->joined ? p->share.pid : p->pid, &usage)) {
        set_field(one, "processor_seconds", seconds(usage.processor));
        set_field(one, "resident_bytes", json_integer((json_int_t)usage.resident_bytes));
    }
}

static json_t *processes(const struct rz_status_page *looked)
{
    static const char *const states[] = {"started", "joined", "left", "failed"};
    rz_time now = rz_clock_now();
    json_t *list = json_array();
    for (const struct rz_child *p = looked->children->first; p; p = p->next) {
        json_t *one = json_object();
        set_field(one, "rank", json_integer(p->rank));
        set_field(one, "incarnation", json_integer(p->incarnation));
        set_field(one, "pid", json_integer(p->pid));
        set_field(one, "state", json_string(states[p->state]));
        if (p->marked) {
            set_field(one, "iteration", json_integer((json_int_t)p->iteration));
        }
        set_usage(one, p);
        if (rz_child_waited_ns(p) != RZ_WAITED_UNKNOWN) {
            set_field(one, "waited_seconds", seconds(rz_child_waited_ns(p)));
        }
        set_field(one, "waits", waits_of(p, now));
        json_array_append_new(list, one);
    }
    return list;
}

/* ---- Dynamic groups ---- */

static json_t *group(const struct rz_groups_look *look)
{
    json_t *one = json_object(), *members = json_array(), *excluded = json_array();
    json_t *events = json_object();
    set_field(one, "name", json_name_of(look->name));
    set_field(one, "round", json_integer(look->view_change.counts.round));
    set_field(one, "progress", json_integer((json_int_t)look->view_change.counts.progress));
    for (uint32_t i = 0; i < look->view_change.n; i++) {
        char rank[16];
        uint32_t slot = (uint32_t)look->view_change.processes[i];
        bool in = look->view_change.counts.view[i / 64] >> i % 64 & 1;
        json_array_append_new(in ? members : excluded, json_integer(slot));
        snprintf(rank, sizeof(rank), "%u", slot);
        set_field(events, rank, json_integer(look->events[i]));
    }
    set_field(one, "members", members);
    set_field(one, "excluded", excluded);
    set_field(one, "events", events);
    return one;
}

static json_t *groups(const struct rz_status_page *looked)
{
    struct rz_groups_look look;
    json_t *list = json_array();
    for (uint32_t i = 0; rz_groups_at(looked->groups, i, &look); i++) {
        json_array_append_new(list, group(&look));
    }
    return list;
}

/* ---- The newest checkpoint ---- */

static json_t *checkpoint(const struct rz_status_page *looked)
{
    struct rz_recovery_checkpoint newest = rz_recovery_checkpoint(looked->recovery);
    json_t *one = json_object();
    set_field(one, "generation", json_integer((json_int_t)newest.generation));
    if (newest.generation == 0) {
        return one;
    }
    set_field(one, "bytes", json_integer((json_int_t)newest.bytes));
    set_field(one, "safe", json_boolean(newest.safe));
    if (newest.at > 0) {
        set_field(one, "age_seconds", seconds(rz_clock_now() - newest.at));
    }
    return one;
}

/* ---- Detection, and what it costs ---- */

static json_t *detection(const struct rz_status_page *looked)
{
    json_t *one = json_object();
    const struct rz_daemon_job *job = &looked->own->job;
    bool off = job->flags & RZ_JOB_NO_FT || job->n_nodes == 1;
    double per_second = off ? 0.0 : 1e9 / (double)job->hb_period_ns;
    set_field(one, "detector", json_string(off ? "none" : detectors[job->detector]));
    set_field(one, "hb_period_seconds", seconds(job->hb_period_ns));
    set_field(one, "hb_timeout_seconds", seconds(job->hb_timeout_ns));
    /* For the ring: each node sends one heartbeat and receives one in each period, whatever the
     * number of nodes. */
    if (job->detector == RZ_DETECTOR_RING) {
        set_field(one, "heartbeat_bytes_per_second",
                  json_real(2 * per_second * (double)HEARTBEAT_BYTES));
    }
    return one;
}

/* ---- The end of a detached job ---- */

static json_t *json_result(const struct rz_detached_result *result)
{
    json_t *one = json_object();
    set_field(one, "status", json_integer(result->code));
    set_field(one, "cause", json_name_of(result->cause ? result->cause : ""));
    set_field(one, "age_seconds", seconds(rz_clock_now() - result->at));
    return one;
}

char *rz_status_page_write(const struct rz_status_page *looked)
{
    const struct rz_daemon_job *job = &looked->own->job;
    struct rz_detached_result result = {.at = rz_clock_now()};
    bool over = looked->detached && rz_detached_result(looked->detached, &result);
    json_t *page = json_object();
    set_field(page, "schema", json_string("rhizome.status.2"));
    set_field(page, "version", json_string(RZ_VERSION));
    set_field(page, "job", hexadecimal(job->id));
    set_field(page, "program", json_string(job->arguments[0]));
    set_field(page, "pid", json_integer(getpid()));
    set_field(page, "node", json_integer(job->node));
    set_field(page, "seconds", seconds(result.at - looked->begun));
    set_field(page, "epoch", json_integer(looked->own->membership.epoch));
    set_field(page, "phase", json_string(phases[looked->own->membership.phase]));
    set_field(page, "detached",
              json_string(looked->detached ? rz_detached_state(looked->detached) : "no"));
    if (over) {
        set_field(page, "result", json_result(&result));
    }
    set_field(page, "detection", detection(looked));
    set_field(page, "checkpoint", checkpoint(looked));
    set_field(page, "nodes", nodes(looked));
    set_field(page, "ranks", ranks(looked, over));
    set_field(page, "processes", processes(looked));
    set_field(page, "groups", groups(looked));
    char *text = json_dumps(page, JSON_COMPACT | JSON_REAL_PRECISION(6));
    json_decref(page);
    return text;
}
