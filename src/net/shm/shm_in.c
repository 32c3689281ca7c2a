/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The receiving side: lanes with events, and the records of their rings.
 */
#include "net/shm/shm_state.h"

#include "base/assert.h"
#include "port/memory.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

/* The owner tells a sender what it has read in steps of this number of bytes. A sender that finds
 * no space has more than that in its ring, so it will be told of space. */
enum { IN_PUBLISH = SHM_RING_FIRST / 4 };
static_assert(IN_PUBLISH + 2 * (SHM_EAGER_MAX + 2 * RZ_NET_HEADER_MAX + SHM_LINE) < SHM_RING_LEAST,
              "a sender is told");

/* A function that most turns do not call: kept out of its caller, which it would burden with
 * registers to save. */
#define SHM_SELDOM __attribute__((noinline))

/* Limit of consecutive turns with only one lane; turns between two looks at lanes whose bits were
 * taken long ago. */
enum { HOT_STREAK = 16, OLD_LOOK = 256 };

/* Determines which process writes to pair's lane. False: it is not the process to which the daemon
 * gave the lane. */
static bool in_identify(struct shm *shm, struct shm_pair *pair, const struct shm_lane_page *page)
{
    struct shm_identity owner = page->identity;
    struct rz_identity identity = {
        .job = owner.job, .rank = owner.rank, .incarnation = owner.incarnation};
    if (!pair->connected) {
        pair->identity = identity;
    }
    return owner.job_token == shm->config.job_token &&
           memcmp(&identity, &pair->identity, sizeof(identity)) == 0;
}

rz_status_t shm_in_open(struct shm *shm, struct shm_pair *pair)
{
    if (pair->in.page) {
        return RZ_OK;
    }
    int fd = shm->config.inbox_fd;
    size_t offset = shm_lane_offset(pair->lane, shm->config.lanes_max);
    void *at;
    /* Its writer has backed it with pages; if there is no writer, the first access must not raise a
     * signal. */
    rz_status_t status = rz_memory_reserve(fd, offset, shm_page_bytes());
    if (status == RZ_OK) {
        status = rz_memory_map_ring(fd, offset, shm_page_bytes(), SHM_RING, false, &at);
    }
    if (status != RZ_OK) {
        return status;
    }
    const struct shm_lane_page *page = at;
    if (!atomic_load(&page->opened)) {
        rz_memory_unmap(at, shm_page_bytes() + 2 * SHM_RING);
        return RZ_ERR_CLOSED;
    }
    pair->in.page = page;
    pair->in.ring = (unsigned char *)at + shm_page_bytes();
    pair->in.head = atomic_load_explicit(&shm->heads[pair->lane].read, memory_order_relaxed);
    pair->in.published = pair->in.head;
    pair->torn = !in_identify(shm, pair, page);
    return RZ_OK;
}

void shm_in_close(struct shm *shm, struct shm_pair *pair)
{
    if (pair->in.page) {
        atomic_store_explicit(&shm->heads[pair->lane].read, pair->in.head, memory_order_release);
    }
    rz_memory_unmap((void *)pair->in.page, shm_page_bytes() + 2 * SHM_RING);
}

/* Its ring has content that no correct writer writes: nothing more is read from it; other lanes are
 * not affected. */
static void in_tear(struct shm *shm, struct shm_pair *pair)
{
    pair->torn = true;
    if (pair->connected && shm->config.host.broken) {
        shm->config.host.broken(shm->config.host.arg, pair->peer);
    }
}

/* Copies a body, whose size is known: a copy, because the sender could change the checked bytes. */
static bool in_body(const struct shm_record *record, const unsigned char *body, void *copy,
                    size_t bytes)
{
    if (record->body_bytes < bytes) {
        return false;
    }
    memcpy(copy, body, bytes);
    return true;
}

