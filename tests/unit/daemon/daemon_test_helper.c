/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process of a job that speaks the link protocol without MPI. Its words (arguments) are done in
 * order:
 *
 *   join            HELLO, WELCOME
 *   enter           REACHED(epoch, ENTER), waits for RUN
 *   leave           REACHED(epoch, RUN), waits for LEFT
 *   bye             BYE, clean end of the watch
 *   repairing       REPAIRING
 *   say:TEXT        writes the line "TEXT rank incarnation epoch"
 *   epoch:N         waits for epoch N or later
 *   exit:N          exits
 *   hang            sleeps for ever
 *   stdin           copies standard input to standard output
 *   abort:N         ABORT with code N, then hangs
 *   flood:N         writes N bytes to standard output
 *   waits           shows a wait object
 *   sent:S          counts a message of 100 bytes to slot S
 *   handed:S        shows three messages that it has handed over for slot S, and one of it
 *   open:R address:R   wants to reach rank R, and waits for the answer
 *   net             answers OPEN_NET by PUT_EP_ADDRESS
 *   serve           deals with messages for ever
 *   if:R            the rest only in rank R
 *   kill            kills itself
 *   deaf            asks and asks and never reads
 *   noise           sends what is no message
 *   unlink          closes the link without BYE
 *   grow:N          touches N MiB
 *   store:WHAT      stores a checkpoint piece, `right`, the `next` one, or wrong in the way WHAT
 *   want            wants its piece, and waits for it
 *   got:N           exits with 80 if that was of another generation than N (0: there was none)
 *   committed:N     waits until N checkpoints of this epoch are committed
 *   unrestored      cannot continue from that piece
 *   refusal         waits for REFUSED
 *   failed:S          waits until incarnation 1 (failed:S,I: I) of slot S is not alive
 *   all-failed:A,B    waits for all of them
 *   grown:S,I       waits for incarnation I of slot S
 *   replace:S,I     REPLACE: wants incarnation I of slot S, waits for REPLACED; wants:S,I: without
 *                   waiting
 *   spawn:N         SPAWN of N helpers with the words in TEST_SPAWN; spawn:N,M: and M in
 *                   TEST_SPAWN2
 *   heavy:N,B       as spawn:N, with a `parent` of B bytes
 *   cohort          writes what COHORT told
 *   ack:S           ACKNOWLEDGED, of slot S
 *   end:S,CODE      ABORT of slot S only
 *   ask:R           address:R without waiting
 *   put             PUT_EP_ADDRESS unasked
 *   state:S         writes the board's word for S
 *   lane            writes the line "lane N": its own
 *   lanes           answers LANE_OVER from here on
 *   wish            asks for a snapshot
 *   wished:N        waits until snapshot N is wanted; exits with 78 when a later one is
 *   is-wished:N     exits with 84 unless snapshot N is wanted
 *   over:N          attempt N of a snapshot has ended here
 *   slow:N          attempt 1 takes N ms, without a snapshot; exits with 79 if the next is wanted
 *                   sooner than 2 N ms later
 *   pause:N         does nothing for N ms
 *   imaged:N        attempt N has ended here with image N
 *   unwished:N      exits with 81 if snapshot N is wanted before image N - 1 is committed
 *   unsaved         this process cannot be saved
 *   again:N         says N times that it is at the start and has its piece, of several epochs
 *   mark            writes the line "marked OUT ERROR": the places of its output
 *   begin-at:N      standard output begins at place N, and standard error, too
 *
 * The words of groups are in daemon_test_groups.c; those of files: daemon_test_files.c.
 */
#include "daemon_test_helper.h"

#include "base/assert.h"
#include "ckpt/pages.h"
#include "port/channel.h"
#include "port/clock.h"
#include "port/memory.h"
#include "wire/spawn_order.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define TURN_NS (20 * RZ_MILLISECOND)

struct rz_link *helper_link;
static uint32_t epoch;
static bool answered;

static uint32_t self(void)
{
    return helper_link ? rz_link_info(helper_link)->self.rank : (uint32_t)atoi(getenv("RZ_RANK"));
}

void helper_turn(void)
{
    const struct rz_link_info *info = rz_link_info(helper_link);
    if (rz_link_check(helper_link) != RZ_OK || rz_link_progress(helper_link) != RZ_OK) {
        exit(75);
    }
    uint32_t value = rz_doorbell_prepare(info->doorbell, RZ_DOORBELL_POLL);
    rz_doorbell_sleep(info->doorbell, value, info->doorbell_fd, &info->fd, 1, TURN_NS);
}

