/* SPDX-License-Identifier: BSD-3-Clause */
/* What all roles do alike; the victim and the bystander. */
#include "ucx_kill.h"

#include "base/random.h"
#include "port/clock.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FLOOD_FLIGHTS 100 /* more than the transport gives to UCX at a time */

struct rz_net *kill_net;
const struct rz_net_ops *kill_ops;

static struct kill_member self;
static uint64_t arrivals;

void kill_complain(struct kill_page *page, const char *format, ...)
{
    static const char *const names[] = {"survivor", "victim", "bystander"};
    va_list arguments;
    int length = snprintf(page->complaint, sizeof(page->complaint), "%s: ", names[self.role]);
    va_start(arguments, format);
    vsnprintf(page->complaint + length, sizeof(page->complaint) - (size_t)length, format,
              arguments);
    va_end(arguments);
    _exit(1);
}

void kill_step(struct kill_page *page, _Atomic uint32_t *step)
{
    atomic_store(step, 1);
    rz_doorbell_ring(&page->bell, -1);
}

/* ---- payloads ---- */

void kill_fill(void *data, size_t bytes, uint64_t number)
{
    unsigned char *to = data;
    uint64_t word = rz_mix(number, 0);
    for (size_t at = 0; at < bytes; at += 8, word += 0x9e3779b97f4a7c15u) {
        memcpy(to + at, &word, bytes - at < 8 ? bytes - at : 8);
    }
}

bool kill_holds(const void *data, size_t bytes, uint64_t number)
{
    const unsigned char *from = data;
    uint64_t word = rz_mix(number, 0);
    for (size_t at = 0; at < bytes; at += 8, word += 0x9e3779b97f4a7c15u) {
        if (memcmp(from + at, &word, bytes - at < 8 ? bytes - at : 8) != 0) {
            return false;
        }
    }
    return true;
}

static uint32_t check_of(const struct kill_header *header)
{
    return (uint32_t)rz_mix(rz_mix(header->from, header->number), header->bytes);
}

/* ---- the transport ---- */

static void arrived(void *arg, const void *header, uint32_t header_bytes, const void *data,
                    size_t bytes, rz_net_token_t token)
{
    struct kill_header copy;
    (void)arg;
    if (header_bytes != sizeof(copy)) {
        kill_complain(self.page, "a header of %u bytes", header_bytes);
    }
    memcpy(&copy, header, sizeof(copy));
    if (copy.check != check_of(&copy) || copy.bytes != bytes) {
        kill_complain(self.page, "a damaged header, %zu bytes announced", bytes);
    }
    if (!token && !kill_holds(data, bytes, copy.number)) {
        kill_complain(self.page, "a damaged payload of %zu bytes", bytes);
    }
    arrivals++;
    self.arrived(&copy, data, token);
}

static void broken(void *arg, rz_peer_t peer)
{
    (void)arg;
    self.broken(peer);
}

static void explain(void *arg, const char *text)
{
    (void)arg;
    kill_complain(self.page, "open: %s", text);
}

void kill_member_open(const struct kill_member *member)
{
    self = *member;
    struct internode config = {
        .job = self.page->seed,
        .host = {NULL, arrived, broken},
        .complain = explain,
    };
    if (internode_open(&config, &kill_net, &kill_ops) != RZ_OK) {
        kill_complain(self.page, "open");
    }
    struct kill_ep_address *ep_address = &self.page->ep_addresses[self.role];
    size_t bytes = sizeof(ep_address->ep_address);
    if (atomic_load(&ep_address->ready)) {
        return; /* a process declared failed opens a second one, which no process must know */
    }
    if (kill_ops->ep_address(kill_net, ep_address->ep_address, &bytes) != RZ_OK) {
        kill_complain(self.page, "address");
    }
    ep_address->bytes = (uint32_t)bytes;
    atomic_store(&ep_address->ready, 1);
}

