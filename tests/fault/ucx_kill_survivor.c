/* SPDX-License-Identifier: BSD-3-Clause */
/* The survivor: it must end all operations with the victim, keep its memory, and continue with the
 * bystander. */
#include "ucx_kill.h"

#include "port/clock.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BYSTANDER = 0, VICTIM = 1 };
enum { FLIGHTS_MAX = 5000, FETCHES_MAX = 2000, POISON = 0xa5, AFTER_SMALL = 20, AFTER_LARGE = 2 };

static struct kill_page *page;
static struct kill_flight flights[FLIGHTS_MAX]; /* sends to the victim */
static unsigned flights_count;
static unsigned char *out,
    *in; /* KILL_BIG each: what these sends read, what fetches from the victim write */

/* Fetches from the victim: one at a time, into `in`. */
static struct {
    struct kill_flight flight;
    struct kill_header header;
    bool busy, poisoned;
    unsigned ended_well;
} fetching;

static uint64_t
    own_ns; /* spent since the failure report on checking and poisoning: not the transport's */
static rz_net_token_t kept; /* a payload not fetched in time */
static uint64_t from_victim;
static bool parted; /* the victim is disconnected */

static void fetch_ended(struct kill_flight *flight)
{
    rz_time start = rz_clock_now();
    fetching.busy = false;
    if (flight->status == RZ_OK) {
        fetching.ended_well++;
        if (!kill_holds(in, fetching.header.bytes, fetching.header.number)) {
            kill_complain(page, "a wrong payload, said to be whole");
        }
    } else {
        /* From now on no process may write here. */
        memset(in, POISON, KILL_BIG);
        fetching.poisoned = true;
    }
    if (atomic_load(&page->reported)) {
        own_ns += rz_clock_now() - (start > page->reported_at ? start : page->reported_at);
    }
}

/* ---- the exchange with the bystander, driven by turning ---- */

static struct {
    struct kill_flight send, fetch;
    unsigned char out[4u << 20], in[4u << 20];
    uint64_t number;
    size_t bytes;
    bool on, got;
    unsigned small, large;
} exchange;

static void exchange_fetched(struct kill_flight *flight)
{
    if (flight->status != RZ_OK || !kill_holds(exchange.in, exchange.bytes, exchange.number)) {
        kill_complain(page, "the exchange's fetch: %s", rz_status_text(flight->status));
    }
    exchange.got = true;
}

static void exchange_turn(void)
{
    if (exchange.number > 0) {
        if (!exchange.got || exchange.send.calls == 0) {
            return;
        }
        if (exchange.send.status != RZ_OK) {
            kill_complain(page, "the exchange's send: %s", rz_status_text(exchange.send.status));
        }
        *(exchange.bytes > KILL_LARGE ? &exchange.large : &exchange.small) += 1;
    }
    exchange.number++;
    exchange.got = false;
    exchange.bytes = exchange.number % 16 == 0 ? sizeof(exchange.out) : 8;
    kill_fill(exchange.out, exchange.bytes, exchange.number);
    kill_send(&exchange.send, BYSTANDER, exchange.number, exchange.out, exchange.bytes);
}

static void exchange_arrived(const struct kill_header *header, rz_net_token_t token)
{
    if (header->number != exchange.number || header->bytes != exchange.bytes) {
        kill_complain(page, "the exchange's answer is another");
    }
    exchange.fetch.ended = exchange_fetched;
    if (token) {
        kill_fetch(&exchange.fetch, token, exchange.in, header->bytes);
    } else {
        exchange.got = true;
    }
}

static void turn(void)
{
    kill_member_turn();
    if (exchange.on) {
        exchange_turn();
    }
}