uint64_t helper_epoch_phase(void)
{
    return atomic_load(&rz_link_info(helper_link)->board->epoch_phase);
}

static void reached(uint32_t phase)
{
    struct rz_link_message message = {.type = RZ_LINK_REACHED,
                                      .reached = {.epoch = epoch, .phase = phase}};
    rz_assert(rz_link_send(helper_link, &message, -1) == RZ_OK);
}

/* Says that this process stands at the end of phase and waits for the next one; a newer epoch
 * restarts. */
static void pass(uint32_t phase)
{
    do {
        epoch = (uint32_t)(helper_epoch_phase() >> 8);
        reached(phase);
        while (helper_epoch_phase() == ((uint64_t)epoch << 8 | phase)) {
            helper_turn();
        }
    } while (helper_epoch_phase() >> 8 != epoch);
}

static void await_epoch(uint32_t number)
{
    while ((epoch = (uint32_t)(helper_epoch_phase() >> 8)) < number) {
        helper_turn();
    }
}

static void send_simple(enum rz_link_type type)
{
    struct rz_link_message message = {.type = type};
    rz_assert(rz_link_send(helper_link, &message, -1) == RZ_OK);
}

static void on_answer(void *arg, const struct rz_link_message *message, const int *fds,
                      unsigned n_fds)
{
    (void)arg;
    if (message->type == RZ_LINK_OPENED) {
        printf("opened %u %u\n", message->opened.rank, n_fds);
    } else {
        printf("endpoint address %u %.*s\n", message->ep_address.rank,
               (int)message->ep_address.ep_address_length,
               (const char *)message->ep_address.ep_address);
    }
    fflush(stdout);
    while (n_fds > 0) {
        close(fds[--n_fds]);
    }
    answered = true;
}

static void on_open_net(void *arg, const struct rz_link_message *message, const int *fds,
                        unsigned n_fds)
{
    char ep_address[32];
    (void)arg, (void)fds, (void)n_fds;
    int n = snprintf(ep_address, sizeof(ep_address), "endpoint address-of-%u", self());
    struct rz_link_message put = {.type = RZ_LINK_PUT_EP_ADDRESS,
                                  .put_ep_address = {.epoch = message->open_net.epoch,
                                                     .ep_address = (const uint8_t *)ep_address,
                                                     .ep_address_length = (uint32_t)n}};
    rz_assert(rz_link_send(helper_link, &put, -1) == RZ_OK);
}

static void on_lane_over(void *arg, const struct rz_link_message *message, const int *fds,
                         unsigned n_fds)
{
    (void)arg, (void)fds, (void)n_fds;
    struct rz_link_message closed = {
        .type = RZ_LINK_LANE_CLOSED,
        .lane_closed = {.lane = message->lane_over.lane,
                        .rank = message->lane_over.rank,
                        .incarnation = message->lane_over.incarnation}};
    rz_assert(rz_link_send(helper_link, &closed, -1) == RZ_OK);
}

static void answer_lanes(void)
{
    rz_link_handle(helper_link, RZ_LINK_LANE_OVER, on_lane_over, NULL);
}

static void say_lane(void)
{
    printf("lane %u\n", rz_link_info(helper_link)->lane);
    fflush(stdout);
}

static void ask(enum rz_link_type type, uint32_t rank)
{
    struct rz_link_message message = {.type = type};
    if (type == RZ_LINK_OPEN) {
        message.open.rank = rank;
    } else {
        message.get_ep_address.rank = rank, message.get_ep_address.epoch = epoch;
    }
    answered = false;
    rz_assert(rz_link_send(helper_link, &message, -1) == RZ_OK);
    while (!answered) {
        helper_turn();
    }
}

static void on_spawns(void *arg, const struct rz_link_message *message, const int *fds,
                      unsigned n_fds)
{
    (void)arg, (void)fds, (void)n_fds;
    answered = true;
    if (message->type == RZ_LINK_REPLACED) {
        printf("spawned %llu %u\n", (unsigned long long)message->spawned.question,
               message->spawned.status);
    } else if (message->type == RZ_LINK_SPAWNED) {
        struct rz_link_process at[64];
        uint32_t n = rz_link_get_pairs(message->spawned.processes,
                                       message->spawned.processes_length, at, 64);
        printf("spawned %llu %u", (unsigned long long)message->spawned.question,
               message->spawned.status);
        for (uint32_t i = 0; i < n; i++) {
            printf(" %u.%u", at[i].slot, at[i].incarnation);
        }
        printf("\n");
    } else if (message->type == RZ_LINK_PIECE) {
        printf("piece %llu\n", (unsigned long long)message->piece.generation);
    } else {
        printf("refused %s\n", message->refused.reason);
    }
    fflush(stdout);
}

