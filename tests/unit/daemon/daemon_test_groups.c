/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Words of a process that takes part in computing rounds, with all ranks of the job in the group:
 *
 *   rounds:N        until it is told round N or a later one, or a new epoch begins
 *   view:HEX        the same until it is told a round with this view
 *   doubt:R,C       from here on its counter of rank R is C
 *   arrive          waits for a round, and goes on at once
 *   go              leaves the group
 *   group:K         from here on it is in another group, with a number of its own
 *   socket          asks for a socket, and sends itself something
 *   wrong:WHAT      arrives in a way that cannot be
 *
 * Each round is written as "round N progress P view HEX" (from the 61st on only where the view has
 * changed), a refusal as "refused STATUS".
 */
#include "base/assert.h"
#include "daemon_test_helper.h"
#include "port/socket.h"
#include "proto/diagnose/diagnose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RANKS_MAX 64
#define SHOWN_MAX 60
#define GROUP UINT64_C(1000)

static struct {
    uint64_t number; /* of the group */
    uint32_t round, status;
    uint64_t progress, view;
    uint32_t counters[RANKS_MAX];
    bool told;
} group;

static uint32_t which; /* group */

static const struct rz_link_info *info(void)
{
    return rz_link_info(helper_link);
}

static uint32_t epoch_now(void)
{
    return (uint32_t)(helper_epoch_phase() >> 8);
}

static void on_round(void *arg, const struct rz_link_message *message, const int *fds,
                     unsigned n_fds)
{
    const struct rz_link_group_round *told = &message->group_round;
    (void)arg, (void)fds, (void)n_fds;
    if (told->group != group.number) {
        return;
    }
    group.told = true;
    group.status = told->status;
    if (told->status != RZ_OK) {
        printf("refused %u\n", told->status);
        fflush(stdout);
        return;
    }
    rz_assert(told->view_length == 8 && told->round > group.round);
    uint64_t before = group.view;
    memcpy(&group.view, told->view, sizeof(group.view));
    group.round = told->round;
    group.progress = told->progress + (group.view >> info()->self.rank & 1);
    if (told->round > SHOWN_MAX && group.view == before) {
        return;
    }
    printf("round %u progress %llu view %llx\n", told->round, (unsigned long long)told->progress,
           (unsigned long long)group.view);
    fflush(stdout);
}

static void put_u64(uint8_t *at, uint64_t value)
{
    for (uint32_t i = 0; i < 8; i++) {
        at[i] = (uint8_t)(value >> 8 * i);
    }
}

/* A group belongs to an epoch. */
static void begin(void)
{
    uint64_t number = GROUP * (1 + which) + epoch_now();
    if (group.number == number) {
        return;
    }
    memset(&group, 0, sizeof(group));
    group.number = number;
}

/* The message with all that is true; memory that lives until the next one. */
static struct rz_link_message arrival(void)
{
    static uint8_t processes[RANKS_MAX * RZ_LINK_PAIR_BYTES], counters[RANKS_MAX * 8];
    struct rz_link_process pairs[RANKS_MAX];
    uint32_t n = info()->n_ranks, n_counters = 0;
    rz_assert(n <= RANKS_MAX);
    begin();
    rz_link_handle(helper_link, RZ_LINK_GROUP_ROUND, on_round, NULL);
    for (uint32_t rank = 0; rank < n; rank++) {
        pairs[rank] = (struct rz_link_process){
            rank, rz_board_incarnation(atomic_load(&info()->board->rank[rank]))};
        if (group.counters[rank] > 0) {
            put_u64(&counters[8 * n_counters++], RZ_DIAGNOSE_ITEM(rank, group.counters[rank]));
        }
    }
    rz_link_put_pairs(processes, pairs, n);
    return (struct rz_link_message){.type = RZ_LINK_GROUP_ARRIVE,
                                    .group_arrive = {.group = group.number,
                                                     .round = group.round,
                                                     .rank = info()->self.rank,
                                                     .progress = group.progress,
                                                     .name = "test",
                                                     .processes = processes,
                                                     .processes_length = n * RZ_LINK_PAIR_BYTES,
                                                     .counters = counters,
                                                     .counters_length = 8 * n_counters}};
}

static void send(const struct rz_link_message *message)
{
    rz_assert(rz_link_send(helper_link, message, -1) == RZ_OK);
}

static void arrive(void)
{
    const struct rz_link_message message = arrival();
    send(&message);
}

/* False: a new epoch has begun. */
static bool await_round(void)
{
    uint32_t epoch = epoch_now();
    group.told = false;
    arrive();
    while (!group.told && epoch_now() == epoch) {
        helper_turn();
    }
    return group.told && epoch_now() == epoch;
}

static void rounds_until(uint32_t last)
{
    while (await_round() && group.round < last) {
        ;
    }
}

static void rounds_until_view(uint64_t view)
{
    while (await_round() && group.view != view) {
        ;
    }
}

static void go(void)
{
    send(&(struct rz_link_message){
        .type = RZ_LINK_GROUP_LEAVE,
        .group_leave = {.group = group.number, .rank = info()->self.rank}});
}

