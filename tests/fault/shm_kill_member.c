/* SPDX-License-Identifier: BSD-3-Clause */
/* Bystanders and victims of the kill campaign. Lane, rank and peer number are one and the same
 * here. */
#include "shm_kill_page.h"

#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGE_MAX = 600 * 1000, OUTSTANDING = 6 };

struct kill_header {
    uint64_t seed; /* of the payload */
    uint32_t from, bytes;
    uint64_t number; /* counts per ordered pair */
};

/* A send under way; its payload is its own. */
struct outgoing {
    struct rig_op op;
    bool busy;
    unsigned char data[LARGE_MAX];
};

/* A fetch under way. */
struct incoming {
    struct rz_net_op op;
    struct member *member;
    struct incoming *next;
    struct kill_header header;
    unsigned char data[];
};

struct member {
    struct kill_page *page;
    const struct rig *rig;
    unsigned self;
    struct rig_user user;
    struct rz_net *net;
    struct rz_random random;
    bool connected[KILL_LANES], ended[KILL_LANES];
    bool unheard[KILL_LANES]; /* failed before anything of it was seen: the transport cannot know
                                 its lane */
    uint64_t sent[KILL_LANES], got[KILL_LANES];
    unsigned fetching[KILL_LANES];
    struct outgoing *outgoing[KILL_LANES]; /* [OUTSTANDING] */
};

static _Noreturn void complain(struct member *member, const char *what, unsigned from)
{
    snprintf(member->page->complaint, sizeof(member->page->complaint), "%s %u: %s (from lane %u)",
             member->self < KILL_BYSTANDERS ? "bystander" : "victim", member->self, what, from);
    _exit(1);
}

/* Fast enough for floods, and any shift or mixture of two payloads shows. */
static void fill(unsigned char *data, size_t bytes, uint64_t seed)
{
    size_t i = 0;
    for (; i + 8 <= bytes; i += 8) {
        uint64_t word = seed + i * UINT64_C(0x9E3779B97F4A7C15);
        memcpy(data + i, &word, 8);
    }
    for (; i < bytes; i++) {
        data[i] = (unsigned char)(seed + i);
    }
}

static bool is_filled(const unsigned char *data, size_t bytes, uint64_t seed)
{
    size_t i = 0;
    for (; i + 8 <= bytes; i += 8) {
        uint64_t word = seed + i * UINT64_C(0x9E3779B97F4A7C15);
        if (memcmp(data + i, &word, 8) != 0) {
            return false;
        }
    }
    for (; i < bytes; i++) {
        if (data[i] != (unsigned char)(seed + i)) {
            return false;
        }
    }
    return true;
}

static void received(struct member *member, const struct kill_header *header,
                     const unsigned char *data)
{
    if (!is_filled(data, header->bytes, header->seed)) {
        complain(member, "wrong bytes", header->from);
    }
    if (member->self >= KILL_BYSTANDERS || header->from < KILL_BYSTANDERS) {
        return;
    }
    if (header->bytes > rz_shm_ops.eager_max) {
        member->page->large[member->self]++;
    } else {
        member->page->small[member->self]++;
    }
}

static void fetched(struct incoming *incoming, rz_status_t status)
{
    struct member *member = incoming->member;
    unsigned from = incoming->header.from;
    member->fetching[from]--;
    if (status == RZ_OK) {
        received(member, &incoming->header, incoming->data);
    } else if (from < KILL_BYSTANDERS && !atomic_load(&member->page->stop)) { /* then it may end */
        complain(member, "a fetch from a living process ended with an error", from);
    } else {
        member->page->lost[member->self]++;
    }
    free(incoming);
}

static void fetch_done(struct rz_net_op *op, rz_status_t status)
{
    fetched(op->user, status);
}