void kill_member_connect(struct kill_page *page, enum kill_role to, rz_peer_t number)
{
    struct kill_ep_address *ep_address = &page->ep_addresses[to];
    KILL_TURN_UNTIL(page, atomic_load(&ep_address->ready));
    if (kill_ops->connect(kill_net, number, ep_address->ep_address, ep_address->bytes) != RZ_OK) {
        kill_complain(page, "connect");
    }
}

void kill_member_turn(void)
{
    if (kill_ops->progress(kill_net) == 0) {
        sched_yield();
    }
}

static void done(struct rz_net_op *op, rz_status_t status)
{
    struct kill_flight *flight = op->user;
    flight->calls++;
    flight->status = status;
    if (flight->calls > 1) {
        kill_complain(self.page, "an operation ended %u times", flight->calls);
    }
    if (flight->ended) {
        flight->ended(flight);
    }
}

static void prepare(struct kill_flight *flight)
{
    void (*ended)(struct kill_flight *) = flight->ended;
    *flight = (struct kill_flight){.op = {.done = done, .user = flight}, .ended = ended};
}

void kill_send(struct kill_flight *flight, rz_peer_t to, uint64_t number, const void *data,
               size_t bytes)
{
    struct kill_header header = {.from = self.role, .number = number, .bytes = bytes};
    header.check = check_of(&header);
    prepare(flight);
    memcpy(flight->op.header, &header, sizeof(header));
    flight->op.header_bytes = sizeof(header);
    rz_status_t status = kill_ops->send(kill_net, to, data, bytes, &flight->op);
    if (status != RZ_IN_PROGRESS) {
        done(&flight->op, status);
    }
}

void kill_fetch(struct kill_flight *flight, rz_net_token_t token, void *data, size_t bytes)
{
    prepare(flight);
    rz_status_t status = kill_ops->fetch(kill_net, token, data, bytes, &flight->op);
    if (status != RZ_IN_PROGRESS) {
        done(&flight->op, status);
    }
}

/* ---- the bystander: gives back what it gets ---- */

static struct {
    struct kill_flight fetch, send;
    struct kill_header header;
    unsigned char data[4u << 20];
    bool got, busy;
} echo;

static void echo_fetched(struct kill_flight *flight)
{
    if (flight->status != RZ_OK || !kill_holds(echo.data, echo.header.bytes, echo.header.number)) {
        kill_complain(self.page, "the bystander's fetch: %s", rz_status_text(flight->status));
    }
    echo.got = true;
}

static void echo_arrived(const struct kill_header *header, const void *data, rz_net_token_t token)
{
    if (header->from != KILL_SURVIVOR || echo.busy) {
        kill_complain(self.page, "a message of no member");
    }
    echo.busy = true;
    echo.header = *header;
    if (token) {
        echo.fetch.ended = echo_fetched;
        kill_fetch(&echo.fetch, token, echo.data, header->bytes);
        return;
    }
    memcpy(echo.data, data, header->bytes);
    echo.got = true;
}

static void echo_broken(rz_peer_t peer)
{
    (void)peer;
    if (!atomic_load(&self.page->quit)) {
        kill_complain(self.page, "the survivor's connection broke");
    }
}

void kill_bystander_run(struct kill_page *page)
{
    kill_member_open(&(struct kill_member){page, KILL_BYSTANDER, echo_arrived, echo_broken});
    kill_member_connect(page, KILL_SURVIVOR, 0);
    while (!atomic_load(&page->quit)) {
        kill_member_turn();
        if (!echo.got) {
            continue;
        }
        echo.got = echo.busy = false;
        kill_send(&echo.send, 0, echo.header.number, echo.data, echo.header.bytes);
        while (echo.send.calls == 0 && !atomic_load(&page->quit)) {
            kill_member_turn();
        }
        if (echo.send.calls == 1 && echo.send.status != RZ_OK && !atomic_load(&page->quit)) {
            kill_complain(page, "the bystander's send: %s", rz_status_text(echo.send.status));
        }
    }
    kill_ops->close(kill_net);
}

/* ---- the victim ---- */

static struct kill_flight victim_fetch;
static unsigned char *victim_memory;

