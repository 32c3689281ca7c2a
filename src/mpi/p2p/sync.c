#include "mpi/p2p/sync.h"

#include "mpi/p2p/message.h"
#include "mpi/p2p/p2p.h"
#include "mpi/p2p/peer.h"

#include <stdlib.h>

static struct slot {
    struct rz_request *request; /* NULL: free */
    uint32_t uses;
    uint32_t next_free;
} * slots;
static uint32_t n_slots, first_free;
static uint32_t acks_on_their_way;

#define SLOT_NONE UINT32_MAX

/* Synchronous messages that were dropped. Their senders wait for a receive that never comes: only
 * programs that cancel such sends, or are wrong, add to it. */
static struct dropped {
    struct dropped *next;
    struct rz_envelope envelope;
} * all_dropped;

static bool slots_grow(void)
{
    uint32_t more = n_slots == 0 ? 32 : n_slots * 2;
    struct slot *bigger = realloc(slots, more * sizeof(*slots));
    if (bigger == NULL) {
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

/* The request that is called so; or NULL. */
static struct rz_request *request_called(uint64_t serial)
{
    uint32_t index = (uint32_t)serial;
    struct rz_request *request = index < n_slots ? slots[index].request : NULL;
    return request != NULL && request->serial == serial ? request : NULL;
}

/* The send that is called so, and waits for an answer of that process; or NULL. */
static struct rz_request *request_of(uint64_t serial, uint32_t process)
{
    struct rz_request *request = request_called(serial);
    bool fits = request != NULL && request->flags & RZ_REQUEST_SEND &&
                rz_comm_process(request->comm, request->peer) == process;
    return fits ? request : NULL;
}

void rz_sync_acknowledged(uint64_t serial, uint32_t process)
{
    struct rz_request *request = request_of(serial, process);
    if (request != NULL) {
        rz_p2p_acknowledged(request);
    }
}

/* An acknowledgement on its way lives by itself. */
struct ack {
    struct rz_send_desc send_desc;
    uint64_t receive; /* the serial of the receive that waits for it to go; 0: none does */
};

static void ack_done(struct rz_net_op *op, rz_status_t status)
{
    (void)status; /* a sender that is gone will not miss it */
    struct ack *ack = (struct ack *)(void *)((char *)op - offsetof(struct ack, send_desc.op));
    struct rz_request *receive = ack->receive != 0 ? request_called(ack->receive) : NULL;
    acks_on_their_way--;
    free(ack);
    if (receive != NULL) {
        rz_p2p_answered(receive);
    }
}

/*
 * Sends an envelope of that kind about the message of `envelope`. RZ_IN_PROGRESS: *sent is on its
 * way; RZ_OK: it has gone; else that process is gone.
 */
static rz_status_t send_about(uint32_t process, const struct rz_envelope *envelope,
                              enum rz_envelope_kind kind, struct ack **sent)
{
    const struct rz_link_info *info = rz_engine.info;
    struct ack *ack = calloc(1, sizeof(*ack));
    if (ack == NULL) {
        abort(); /* the other one would wait for ever */
    }
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

/* False: that process is gone. */
static bool tell(uint32_t process, const struct rz_envelope *envelope, enum rz_envelope_kind kind)
{
    struct ack *sent;
    rz_status_t status = send_about(process, envelope, kind, &sent);
    return status == RZ_OK || status == RZ_IN_PROGRESS;
}

/* Where the connection is open but has no room, the sender may be computing: nobody waits for that.
 */
bool rz_sync_acknowledge(const struct rz_envelope *envelope, struct rz_request *receive)
{
    uint32_t from = rz_message_from(envelope);
    if (from == rz_engine.self) {
        rz_sync_acknowledged(envelope->serial, from);
        return false;
    }
    bool open = rz_peer_is_open(from);
    struct ack *sent;
    if (send_about(from, envelope, RZ_ENVELOPE_ACK, &sent) != RZ_IN_PROGRESS || open ||
        !rz_sync_await(receive)) {
        return false;
    }
    sent->receive = receive->serial;
    return true;
}

/* ---- Cancelling ---- */

bool rz_sync_cancel(const struct rz_request *request, const struct rz_envelope *envelope)
{
    return tell(rz_comm_process(request->comm, request->peer), envelope, RZ_ENVELOPE_CANCEL);
}

static bool is_same(const struct rz_envelope *kept, const struct rz_envelope *wanted)
{
    return kept->serial == wanted->serial && kept->slot == wanted->slot &&
           kept->incarnation == wanted->incarnation;
}

static bool is_called_so(const struct rz_match_entry *entry, const void *arg)
{
    return is_same(&RZ_EARLY_OF(entry)->envelope, arg);
}

void rz_sync_dropped(const struct rz_envelope *envelope)
{
    struct dropped *dropped = calloc(1, sizeof(*dropped));
    if (dropped == NULL) {
        abort(); /* the sender would wait for ever */
    }
    *dropped = (struct dropped){all_dropped, *envelope};
    all_dropped = dropped;
}

static bool take_from_dropped(const struct rz_envelope *envelope)
{
    for (struct dropped **at = &all_dropped; *at != NULL; at = &(*at)->next) {
        struct dropped *dropped = *at;
        if (is_same(&dropped->envelope, envelope)) {
            *at = dropped->next;
            free(dropped);
            return true;
        }
    }
    return false;
}

/* Takes the message out of those that met no receive. */
static bool take_back(const struct rz_envelope *envelope)
{
    struct rz_match_entry *entry =
        rz_match_take_back(&rz_engine.matcher, envelope->context, is_called_so, envelope);
    if (entry != NULL) {
        rz_message_drop(RZ_EARLY_OF(entry));
    }
    return entry != NULL || take_from_dropped(envelope);
}

void rz_sync_cancel_wanted(const struct rz_envelope *envelope)
{
    bool taken = envelope->serial != 0 && take_back(envelope);
    tell(rz_message_from(envelope), envelope, taken ? RZ_ENVELOPE_CANCELLED : RZ_ENVELOPE_MET);
}

void rz_sync_cancel_answered(const struct rz_envelope *envelope)
{
    struct rz_request *request = request_of(envelope->serial, rz_message_from(envelope));
    if (request != NULL) {
        rz_p2p_cancel_answered(request, envelope->kind == RZ_ENVELOPE_CANCELLED);
    }
}

bool rz_sync_cancel_own(const struct rz_envelope *envelope)
{
    return take_back(envelope);
}

bool rz_sync_quiet(void)
{
    return acks_on_their_way == 0;
}

void rz_sync_forget(void)
{
    while (all_dropped != NULL) {
        struct dropped *next = all_dropped->next;
        free(all_dropped);
        all_dropped = next;
    }
}

void rz_sync_close(void)
{
    rz_sync_forget();
    free(slots);
    slots = NULL;
    n_slots = 0;
}
