/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rogue SEED MESSAGES WHEN: a job in which some ranks send their daemon messages of every type of
 * the link, composed at random, at one point of their lives; the others reduce in a loop, and
 * shrink their communicator when one of these fails. A rogue harms only itself: what the others
 * compute stays right, and all that they see is the failure of rogues.
 *
 * WHEN: early (before MPI_Init, in place of it), loop (between collectives), left (after
 * MPI_Finalize); revoke: as loop, and each message is the revocation of another communicator, which
 * is none; lines: the same, and each message asks for a line to the daemon, of which the rogue lets
 * go of none; sizes: the same, and each is two arrivals in a group, of which the second is of many
 * processes and the first of one; linger: the same, and each is a checkpoint piece of an old epoch,
 * which is a socket whose last close waits; sparse, large, false, changing: the same, and each is a
 * checkpoint piece, of 64 TiB without memory, or of 8 MiB with it: right, with another checksum, or
 * changed again and again while it is copied. Messages that MPI itself allows to end others
 * (MPI_Abort) are not sent.
 */
#include "../lingering.h"
#include "base/random.h"
#include "ckpt/pages.h"
#include "wire/link_messages.h"
#include "wire/spawn_order.h"

#include <mpi.h>

#include <mpi-ext.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    ROUNDS = 30,
    FDS_MAX = 12,
    BYTES_MAX = 70000, /* more than a message may have */
    RANKS = 6,
    ROGUES = 3, /* the last rank of each node; two ranks run on each */
    CHANGES_S = 2,
    LINGER_S = 60,
    SILENT_S = 8, /* more than the failure detectors take */
    LARGE_GROUP = 4000,
    ALIVE_S = 10 /* of a rogue: what it said may have broken its own library */
};

static struct rz_random dice;
static int link_fd = -1;
static pid_t daemon_pid;
static bool revokes, asks_for_lines, stores_holes, stores_much; /* and says nothing else */
static bool stores_false, stores_changing;                      /* of what it stores */
static bool sends_sizes, sends_lingering;                       /* and says nothing else */
static uint32_t n_ranks, own_rank;
static uint8_t bytes[BYTES_MAX], out[BYTES_MAX + 64];
static char text[BYTES_MAX];

/* ---- Composing ---- */

static uint32_t below(uint32_t n)
{
    return (uint32_t)rz_random_below(&dice, n);
}

static uint32_t any_u32(void)
{
    const uint32_t edges[] = {0,
                              1,
                              2,
                              3,
                              own_rank,
                              n_ranks - 1,
                              n_ranks,
                              n_ranks + 63,
                              n_ranks + 64,
                              65535,
                              65536,
                              INT32_MAX,
                              UINT32_C(1) << 31,
                              UINT32_MAX - 1,
                              UINT32_MAX};
    uint32_t i = below(sizeof(edges) / sizeof(*edges) + 8);
    return i < sizeof(edges) / sizeof(*edges) ? edges[i] : i % 2 ? below(16) : below(UINT32_MAX);
}

static uint64_t any_u64(void)
{
    return below(3) == 0 ? (uint64_t)any_u32() << 32 | any_u32() : any_u32();
}

/* Mostly little; else at a bound of a field, or much. */
static uint32_t any_length(void)
{
    const uint32_t edges[] = {0,     1,     4,     7,     8,     9,     16,    32,    63,
                              64,    255,   256,   1023,  1024,  4095,  4096,  4097,  8192,
                              16384, 32760, 32768, 60000, 65416, 65480, 65500, 65512, 65520};
    uint32_t n = sizeof(edges) / sizeof(*edges);
    return below(4) ? edges[below(12)] : edges[below(n)] + below(3);
}

/* Pairs of a slot and an incarnation, or anything. */
static const uint8_t *any_bytes(void)
{
    for (uint32_t i = 0; i + 8 <= 4096; i += 8) {
        struct rz_link_process pair = {below(8) ? below(n_ranks) : any_u32(), 1};
        rz_link_put_pairs(bytes + i, &pair, 1);
    }
    if (below(3) == 0) {
        for (uint32_t i = 0; i < 256; i++) {
            bytes[i] = (uint8_t)below(256);
        }
    }
    return bytes;
}

static const char *any_text(void)
{
    uint32_t n = any_length();
    memset(text, below(4) ? 'x' : '\033', n);
    text[n] = '\0';
    return text;
}