static void on_arrived(struct rig_user *user, const void *bytes, uint32_t header_bytes,
                       const void *data, size_t n, rz_net_token_t token)
{
    struct member *member = user->arg;
    struct kill_header header;
    if (header_bytes != sizeof(header)) {
        complain(member, "wrong header", 0);
    }
    memcpy(&header, bytes, sizeof(header));
    unsigned from = header.from;
    if (from < KILL_LANES && member->unheard[from]) {
        if (token) { /* as the library does with messages of the failed processes */
            rz_shm_ops.drop(member->net, token);
        }
        return;
    }
    if (from >= KILL_LANES || header.bytes != n || header.number != member->got[from]) {
        complain(member, "wrong header, or a message lost or twice", from);
    }
    if (member->ended[from]) {
        complain(member, "a message after the end", from);
    }
    member->got[from]++;
    if (!token) {
        received(member, &header, data);
        return;
    }
    struct incoming *incoming = malloc(sizeof(*incoming) + n);
    rz_assert(incoming != NULL);
    *incoming = (struct incoming){.op.done = fetch_done, .member = member, .header = header};
    incoming->op.user = incoming;
    member->fetching[from]++;
    rz_status_t status = rz_shm_ops.fetch(member->net, token, incoming->data, n, &incoming->op);
    if (status != RZ_IN_PROGRESS) {
        fetched(incoming, status);
    }
}

static struct member *member_open(struct kill_page *page, const struct rig *rig, unsigned self,
                                  uint64_t seed)
{
    struct member *member = calloc(1, sizeof(*member));
    rz_assert(member != NULL);
    member->page = page;
    member->rig = rig;
    member->self = self;
    member->random.state = seed;
    member->user = (struct rig_user){.arrived = on_arrived, .arg = member, .shares = true};
    member->net = rig_join(rig, self, &member->user);
    return member;
}

static void member_connect(struct member *member, unsigned lane)
{
    rz_status_t status = rig_connect(member->rig, member->net, lane, lane, member->page->pid[lane]);
    if (status != RZ_OK) {
        complain(member, "cannot connect", lane);
    }
    member->connected[lane] = true;
    member->outgoing[lane] = calloc(OUTSTANDING, sizeof(*member->outgoing[lane]));
    rz_assert(member->outgoing[lane] != NULL);
}

/* Mostly small; some are large, some at the edge. */
static uint32_t random_bytes(struct member *member)
{
    uint64_t kind = rz_random_below(&member->random, 16);
    uint64_t max = kind < 10 ? 200 : kind < 14 ? rz_shm_ops.eager_max + 2 : LARGE_MAX;
    return (uint32_t)rz_random_below(&member->random, max);
}

/* Ends of sends are looked for here. A free one, or NULL. */
static struct outgoing *member_free_send(struct member *member, unsigned lane)
{
    struct outgoing *free_one = NULL;
    for (unsigned i = 0; i < OUTSTANDING; i++) {
        struct outgoing *outgoing = &member->outgoing[lane][i];
        if (outgoing->busy && outgoing->op.ended) {
            if (outgoing->op.ended != 1) {
                complain(member, "a send ended twice", lane);
            }
            if (outgoing->op.status != RZ_OK && !member->ended[lane]) {
                complain(member, "a send ended with an error too early", lane);
            }
            outgoing->busy = false;
        }
        if (!outgoing->busy) {
            free_one = outgoing;
        }
    }
    return free_one;
}

static bool member_send(struct member *member, unsigned lane)
{
    struct outgoing *outgoing = member_free_send(member, lane);
    if (!outgoing) {
        return false;
    }
    struct kill_header header = {.seed = rz_random_next(&member->random),
                                 .from = member->self,
                                 .bytes = random_bytes(member),
                                 .number = member->sent[lane]++};
    fill(outgoing->data, header.bytes, header.seed);
    rig_op_init(&outgoing->op, &header, sizeof(header));
    rz_status_t status =
        rz_shm_ops.send(member->net, lane, outgoing->data, header.bytes, &outgoing->op.op);
    outgoing->busy = status == RZ_IN_PROGRESS;
    if (status != RZ_OK && status != RZ_IN_PROGRESS) {
        complain(member, "cannot send", lane);
    }
    if (status == RZ_OK) {
        memset(outgoing->data, 0xEE, header.bytes); /* it may be used again */
    }
    return true;
}