static rz_status_t in_offer(struct shm *shm, struct shm_pair *pair, const struct shm_record *record,
                            const unsigned char *header, const unsigned char *body)
{
    struct shm_offer offer;
    struct rz_net_token *token;
    if (!in_body(record, body, &offer, sizeof(offer)) || offer.bytes == 0 ||
        offer.early > offer.bytes || offer.early > SHM_EARLY_MAX ||
        (offer.slot >= SHM_SLOTS && (offer.slot != SHM_PARKED || offer.early > 0))) {
        return RZ_ERR_MALFORMED;
    }
    rz_status_t status = shm_fetch_offered(shm, pair, &offer, &token);
    if (status == RZ_OK) {
        shm->config.host.arrived(shm->config.host.arg, header, record->header_bytes, NULL,
                                 offer.bytes, token);
    }
    return status;
}

static rz_status_t in_reply(struct shm *shm, struct shm_pair *pair, const struct shm_record *record,
                            const unsigned char *body)
{
    struct shm_reply reply;
    if (!in_body(record, body, &reply, sizeof(reply))) {
        return RZ_ERR_MALFORMED;
    }
    if (record->kind == SHM_SLOT) {
        return shm_fetch_slotted(shm, pair, &reply);
    }
    if (record->kind == SHM_DONE) {
        shm_out_done(pair, &reply);
    } else {
        shm_out_asked(shm, pair, &reply);
    }
    return RZ_OK;
}

static rz_status_t in_help(struct shm *shm, struct shm_pair *pair, const struct shm_record *record,
                           const unsigned char *body)
{
    struct shm_help help;
    if (!in_body(record, body, &help, sizeof(help))) {
        return RZ_ERR_MALFORMED;
    }
    shm_share_help(shm, pair, &help);
    return RZ_OK;
}

static rz_status_t in_piece(struct shm *shm, struct shm_pair *pair, const struct shm_record *record,
                            const unsigned char *body)
{
    struct shm_piece piece;
    if (!in_body(record, body, &piece, sizeof(piece))) {
        return RZ_ERR_MALFORMED;
    }
    size_t bytes = record->body_bytes - sizeof(piece);
    return record->kind == SHM_EARLY
               ? shm_fetch_early(shm, pair, &piece, body + sizeof(piece), bytes)
               : shm_fetch_piece(shm, pair, &piece, body + sizeof(piece), bytes);
}

/* RZ_ERR_NO_MEMORY: to be tried again later; RZ_ERR_MALFORMED: no correct writer wrote this. */
static rz_status_t in_record(struct shm *shm, struct shm_pair *pair,
                             const struct shm_record *record, const unsigned char *at)
{
    const unsigned char *header = at + sizeof(*record);
    const unsigned char *body = at + shm_body_offset(record->header_bytes, record->body_bytes);
    switch (__builtin_expect(record->kind, SHM_EAGER)) {
    case SHM_EAGER:
        shm->config.host.arrived(shm->config.host.arg, header, record->header_bytes, body,
                                 record->body_bytes, NULL);
        return RZ_OK;
    case SHM_OFFER:
        return in_offer(shm, pair, record, header, body);
    case SHM_DONE:
    case SHM_ASK:
    case SHM_SLOT:
        return in_reply(shm, pair, record, body);
    case SHM_PIECE:
    case SHM_EARLY:
        return in_piece(shm, pair, record, body);
    case SHM_HELP:
        return in_help(shm, pair, record, body);
    case SHM_SKIP:
        return RZ_OK;
    default:
        return RZ_ERR_MALFORMED;
    }
}

/* From time to time lets the sender reuse what was read, and wakes it if it sleeps until then. */
static inline void in_publish(struct shm *shm, struct shm_pair *pair)
{
    /* in an inner call the outer one still uses the memory */
    if (pair->in.head - pair->in.published < IN_PUBLISH || pair->in.depth > 0) {
        return;
    }
    pair->in.published = pair->in.head;
    atomic_store_explicit(&shm->heads[pair->lane].read, pair->in.head, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&pair->in.page->waiting, memory_order_relaxed) && pair->connected) {
        shm_out_ring(shm, pair);
    }
}