/* A message of that type, with anything in its fields. */
static void compose(struct rz_link_message *message, enum rz_link_type type)
{
    memset(message, 0, sizeof(*message));
    message->type = type;
    switch (type) {
#define ANY_MESSAGE(NAME, name)                                                                    \
    case RZ_LINK_##NAME: {                                                                         \
        struct rz_link_##name *m = (void *)&message->name;                                         \
        (void)m;
#define ANY_U32(field) m->field = any_u32();
#define ANY_U64(field) m->field = any_u64();
#define ANY_BYTES(field) m->field = any_bytes(), m->field##_length = any_length();
#define ANY_TEXT(field) m->field = any_text();
#define ANY_END(NAME, name)                                                                        \
    break;                                                                                         \
    }
        RZ_LINK_TABLE(ANY_MESSAGE, ANY_U32, ANY_U64, ANY_BYTES, ANY_TEXT, ANY_END)
    case RZ_LINK_TYPE_COUNT:
        break;
    }
}

/* A list of commands for a spawn of n processes, which cannot be executed. */
static uint32_t commands_of(uint32_t n)
{
    const char *const words[] = {"/nonexistent/rogue", NULL};
    const struct rz_spawn_command command = {
        .maxprocs = n, .directory = "/", .arguments = words, .environment = NULL};
    return (uint32_t)rz_spawn_order_write(&command, 1, out, 256);
}

/* SPAWN of some processes with as many bytes of parents as fit, less some. */
static void spawn_heavily(struct rz_link_message *message)
{
    static uint8_t commands[256], parents[RZ_LINK_MESSAGE_MAX];
    uint32_t count = below(16), length = commands_of(count ? count : 1);
    memcpy(commands, out, length);
    message->type = RZ_LINK_SPAWN;
    message->spawn = (struct rz_link_spawn){.question = any_u64(),
                                            .count = count,
                                            .commands = commands,
                                            .commands_length = length,
                                            .parent = parents};
    uint32_t room = RZ_LINK_MESSAGE_MAX - 24 - length;
    message->spawn.parent_length = room - below(2) * (24 + 8 * count - length + below(3) - 1);
    if (message->spawn.parent_length > room) {
        message->spawn.parent_length = room;
    }
}

/* What the protocol allows in this job: the daemon takes it, and the process lives on. */
static void compose_well(struct rz_link_message *m)
{
    memset(m, 0, sizeof(*m));
    switch (below(11)) {
    case 0:
        spawn_heavily(m);
        break;
    case 10:
        /* Of an honest rank, which lives. */
        m->type = RZ_LINK_REPLACE;
        m->replace = (struct rz_link_replace){
            .question = any_u64(), .spawns = bytes, .spawns_length = RZ_LINK_PAIR_BYTES};
        rz_link_put_pairs(bytes, &(struct rz_link_process){2 * below(n_ranks / 2), 2}, 1);
        break;
    case 1:
        m->type = RZ_LINK_PUT_EP_ADDRESS;
        m->put_ep_address = (struct rz_link_put_ep_address){
            .epoch = below(3), .ep_address = any_bytes(), .ep_address_length = 1 + below(4096)};
        break;
    case 2:
        m->type = RZ_LINK_NAME;
        m->name = (struct rz_link_name){
            .question = any_u64(), .what = below(4), .service = "rogue", .port = any_text()};
        break;
    case 3:
        m->type = RZ_LINK_POINTER;
        m->pointer = (struct rz_link_pointer){
            .question = any_u64(), .what = below(4), .node = below(4), .key = below(5000)};
        break;
    case 4:
        m->type = RZ_LINK_DECISION_ASK;
        m->decision_ask = (struct rz_link_decision_ask){.communicator = any_u64(),
                                                        .number = any_u64(),
                                                        .rank = below(n_ranks + 64),
                                                        .incarnation = below(3)};
        break;
    case 5:
        m->type = RZ_LINK_GROUP_ARRIVE;
        m->group_arrive = (struct rz_link_group_arrive){.group = below(200),
                                                        .round = any_u32(),
                                                        .rank = 0,
                                                        .progress = any_u64(),
                                                        .name = "rogue",
                                                        .processes = bytes,
                                                        .processes_length = 8 * (1 + below(4096)),
                                                        .counters = (const uint8_t *)""};
        any_bytes();
        rz_link_put_pairs(bytes, &(struct rz_link_process){own_rank, 1}, 1);
        break;
    case 6:
        compose(m, below(2) ? RZ_LINK_OPEN : RZ_LINK_GET_EP_ADDRESS);
        m->get_ep_address.rank = m->open.rank = below(n_ranks + 64);
        break;
    case 7:
        compose(m, below(2) ? RZ_LINK_MARK : RZ_LINK_GROUP_JOIN);
        break;
    case 8:
        compose(m, below(2) ? RZ_LINK_REVOKED_ASK : RZ_LINK_REPAIRING);
        break;
    default:
        compose(m, below(2) ? RZ_LINK_WANT_PIECE : RZ_LINK_REACHED);
        m->reached.phase = below(4);
        m->reached.epoch = below(3);
    }
}

