/* SPDX-License-Identifier: BSD-3-Clause */
/* The process's end of the link, against a daemon played by this test. */
#include "../../patience.h"
#include "link/lease.h"
#include "link/link.h"

#include "net/shm/shm.h"
#include "port/channel.h"
#include "port/clock.h"
#include "port/memory.h"
#include "port/process.h"
#include "port/watch.h"
#include "proto/recover/recover.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define NET_KEY "the key of the network of a job "

enum { RANKS = 4, SLOTS = 6, SPAWNED = 5, LANES_MAX = 8, RANK = 2, INCARNATION = 3, FDS = 5 };
static const uint64_t JOB = 4711, HB_PERIOD_NS = 20 * RZ_MILLISECOND,
                      LEASE_NS = 60 * RZ_MILLISECOND;

/* The daemon's side of one process. */
static struct daemon {
    int link[2];
    int fds[FDS + 1]; /* board, inbox, doorbell, watch page, wait objects; heartbeats */
    bool ring;        /* the last one goes along */
    struct rz_board *board;
    struct rz_watch *watch;
    uint32_t slot;
    struct rz_link_welcome welcome;
    const char *refusal;
    struct rz_link_message cohort; /* follows WELCOME if it is one */
} d;

static int memory(const char *name, size_t bytes, void **at)
{
    int fd;
    assert_int_equal(rz_memory_create(name, bytes, &fd), RZ_OK);
    if (at) {
        assert_int_equal(rz_memory_map(fd, 0, true, at, NULL), RZ_OK);
    }
    return fd;
}

