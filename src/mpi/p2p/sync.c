/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Serials of sends that may wait for their receivers, and the messages about them:
 * acknowledgements, cancel requests and their answers.
 */
#include "mpi/p2p/sync.h"

#include "base/no_memory.h"
#include "mpi/p2p/message.h"
#include "mpi/engine/peer.h"

#include <stdlib.h>

static struct slot {
    struct rz_request *request; /* NULL: free */
    uint32_t uses;
    uint32_t next_free;
} * slots;
static uint32_t n_slots, first_free;
static uint32_t acks_on_their_way;

#define SLOT_NONE UINT32_MAX

static bool slots_grow(void)
{
    uint32_t more = n_slots == 0 ? 32 : n_slots * 2;
    struct slot *bigger = realloc(slots, more * sizeof(*slots));
    if (!bigger) {
        return false;
    }
    slots = bigger;
    for (uint32_t i = n_slots; i < more; i++) {
        slots[i] = (struct slot){.next_free = i + 1 < more ? i + 1 : SLOT_NONE};
    }
    first_free = n_slots;
    n_slots = more;
    return true;
}

bool rz_sync_await(struct rz_request *request)
{
    if ((n_slots == 0 || first_free == SLOT_NONE) && !slots_grow()) {
        return false;
    }
    struct slot *slot = &slots[first_free];
    request->serial = (uint64_t)++slot->uses << 32 | first_free;
    first_free = slot->next_free;
    slot->request = request;
    return true;
}

void rz_sync_release(struct rz_request *request)
{
    uint32_t index = (uint32_t)request->serial;
    slots[index].request = NULL;
    slots[index].next_free = first_free;
    first_free = index;
    request->serial = 0;
}

/* The request with that serial, or NULL. */
static struct rz_request *request_called(uint64_t serial)
{
    uint32_t index = (uint32_t)serial;
    struct rz_request *request = index < n_slots ? slots[index].request : NULL;
    return request && request->serial == serial ? request : NULL;
}

struct rz_request *rz_sync_send_of(uint64_t serial, uint32_t process)
{
    struct rz_request *request = request_called(serial);
    bool fits = request && request->flags & RZ_REQUEST_SEND &&
                rz_comm_process(request->comm, request->peer) == process;
    return fits ? request : NULL;
}

/* A message about a send, on its way; it outlives the requests. */
struct ack {
    struct rz_send_desc send_desc;
    uint64_t receive; /* the serial of the receive that waits until it has left; 0: none does */
    void (*answered)(struct rz_request *receive);
};

static void ack_done(struct rz_net_op *op, rz_status_t status)
{
    (void)status; /* if the sender is gone, it needs no answer */
    struct ack *ack = (struct ack *)(void *)((char *)op - offsetof(struct ack, send_desc.op));
    struct rz_request *receive = ack->receive != 0 ? request_called(ack->receive) : NULL;
    void (*answered)(struct rz_request * receive) = ack->answered;
    acks_on_their_way--;
    free(ack);
    if (receive) {
        answered(receive);
    }
}

/* Sends an envelope of that kind about the message of `envelope`. RZ_IN_PROGRESS: *sent is on its
 * way; RZ_OK: it has left; otherwise that process is gone. */
static rz_status_t send_about(uint32_t process, const struct rz_envelope *envelope,
                              enum rz_envelope_kind kind, struct ack **sent)
{
    const struct rz_link_info *info = rz_engine.info;
    struct ack *ack = calloc(1, sizeof(*ack));
    rz_need_memory(ack, "to acknowledge a message"); /* the sender would wait for ever */
    struct rz_envelope about = *envelope;
    about.kind = kind;
    about.slot = info->self.rank;
    about.incarnation = info->self.incarnation;
    rz_send_desc_init(&ack->send_desc, ack_done);
    rz_envelope_encode(&about, ack->send_desc.op.header);
    ack->send_desc.op.header_bytes = RZ_ENVELOPE_BYTES;
    rz_status_t status = rz_peer_send(process, &ack->send_desc);
    if (status == RZ_IN_PROGRESS) {
        acks_on_their_way++;
        *sent = ack;
    } else {
        free(ack);
    }
    return status;
}

/* If the connection is open but has no space, the sender may be computing: the receive does not
 * wait then. */
static bool tell(uint32_t process, const struct rz_envelope *envelope, enum rz_envelope_kind kind)
{
    struct ack *sent;
    rz_status_t status = send_about(process, envelope, kind, &sent);
    return status == RZ_OK || status == RZ_IN_PROGRESS;
}

/* Where the connection is open but congested, the sender may be computing: the receive does not
 * wait then. */
bool rz_sync_acknowledge(const struct rz_envelope *envelope, struct rz_request *receive,
                         void (*answered)(struct rz_request *receive))
{
    uint32_t from = rz_message_from(envelope);
    bool open = rz_peer_is_open(from);
    struct ack *sent;
    if (send_about(from, envelope, RZ_ENVELOPE_ACK, &sent) != RZ_IN_PROGRESS || open ||
        !rz_sync_await(receive)) {
        return false;
    }
    sent->receive = receive->serial;
    sent->answered = answered;
    return true;
}

/* ---- Cancelling ---- */

bool rz_sync_cancel(const struct rz_request *request, const struct rz_envelope *envelope)
{
    return tell(rz_comm_process(request->comm, request->peer), envelope, RZ_ENVELOPE_CANCEL);
}

void rz_sync_cancel_wanted(const struct rz_envelope *envelope)
{
    bool taken = envelope->serial != 0 && rz_message_take_back(envelope);
    tell(rz_message_from(envelope), envelope, taken ? RZ_ENVELOPE_CANCELLED : RZ_ENVELOPE_MET);
}

bool rz_sync_cancel_own(const struct rz_envelope *envelope)
{
    return rz_message_take_back(envelope);
}

bool rz_sync_quiet(void)
{
    return acks_on_their_way == 0;
}

void rz_sync_close(void)
{
    free(slots);
    slots = NULL;
    n_slots = 0;
}
