/* Messages: sending, arrival, rendezvous, and the end of operations. */
#include "net/ucx/ucx_internal.h"

#include "base/assert.h"
#include "wire/cursor.h"

#include <stdlib.h>
#include <string.h>

#define SLOT(op, slot) ((op)->net_private[slot])

static struct rz_ucx_peer *peer_of(const struct rz_net_op *op)
{
    return SLOT(op, RZ_UCX_PEER);
}

static size_t bytes_of(const struct rz_net_op *op)
{
    return (size_t)(uintptr_t)SLOT(op, RZ_UCX_BYTES);
}

/* ---- operations that UCX holds, and queues ---- */

static void hold(struct rz_net_op *op, struct rz_ucx_peer *peer)
{
    SLOT(op, RZ_UCX_NEXT) = peer->operations;
    SLOT(op, RZ_UCX_BACK) = &peer->operations;
    if (peer->operations != NULL)
        SLOT((struct rz_net_op *)peer->operations, RZ_UCX_BACK) = &SLOT(op, RZ_UCX_NEXT);
    peer->operations = op;
    peer->pending++;
}

static void release(struct rz_net_op *op)
{
    struct rz_ucx_peer *peer = peer_of(op);
    struct rz_net_op *next = SLOT(op, RZ_UCX_NEXT);
    rz_assert(peer->pending > 0);
    *(void **)SLOT(op, RZ_UCX_BACK) = next;
    if (next != NULL)
        SLOT(next, RZ_UCX_BACK) = SLOT(op, RZ_UCX_BACK);
    peer->pending--;
}

static void queue_put(struct rz_ucx_queue *queue, struct rz_net_op *op)
{
    SLOT(op, RZ_UCX_NEXT) = NULL;
    if (queue->last != NULL)
        SLOT(queue->last, RZ_UCX_NEXT) = op;
    else
        queue->first = op;
    queue->last = op;
}

static struct rz_net_op *queue_take(struct rz_ucx_queue *queue)
{
    struct rz_net_op *op = queue->first;
    if (op != NULL) {
        queue->first = SLOT(op, RZ_UCX_NEXT);
        if (queue->first == NULL)
            queue->last = NULL;
    }
    return op;
}

/* ---- the end of operations ---- */

void rz_ucx_finish(struct rz_net *net, struct rz_net_op *op, rz_status_t status)
{
    SLOT(op, RZ_UCX_BYTES) = (void *)(uintptr_t)status;
    queue_put(&net->finished, op);
}

unsigned rz_ucx_deliver(struct rz_net *net)
{
    struct rz_net_op *op;
    unsigned count = 0;
    while ((op = queue_take(&net->finished)) != NULL) {
        rz_status_t status = (rz_status_t)(uintptr_t)SLOT(op, RZ_UCX_BYTES);
        memset(op->net_private, 0, sizeof op->net_private);
        op->done(op, status);
        count++;
    }
    return count;
}

/* How an operation ends that UCX ended with status. */
static rz_status_t outcome(const struct rz_ucx_peer *peer, ucs_status_t status)
{
    if (status == UCS_OK)
        return RZ_OK;
    return peer->state == RZ_UCX_ENDED ? peer->status : rz_ucx_status(status);
}

static void letter_free(struct rz_net *net, struct rz_ucx_letter *letter)
{
    letter->next = net->letters;
    net->letters = letter;
}

static struct rz_ucx_letter *letter_write(struct rz_net *net, const struct rz_net_op *op)
{
    struct rz_ucx_letter *letter = net->letters;
    if (letter != NULL)
        net->letters = letter->next;
    else if ((letter = malloc(sizeof *letter)) == NULL)
        return NULL;
    struct rz_wire_writer writer;
    rz_wire_writer_init(&writer, letter->bytes, sizeof letter->bytes);
    rz_wire_put_u64(&writer, net->name);
    memcpy(writer.at, op->header, op->header_bytes);
    return letter;
}

/* ---- sending ---- */

static void sent(void *request, ucs_status_t status, void *user)
{
    struct rz_net_op *op = user;
    struct rz_ucx_peer *peer = peer_of(op);
    struct rz_net *net = peer->net;
    ucp_request_free(request);
    release(op);
    letter_free(net, SLOT(op, RZ_UCX_OWN));
    rz_ucx_finish(net, op, outcome(peer, status));
    if (peer->queue.first != NULL)
        rz_ucx_peer_attend(net, peer);
}