/* What MPI allows to end others, or all: an abort, a revocation of their communicator. */
static bool ends_others(const struct rz_link_message *m)
{
    return m->type == RZ_LINK_ABORT || m->type == RZ_LINK_REVOKE;
}

/* Begins another process in place of a rogue that has failed. */
static bool may_begin_others(const struct rz_link_message *m)
{
    return m->type == RZ_LINK_REPLACE;
}

/* ---- Sending ---- */

static int any_fds(int fds[FDS_MAX])
{
    int n = below(100) ? (int)below(2) : (int)below(FDS_MAX + 1), pipes[2];
    for (int i = 0; i < n; i++) {
        if (!revokes && !asks_for_lines && below(50) == 0) {
            int peer; /* kept for as long as this process is there */
            fds[i] = lingering_socket(60, &peer);
            if (fds[i] < 0) {
                return i;
            }
            continue;
        }
        switch (below(5)) {
        case 0:
            fds[i] = memfd_create("rogue", 0);
            break;
        case 1:
            fds[i] = memfd_create("rogue", MFD_ALLOW_SEALING);
            if (ftruncate(fds[i], (off_t)below(100000)) != 0) {
                return i;
            }
            break;
        case 2:
            fds[i] = pipe(pipes) == 0 ? pipes[below(2)] : dup(1);
            break;
        case 3:
            fds[i] = open("/", O_RDONLY);
            break;
        default:
            fds[i] = open("/dev/zero", O_RDWR);
        }
    }
    return n;
}

/* False: the daemon has closed the link. */
static bool put_with(const void *data, size_t n, const int *fds, int n_fds)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(FDS_MAX * sizeof(int))];
    } control = {.room = {0}};
    struct iovec vector = {.iov_base = (void *)data, .iov_len = n};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    if (n_fds > 0) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE((size_t)n_fds * sizeof(int));
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN((size_t)n_fds * sizeof(int));
        memcpy(CMSG_DATA(&control.header), fds, (size_t)n_fds * sizeof(int));
    }
    return sendmsg(link_fd, &message, MSG_NOSIGNAL) >= 0;
}

static bool put(const void *data, size_t n)
{
    int fds[FDS_MAX], n_fds = any_fds(fds);
    bool open = put_with(data, n, fds, n_fds);
    for (int i = 0; i < n_fds; i++) {
        close(fds[i]);
    }
    return open;
}

static void *mapped(int fd, size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) {
        perror("rogue: map");
        exit(3);
    }
    return at;
}

static uint64_t hash_of(int fd, size_t bytes)
{
    void *at = mapped(fd, bytes);
    uint64_t hash = rz_pages_look(at, bytes, NULL);
    munmap(at, bytes);
    return hash;
}

/* The piece is what its checksum says, and is not, in turns, until the process ends. */
_Noreturn static void change(int fd, size_t bytes)
{
    volatile uint64_t *words = mapped(fd, bytes);
    for (uint64_t times = 1;; times++) {
        words[times % 2 ? 0 : bytes / sizeof(*words) - 1] = times / 2 % 2;
    }
}

/* The next piece of each epoch that there may be; one of them is this one. */
static bool store_pieces(void)
{
    const uint64_t bytes = UINT64_C(1) << (stores_holes ? 46 : 23);
    struct rz_link_message message = {.type = RZ_LINK_STORE,
                                      .store = {.number = 1, .bytes = bytes}};
    int fd = memfd_create("rogue", MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0 ||
        (stores_much && posix_fallocate(fd, 0, (off_t)bytes) != 0)) {
        perror("rogue: memory");
        exit(3);
    }
    message.store.hash = stores_much && !stores_false ? hash_of(fd, bytes) : 1;
    for (; message.store.epoch < 3; message.store.epoch++) {
        put_with(out, rz_link_encode(&message, out, RZ_LINK_MESSAGE_MAX), &fd, 1);
    }
    if (stores_changing) {
        alarm(CHANGES_S);
        change(fd, bytes);
    }
    alarm(0);
    pause(); /* its daemon ends it when they were copied */
    return false;
}