static uint64_t word_of(uint32_t slot)
{
    return atomic_load(&rz_link_info(helper_link)->board->rank[slot]);
}

static void send_and_wait(const struct rz_link_message *message)
{
    answered = false;
    rz_assert(rz_link_send(helper_link, message, -1) == RZ_OK);
    while (!answered) {
        helper_turn();
    }
}

static void cause(uint32_t slot)
{
    uint64_t word = word_of(slot);
    printf("slot %u incarnation %u node %u state %u\n", slot, rz_board_incarnation(word),
           rz_board_node(word), rz_board_state(word));
    fflush(stdout);
}

static void replace(uint32_t slot, uint32_t incarnation, bool wait)
{
    uint8_t pair[RZ_LINK_PAIR_BYTES];
    struct rz_link_process wanted = {slot, incarnation};
    struct rz_link_message message = {
        .type = RZ_LINK_REPLACE,
        .replace = {.question = slot, .spawns = pair, .spawns_length = sizeof(pair)}};
    rz_link_put_pairs(pair, &wanted, 1);
    if (wait) {
        send_and_wait(&message);
        cause(slot);
    } else {
        rz_assert(rz_link_send(helper_link, &message, -1) == RZ_OK);
    }
}

/* Argument lists from words in the environment. */
static struct rz_spawn_command command_of(const char *words, uint32_t n)
{
    static char text[2][1024];
    static const char *arguments[2][32];
    static int used;
    int which = used++ % 2;
    uint32_t count = 0;
    snprintf(text[which], sizeof(text[which]), "%s", words ? words : "");
    for (char *at = strtok(text[which], " "); at; at = strtok(NULL, " ")) {
        arguments[which][count++] = at;
    }
    arguments[which][count] = NULL;
    static const char *const environment[] = {"TEST_MARK=spawned", NULL};
    return (struct rz_spawn_command){
        .maxprocs = n, .directory = "/", .arguments = arguments[which], .environment = environment};
}

static void spawn(uint32_t n, uint32_t more, const void *parent, uint32_t parent_bytes)
{
    static uint8_t commands[8192];
    struct rz_spawn_command list[2] = {command_of(getenv("TEST_SPAWN"), n),
                                       command_of(getenv("TEST_SPAWN2"), more)};
    size_t bytes = rz_spawn_order_write(list, more ? 2 : 1, commands, sizeof(commands));
    rz_assert(bytes > 0);
    struct rz_link_message message = {.type = RZ_LINK_SPAWN,
                                      .spawn = {.question = 77,
                                                .count = n + more,
                                                .commands = commands,
                                                .commands_length = (uint32_t)bytes,
                                                .parent = parent,
                                                .parent_length = parent_bytes}};
    send_and_wait(&message);
}

static void spawn_heavily(uint32_t n, uint32_t parent_bytes)
{
    static uint8_t parent[RZ_LINK_MESSAGE_MAX];
    spawn(n, 0, parent, parent_bytes);
}

static void show_cohort(void)
{
    const struct rz_link_cohort_info *cohort = &rz_link_info(helper_link)->cohort;
    printf("cohort %u of %u command %u restarted %d %.*s %s:", cohort->index, cohort->n,
           cohort->command, rz_link_info(helper_link)->restarted, (int)cohort->parent_bytes,
           (const char *)cohort->parent, getenv("TEST_MARK"));
    for (uint32_t i = 0; i < cohort->n; i++) {
        printf(" %u.%u", cohort->processes[i].slot, cohort->processes[i].incarnation);
    }
    printf("\n");
    fflush(stdout);
}

static void acknowledge(uint32_t slot)
{
    uint8_t pair[RZ_LINK_PAIR_BYTES];
    struct rz_link_process failed = {slot, rz_board_incarnation(word_of(slot))};
    rz_link_put_pairs(pair, &failed, 1);
    struct rz_link_message message = {
        .type = RZ_LINK_ACKNOWLEDGED,
        .acknowledged = {.processes = pair, .processes_length = sizeof(pair)}};
    rz_assert(rz_link_send(helper_link, &message, -1) == RZ_OK);
}