#define TURN_UNTIL(condition)                                                                      \
    do {                                                                                           \
        rz_time limit_ = rz_clock_now() + KILL_HANG;                                               \
        while (!(condition)) {                                                                     \
            turn();                                                                                \
            if (rz_clock_now() > limit_) {                                                         \
                kill_complain(page, "never: %s", #condition);                                      \
            }                                                                                      \
        }                                                                                          \
    } while (0)

/* ---- messages from the victim ---- */

static void victim_message(const struct kill_header *header, rz_net_token_t token)
{
    if (parted) {
        page->late_arrivals++; /* the epoch check's work */
        if (token) {
            kill_ops->drop(kill_net, token);
        }
        return;
    }
    /* Greetings count from 0, and so does what follows. */
    from_victim++;
    if (!token) {
        return;
    }
    bool keep = page->kind == KILL_FETCH_LATE || page->kind == KILL_DROP_LATE;
    if (keep && !kept) {
        kept = token;
    } else if (fetching.busy || fetching.poisoned) {
        kill_ops->drop(kill_net, token);
    } else {
        fetching.busy = true;
        fetching.header = *header;
        fetching.flight.ended = fetch_ended;
        kill_fetch(&fetching.flight, token, in, header->bytes);
    }
}

static void survivor_arrived(const struct kill_header *header, const void *data,
                             rz_net_token_t token)
{
    (void)data;
    if (header->from == KILL_BYSTANDER) {
        exchange_arrived(header, token);
    } else {
        victim_message(header, token);
    }
}

static void survivor_broken(rz_peer_t peer)
{
    if (peer != VICTIM) {
        kill_complain(page, "the bystander's connection broke");
    }
    if (parted) {
        kill_complain(page, "news of a peer that was disconnected");
    }
    page->told_broken++;
}

/* ---- before the failure ---- */

static void push(size_t bytes)
{
    if (flights_count == FLIGHTS_MAX) {
        kill_complain(page, "too many sends");
    }
    kill_send(&flights[flights_count++], VICTIM, 3, out, bytes);
}

static void greet(void)
{
    for (unsigned i = 0; i < 20; i++) {
        push(64);
    }
    TURN_UNTIL(from_victim >= 20);
}

static void prepare(void)
{
    if (page->kind == KILL_BEFORE) {
        TURN_UNTIL(atomic_load(&page->victim_ready));
        return;
    }
    kill_member_connect(page, KILL_VICTIM, VICTIM);
    if (page->kind == KILL_CONNECTING) {
        for (unsigned i = 0; i < 200; i++) {
            push(i % 10 ? 64 : KILL_LARGE);
        }
        return;
    }
    greet();
    TURN_UNTIL(atomic_load(&page->victim_ready));
    if (page->kind == KILL_SENDING) {
        push(KILL_BIG);
    }
    if (page->kind == KILL_RECEIVING || page->kind == KILL_ZOMBIE) {
        TURN_UNTIL(fetching.busy || fetching.ended_well > 0);
    }
    if (page->kind == KILL_FETCH_LATE || page->kind == KILL_DROP_LATE) {
        TURN_UNTIL(kept != NULL);
    }
    if (page->kind == KILL_STOPPED) {
        TURN_UNTIL(atomic_load(&page->victim_stopped));
        for (unsigned i = 0; i < 4000; i++) {
            push(i % 2 ? 64 : 4096);
        }
        for (unsigned i = 0; i < 20; i++) {
            push(i % 2 ? KILL_LARGE : KILL_BIG);
        }
    }
}

/* ---- the failure ---- */

static unsigned pending(void)
{
    unsigned count = fetching.busy;
    for (unsigned i = 0; i < flights_count; i++) {
        count += flights[i].calls == 0;
    }
    return count;
}

/* Sends that begin when the other has failed already, or about to be. */
static void push_into_the_void(void)
{
    if (page->kind == KILL_BEFORE) {
        kill_member_connect(page, KILL_VICTIM, VICTIM);
    }
    if (page->kind != KILL_BEFORE && page->kind != KILL_IDLE && page->kind != KILL_EAGER) {
        return;
    }
    for (unsigned i = 0; i < 3; i++) {
        push(8);
    }
    push(KILL_MEDIUM);
    push(KILL_BIG);
}

static void part(void)
{
    kill_ops->disconnect(kill_net, VICTIM, page->drain, RZ_ERR_PROC_FAILED);
    parted = true;
    TURN_UNTIL(pending() == 0 && kill_ops->quiet(kill_net));
    page->ended_ns = rz_clock_now() - page->reported_at - own_ns;
    for (unsigned i = 0; i < flights_count; i++) {
        rz_status_t status = flights[i].status;
        if (status != RZ_OK && status != RZ_ERR_PROC_FAILED && status != RZ_ERR_CLOSED) {
            kill_complain(page, "a send ended with: %s", rz_status_text(status));
        }
        page->ended_well += status == RZ_OK;
    }
    /* A late look at memory of ended sends would not go unseen. */
    mprotect(out, KILL_BIG, PROT_NONE);
    kill_step(page, &page->all_ended);
}

/* ---- after it ---- */

static void check_late_payload(void)
{
    struct kill_flight late = {.ended = NULL};
    if (!kept) {
        return;
    }
    if (page->kind == KILL_DROP_LATE) {
        kill_ops->drop(kill_net, kept);
        return;
    }
    memset(in, POISON, KILL_BIG);
    fetching.poisoned = true;
    kill_fetch(&late, kept, in, KILL_BIG);
    if (late.calls != 1 || late.status != RZ_ERR_PROC_FAILED) {
        kill_complain(page, "a fetch after the failure: %s", rz_status_text(late.status));
    }
}

static void go_on(void)
{
    struct kill_flight late = {.ended = NULL};
    unsigned small = exchange.small, large = exchange.large;
    kill_send(&late, VICTIM, 4, "x", 0);
    if (late.calls != 1 || late.status != RZ_ERR_PROC_FAILED) {
        kill_complain(page, "a send after the failure: %s", rz_status_text(late.status));
    }
    check_late_payload();
    if (page->kind == KILL_ZOMBIE) {
        TURN_UNTIL(atomic_load(&page->zombie_spoke));
    }
    TURN_UNTIL(exchange.small >= small + AFTER_SMALL && exchange.large >= large + AFTER_LARGE);
    if (fetching.poisoned) {
        for (size_t i = 0; i < KILL_BIG; i++) {
            if (in[i] != POISON) {
                kill_complain(page, "written %zu bytes into after its fetch had ended", i);
            }
        }
    }
    exchange.on = false;
    KILL_TURN_UNTIL(page, exchange.got && exchange.send.calls == 1);
    page->exchanged = exchange.small + exchange.large;
}

static unsigned descriptors_open(void)
{
    DIR *folder = opendir("/proc/self/fd");
    unsigned count = 0;
    while (folder && readdir(folder)) {
        count++;
    }
    closedir(folder);
    return count;
}

void kill_survivor_run(struct kill_page *shared)
{
    page = shared;
    out = mmap(NULL, KILL_BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    in = mmap(NULL, KILL_BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (out == MAP_FAILED || in == MAP_FAILED) {
        kill_complain(page, "no memory");
    }
    kill_fill(out, KILL_BIG, 3);
    unsigned descriptors = descriptors_open();
    kill_member_open(&(struct kill_member){page, KILL_SURVIVOR, survivor_arrived, survivor_broken});
    kill_member_connect(page, KILL_BYSTANDER, BYSTANDER);
    exchange.on = true;
    TURN_UNTIL(exchange.small > 0);
    prepare();
    kill_step(page, &page->survivor_ready);
    while (!atomic_load(&page->reported) && !atomic_load(&page->failed)) {
        turn();
    }
    push_into_the_void();
    TURN_UNTIL(atomic_load(&page->reported));
    page->pending = pending();
    part();
    go_on();
    atomic_store(&page->quit, 1);
    kill_ops->close(kill_net);
    if (descriptors_open() != descriptors) {
        kill_complain(page, "%u descriptors before, %u after", descriptors, descriptors_open());
    }
}