static int setup(void **state)
{
    (void)state;
    void *board;
    memset(&d, 0, sizeof(d));
    assert_int_equal(rz_channel_pair(d.link), RZ_OK);
    d.fds[0] = memory("board", rz_board_bytes_ring(SLOTS, 2), &board);
    d.board = board;
    d.board->magic = RZ_BOARD_MAGIC;
    d.board->layout = RZ_BOARD_LAYOUT;
    d.board->n_ranks = RANKS;
    d.board->n_slots = SLOTS;
    d.board->n_nodes = 2;
    d.board->hb_period_ns = HB_PERIOD_NS;
    d.board->lease_ns = LEASE_NS;
    d.board->lease_renewed_ns = rz_clock_now();
    d.fds[1] = memory("inbox", rz_shm_inbox_bytes(LANES_MAX), NULL);
    d.fds[2] = eventfd(0, EFD_NONBLOCK);
    assert_int_equal(rz_watch_open(&d.watch, 2), RZ_OK);
    assert_int_equal(rz_watch_slot_open(d.watch, &d.slot), RZ_OK);
    d.fds[3] = rz_watch_page_fd(d.watch);
    d.fds[4] = memory("waits", rz_waits_bytes(SLOTS), NULL);
    d.fds[FDS] = eventfd(0, EFD_NONBLOCK);
    static const struct rz_address node_address = {.ip = RZ_IPV4(127, 0, 1, 1)};
    d.welcome = (struct rz_link_welcome){.version = RZ_LINK_VERSION,
                                         .n_ranks = RANKS,
                                         .n_slots = SLOTS,
                                         .n_nodes = 2,
                                         .node = 1,
                                         .epoch = 5,
                                         .lane = 6,
                                         .lanes_max = LANES_MAX,
                                         .watch_slot = d.slot,
                                         .job = JOB,
                                         .job_token = 99,
                                         .restarted = 1,
                                         .node_ip = node_address.ip,
                                         .node_ip_length = RZ_IP_BYTES,
                                         .net_key = (const uint8_t *)NET_KEY,
                                         .net_key_length = RZ_LINK_NET_KEY_BYTES};
    char fd[16];
    snprintf(fd, sizeof(fd), "%d", d.link[1]);
    setenv("RZ_LINK_FD", fd, 1);
    setenv("RZ_JOB_ID", "4711", 1);
    setenv("RZ_JOB_KEY", "00ff7F", 1);
    setenv("RZ_RANK", "2", 1);
    setenv("RZ_INCARNATION", "3", 1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    if (d.link[0] >= 0) {
        close(d.link[0]);
    }
    rz_memory_unmap(d.board, rz_board_bytes_ring(SLOTS, 2));
    for (unsigned i = 0; i <= FDS; i++) {
        if (i != 3) {
            close(d.fds[i]);
        }
    }
    rz_watch_close(d.watch);
    return 0;
}

static void daemon_send(const struct rz_link_message *message, const int *fds, unsigned n_fds)
{
    static char buffer[RZ_LINK_MESSAGE_MAX];
    size_t n = rz_link_encode(message, buffer, sizeof(buffer));
    assert_true(n > 0);
    assert_int_equal(rz_channel_send(d.link[0], buffer, n, fds, n_fds), RZ_OK);
}

static void daemon_receive(struct rz_link_message *message, int *fds, unsigned *n_fds)
{
    static char buffer[RZ_LINK_MESSAGE_MAX];
    size_t n;
    assert_int_equal(rz_channel_receive(d.link[0], buffer, sizeof(buffer), &n, fds, n_fds), RZ_OK);
    assert_int_equal(rz_link_decode(message, buffer, n), RZ_OK);
}

static void *answer(void *arg)
{
    (void)arg;
    struct rz_link_message hello;
    daemon_receive(&hello, NULL, NULL);
    assert_int_equal(hello.type, RZ_LINK_HELLO);
    assert_int_equal(hello.hello.version, RZ_LINK_VERSION);
    assert_int_equal(hello.hello.job, JOB);
    assert_int_equal(hello.hello.rank, d.cohort.type == RZ_LINK_COHORT ? SPAWNED : RANK);
    assert_int_equal(hello.hello.incarnation, INCARNATION);
    assert_int_equal(hello.hello.key_length, 3);
    assert_memory_equal(hello.hello.key, "\x00\xff\x7f", 3);
    struct rz_link_message message = {.type = RZ_LINK_WELCOME, .welcome = d.welcome};
    if (d.refusal) {
        message =
            (struct rz_link_message){.type = RZ_LINK_REFUSED, .refused = {.reason = d.refusal}};
    }
    daemon_send(&message, d.fds, d.refusal ? 0 : d.ring ? FDS + 1 : FDS);
    if (d.cohort.type == RZ_LINK_COHORT) {
        daemon_send(&d.cohort, NULL, 0);
    }
    return NULL;
}

static rz_status_t join_by(rz_status_t (*begin)(struct rz_link **link), struct rz_link **link)
{
    pthread_t thread;
    pthread_create(&thread, NULL, answer, NULL);
    d.board->lease_ns = RZ_BOARD_LEASE_FOREVER; /* the helper thread would end the test */
    rz_status_t status = begin(link);
    d.board->lease_ns = LEASE_NS;
    pthread_join(thread, NULL);
    return status;
}

static rz_status_t join(struct rz_link **link)
{
    return join_by(rz_link_open, link);
}

static void a_process_without_a_daemon_is_a_job_of_its_own(void **state)
{
    (void)state;
    unsetenv("RZ_LINK_FD");
    struct rz_link *link;
    assert_int_equal(rz_link_open(&link), RZ_OK);
    const struct rz_link_info *info = rz_link_info(link);
    assert_true(info->alone);
    assert_int_equal(info->n_ranks, 1);
    assert_int_equal(info->self.incarnation, 1);
    assert_int_equal(info->board->epoch_phase, 1 << 8 | RZ_PHASE_RUN);
    assert_int_equal(info->fd, -1);
    struct rz_link_message message = {.type = RZ_LINK_REPAIRING};
    assert_int_equal(rz_link_send(link, &message, -1), RZ_ERR_UNSUPPORTED);
    unsigned char room[64];
    assert_int_equal(rz_link_send_through(link, &message, -1, room, sizeof(room)),
                     RZ_ERR_UNSUPPORTED);
    assert_int_equal(rz_link_progress(link), RZ_OK);
    assert_int_equal(rz_link_check(link), RZ_OK);
    struct rz_net *net;
    struct rz_shm_config config = {.self = info->self,
                                   .lane = info->lane,
                                   .lanes_max = info->lanes_max,
                                   .inbox_fd = info->inbox_fd,
                                   .event_fd = info->doorbell_fd};
    assert_int_equal(rz_shm_open(&net, &config), RZ_OK);
    rz_shm_ops.close(net);
    rz_link_close(link, true);
}

static void joining_tells_everything(void **state)
{
    (void)state;
    struct rz_link *link;
    assert_int_equal(join(&link), RZ_OK);
    const struct rz_link_info *info = rz_link_info(link);
    assert_int_equal(info->self.job, JOB);
    assert_int_equal(info->self.rank, RANK);
    assert_int_equal(info->n_ranks, RANKS);
    assert_int_equal(info->n_slots, SLOTS);
    assert_null(info->cohort.processes);
    assert_int_equal(info->n_nodes, 2);
    assert_int_equal(info->node, 1);
    assert_int_equal(info->lane, 6);
    assert_int_equal(info->job_token, 99);
    assert_true(info->restarted);
    assert_memory_equal(info->node_address.ip, d.welcome.node_ip, RZ_IP_BYTES);
    assert_false(info->alone);
    assert_non_null(info->doorbell);
    assert_non_null(info->waits);
    assert_true(fcntl(info->fd, F_GETFD) & FD_CLOEXEC);
    assert_null(getenv("RZ_LINK_FD"));
    assert_null(getenv("RZ_JOB_KEY"));
    rz_link_close(link, true);
    struct rz_link_message bye;
    daemon_receive(&bye, NULL, NULL);
    assert_int_equal(bye.type, RZ_LINK_BYE);
    uint32_t slot;
    enum rz_watch_end end;
    rz_time at;
    struct pollfd polled = {.fd = rz_watch_event_fd(d.watch), .events = POLLIN};
    assert_int_equal(poll(&polled, 1, TEST_HANG_MS), 1);
    assert_true(rz_watch_take(d.watch, &slot, &end, &at));
    assert_int_equal(end, RZ_WATCH_CLEAN);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    struct rz_link *link = NULL;
    d.refusal = "a test says no";
    assert_int_equal(join(&link), RZ_ERR_REFUSED);
    assert_null(link);
}

static void another_version_is_refused(void **state)
{
    (void)state;
    struct rz_link *link = NULL;
    d.welcome.version++;
    assert_int_equal(join(&link), RZ_ERR_VERSION);
    assert_null(link);
}

static void a_board_of_another_size_is_refused(void **state)
{
    (void)state;
    struct rz_link *link = NULL;
    d.welcome.n_ranks = RANKS + 1000;
    assert_int_equal(join(&link), RZ_ERR_VERSION);
    assert_null(link);
}

/* Two of one world: slots 4 and 5; we are the second. */
static rz_status_t join_spawned(struct rz_link **link, uint32_t processes_length, uint32_t index,
                                uint32_t own_incarnation)
{
    static uint8_t pairs[2 * RZ_LINK_PAIR_BYTES];
    const struct rz_link_process world[2] = {{4, 7}, {SPAWNED, own_incarnation}};
    rz_link_put_pairs(pairs, world, 2);
    setenv("RZ_RANK", "5", 1);
    d.cohort = (struct rz_link_message){.type = RZ_LINK_COHORT,
                                        .cohort = {.processes = pairs,
                                                   .processes_length = processes_length,
                                                   .index = index,
                                                   .command = 3,
                                                   .parent = (const uint8_t *)"from parents",
                                                   .parent_length = 12}};
    return join(link);
}

static void a_spawned_process_learns_of_its_world(void **state)
{
    (void)state;
    struct rz_link *link;
    assert_int_equal(join_spawned(&link, 16, 1, INCARNATION), RZ_OK);
    const struct rz_link_cohort_info *cohort = &rz_link_info(link)->cohort;
    assert_int_equal(cohort->n, 2);
    assert_int_equal(cohort->index, 1);
    assert_int_equal(cohort->command, 3);
    assert_int_equal(cohort->processes[0].slot, 4);
    assert_int_equal(cohort->processes[0].incarnation, 7);
    assert_int_equal(cohort->processes[1].slot, SPAWNED);
    assert_int_equal(cohort->parent_bytes, 12);
    assert_memory_equal(cohort->parent, "from parents", 12);
    rz_link_close(link, true);
}

static void a_world_without_us_is_refused(void **state)
{
    (void)state;
    struct rz_link *link = NULL;
    static const uint32_t wrong[][3] = {{16, 0, INCARNATION}, /* another's rank */
                                        {16, 2, INCARNATION}, /* of no process */
                                        {16, 1, INCARNATION + 1},
                                        {15, 1, INCARNATION},
                                        {0, 0, INCARNATION}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        if (i > 0) {
            teardown(NULL);
            setup(NULL);
        }
        assert_int_equal(join_spawned(&link, wrong[i][0], wrong[i][1], wrong[i][2]),
                         RZ_ERR_MALFORMED);
        assert_null(link);
    }
}

static void a_board_with_other_slots_is_refused(void **state)
{
    (void)state;
    struct rz_link *link = NULL;
    d.welcome.n_slots = SLOTS + 1;
    assert_int_equal(join(&link), RZ_ERR_VERSION);
    assert_null(link);
}

static void an_address_of_another_length_is_refused(void **state)
{
    (void)state;
    struct rz_link *link = NULL;
    d.welcome.node_ip_length = 4;
    assert_int_equal(join(&link), RZ_ERR_MALFORMED);
    assert_null(link);
}

/* --detector flat: key, socket and a board with addresses arrive together or not at all. */
static void a_ring_comes_whole(void **state)
{
    static const uint8_t key[RZ_LINK_RING_KEY_BYTES] = "ring";
    struct rz_link *link = NULL;
    (void)state;
    d.ring = true;
    d.board->flags = RZ_BOARD_RING;
    d.welcome.ring_key = key;
    d.welcome.ring_key_length = sizeof(key);
    d.welcome.hb_timeout_ns = HB_PERIOD_NS + 1;
    assert_int_equal(join(&link), RZ_OK);
    assert_true(rz_link_info(link)->ring_fd >= 0);
    assert_int_equal(rz_link_info(link)->hb_timeout, HB_PERIOD_NS + 1);
    assert_memory_equal(rz_link_info(link)->ring_key, key, sizeof(key));
    rz_link_close(link, true);
}

static void bad_ring(bool fd, uint32_t key_length, uint32_t flags, uint64_t hb_timeout_ns)
{
    static const uint8_t key[RZ_LINK_RING_KEY_BYTES + 1] = "ring";
    struct rz_link *link = NULL;
    d.ring = fd;
    d.board->flags = flags;
    d.welcome.ring_key = key;
    d.welcome.ring_key_length = key_length;
    d.welcome.hb_timeout_ns = hb_timeout_ns;
    assert_int_equal(join(&link), RZ_ERR_MALFORMED);
    assert_null(link);
}

static void a_ring_without_socket_is_refused(void **state)
{
    (void)state;
    bad_ring(false, RZ_LINK_RING_KEY_BYTES, RZ_BOARD_RING, HB_PERIOD_NS + 1);
}

static void a_socket_without_ring_is_refused(void **state)
{
    (void)state;
    bad_ring(true, 0, RZ_BOARD_RING, HB_PERIOD_NS + 1);
}

static void a_ring_with_another_key_is_refused(void **state)
{
    (void)state;
    bad_ring(true, RZ_LINK_RING_KEY_BYTES + 1, RZ_BOARD_RING, HB_PERIOD_NS + 1);
}

static void a_ring_without_addresses_is_refused(void **state)
{
    (void)state;
    bad_ring(true, RZ_LINK_RING_KEY_BYTES, 0, HB_PERIOD_NS + 1);
}

static void a_ring_without_patience_is_refused(void **state)
{
    (void)state;
    bad_ring(true, RZ_LINK_RING_KEY_BYTES, RZ_BOARD_RING, HB_PERIOD_NS);
}

static void a_daemon_that_fails_during_the_greeting_is_noticed(void **state)
{
    (void)state;
    struct rz_link *link = NULL;
    close(d.link[0]);
    d.link[0] = -1;
    assert_int_equal(rz_link_open(&link), RZ_ERR_CLOSED);
}

static void half_an_environment_is_refused(void **state)
{
    (void)state;
    struct rz_link *link = NULL;
    static const char *const wrong[][2] = {{"RZ_RANK", "x"},         {"RZ_INCARNATION", "0"},
                                           {"RZ_JOB_KEY", "123"},    {"RZ_JOB_KEY", "zz"},
                                           {"RZ_JOB_ID", ""},        {"RZ_RANK", "4294967296"},
                                           {"RZ_LINK_FD", "100000"}, {"RZ_INCARNATION", "-1"}};
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        char *before = strdup(getenv(wrong[i][0]));
        setenv(wrong[i][0], wrong[i][1], 1);
        assert_int_equal(rz_link_open(&link), RZ_ERR_INVALID);
        setenv(wrong[i][0], before, 1);
        free(before);
    }
}