static void victim_arrived(const struct kill_header *header, const void *data, rz_net_token_t token)
{
    (void)data;
    if (token) {
        kill_fetch(&victim_fetch, token, victim_memory, header->bytes);
    }
}

static void victim_broken(rz_peer_t peer)
{
    (void)peer;
}

static _Noreturn void turn_until_killed(void)
{
    for (;;) {
        kill_member_turn();
    }
}

static _Noreturn void flood(struct kill_page *page, size_t bytes)
{
    static struct kill_flight flights[FLOOD_FLIGHTS];
    static unsigned char *data[FLOOD_FLIGHTS];
    for (uint64_t number = 0;; number++) {
        struct kill_flight *flight = &flights[number % FLOOD_FLIGHTS];
        unsigned char **memory = &data[number % FLOOD_FLIGHTS];
        if (number < FLOOD_FLIGHTS) {
            *memory = malloc(bytes);
        } else {
            KILL_TURN_UNTIL(page, flight->calls == 1);
        }
        kill_fill(*memory, bytes, number);
        kill_send(flight, 0, number, *memory, bytes);
        if (number == 0) {
            kill_step(page, &page->victim_ready);
        }
    }
}

/* Declared failed but alive: continues over the old connection, then over one that was not given to
 * it. */
static _Noreturn void haunt(struct kill_page *page, const void *big)
{
    static struct kill_flight flights[50];
    struct kill_flight *next = flights;
    KILL_TURN_UNTIL(page, atomic_load(&page->all_ended));
    for (unsigned life = 0; life < 2; life++) {
        for (unsigned i = 0; i < 20; i++) {
            kill_send(next++, 0, 1, big, i % 2 ? 64 : KILL_MEDIUM);
        }
        kill_send(next++, 0, 1, big, KILL_BIG);
        for (unsigned i = 0; i < 2000; i++) {
            kill_member_turn();
        }
        if (life == 0) {
            kill_ops->close(kill_net);
            kill_member_open(
                &(struct kill_member){page, KILL_VICTIM, victim_arrived, victim_broken});
            kill_member_connect(page, KILL_SURVIVOR, 0);
        }
    }
    kill_step(page, &page->zombie_spoke);
    turn_until_killed();
}

/* A few small messages there and back: the connection is made. */
static void greet(struct kill_page *page)
{
    static struct kill_flight flight;
    unsigned char data[64];
    for (uint64_t i = 0; i < 20; i++) {
        kill_fill(data, sizeof(data), i);
        kill_send(&flight, 0, i, data, sizeof(data));
        KILL_TURN_UNTIL(page, flight.calls == 1 && arrivals > i);
    }
}

void kill_victim_run(struct kill_page *page)
{
    static struct kill_flight flight;
    kill_member_open(&(struct kill_member){page, KILL_VICTIM, victim_arrived, victim_broken});
    if (page->kind == KILL_BEFORE) {
        kill_step(page, &page->victim_ready);
        for (;;) {
            pause();
        }
    }
    unsigned char *big = malloc(KILL_BIG);
    victim_memory = malloc(KILL_BIG);
    kill_fill(big, KILL_BIG, 1);
    kill_member_connect(page, KILL_SURVIVOR, 0);
    if (page->kind == KILL_CONNECTING) {
        flood(page, 64);
    }
    greet(page);
    switch (page->kind) {
    case KILL_RECEIVING:
    case KILL_FETCH_LATE:
    case KILL_DROP_LATE:
    case KILL_ZOMBIE:
        kill_send(&flight, 0, 1, big, KILL_BIG);
        kill_step(page, &page->victim_ready);
        if (page->kind == KILL_ZOMBIE) {
            haunt(page, big);
        }
        turn_until_killed();
    case KILL_FLOOD_SMALL:
        flood(page, 64);
    case KILL_FLOOD_MEDIUM:
        flood(page, KILL_MEDIUM);
    case KILL_FLOOD_LARGE:
        flood(page, KILL_LARGE);
    default:
        kill_step(page, &page->victim_ready);
        turn_until_killed();
    }
}