static bool arrive_in(uint64_t group, uint32_t n, uint32_t n_counters)
{
    static uint8_t processes[LARGE_GROUP * RZ_LINK_PAIR_BYTES], counters[LARGE_GROUP * 8];
    for (uint32_t i = 0; i < n; i++) {
        const struct rz_link_process one = {i == 0 ? own_rank : 7, i == 0 ? 1 : 7};
        rz_link_put_pairs(processes + (size_t)i * RZ_LINK_PAIR_BYTES, &one, 1);
    }
    for (uint32_t i = 0; i < n_counters; i++) { /* in the form of a pair, too: a count, a rank */
        const struct rz_link_process one = {0x3fffffff, i + 1};
        rz_link_put_pairs(counters + (size_t)i * RZ_LINK_PAIR_BYTES, &one, 1);
    }
    const struct rz_link_message message = {
        .type = RZ_LINK_GROUP_ARRIVE,
        .group_arrive = {.group = group,
                         .round = 5, /* none has reached it */
                         .name = "rogue",
                         .processes = processes,
                         .processes_length = n * RZ_LINK_PAIR_BYTES,
                         .counters = counters,
                         .counters_length = n_counters * 8}};
    return put_with(out, rz_link_encode(&message, out, RZ_LINK_MESSAGE_MAX), NULL, 0);
}

/* The daemon forgets the first group only when it has read the second one, too. */
static bool arrive_in_sizes(void)
{
    static uint64_t group = 1000;
    group++;
    return arrive_in(group, 1, 0) && arrive_in(group, LARGE_GROUP, LARGE_GROUP - 2);
}

/* The daemon closes the last copy: it reads only when there is no other. One daemon: of those that
 * wait, none takes another for failed. */
static bool store_lingering(void)
{
    static bool stored;
    if (stored || own_rank != 1) {
        return true;
    }
    stored = true;
    const struct rz_link_message message = {.type = RZ_LINK_STORE,
                                            .store = {.epoch = 99, .number = 1, .bytes = 1}};
    int peer, fd = lingering_socket(LINGER_S, &peer);
    bool stops = getppid() == daemon_pid && kill(daemon_pid, SIGSTOP) == 0;
    bool open = put_with(out, rz_link_encode(&message, out, RZ_LINK_MESSAGE_MAX), &fd, fd >= 0);
    close(fd);
    if (stops) {
        kill(daemon_pid, SIGCONT);
    }
    sleep(SILENT_S); /* with its end, the daemon has waited long enough */
    return open;
}

/* One message; most are such that more can follow. */
static bool say_something(void)
{
    struct rz_link_message message = {.type = RZ_LINK_REVOKE, .revoke = {.revocation = 0}};
    if (revokes) {
        message.revoke.revocation = rz_random_next(&dice);
        return put(out, rz_link_encode(&message, out, RZ_LINK_MESSAGE_MAX));
    }
    if (asks_for_lines) {
        message.type = RZ_LINK_GROUP_JOIN;
        message.group_join.question = rz_random_next(&dice);
        size_t asked = rz_link_encode(&message, out, RZ_LINK_MESSAGE_MAX);
        return send(link_fd, out, asked, MSG_NOSIGNAL) >= 0;
    }
    if (sends_sizes || sends_lingering) {
        return sends_sizes ? arrive_in_sizes() : store_lingering();
    }
    if (stores_holes || stores_much) {
        return store_pieces();
    }
    uint32_t how = below(64);
    size_t n = 0, max = how == 62 ? BYTES_MAX : RZ_LINK_MESSAGE_MAX;
    while (n == 0) {
        if (how < 60) {
            compose_well(&message);
        } else {
            compose(&message, (enum rz_link_type)below(RZ_LINK_TYPE_COUNT));
            if (may_begin_others(&message)) {
                continue;
            }
        }
        n = ends_others(&message) ? 0 : rz_link_encode(&message, out, max);
    }
    if (how == 63) { /* cut off, or changed */
        n = below(2) ? 1 + below((uint32_t)n) : n;
        out[below((uint32_t)n)] ^= (uint8_t)(1 << below(8));
        uint32_t type = (uint32_t)out[0] | (uint32_t)out[1] << 8;
        message.type = (enum rz_link_type)type;
        if (ends_others(&message) || may_begin_others(&message)) {
            return true;
        }
    }
    return put(out, n);
}

static void say_all(int messages)
{
    for (int i = 0; i < messages && say_something(); i++) {
        ;
    }
}