static struct {
    unsigned n, n_fds;
    uint32_t rank, pid;
} seen;

static void on_opened(void *arg, const struct rz_link_message *message, const int *fds,
                      unsigned n_fds)
{
    struct rz_link *link = arg;
    seen.n++;
    seen.n_fds = n_fds;
    seen.rank = message->opened.rank;
    for (unsigned i = 0; i < n_fds; i++) {
        close(fds[i]);
    }
    struct rz_link_message mark = {.type = RZ_LINK_MARK, .mark = {.iteration = 12}};
    assert_int_equal(rz_link_send(link, &mark, -1), RZ_OK); /* handlers may send */
    seen.pid = message->opened.pid;                         /* and the message is still whole */
}

static void messages_reach_their_handlers(void **state)
{
    (void)state;
    struct rz_link *link;
    assert_int_equal(join(&link), RZ_OK);
    rz_link_handle(link, RZ_LINK_OPENED, on_opened, link);
    assert_int_equal(rz_link_progress(link), RZ_OK);
    struct rz_link_message opened = {.type = RZ_LINK_OPENED,
                                     .opened = {.rank = 3, .incarnation = 1, .pid = 77}};
    struct rz_link_message unknown = {.type = RZ_LINK_OPEN_NET};
    int fds[] = {d.fds[1], d.fds[2]};
    daemon_send(&unknown, fds, 1); /* there is no handler: its descriptor is closed */
    daemon_send(&opened, fds, 2);
    assert_int_equal(rz_link_progress(link), RZ_OK);
    assert_int_equal(seen.n, 1);
    assert_int_equal(seen.rank, 3);
    assert_int_equal(seen.pid, 77);
    assert_int_equal(seen.n_fds, 2);
    struct rz_link_message got;
    daemon_receive(&got, NULL, NULL);
    assert_int_equal(got.type, RZ_LINK_MARK);
    assert_int_equal(got.mark.iteration, 12);
    struct rz_link_message store = {.type = RZ_LINK_STORE, .store = {.bytes = 10}};
    unsigned n_fds = 0;
    assert_int_equal(rz_link_send(link, &store, d.fds[1]), RZ_OK);
    int received[RZ_CHANNEL_FDS_MAX];
    daemon_receive(&got, received, &n_fds);
    assert_int_equal(n_fds, 1);
    close(received[0]);
    unsigned char room[1024];
    char path[sizeof(room) / 2];
    memset(path, 'x', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    struct rz_link_message file = {.type = RZ_LINK_FILE_MARK, .file_mark = {.path = path}};
    assert_int_equal(rz_link_send_through(link, &file, -1, room, sizeof(path)), RZ_ERR_INVALID);
    assert_int_equal(rz_link_send_through(link, &file, -1, room, sizeof(room)), RZ_OK);
    daemon_receive(&got, NULL, NULL);
    assert_string_equal(got.file_mark.path, path);
    file.file_mark.path = "/file";
    assert_int_equal(rz_link_send_through(link, &file, d.fds[1], room, sizeof(room)), RZ_OK);
    n_fds = 0;
    daemon_receive(&got, received, &n_fds);
    assert_int_equal(n_fds, 1);
    assert_string_equal(got.file_mark.path, "/file");
    close(received[0]);
    close(d.link[0]);
    d.link[0] = -1;
    assert_int_equal(rz_link_progress(link), RZ_ERR_CLOSED);
    assert_int_equal(rz_link_send(link, &store, -1), RZ_ERR_CLOSED);
    assert_int_equal(rz_link_send_through(link, &file, -1, room, sizeof(room)), RZ_ERR_CLOSED);
    rz_link_close(link, false);
}

static void on_marked(void *arg, const struct rz_link_message *message, const int *fds,
                      unsigned n_fds)
{
    (void)fds, (void)n_fds;
    assert_int_equal(message->output_marked.out, 12);
    *(bool *)arg = true;
}

static void *mark(void *arg)
{
    struct rz_link_message message;
    daemon_receive(&message, NULL, NULL);
    assert_int_equal(message.type, RZ_LINK_OUTPUT_MARK);
    daemon_send(&(struct rz_link_message){.type = RZ_LINK_OUTPUT_MARKED, .output_marked.out = 12},
                NULL, 0);
    return arg;
}

static void an_answer_is_awaited(void **state)
{
    (void)state;
    struct rz_link *link;
    bool answered = false;
    pthread_t thread;
    assert_int_equal(join_by(rz_link_join, &link), RZ_OK);
    rz_link_handle(link, RZ_LINK_OUTPUT_MARKED, on_marked, &answered);
    assert_int_equal(rz_link_send(link, &(struct rz_link_message){.type = RZ_LINK_OUTPUT_MARK}, -1),
                     RZ_OK);
    d.board->lease_ns = RZ_BOARD_LEASE_FOREVER;
    pthread_create(&thread, NULL, mark, NULL);
    assert_int_equal(rz_link_await(link, &answered), RZ_OK);
    assert_true(answered);
    pthread_join(thread, NULL);
    answered = false;
    close(d.link[0]);
    d.link[0] = -1;
    assert_int_equal(rz_link_await(link, &answered), RZ_ERR_CLOSED);
    rz_link_close(link, false);
}

static int n_visited;

static void visit(void *arg, int fd)
{
    (void)arg;
    n_visited++;
    assert_true(fcntl(fd, F_GETFD) >= 0);
}

static int move_up(int fd)
{
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, 200);
    close(fd);
    return moved;
}