static void end_one(uint32_t slot, uint32_t code)
{
    uint8_t pair[RZ_LINK_PAIR_BYTES];
    struct rz_link_process one = {slot, rz_board_incarnation(word_of(slot))};
    rz_link_put_pairs(pair, &one, 1);
    struct rz_link_message message = {.type = RZ_LINK_ABORT,
                                      .abort = {.code = code,
                                                .processes = pair,
                                                .processes_length = sizeof(pair),
                                                .reason = "only this one"}};
    rz_assert(rz_link_send(helper_link, &message, -1) == RZ_OK);
}

static uint64_t got;

static void on_piece(void *arg, const struct rz_link_message *message, const int *fds,
                     unsigned n_fds)
{
    (void)arg;
    for (unsigned i = 0; i < n_fds; i++) {
        close(fds[i]);
    }
    got = message->piece.generation;
    answered = true;
}

static void await_committed(uint64_t number)
{
    while (atomic_load(&rz_link_info(helper_link)->board->committed) < number) {
        helper_turn();
    }
}

static void say_unrestored(void)
{
    const struct rz_link_message message = {.type = RZ_LINK_UNRESTORED,
                                            .unrestored = {.reason = "it is of no use"}};
    rz_assert(rz_link_send(helper_link, &message, -1) == RZ_OK);
}

static void want_piece(void)
{
    rz_link_handle(helper_link, RZ_LINK_PIECE, on_piece, NULL);
    const struct rz_link_message message = {.type = RZ_LINK_WANT_PIECE,
                                            .want_piece = {.epoch = epoch}};
    send_and_wait(&message);
}

static void await_refusal(void)
{
    for (answered = false; !answered;) {
        helper_turn();
    }
}

static void ask_only(uint32_t rank)
{
    const struct rz_link_message message = {.type = RZ_LINK_GET_EP_ADDRESS,
                                            .get_ep_address = {.rank = rank, .epoch = epoch}};
    rz_assert(rz_link_send(helper_link, &message, -1) == RZ_OK);
}

static void put_ep_address(void)
{
    const struct rz_link_message asked = {.type = RZ_LINK_OPEN_NET, .open_net = {.epoch = epoch}};
    on_open_net(NULL, &asked, NULL, 0);
}

static uint32_t newest_wish(void)
{
    uint64_t wanted = atomic_load(&rz_link_info(helper_link)->board->snapshot);
    return wanted >> 32 == epoch ? (uint32_t)wanted : 0;
}

static void check_wished(uint32_t number)
{
    if (newest_wish() < number) {
        exit(84);
    }
}

static void await_wished(uint32_t number)
{
    for (;;) {
        uint32_t newest = newest_wish();
        if (newest > number) {
            exit(78);
        }
        if (newest == number) {
            return;
        }
        helper_turn();
    }
}

static void await_commit_before_wish(uint32_t number)
{
    await_wished(number);
    if (atomic_load(&rz_link_info(helper_link)->board->committed) + 1 < number) {
        exit(81);
    }
}

static void end_attempt(uint32_t number, uint64_t image)
{
    struct rz_link_message message = {
        .type = RZ_LINK_SNAPSHOT_OVER,
        .snapshot_over = {.epoch = epoch, .attempt = number, .number = image}};
    rz_assert(rz_link_send(helper_link, &message, -1) == RZ_OK);
}

static void pause_ms(uint32_t ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
}

static void take_long(uint32_t ms)
{
    pause_ms(ms);
    rz_time ended = rz_clock_now();
    end_attempt(1, 0);
    await_wished(2);
    if (rz_clock_now() - ended < 2 * ms * RZ_MILLISECOND) {
        exit(79);
    }
}

static void refuse_saving(void)
{
    struct rz_link_message message = {.type = RZ_LINK_SNAPSHOT_REFUSED,
                                      .snapshot_refused = {.reason = "it has a socket"}};
    rz_assert(rz_link_send(helper_link, &message, -1) == RZ_OK);
}

static void on_marked(void *arg, const struct rz_link_message *message, const int *fds,
                      unsigned n_fds)
{
    (void)arg, (void)fds, (void)n_fds;
    printf("marked %llu %llu\n", (unsigned long long)message->output_marked.out,
           (unsigned long long)message->output_marked.error);
    fflush(stdout);
    answered = true;
}