/* The failure report on lane has come. */
static void member_close(struct member *member, unsigned lane)
{
    if (member->connected[lane]) {
        rz_shm_ops.disconnect(member->net, lane, true, RZ_ERR_PROC_FAILED);
    } else {
        struct rz_identity identity = {.job = 77, .rank = lane, .incarnation = 1};
        rz_shm_forget(member->net, identity, RZ_ERR_PROC_FAILED);
        member->unheard[lane] = member->got[lane] == 0;
    }
    member->ended[lane] = true;
    if (member->connected[lane]) {
        member_free_send(member, lane);
        for (unsigned i = 0; i < OUTSTANDING; i++) {
            if (member->outgoing[lane][i].busy) {
                complain(member, "a send to the failed processes did not end", lane);
            }
        }
        free(member->outgoing[lane]);
    }
    if (member->fetching[lane] > 0) {
        complain(member, "a fetch from the failed processes did not end", lane);
    }
    member->connected[lane] = false;
    atomic_store(&member->page->settled[member->self][lane], 1);
    rz_doorbell_ring(&member->page->bell, -1);
}

/* Victims: to connect to, send to, and disconnect. */
static void bystander_look_at_victims(struct member *member)
{
    for (unsigned lane = KILL_BYSTANDERS; lane < KILL_LANES; lane++) {
        if (member->ended[lane]) {
            continue;
        }
        if (atomic_load(&member->page->failed[lane])) {
            member_close(member, lane);
        } else if (!member->connected[lane] && member->got[lane] > lane % 3) {
            member_connect(member,
                           lane); /* messages of some arrive as from strangers for a while */
        } else if (member->connected[lane]) {
            member_send(member, lane);
        }
    }
}

void kill_bystander_run(struct kill_page *page, const struct rig *rig, unsigned self, uint64_t seed)
{
    struct member *member = member_open(page, rig, self, seed);
    unsigned other = 1 - self;
    while (!page->pid[other]) {
        usleep(100);
    }
    member_connect(member, other);
    while (!atomic_load(&page->stop)) {
        /* Number n is sent when the other's n - 1 has arrived: both must live for either to
         * continue. */
        bool due = member->sent[other] <= member->got[other];
        if (due && member_send(member, other)) {
            due = false;
            atomic_store(&page->exchanged[self], member->got[other]);
            rz_doorbell_ring(&page->bell, -1);
        }
        bystander_look_at_victims(member);
        if (due) {
            rz_shm_ops.progress(member->net); /* the end of a send, here awaited, is no event */
        } else if (!rig_turn(rig, member->net, self) && !atomic_load(&page->stop)) {
            complain(member, "slept too long: a wake-up was lost", other);
        }
    }
    if (member->user.broken > 0) {
        complain(member, "a ring was torn", member->user.broken_peer);
    }
    free(member->outgoing[other]); /* its last sends end with the transport, before which it must
                                      live */
}

void kill_victim_run(struct kill_page *page, const struct rig *rig, unsigned self, uint64_t seed)
{
    struct member *member = member_open(page, rig, self, seed);
    for (unsigned b = 0; b < KILL_BYSTANDERS; b++) {
        member_connect(member, b);
    }
    for (unsigned turn = 0;; turn++) {
        for (unsigned b = 0; b < KILL_BYSTANDERS; b++) {
            while (member_send(member, b) && rz_random_below(&member->random, 8)) {
                ;
            }
        }
        rz_shm_ops.progress(member->net);
        if (turn == 0) {
            atomic_store(&page->flooded[self], 1);
            rz_doorbell_ring(&page->bell, -1);
        }
    }
}