/* As an image does with the link of the process that became it. */
static void a_link_takes_the_place_of_another(void **state)
{
    (void)state;
    struct rz_link *link;
    _Alignas(16) unsigned char handover[RZ_LINK_HANDOVER_BYTES];
    assert_int_equal(join_by(rz_link_join, &link), RZ_OK);
    d.board->lease_ns = RZ_BOARD_LEASE_FOREVER;
    assert_int_equal(rz_link_thread(link), 0);
    n_visited = 0;
    rz_link_descriptors(link, visit, NULL);
    assert_int_equal(n_visited, 4); /* link, inbox, doorbell, watch page; there is no ring */
    rz_link_renumber(link, move_up);
    assert_true(rz_link_info(link)->fd >= 200);
    rz_link_descriptors(link, visit, NULL);
    assert_int_equal(n_visited, 8);
    rz_link_hand_over(link, handover);
    assert_int_equal(rz_link_take_over(link, handover), RZ_OK);
    assert_int_equal(rz_link_hold(link), RZ_OK);
    assert_true(rz_link_thread(link) > 0);
    rz_link_close(link, true);
    struct rz_link_message bye;
    daemon_receive(&bye, NULL, NULL);
    assert_int_equal(bye.type, RZ_LINK_BYE);
}

static void the_link_of_another_place_is_refused(void **state)
{
    (void)state;
    struct rz_link *link, *other;
    _Alignas(16) unsigned char handover[RZ_LINK_HANDOVER_BYTES];
    assert_int_equal(join_by(rz_link_join, &link), RZ_OK);
    teardown(NULL);
    setup(NULL);
    assert_int_equal(join_by(rz_link_join, &other), RZ_OK);
    rz_link_hand_over(other, handover);
    assert_int_equal(rz_link_take_over(link, handover), RZ_ERR_INVALID); /* mapped elsewhere */
    rz_link_close(link, false);
    rz_link_close(other, false);
}