/* The head of the next record; 0: there is none. */
static inline uint64_t in_next(const struct shm_pair *pair)
{
    return atomic_load_explicit(shm_record_word(pair->in.ring, pair->in.head),
                                memory_order_acquire);
}

static inline bool in_is_read(const struct shm_pair *pair)
{
    return pair->in.page && !pair->torn && !pair->closed;
}

bool shm_in_news(const struct shm_pair *pair)
{
    return in_is_read(pair) && in_next(pair) != 0;
}

/* Handles the record with this head, the next one. As in_record; it stays where an error is
 * returned. */
static inline rz_status_t in_take(struct shm *shm, struct shm_pair *pair, uint64_t word)
{
    const unsigned char *at = pair->in.ring + pair->in.head % SHM_RING;
    struct shm_record record;
    memcpy(&record, &word, sizeof(record));
    size_t bytes = shm_record_bytes(record.header_bytes, record.body_bytes);
    if (record.header_bytes > RZ_NET_HEADER_MAX || bytes > SHM_USABLE) {
        return RZ_ERR_MALFORMED;
    }
    /* Advanced before the callback, which may itself read (disconnect drains). */
    uint64_t head = pair->in.head;
    pair->in.head += bytes;
    pair->in.depth++;
    rz_status_t status = in_record(shm, pair, &record, at);
    pair->in.depth--;
    if (status == RZ_OK) {
        in_publish(shm, pair);
    } else {
        pair->in.head = head;
    }
    return status;
}

unsigned shm_in_read(struct shm *shm, struct shm_pair *pair, unsigned most)
{
    if (!in_is_read(pair)) {
        return 0;
    }
    uint64_t connection = pair->connection, start = pair->in.head, word;
    unsigned records = 0;
    rz_status_t status = RZ_OK;
    while (records < most && (word = in_next(pair)) != 0 &&
           (status = in_take(shm, pair, word)) == RZ_OK) {
        records++;
        if (pair->connection != connection || pair->in.head - start >= SHM_RING) {
            /* A callback has ended the connection, and the rest is for the next one; or others get
             * their turn. */
            shm_set_add(&shm->again, pair->lane);
            break;
        }
    }
    if (status == RZ_ERR_MALFORMED && pair->connection == connection) {
        in_tear(shm, pair);
    } else if (status != RZ_OK) {
        shm_set_add(&shm->again, pair->lane);
    }
    return records;
}

/* Reads from a lane with events. */
static unsigned in_lane(struct shm *shm, uint32_t lane)
{
    struct shm_pair *pair = shm_pair(shm, lane);
    rz_status_t status = pair ? shm_in_open(shm, pair) : RZ_ERR_NO_MEMORY;
    if (status != RZ_OK && status != RZ_ERR_CLOSED) {
        shm_set_add(&shm->again, lane);
    }
    if (status != RZ_OK || pair->torn || pair->closed) {
        return 0;
    }
    if (!pair->connected && !pair->told) {
        pair->told = true;
        if (shm->config.stranger) {
            shm->config.stranger(shm->config.host.arg, pair->identity);
        }
    }
    unsigned records = shm_in_read(shm, pair, UINT_MAX);
    if (records > 0) {
        shm->hot = pair;
    }
    return records;
}

/* Takes the bits that senders have set since. */
SHM_SELDOM void shm_in_take_bits(struct shm *shm, uint32_t but)
{
    struct rz_doorbell *bell = shm->doorbell;
    unsigned n = shm->n_words < RZ_DOORBELL_WORDS ? shm->n_words : RZ_DOORBELL_WORDS;
    for (unsigned w = 0; w < n; w++) {
        uint64_t stays = but / 64 == w ? UINT64_C(1) << but % 64 : 0;
        if ((atomic_load_explicit(&bell->lanes[w], memory_order_relaxed) & ~stays) == 0) {
            continue;
        }
        uint64_t bits = atomic_exchange(&bell->lanes[w], stays) & ~stays;
        bool spared = atomic_load_explicit(&bell->spares, memory_order_relaxed);
        for (unsigned v = w; v < shm->n_words; v += RZ_DOORBELL_WORDS) {
            shm->again.words[v] |= bits;
            shm->taken.words[v] |= spared ? bits : 0;
        }
        shm->again.some = true;
        shm->taken.some |= spared;
        shm->looks = spared ? 0 : shm->looks;
    }
}