/* Gives one send to UCX. */
static rz_status_t hand_over(struct rz_net *net, struct rz_ucx_peer *peer, struct rz_net_op *op,
                             const void *data, size_t bytes)
{
    struct rz_ucx_letter *letter = letter_write(net, op);
    if (letter == NULL)
        return RZ_ERR_NO_MEMORY;
    SLOT(op, RZ_UCX_PEER) = peer;
    SLOT(op, RZ_UCX_OWN) = letter;
    ucp_request_param_t parameters = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                        UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_MEMORY_TYPE,
        .flags = bytes > RZ_UCX_EAGER_MAX ? UCP_AM_SEND_FLAG_RNDV | UCP_AM_SEND_FLAG_REPLY
                                          : UCP_AM_SEND_FLAG_EAGER,
        .memory_type = UCS_MEMORY_TYPE_HOST,
        .cb.send = sent,
        .user_data = op,
    };
    ucs_status_ptr_t request =
        ucp_am_send_nbx(peer->endpoint, RZ_UCX_MESSAGE, letter->bytes,
                        RZ_UCX_NAME_BYTES + op->header_bytes, data, bytes, &parameters);
    if (UCS_PTR_IS_PTR(request)) {
        hold(op, peer);
        return RZ_IN_PROGRESS;
    }
    letter_free(net, letter);
    return rz_ucx_status(UCS_PTR_STATUS(request));
}

rz_status_t rz_ucx_send(struct rz_net *net, rz_peer_t number, const void *data, size_t bytes,
                        struct rz_net_op *op)
{
    struct rz_ucx_peer *peer = rz_ucx_peer_by_number(net, number);
    rz_assert(op->header_bytes <= RZ_NET_HEADER_MAX);
    if (peer == NULL)
        return RZ_ERR_INVALID;
    if (peer->state != RZ_UCX_LIVE)
        return peer->status;
    if (peer->endpoint == NULL && !net->inside) {
        rz_status_t status = rz_ucx_peer_reach(net, peer);
        if (status != RZ_OK)
            return status;
    }
    if (peer->endpoint == NULL)
        rz_ucx_peer_attend(net, peer);
    else if (peer->queue.first == NULL && peer->pending < RZ_UCX_WINDOW)
        return hand_over(net, peer, op, data, bytes);
    SLOT(op, RZ_UCX_PEER) = peer;
    SLOT(op, RZ_UCX_DATA) = (void *)(uintptr_t)data;
    SLOT(op, RZ_UCX_BYTES) = (void *)(uintptr_t)bytes;
    queue_put(&peer->queue, op);
    return RZ_IN_PROGRESS;
}

void rz_ucx_pump(struct rz_net *net, struct rz_ucx_peer *peer)
{
    rz_status_t reached = peer->endpoint != NULL ? RZ_OK : rz_ucx_peer_reach(net, peer);
    while (peer->queue.first != NULL && peer->pending < RZ_UCX_WINDOW) {
        struct rz_net_op *op = queue_take(&peer->queue);
        rz_status_t status = reached == RZ_OK
                                 ? hand_over(net, peer, op, SLOT(op, RZ_UCX_DATA), bytes_of(op))
                                 : reached;
        if (status != RZ_IN_PROGRESS)
            rz_ucx_finish(net, op, status);
    }
}

/* ---- tokens ---- */

static void token_free(struct rz_net_token *token)
{
    *token->back = token->next;
    if (token->next != NULL)
        token->next->back = token->back;
    free(token);
}

/* The user has done with it; inside host->arrived the handler still needs it. */
static void token_spend(struct rz_net_token *token)
{
    rz_assert(!token->spent);
    token->spent = true;
    if (!token->arriving)
        token_free(token);
}

void rz_ucx_tokens_void(struct rz_net *net, struct rz_ucx_peer *peer)
{
    for (struct rz_net_token *token = peer->tokens; token != NULL; token = token->next) {
        if (token->descriptor != NULL)
            ucp_am_data_release(net->worker, token->descriptor);
        token->descriptor = NULL;
    }
}

void rz_ucx_drop(struct rz_net *net, rz_net_token_t token)
{
    /* UCX must not lose the descriptor while its handler runs; the handler's return value drops the
     * payload then. */
    if (token->descriptor != NULL && !token->arriving)
        ucp_am_data_release(net->worker, token->descriptor);
    token_spend(token);
}