static void pass(rz_time ns)
{
    struct timespec pause = {.tv_nsec = (long)ns};
    while (nanosleep(&pause, &pause) != 0) {
        ;
    }
}

static void a_withdrawn_lease_fences(void **state)
{
    (void)state;
    struct rz_link *link;
    assert_int_equal(join(&link), RZ_OK);
    d.board->lease_renewed_ns = 1; /* very old: that is for the helper thread to assess */
    assert_int_equal(rz_link_check(link), RZ_OK);
    d.board->lease_renewed_ns = 0;
    assert_int_equal(rz_link_check(link), RZ_ERR_FENCED);
    rz_link_close(link, false);
}

/* Looks each period from `*now` on, until the lease is doubted; how long that took. */
static rz_time look_until_doubted(struct rz_lease *lease, rz_time *now)
{
    rz_time begun = *now, period = rz_lease_period(d.board);
    for (int i = 0; i < 100; i++) {
        *now += period;
        if (rz_lease_look(lease, d.board, *now) != RZ_LEASE_HELD) {
            return *now - begun;
        }
    }
    return RZ_TIME_NEVER;
}

static void a_silent_daemon_is_doubted_after_its_lease(void **state)
{
    (void)state;
    rz_time now = RZ_SECOND;
    struct rz_lease lease = {.looked_at = now};
    d.board->lease_renewed_ns = now;
    assert_int_equal(look_until_doubted(&lease, &now), LEASE_NS);
    d.board->lease_renewed_ns = now;
    assert_int_equal(look_until_doubted(&lease, &now), LEASE_NS); /* it came back meanwhile */
    d.board->lease_renewed_ns = 0;
    assert_int_equal(rz_lease_look(&lease, d.board, now), RZ_LEASE_WITHDRAWN);
}