/* ---- The job ---- */

static bool is_rogue(int rank)
{
    return rank % 2 == 1 && rank < 2 * ROGUES;
}

static void wrong(const char *what, int error)
{
    char why[MPI_MAX_ERROR_STRING] = "";
    int length;
    if (error != MPI_SUCCESS) {
        MPI_Error_string(error, why, &length);
    }
    fprintf(stderr, "rank %u: %s %s\n", own_rank, what, why);
    exit(3);
}

/* Only rogues may be missing. */
static void check_members(MPI_Comm comm)
{
    MPI_Group world, group;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_group(comm, &group);
    for (int rank = 0; rank < (int)n_ranks; rank++) {
        int there;
        MPI_Group_translate_ranks(world, 1, &rank, group, &there);
        if (there == MPI_UNDEFINED && !is_rogue(rank)) {
            wrong("an honest rank is missing", MPI_SUCCESS);
        }
    }
    MPI_Group_free(&world);
    MPI_Group_free(&group);
}

static void look_at(int error)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(error, &class);
    if (class != MPI_ERR_PROC_FAILED && class != MPI_ERR_REVOKED) {
        wrong("neither right nor the failure of a rogue:", error);
    }
}

/* Without those that have failed, in the round that the foremost member has reached. */
static void settle(MPI_Comm *comm, int *round)
{
    int error = MPI_ERR_OTHER;
    while (error != MPI_SUCCESS) {
        MPI_Comm next;
        int reached;
        MPIX_Comm_revoke(*comm);
        error = MPIX_Comm_shrink(*comm, &next);
        if (error != MPI_SUCCESS) {
            look_at(error);
            continue;
        }
        *comm = next;
        MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
        error = MPI_Allreduce(round, &reached, 1, MPI_INT, MPI_MAX, *comm);
        if (error != MPI_SUCCESS) {
            look_at(error);
            continue;
        }
        *round = reached;
    }
}

static void reduce(MPI_Comm *comm, int messages)
{
    for (int round = 0; round < ROUNDS;) {
        int in[3] = {1, round, -round}, sum[3], size;
        if (is_rogue((int)own_rank)) {
            say_all(messages);
        }
        int error = MPI_Allreduce(in, sum, 3, MPI_INT, MPI_SUM, *comm);
        if (error != MPI_SUCCESS) {
            look_at(error);
            settle(comm, &round);
            continue;
        }
        MPI_Comm_size(*comm, &size);
        if (sum[0] != size || sum[1] != size * round || sum[2] != -size * round) {
            wrong("a wrong sum", MPI_SUCCESS);
        }
        round++;
    }
}

int main(int argc, char **argv)
{
    const char *rank = getenv("RZ_RANK"), *fd = getenv("RZ_LINK_FD");
    if (argc != 4 || !rank || !fd) {
        fprintf(stderr, "rzrun ... rogue SEED MESSAGES "
                        "early|loop|left|revoke|lines|sizes|linger|sparse|large|false|changing\n");
        return 2;
    }
    int messages = atoi(argv[2]);
    bool early = strcmp(argv[3], "early") == 0, left = strcmp(argv[3], "left") == 0;
    revokes = strcmp(argv[3], "revoke") == 0;
    asks_for_lines = strcmp(argv[3], "lines") == 0;
    sends_sizes = strcmp(argv[3], "sizes") == 0;
    sends_lingering = strcmp(argv[3], "linger") == 0;
    stores_holes = strcmp(argv[3], "sparse") == 0;
    stores_false = strcmp(argv[3], "false") == 0;
    stores_changing = strcmp(argv[3], "changing") == 0;
    stores_much = strcmp(argv[3], "large") == 0 || stores_false || stores_changing;
    own_rank = (uint32_t)atoi(rank);
    n_ranks = RANKS;
    bool rogue = is_rogue((int)own_rank);
    if (rogue) {
        dice.state = rz_mix(strtoull(argv[1], NULL, 10), own_rank);
        link_fd = dup(atoi(fd)); /* the library closes its own */
        daemon_pid = getppid();
        alarm(ALIVE_S);
    }
    if (early && rogue) {
        say_all(messages);
        raise(SIGKILL);
    }
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    comm = MPI_COMM_WORLD;
    reduce(&comm, early || left ? 0 : messages / ROUNDS + 1);
    if (rogue && !left) {
        raise(SIGKILL);
    }
    check_members(comm);
    MPI_Finalize();
    if (rogue) {
        say_all(messages);
    } else {
        printf("right\n");
    }
    return 0;
}