/* ---- landings ---- */

static struct rz_ucx_landing *landing_make(struct rz_net *net, struct rz_ucx_peer *peer,
                                           struct rz_net_op *op, size_t bytes)
{
    if (bytes > SIZE_MAX - sizeof(struct rz_ucx_landing))
        return NULL;
    struct rz_ucx_landing *landing = malloc(sizeof *landing + bytes);
    if (landing == NULL)
        return NULL;
    landing->peer = peer;
    landing->op = op;
    landing->next = net->landings;
    landing->back = &net->landings;
    if (landing->next != NULL)
        landing->next->back = &landing->next;
    net->landings = landing;
    return landing;
}

static void landing_free(struct rz_ucx_landing *landing)
{
    *landing->back = landing->next;
    if (landing->next != NULL)
        landing->next->back = landing->back;
    free(landing);
}

void rz_ucx_end_unheld(struct rz_net *net, struct rz_ucx_peer *peer)
{
    struct rz_net_op *op;
    while ((op = queue_take(&peer->queue)) != NULL)
        rz_ucx_finish(net, op, peer->status);
    for (struct rz_ucx_landing *landing = net->landings; landing != NULL; landing = landing->next) {
        if (landing->peer != peer || landing->op == NULL)
            continue;
        release(landing->op);
        rz_ucx_finish(net, landing->op, peer->status);
        landing->op = NULL;
    }
}

void rz_ucx_abandon(struct rz_net *net, struct rz_ucx_peer *peer)
{
    rz_ucx_end_unheld(net, peer);
    while (peer->operations != NULL) {
        struct rz_net_op *op = peer->operations;
        release(op);
        free(SLOT(op, RZ_UCX_OWN));
        rz_ucx_finish(net, op, peer->status);
    }
    while (peer->tokens != NULL)
        token_free(peer->tokens);
}

/* ---- fetching ---- */

static void end_fetch(struct rz_net_op *op, ucs_status_t status)
{
    struct rz_ucx_peer *peer = peer_of(op);
    release(op);
    rz_ucx_finish(peer->net, op, outcome(peer, status));
    if (peer->queue.first != NULL)
        rz_ucx_peer_attend(peer->net, peer);
}

static void fetched(void *request, ucs_status_t status, size_t length, void *user)
{
    (void)length;
    ucp_request_free(request);
    end_fetch(user, status);
}

static void landed(void *request, ucs_status_t status, size_t length, void *user)
{
    struct rz_ucx_landing *landing = user;
    struct rz_net_op *op = landing->op;
    (void)length;
    ucp_request_free(request);
    if (op != NULL) {
        if (status == UCS_OK)
            memcpy(SLOT(op, RZ_UCX_DATA), landing->bytes, bytes_of(op));
        end_fetch(op, status);
    }
    landing_free(landing);
}

/* Starts the transfer into the user's memory, or into a landing where the user's memory would not
 * be safe. */
static rz_status_t receive(struct rz_net *net, struct rz_net_token *token, void *data, size_t bytes,
                           struct rz_net_op *op)
{
    struct rz_ucx_peer *peer = token->peer;
    struct rz_ucx_landing *landing = NULL;
    if (peer->state == RZ_UCX_LIVE && peer->endpoint == NULL && !net->inside)
        (void)rz_ucx_peer_reach(net, peer);
    /* UCX 1.13 writes the whole payload, however small the memory it was given. */
    if (bytes < token->bytes || peer->endpoint == NULL || peer->endpoint != token->through) {
        landing = landing_make(net, peer, op, token->bytes);
        if (landing == NULL)
            return RZ_ERR_NO_MEMORY;
    }
    SLOT(op, RZ_UCX_PEER) = peer;
    SLOT(op, RZ_UCX_DATA) = data;
    SLOT(op, RZ_UCX_BYTES) = (void *)(uintptr_t)bytes;
    ucp_request_param_t parameters = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                        UCP_OP_ATTR_FIELD_MEMORY_TYPE | UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
        .memory_type = UCS_MEMORY_TYPE_HOST,
        .cb.recv_am = landing != NULL ? landed : fetched,
        .user_data = landing != NULL ? (void *)landing : op,
    };
    ucs_status_ptr_t request =
        ucp_am_recv_data_nbx(net->worker, token->descriptor,
                             landing != NULL ? landing->bytes : data, token->bytes, &parameters);
    token->descriptor = NULL;
    token->fetched = true;
    if (UCS_PTR_IS_PTR(request)) {
        hold(op, peer);
        return RZ_IN_PROGRESS;
    }
    rz_assert(UCS_PTR_IS_ERR(request));
    if (landing != NULL)
        landing_free(landing);
    return outcome(peer, UCS_PTR_STATUS(request));
}