/* It may wait for a timer that is late; if a message does not wake it either, it is blocked. */
static void a_daemon_that_sleeps_is_woken_first(void **state)
{
    (void)state;
    rz_time now = RZ_SECOND;
    struct rz_lease lease = {.looked_at = now};
    for (int i = 0; i < 2; i++) {
        d.board->lease_renewed_ns = now;
        assert_int_equal(look_until_doubted(&lease, &now), LEASE_NS);
        assert_false(rz_lease_nudges(&lease, 'T'));
        assert_true(rz_lease_nudges(&lease, 'S'));
        assert_false(rz_lease_nudges(&lease, 'S'));
    }
}

/* However late it looks, its own lateness is not the daemon's silence. */
static void a_late_process_blames_no_other(void **state)
{
    (void)state;
    rz_time now = RZ_SECOND;
    struct rz_lease lease = {.looked_at = now};
    for (int i = 0; i < 20; i++) {
        d.board->lease_renewed_ns = now + RZ_MILLISECOND;
        now += 50 * LEASE_NS; /* neither of us ran; the daemon runs just after us */
        assert_int_equal(rz_lease_look(&lease, d.board, now), RZ_LEASE_HELD);
    }
    d.board->lease_renewed_ns = now;
    assert_int_equal(look_until_doubted(&lease, &now), LEASE_NS);
}

