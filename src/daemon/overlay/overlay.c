/* SPDX-License-Identifier: BSD-3-Clause */
/* The overlay's interface: it sends messages and datagrams, reports broken connections as evidence,
 * and opens, starts and closes the overlay. Connections are in overlay_in.c and overlay_out.c. */
#include "daemon/overlay/overlay_private.h"

#include "base/assert.h"
#include "base/no_memory.h"
#include "base/trace.h"
#include "wire/protocol_encoding.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(RZ_JOB_KEY_BYTES == RZ_PROOF_KEY_BYTES, "other keys are derived from the job's");
_Static_assert(RZ_PROOF_KEY_BYTES == RZ_DATAGRAM_KEY_BYTES, "as long as one of datagrams");

const struct rz_proof_terms *rz_overlay_terms(const struct rz_overlay *overlay,
                                              const uint8_t *challenge, const uint8_t *answer,
                                              rz_id connector, rz_id acceptor,
                                              struct rz_overlay_terms *terms)
{
    struct rz_wire_writer w;
    rz_wire_writer_init(&w, terms->bound, sizeof(terms->bound));
    rz_wire_put_u64(&w, overlay->config.job);
    rz_wire_put_u32(&w, connector);
    rz_wire_put_u32(&w, acceptor);
    terms->proof = (struct rz_proof_terms){.key = overlay->key,
                                           .challenge = challenge,
                                           .answer = answer,
                                           .bound = terms->bound,
                                           .bound_bytes = sizeof(terms->bound)};
    return &terms->proof;
}

/* ---- evidence ---- */

/* The loop runs active events in the order in which they were activated: what has arrived is read
 * before the report. */
void rz_overlay_suspect(struct rz_overlay *overlay, rz_id peer)
{
    overlay->outgoing[peer].suspect = true;
    for (struct incoming *in = overlay->incoming; in; in = in->next) {
        event_active(in->readable, EV_READ, 0);
    }
    event_active(overlay->reporting, EV_TIMEOUT, 0);
}

/* A broken connection behind an injected cut is not seen; healed() looks at it again. */
static bool is_cut(const struct rz_overlay *overlay, rz_id peer)
{
    return overlay->faults && rz_overlay_faults_cut(overlay->faults, peer);
}

static void report_broken(evutil_socket_t fd, short what, void *arg)
{
    struct rz_overlay *overlay = arg;
    (void)fd, (void)what;
    for (rz_id peer = 0; peer < overlay->config.n_nodes; peer++) {
        struct outgoing *out = &overlay->outgoing[peer];
        if (!out->suspect || out->broken || out->fenced || out->left || overlay->ending ||
            is_cut(overlay, peer)) {
            continue;
        }
        out->broken = true;
        overlay->config.broken(overlay->config.arg, peer);
    }
}

/* ---- injected faults ---- */

static void send_datagram(struct rz_overlay *overlay, rz_id to, const void *bytes, size_t n)
{
    uint8_t packet[RZ_DATAGRAM_MAX];
    size_t length = rz_datagram_seal(overlay->datagrams, to, bytes, n, packet);
    rz_socket_send_to(overlay->udp_fd, packet, length, &overlay->peers[to].udp);
}

static void send_held(void *arg, rz_id to, bool datagram, const void *bytes, size_t n)
{
    struct rz_overlay *overlay = arg;
    if (datagram) {
        send_datagram(overlay, to, bytes, n);
    } else {
        rz_overlay_outgoing_send(&overlay->outgoing[to], bytes, n);
    }
}

static void healed(void *arg, rz_id peer)
{
    struct rz_overlay *overlay = arg;
    if (overlay->outgoing[peer].suspect) {
        rz_overlay_suspect(overlay, peer);
    }
}

rz_status_t rz_overlay_inject(struct rz_overlay *overlay, enum rz_inject what,
                              const uint32_t *nodes, uint32_t n, uint64_t amount)
{
    const struct rz_overlay_faults_host host = {
        .arg = overlay, .send = send_held, .healed = healed};
    rz_status_t status = RZ_OK;
    if (!overlay->faults) {
        status = rz_overlay_faults_open(&overlay->faults, overlay->base, overlay->config.n_nodes,
                                        overlay->config.self, &host);
    }
    if (status == RZ_OK) {
        rz_overlay_faults_inject(overlay->faults, what, nodes, n, amount);
    }
    return status;
}