static void mark_output(void)
{
    const struct rz_link_message message = {.type = RZ_LINK_OUTPUT_MARK};
    rz_link_handle(helper_link, RZ_LINK_OUTPUT_MARKED, on_marked, NULL);
    send_and_wait(&message);
}

static void begin_output_at(uint32_t place)
{
    struct rz_link_message message = {.type = RZ_LINK_OUTPUT_AT, .output_at = {.out = place}};
    rz_assert(rz_link_send(helper_link, &message, -1) == RZ_OK);
}

static void join(void)
{
    if (rz_link_open(&helper_link) != RZ_OK) {
        exit(76);
    }
    rz_link_handle(helper_link, RZ_LINK_OPENED, on_answer, NULL);
    rz_link_handle(helper_link, RZ_LINK_EP_ADDRESS, on_answer, NULL);
    rz_link_handle(helper_link, RZ_LINK_REPLACED, on_spawns, NULL);
    rz_link_handle(helper_link, RZ_LINK_SPAWNED, on_spawns, NULL);
    rz_link_handle(helper_link, RZ_LINK_PIECE, on_spawns, NULL);
    rz_link_handle(helper_link, RZ_LINK_REFUSED, on_spawns, NULL);
    await_epoch(1);
}

static void copy_input(void)
{
    char data[4096];
    ssize_t n;
    while ((n = read(0, data, sizeof(data))) > 0) {
        rz_assert(write(1, data, (size_t)n) == n);
    }
}

static void flood(size_t bytes)
{
    static const char line[64] = "012345678901234567890123456789012345678901234567890123456789ab\n";
    for (size_t done = 0; done < bytes; done += sizeof(line) - 1) {
        rz_assert(write(1, line, sizeof(line) - 1) > 0);
    }
}

static void grow(size_t mebibytes)
{
    char *memory = malloc(mebibytes << 20);
    rz_assert(memory != NULL);
    memset(memory, 1, mebibytes << 20);
    rz_assert(*(volatile char *)memory == 1);
}

static void show_wait(void)
{
    struct rz_wait_text text = {
        .call = "MPI_Recv", .context = 0xbeef, .peer = 1, .tag = 7, .since_ns = rz_clock_now()};
    rz_wait_write(&rz_link_info(helper_link)->waits->wait[0], &text);
}

static void count_sent(uint32_t slot)
{
    const struct rz_link_info *info = rz_link_info(helper_link);
    if (info->board->flags & RZ_BOARD_TRAFFIC) {
        rz_traffic_add(&rz_waits_traffic(info->waits, info->n_slots)[slot], 100);
    }
}

static void show_handed(uint32_t slot)
{
    struct rz_waits *waits = rz_link_info(helper_link)->waits;
    rz_pair_counts_set(&waits->pairs[slot], 3, 1, &waits->pairs_changed, rz_clock_now());
}

static void say(const char *text)
{
    printf("%s %u %s %u\n", text, self(), getenv("RZ_INCARNATION"), epoch);
    fflush(stdout);
}

static void hang(void)
{
    for (;;) {
        pause();
    }
}

static void serve(void)
{
    for (;;) {
        helper_turn();
    }
}

/* Answers pile up until the daemon gives this process up. */
static void deaf(void)
{
    static uint8_t ep_address[4000];
    struct rz_link_message put = {.type = RZ_LINK_PUT_EP_ADDRESS,
                                  .put_ep_address = {.epoch = epoch,
                                                     .ep_address = ep_address,
                                                     .ep_address_length = sizeof(ep_address)}};
    struct rz_link_message get = {.type = RZ_LINK_GET_EP_ADDRESS,
                                  .get_ep_address = {.rank = self(), .epoch = epoch}};
    rz_assert(rz_link_send(helper_link, &put, -1) == RZ_OK);
    while (rz_link_send(helper_link, &get, -1) == RZ_OK) {
        ;
    }
}

static void noise(void)
{
    rz_assert(rz_channel_send(rz_link_info(helper_link)->fd, "noise", 5, NULL, 0) == RZ_OK);
    hang();
}

static void unlink_(void)
{
    rz_link_close(helper_link, false);
    hang();
}