static void the_last_node_has_no_lease(void **state)
{
    (void)state;
    rz_time now = RZ_SECOND;
    struct rz_lease lease = {.looked_at = now};
    d.board->lease_renewed_ns = now;
    d.board->nodes_failed = 1;
    assert_int_equal(look_until_doubted(&lease, &now), RZ_TIME_NEVER);
    d.board->lease_ns = RZ_BOARD_LEASE_FOREVER;
    assert_int_equal(rz_lease_period(d.board), 0);
}

static void a_process_that_waits_for_a_processor_is_not_blamed(void **state)
{
    (void)state;
    assert_true(rz_lease_can_wait('R') && rz_lease_can_wait('D'));
    for (const char *end = "TtSZX"; *end; end++) {
        assert_false(rz_lease_can_wait(*end));
        assert_true(strlen(rz_lease_words(*end)) > 0);
    }
    assert_false(rz_lease_can_wait(0));
    assert_int_equal(rz_process_state(getpid()), 'R');
}

static void the_stop_word_fences(void **state)
{
    (void)state;
    struct rz_link *link;
    assert_int_equal(join(&link), RZ_OK);
    d.board->lease_renewed_ns = rz_clock_now() + 20 * RZ_SECOND;
    assert_int_equal(rz_link_check(link), RZ_OK);
    d.board->stop = RZ_ERR_NO_QUORUM;
    assert_int_equal(rz_link_check(link), RZ_ERR_FENCED);
    rz_link_close(link, false);
}

/* The program's part when this test executes itself: joins, then ends without a word. */
static int be_program(void)
{
    struct rz_link *link;
    struct rz_link_message mark = {.type = RZ_LINK_MARK};
    if (rz_link_open(&link) != RZ_OK || rz_link_send(link, &mark, -1) != RZ_OK) {
        return 5;
    }
    for (;;) {
        pause();
    }
}