/* ---- sending ---- */

static void send_frame(struct rz_overlay *overlay, rz_id to, const void *bytes, size_t n)
{
    const struct outgoing *out = &overlay->outgoing[to];
    if (out->fenced || out->broken) {
        return;
    }
    if (!overlay->faults || !rz_overlay_faults_hold(overlay->faults, to, false, bytes, n)) {
        rz_overlay_outgoing_send(&overlay->outgoing[to], bytes, n);
    }
}

void rz_overlay_send(struct rz_overlay *overlay, rz_id to, const struct rz_overlay_message *message)
{
    rz_assert(to < overlay->config.n_nodes && to != overlay->config.self);
    RZ_TRACE(PEER_TOLD, to, message->type, 0);
    size_t n = rz_overlay_encode(message, overlay->scratch, sizeof(overlay->scratch));
    rz_assert(n > 0);
    send_frame(overlay, to, overlay->scratch, n);
}

void rz_overlay_send_protocol(struct rz_overlay *overlay, rz_id to,
                              const struct rz_message *message, const uint64_t *items,
                              bool datagram)
{
    size_t bytes = rz_protocol_message_bytes(message->n_items);
    uint8_t small[RZ_DATAGRAM_PAYLOAD_MAX],
        *buffer = bytes <= sizeof(small) ? small : malloc(bytes);
    rz_need_memory(buffer, "for a message to another daemon");
    size_t n = rz_protocol_message_encode(message, items, buffer, bytes);
    rz_assert(n == bytes);
    if (datagram && n <= RZ_DATAGRAM_PAYLOAD_MAX) {
        if (!overlay->faults || !rz_overlay_faults_hold(overlay->faults, to, true, buffer, n)) {
            send_datagram(overlay, to, buffer, n);
        }
    } else {
        struct rz_overlay_message wrapped = {
            .type = RZ_OVERLAY_PROTOCOL,
            .protocol = {.message = buffer, .message_length = (uint32_t)n}};
        rz_overlay_send(overlay, to, &wrapped);
    }
    if (buffer != small) {
        free(buffer);
    }
}

size_t rz_overlay_queued(const struct rz_overlay *overlay, rz_id to)
{
    const struct outgoing *out = &overlay->outgoing[to];
    return out->waiting_bytes + (out->frames ? rz_frames_queued(out->frames) : 0) +
           (overlay->faults ? rz_overlay_faults_held(overlay->faults, to) : 0);
}

bool rz_overlay_harmed(const struct rz_overlay *overlay, rz_id peer)
{
    return overlay->outgoing[peer].harmed;
}

const struct rz_overlay_refusals *rz_overlay_refusals(const struct rz_overlay *overlay)
{
    return &overlay->refusals;
}

/* ---- open and close ---- */

rz_status_t rz_overlay_open(struct rz_overlay **result, struct event_base *base,
                            const struct rz_address *address)
{
    if (rz_proof_begin() != RZ_OK) {
        return RZ_ERR_SYSTEM;
    }
    struct rz_overlay *overlay = calloc(1, sizeof(*overlay));
    if (!overlay) {
        return RZ_ERR_NO_MEMORY;
    }
    overlay->base = base;
    overlay->accepting = RZ_LOOP_LISTENER_NONE;
    overlay->udp_fd = -1;
    overlay->own.tcp = overlay->own.udp = rz_address_at(address, 0);
    rz_status_t status = rz_socket_listen(&overlay->own.tcp, &overlay->accepting.fd);
    if (status == RZ_OK) {
        status = rz_socket_datagram(&overlay->own.udp, &overlay->udp_fd);
    }
    if (status != RZ_OK) {
        rz_overlay_close(overlay);
        return status;
    }
    *result = overlay;
    return RZ_OK;
}

struct rz_overlay_peer rz_overlay_own(const struct rz_overlay *overlay)
{
    return (struct rz_overlay_peer){.address = rz_address_at(&overlay->own.tcp, 0),
                                    .tcp_port = overlay->own.tcp.port,
                                    .udp_port = overlay->own.udp.port};
}