static void abort_job(uint32_t code)
{
    struct rz_link_message message = {.type = RZ_LINK_ABORT,
                                      .abort = {.code = code, .reason = "as told"}};
    rz_assert(rz_link_send(helper_link, &message, -1) == RZ_OK);
    serve();
}

static void say_again(uint32_t times)
{
    for (uint32_t i = 0; i < times; i++) {
        const struct rz_link_message reached = {.type = RZ_LINK_REACHED,
                                                .reached = {.epoch = i % 3, .phase = i % 2}};
        const struct rz_link_message restored = {.type = RZ_LINK_RESTORED,
                                                 .restored = {.epoch = i % 3, .generation = i}};
        rz_assert(rz_link_send(helper_link, &reached, -1) == RZ_OK);
        rz_assert(rz_link_send(helper_link, &restored, -1) == RZ_OK);
    }
}

/* Of a piece of one page of zeros. */
static uint64_t hash_of_zeros(void)
{
    static const uint8_t page[RZ_PAGE_BYTES];
    struct rz_page_hash hash;
    return rz_pages_look(page, sizeof(page), &hash);
}

static void send_store(uint64_t number, uint64_t bytes, uint64_t hash, int fd)
{
    struct rz_link_message message = {
        .type = RZ_LINK_STORE,
        .store = {.epoch = epoch, .number = number, .bytes = bytes, .hash = hash}};
    rz_assert(rz_link_send(helper_link, &message, fd) == RZ_OK);
}

static void store(const char *what)
{
    enum { BYTES = RZ_PAGE_BYTES };
    int fd;
    if (strcmp(what, "unsealed") == 0) {
        fd = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        rz_assert(fd >= 0 && ftruncate(fd, BYTES) == 0);
    } else if (strcmp(what, "pipe") == 0) {
        int ends[2];
        rz_assert(pipe(ends) == 0);
        fd = ends[0];
    } else {
        rz_assert(rz_memory_create("piece", BYTES, &fd) == RZ_OK);
        rz_assert(strcmp(what, "holes") == 0 || rz_memory_reserve(fd, 0, BYTES) == RZ_OK);
    }
    uint64_t hash = strcmp(what, "wrong") == 0 ? 0 : hash_of_zeros();
    send_store(strcmp(what, "number-0") == 0   ? 0
               : strcmp(what, "number-2") == 0 ? 2
               : strcmp(what, "next") == 0     ? 2
                                               : 1,
               strcmp(what, "short") == 0 ? BYTES + 1 : BYTES, hash,
               strcmp(what, "no-fd") == 0 ? -1 : fd);
    if (strcmp(what, "twice") == 0) {
        send_store(1, BYTES, hash, fd);
    }
    if (strcmp(what, "right") != 0 && strcmp(what, "next") != 0 && strcmp(what, "wrong") != 0) {
        serve();
    }
}

static void enter(void)
{
    pass(0);
}

static void leave(void)
{
    pass(1);
}

static void bye(void)
{
    rz_link_close(helper_link, true);
    helper_link = NULL;
}

/* Or is still to begin. */
static bool lives(uint32_t slot, uint32_t incarnation)
{
    uint64_t word = word_of(slot);
    return rz_board_incarnation(word) < incarnation ||
           (rz_board_incarnation(word) == incarnation && rz_board_state(word) == RZ_PROCESS_ALIVE);
}

static bool do_spawn_word(const char *word, uint32_t number, uint32_t second)
{
    if (strcmp(word, "failed") == 0) {
        while (lives(number, second ? second : 1)) {
            helper_turn();
        }
    } else if (strcmp(word, "all-failed") == 0) {
        for (uint32_t slot = number; slot <= second; slot++) {
            while (lives(slot, 1)) {
                helper_turn();
            }
        }
    } else if (strcmp(word, "grown") == 0) {
        while (rz_board_incarnation(word_of(number)) < second) {
            helper_turn();
        }
    } else if (strcmp(word, "replace") == 0 || strcmp(word, "wants") == 0) {
        replace(number, second, word[0] == 'r');
    } else if (strcmp(word, "spawn") == 0) {
        spawn(number, second, "parents", 7);
    } else if (strcmp(word, "heavy") == 0) {
        spawn_heavily(number, second);
    } else if (strcmp(word, "ack") == 0) {
        acknowledge(number);
    } else if (strcmp(word, "end") == 0) {
        end_one(number, second);
    } else if (strcmp(word, "ask") == 0) {
        ask_only(number);
    } else if (strcmp(word, "state") == 0) {
        cause(number);
    } else {
        return false;
    }
    return true;
}