static pid_t start_program(void)
{
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        rz_process_fail_with_parent(parent, SIGKILL);
        rz_process_keep_on_exec(d.link[1], true);
        execl("/proc/self/exe", "link_test", "program", (char *)NULL);
        _exit(9);
    }
    close(d.link[1]);
    answer(NULL);
    struct rz_link_message mark;
    daemon_receive(&mark, NULL, NULL); /* it has joined and holds its slot */
    return pid;
}

static void a_program_that_never_calls_ends_with_the_lease(void **state)
{
    (void)state;
    int status;
    d.board->lease_renewed_ns = rz_clock_now() + 20 * RZ_SECOND;
    pid_t pid = start_program();
    pass(2 * LEASE_NS);
    assert_int_equal(waitpid(pid, &status, WNOHANG), 0); /* the lease is good */
    d.board->stop = RZ_ERR_JOB_ENDED;
    d.board->lease_renewed_ns = 0;
    pass(2 * LEASE_NS);
    assert_int_equal(waitpid(pid, &status, WNOHANG), 0); /* at the end of the job it has time */
    d.board->lease_renewed_ns = rz_clock_now();
    d.board->stop = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILURE);
}

static void the_link_survives_exec_and_tells_of_failure(void **state)
{
    (void)state;
    d.board->lease_ns = RZ_BOARD_LEASE_FOREVER;
    pid_t pid = start_program();
    kill(pid, SIGKILL);
    struct pollfd polled = {.fd = rz_watch_event_fd(d.watch), .events = POLLIN};
    assert_int_equal(poll(&polled, 1, TEST_HANG_MS), 1);
    uint32_t slot;
    enum rz_watch_end end;
    rz_time at;
    assert_true(rz_watch_take(d.watch, &slot, &end, &at));
    assert_int_equal(slot, d.slot);
    assert_int_equal(end, RZ_WATCH_FAILED);
    waitpid(pid, NULL, 0);
    static char buffer[RZ_LINK_MESSAGE_MAX];
    size_t n;
    assert_int_equal(rz_channel_receive(d.link[0], buffer, sizeof(buffer), &n, NULL, NULL),
                     RZ_ERR_CLOSED);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "program") == 0) {
        return be_program();
    }
#define LINK_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        LINK_TEST(a_process_without_a_daemon_is_a_job_of_its_own),
        LINK_TEST(joining_tells_everything),
        LINK_TEST(what_does_not_fit_is_refused),
        LINK_TEST(another_version_is_refused),
        LINK_TEST(a_board_of_another_size_is_refused),
        LINK_TEST(a_board_with_other_slots_is_refused),
        LINK_TEST(a_spawned_process_learns_of_its_world),
        LINK_TEST(a_world_without_us_is_refused),
        LINK_TEST(an_address_of_another_length_is_refused),
        LINK_TEST(a_ring_comes_whole),
        LINK_TEST(a_ring_without_socket_is_refused),
        LINK_TEST(a_socket_without_ring_is_refused),
        LINK_TEST(a_ring_with_another_key_is_refused),
        LINK_TEST(a_ring_without_addresses_is_refused),
        LINK_TEST(a_ring_without_patience_is_refused),
        LINK_TEST(a_daemon_that_fails_during_the_greeting_is_noticed),
        LINK_TEST(half_an_environment_is_refused),
        LINK_TEST(messages_reach_their_handlers),
        LINK_TEST(an_answer_is_awaited),
        LINK_TEST(a_link_takes_the_place_of_another),
        LINK_TEST(the_link_of_another_place_is_refused),
        LINK_TEST(a_withdrawn_lease_fences),
        LINK_TEST(a_silent_daemon_is_doubted_after_its_lease),
        LINK_TEST(a_daemon_that_sleeps_is_woken_first),
        LINK_TEST(a_late_process_blames_no_other),
        LINK_TEST(the_last_node_has_no_lease),
        LINK_TEST(a_process_that_waits_for_a_processor_is_not_blamed),
        LINK_TEST(the_stop_word_fences),
        LINK_TEST(a_program_that_never_calls_ends_with_the_lease),
        LINK_TEST(the_link_survives_exec_and_tells_of_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