rz_status_t rz_ucx_fetch(struct rz_net *net, rz_net_token_t token, void *data, size_t bytes,
                         struct rz_net_op *op)
{
    rz_status_t status = RZ_OK;
    if (token->descriptor == NULL)
        status = token->peer->status;
    else if (bytes > 0)
        status = receive(net, token, data, bytes < token->bytes ? bytes : token->bytes, op);
    rz_ucx_drop(net, token); /* what receive did not take */
    return status;
}

/* ---- arrival ---- */

/* A payload still with its sender. Returns what UCX is to do with its descriptor. */
static ucs_status_t announce(struct rz_net *net, struct rz_ucx_peer *peer,
                             struct rz_wire_reader *reader, void *data, size_t bytes,
                             const ucp_am_recv_param_t *parameters)
{
    struct rz_net_token *token = calloc(1, sizeof *token);
    if (token == NULL)
        return UCS_ERR_NO_MEMORY; /* the sender is told */
    /* One declared dead may have connected anew: its payloads are gone like all others of it. */
    bool lives = peer->state == RZ_UCX_LIVE || peer->state == RZ_UCX_STRANGER;
    bool named = (parameters->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) != 0;
    *token = (struct rz_net_token){.next = peer->tokens,
                                   .back = &peer->tokens,
                                   .peer = peer,
                                   .descriptor = lives ? data : NULL,
                                   .through = named ? parameters->reply_ep : NULL,
                                   .bytes = bytes,
                                   .arriving = true};
    if (token->next != NULL)
        token->next->back = &token->next;
    peer->tokens = token;
    net->host.arrived(net->host.arg, reader->at, (uint32_t)(reader->end - reader->at), NULL, bytes,
                      token);
    token->arriving = false;
    bool keep = token->fetched || (!token->spent && token->descriptor != NULL);
    if (token->spent)
        token_free(token);
    return keep ? UCS_INPROGRESS : UCS_OK;
}

static ucs_status_t message_arrived(void *arg, const void *header, size_t header_bytes, void *data,
                                    size_t bytes, const ucp_am_recv_param_t *parameters)
{
    struct rz_net *net = arg;
    bool here = (parameters->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0;
    if (net->deaf || header_bytes < RZ_UCX_NAME_BYTES ||
        header_bytes > RZ_UCX_NAME_BYTES + RZ_NET_HEADER_MAX || (here && bytes > RZ_UCX_EAGER_MAX))
        return UCS_OK;
    struct rz_wire_reader reader;
    rz_wire_reader_init(&reader, header, header_bytes);
    struct rz_ucx_peer *peer = rz_ucx_peer_meet(net, rz_wire_get_u64(&reader));
    /* Own the connection of each peer that has one: its loss is told, and disconnect closes it. */
    if (peer != NULL && peer->state == RZ_UCX_LIVE && peer->endpoint == NULL)
        rz_ucx_peer_attend(net, peer);
    if (!here)
        return peer != NULL ? announce(net, peer, &reader, data, bytes, parameters)
                            : UCS_ERR_NO_MEMORY;
    net->host.arrived(net->host.arg, reader.at, (uint32_t)(reader.end - reader.at), data, bytes,
                      NULL);
    return UCS_OK;
}

rz_status_t rz_ucx_listen(struct rz_net *net)
{
    ucp_am_handler_param_t parameters = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                      UCP_AM_HANDLER_PARAM_FIELD_ARG | UCP_AM_HANDLER_PARAM_FIELD_FLAGS,
        .id = RZ_UCX_MESSAGE,
        .flags = UCP_AM_FLAG_WHOLE_MSG,
        .cb = message_arrived,
        .arg = net,
    };
    return rz_ucx_status(ucp_worker_set_am_recv_handler(net->worker, &parameters));
}