static bool do_snapshot_word(const char *word, uint32_t number)
{
    if (strcmp(word, "wish") == 0) {
        send_simple(RZ_LINK_SNAPSHOT_WANTED);
    } else if (strcmp(word, "wished") == 0) {
        await_wished(number);
    } else if (strcmp(word, "is-wished") == 0) {
        check_wished(number);
    } else if (strcmp(word, "over") == 0) {
        end_attempt(number, 0);
    } else if (strcmp(word, "imaged") == 0) {
        end_attempt(number, number);
    } else if (strcmp(word, "unwished") == 0) {
        await_commit_before_wish(number);
    } else if (strcmp(word, "slow") == 0) {
        take_long(number);
    } else if (strcmp(word, "pause") == 0) {
        pause_ms(number);
    } else if (strcmp(word, "committed") == 0) {
        await_committed(number);
    } else if (strcmp(word, "got") == 0) {
        if (got != number) {
            exit(80);
        }
    } else if (strcmp(word, "unrestored") == 0) {
        say_unrestored();
    } else if (strcmp(word, "again") == 0) {
        say_again(number);
    } else if (strcmp(word, "unsaved") == 0) {
        refuse_saving();
    } else if (strcmp(word, "mark") == 0) {
        mark_output();
    } else if (strcmp(word, "begin-at") == 0) {
        begin_output_at(number);
    } else {
        return false;
    }
    return true;
}

static void do_word(const char *word, const char *argument)
{
    static const struct {
        const char *word;
        void (*act)(void);
    } plain[] = {{"join", join},          {"enter", enter},
                 {"leave", leave},        {"bye", bye},
                 {"hang", hang},          {"serve", serve},
                 {"stdin", copy_input},   {"waits", show_wait},
                 {"deaf", deaf},          {"noise", noise},
                 {"unlink", unlink_},     {"cohort", show_cohort},
                 {"want", want_piece},    {"refusal", await_refusal},
                 {"put", put_ep_address}, {"lane", say_lane},
                 {"lanes", answer_lanes}};
    for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++) {
        if (strcmp(word, plain[i].word) == 0) {
            plain[i].act();
            return;
        }
    }
    uint32_t number = (uint32_t)atoi(argument);
    const char *comma = strchr(argument, ',');
    uint32_t second = comma ? (uint32_t)atoi(comma + 1) : 0;
    if (do_spawn_word(word, number, second) || do_snapshot_word(word, number) ||
        helper_do_group_word(word, argument) || helper_do_file_word(word, argument)) {
        return;
    }
    if (strcmp(word, "repairing") == 0) {
        send_simple(RZ_LINK_REPAIRING);
    } else if (strcmp(word, "net") == 0) {
        rz_link_handle(helper_link, RZ_LINK_OPEN_NET, on_open_net, NULL);
    } else if (strcmp(word, "epoch") == 0) {
        await_epoch(number);
    } else if (strcmp(word, "say") == 0) {
        say(argument);
    } else if (strcmp(word, "store") == 0) {
        store(argument);
    } else if (strcmp(word, "sent") == 0) {
        count_sent(number);
    } else if (strcmp(word, "handed") == 0) {
        show_handed(number);
    } else if (strcmp(word, "flood") == 0) {
        flood(number);
    } else if (strcmp(word, "grow") == 0) {
        grow(number);
    } else if (strcmp(word, "open") == 0) {
        ask(RZ_LINK_OPEN, number);
    } else if (strcmp(word, "address") == 0) {
        ask(RZ_LINK_GET_EP_ADDRESS, number);
    } else if (strcmp(word, "abort") == 0) {
        abort_job(number);
    } else if (strcmp(word, "kill") == 0) {
        kill(getpid(), SIGKILL);
    } else if (strcmp(word, "exit") == 0) {
        exit((int)number);
    } else {
        rz_assert(!"an unknown word");
    }
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char word[64];
        snprintf(word, sizeof(word), "%s", argv[i]);
        char *colon = strchr(word, ':');
        if (colon) {
            *colon = '\0';
        }
        if (strcmp(word, "if") == 0) {
            if ((uint32_t)atoi(colon + 1) != self()) {
                hang();
            }
            continue;
        }
        do_word(word, colon ? colon + 1 : "");
    }
    return 0;
}