static void connect_neighbours(struct rz_overlay *overlay)
{
    uint32_t n = overlay->config.n_nodes, self = overlay->config.self;
    for (uint32_t distance = 1; distance < n; distance *= 2) {
        uint32_t ahead = (self + distance) % n, behind = (self + n - distance) % n;
        if (!overlay->outgoing[ahead].frames) {
            rz_overlay_outgoing_open(&overlay->outgoing[ahead]);
        }
        if (!overlay->outgoing[behind].frames) {
            rz_overlay_outgoing_open(&overlay->outgoing[behind]);
        }
    }
}

rz_status_t rz_overlay_start(struct rz_overlay *overlay, const struct rz_overlay_config *config)
{
    rz_assert(!overlay->outgoing && config->self < config->n_nodes);
    overlay->config = *config;
    rz_proof_derive(config->key, RZ_OVERLAY_KEY_CONNECTIONS, NULL, 0, overlay->key);
    overlay->peers = calloc(config->n_nodes, sizeof(*overlay->peers));
    overlay->outgoing = calloc(config->n_nodes, sizeof(*overlay->outgoing));
    if (!overlay->peers || !overlay->outgoing) {
        return RZ_ERR_NO_MEMORY;
    }
    for (uint32_t i = 0; i < config->n_nodes; i++) {
        const struct rz_overlay_peer *peer = &config->peers[i];
        overlay->peers[i].tcp = rz_address_at(&peer->address, peer->tcp_port);
        overlay->peers[i].udp = rz_address_at(&peer->address, peer->udp_port);
        overlay->outgoing[i] =
            (struct outgoing){.overlay = overlay, .peer = i, .last = &overlay->outgoing[i].first};
    }
    overlay->config.peers = NULL; /* was copied */
    overlay->config.key = NULL;
    uint8_t of_datagrams[RZ_DATAGRAM_KEY_BYTES];
    rz_proof_derive(config->key, RZ_OVERLAY_KEY_DATAGRAMS, NULL, 0, of_datagrams);
    rz_status_t status =
        rz_datagrams_open(&overlay->datagrams, config->n_nodes, config->self, of_datagrams);
    rz_proof_wipe(of_datagrams, sizeof(of_datagrams));
    overlay->reporting = event_new(overlay->base, -1, 0, report_broken, overlay);
    if (status == RZ_OK) {
        status = overlay->reporting ? rz_overlay_receive_begin(overlay) : RZ_ERR_NO_MEMORY;
    }
    if (status == RZ_OK) {
        connect_neighbours(overlay);
    }
    return status;
}

bool rz_overlay_started(const struct rz_overlay *overlay)
{
    return overlay->reporting != NULL;
}

void rz_overlay_close(struct rz_overlay *overlay)
{
    rz_overlay_receive_end(overlay);
    for (uint32_t i = 0; overlay->outgoing && i < overlay->config.n_nodes; i++) {
        rz_overlay_outgoing_close(&overlay->outgoing[i]);
    }
    if (overlay->reporting) {
        event_free(overlay->reporting);
    }
    rz_overlay_faults_close(overlay->faults);
    rz_datagrams_close(overlay->datagrams);
    sodium_memzero(overlay->key, sizeof(overlay->key));
    if (overlay->udp_fd >= 0) {
        close(overlay->udp_fd);
    }
    free(overlay->outgoing);
    free(overlay->peers);
    free(overlay);
}

void rz_overlay_fence(struct rz_overlay *overlay, rz_id peer)
{
    struct outgoing *out = &overlay->outgoing[peer];
    if (out->fenced || peer == overlay->config.self) {
        return;
    }
    struct rz_overlay_message fenced = {.type = RZ_OVERLAY_FENCED,
                                        .fenced = {.reason = "declared failed by the others"}};
    rz_overlay_send(overlay, peer, &fenced);
    /* The connections stay open: a daemon that was stopped for long must read FENCED there, and not
     * an end that looks like our failure. */
    out->fenced = true;
}

void rz_overlay_ending(struct rz_overlay *overlay)
{
    overlay->ending = true;
}

void rz_overlay_leave(struct rz_overlay *overlay)
{
    const struct rz_overlay_message leaving = {.type = RZ_OVERLAY_LEAVING};
    for (rz_id peer = 0; overlay->outgoing && peer < overlay->config.n_nodes; peer++) {
        if (overlay->outgoing[peer].ready) {
            rz_overlay_send(overlay, peer, &leaving);
        }
    }
}