/* Sends to the address that it received. */
static void on_socket(void *arg, const struct rz_link_message *message, const int *fds,
                      unsigned n_fds)
{
    const struct rz_link_group_socket *told = &message->group_socket;
    struct rz_address self, from = {.port = 0};
    char text[8] = "";
    size_t n = 0;
    (void)arg;
    rz_assert(told->status == RZ_OK && n_fds == 2 && told->question == 5);
    rz_assert(rz_address_take(&self, told->ip, told->ip_length, told->port));
    rz_assert(rz_socket_send_to(fds[0], "myself", 7, &self) == RZ_OK);
    while (rz_socket_receive_from(fds[0], text, sizeof(text), &n, &from) == RZ_IN_PROGRESS) {
        ;
    }
    printf("socket %s %d key ", text, from.port == self.port && rz_address_same_ip(&from, &self));
    for (uint32_t i = 0; i < told->key_length; i++) {
        printf("%02x", told->key[i]);
    }
    printf("\n");
    fflush(stdout);
    close(fds[0]);
    close(fds[1]);
    group.told = true;
}

static void ask_for_socket(void)
{
    rz_link_handle(helper_link, RZ_LINK_GROUP_SOCKET, on_socket, NULL);
    group.told = false;
    send(&(struct rz_link_message){.type = RZ_LINK_GROUP_JOIN, .group_join = {.question = 5}});
    while (!group.told) {
        helper_turn();
    }
}

static uint32_t lines_held, line_status;

static void on_line(void *arg, const struct rz_link_message *message, const int *fds,
                    unsigned n_fds)
{
    (void)arg;
    line_status = message->group_socket.status;
    lines_held += n_fds == 2;
    if (n_fds == 2) {
        close(fds[0]); /* the other one keeps the line */
    }
    group.told = true;
}

static void hold_lines(void)
{
    rz_link_handle(helper_link, RZ_LINK_GROUP_SOCKET, on_line, NULL);
    for (line_status = RZ_OK; line_status == RZ_OK;) {
        group.told = false;
        send(&(struct rz_link_message){.type = RZ_LINK_GROUP_JOIN, .group_join = {.question = 5}});
        while (!group.told) {
            helper_turn();
        }
    }
    printf("lines %u, then %u\n", lines_held, line_status);
    fflush(stdout);
}

static void arrive_wrongly(const char *how)
{
    static uint8_t bytes[3 * RZ_LINK_PAIR_BYTES];
    struct rz_link_message message = arrival();
    struct rz_link_group_arrive *arrive = &message.group_arrive;
    char name[300];
    memset(name, 'x', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    put_u64(bytes, RZ_DIAGNOSE_ITEM(1, 1));
    put_u64(bytes + 8, RZ_DIAGNOSE_ITEM(strcmp(how, "unsorted") == 0 ? 0 : 99, 1));
    if (strcmp(how, "rank") == 0) {
        arrive->rank = info()->n_ranks;
    } else if (strcmp(how, "other") == 0) {
        arrive->rank = (info()->self.rank + 1) % info()->n_ranks;
    } else if (strcmp(how, "processes") == 0) {
        arrive->processes_length--;
    } else if (strcmp(how, "none") == 0) {
        arrive->processes_length = 0;
    } else if (strcmp(how, "counters") == 0) {
        arrive->counters = bytes, arrive->counters_length = 7;
    } else if (strcmp(how, "unsorted") == 0 || strcmp(how, "strangers") == 0) {
        arrive->counters = bytes, arrive->counters_length = 16;
    } else if (strcmp(how, "name") == 0) {
        arrive->name = name;
    } else if (strcmp(how, "round") == 0) {
        arrive->round = 17;
    } else if (strcmp(how, "fewer") == 0) { /* than others say */
        arrive->processes_length -= RZ_LINK_PAIR_BYTES;
    } else {
        rz_assert(!"an unknown way");
    }
    group.told = false;
    send(&message);
    while (!group.told) {
        helper_turn();
    }
}

bool helper_do_group_word(const char *word, const char *argument)
{
    const char *comma = strchr(argument, ',');
    if (strcmp(word, "rounds") == 0) {
        rounds_until((uint32_t)atoi(argument));
    } else if (strcmp(word, "view") == 0) {
        rounds_until_view(strtoull(argument, NULL, 16));
    } else if (strcmp(word, "doubt") == 0) {
        begin(), group.counters[atoi(argument)] = (uint32_t)atoi(comma + 1);
    } else if (strcmp(word, "arrive") == 0) {
        arrive();
    } else if (strcmp(word, "group") == 0) {
        which = (uint32_t)atoi(argument);
    } else if (strcmp(word, "go") == 0) {
        go();
    } else if (strcmp(word, "socket") == 0) {
        ask_for_socket();
    } else if (strcmp(word, "lines") == 0) {
        hold_lines();
    } else if (strcmp(word, "wrong") == 0) {
        arrive_wrongly(argument);
    } else {
        return false;
    }
    return true;
}