/* A sender that makes no fence may have found its bit still set when it was just taken, and its
 * record was not to be seen yet: it will be soon, mostly within a microsecond. So the lane is
 * looked at in the next turns, less and less often, but always again: nothing says when it is
 * visible. The hot lane is looked at anyway. */
SHM_SELDOM void shm_in_look_at_taken(struct shm *shm)
{
    for (unsigned w = 0; shm->taken.some && w < shm->n_words; w++) {
        for (uint64_t bits = shm->taken.words[w]; bits; bits &= bits - 1) {
            uint32_t lane = w * 64 + (uint32_t)__builtin_ctzll(bits);
            const struct shm_pair *pair = lane < shm->config.lanes_max ? shm->pairs[lane] : NULL;
            if (pair && pair != shm->hot && (!pair->in.page || shm_in_news(pair))) {
                shm_set_add(&shm->again, lane);
            }
        }
    }
}

static inline bool is_time_to_look(unsigned turn)
{
    return (turn & (turn - 1)) == 0 || turn % OLD_LOOK == 0;
}

/* Reads from the lanes that are to be checked. */
static SHM_SELDOM unsigned in_read_again(struct shm *shm)
{
    unsigned events = 0;
    shm->again.some = false;
    for (unsigned w = 0; w < shm->n_words; w++) {
        uint64_t bits = shm->again.words[w];
        shm->again.words[w] = 0;
        for (; bits; bits &= bits - 1) {
            uint32_t lane = w * 64 + (uint32_t)__builtin_ctzll(bits);
            if (lane < shm->config.lanes_max) {
                events += in_lane(shm, lane);
            }
        }
    }
    return events;
}

static SHM_SELDOM void flush_blocked(struct shm *shm)
{
    shm->blocked.some = false;
    for (unsigned w = 0; w < shm->n_words; w++) {
        for (uint64_t bits = shm->blocked.words[w]; bits; bits &= bits - 1) {
            shm_out_flush(shm, shm->pairs[w * 64 + (unsigned)__builtin_ctzll(bits)]);
        }
        shm->blocked.some = shm->blocked.some || shm->blocked.words[w];
    }
}

unsigned shm_progress(struct rz_net *net)
{
    struct shm *shm = (struct shm *)net;
    if (shm->in_progress) {
        return 0; /* called from a callback of this transport */
    }
    shm->in_progress = true;
    unsigned events = 0;
    uint32_t hot_lane = SHM_NO_LANE;
    if (shm->hot) {
        /* One record: the next one is in another cache line, the caller may have all it needs, and
         * a message that arrives before its receive is posted costs twice as much. The bit of this
         * lane stays set, so that the sender finds it in its own cache. */
        hot_lane = shm->n_words <= RZ_DOORBELL_WORDS ? shm->hot->lane : SHM_NO_LANE;
        events = shm_in_read(shm, shm->hot, 1);
    }
    /* The bits are in a cache line that others write: while one lane is busy they are read only
     * from time to time. */
    shm->streak = events > 0 ? shm->streak + 1 : 0;
    if (shm->streak % HOT_STREAK == 0) {
        shm_in_take_bits(shm, hot_lane);
        if (shm->taken.some && is_time_to_look(++shm->looks)) {
            shm_in_look_at_taken(shm);
        }
    }
    if (shm->again.some) {
        events += in_read_again(shm);
    }
    if (shm->blocked.some) {
        flush_blocked(shm);
    }
    if (__builtin_expect(shm->shared.some, 0)) {
        events += shm_fetch_shared(shm);
    }
    shm->in_progress = false;
    return events;
}
