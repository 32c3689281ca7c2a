/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The name service: daemons of one job with their processes. Questions, failures and the order in
 * which messages arrive are chosen by the input. If all are correct, each question is answered
 * once, to the process that asked, and in the end all live daemons know the same names, none of a
 * failed process. Else the daemons' messages are arbitrary, and no daemon may crash.
 */
#include "daemon/service/names.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { NODES = 3, RANKS = 6, NAMES = 3, PORTS = 3, QUESTIONS_MAX = 512, MESSAGE_MAX = 4096 };

struct protocol_message {
    struct protocol_message *next;
    size_t bytes;
    uint8_t *data; /* a block of just its size */
};

static const char *const services[NAMES] = {"a", "b", "ocean"};
static const char *const ports[PORTS] = {"", "p", "q"};

static struct cluster {
    struct rz_fuzz_input *input;
    bool honest;
    struct node {
        struct rz_own_node own;
        struct rz_children children;
        struct rz_names *names;
        uint8_t nodes[NODES];
        struct rz_membership_slot slots[RANKS];
        bool gone, knows_gone[NODES];
        struct protocol_message *from[NODES];
    } nodes[NODES];
    bool failures; /* what a failed process has said may arrive late, and stand for a while */
    uint32_t incarnation[RANKS]; /* of the process that lives or lived last */
    bool failed[RANKS];
    struct question {
        uint32_t rank, incarnation, name, what, port, answers;
        bool void_, too_long;
        uint32_t had; /* what the name stood for when its removal was requested; PORTS: nothing */
    } questions[QUESTIONS_MAX];
    uint32_t n_questions;
    uint32_t holder[NAMES],
        held[NAMES]; /* the publisher of the valid entry, and its port; RANKS: none */
    char found[RZ_NAME_BYTES_MAX + 1]; /* what the last LOOK_UP said; "-": nothing */
} cluster;

static uint64_t below(uint64_t bound)
{
    return rz_fuzz_below(cluster.input, bound);
}

static uint32_t home(uint32_t rank)
{
    return rank % NODES;
}

static bool lives(uint32_t rank)
{
    return !cluster.failed[rank] && !cluster.nodes[home(rank)].gone;
}

/* ---- what the daemon offers its name service ---- */

static struct protocol_message *protocol_message_of(const struct rz_overlay_message *message)
{
    static uint8_t bytes[MESSAGE_MAX];
    struct protocol_message *protocol_message = malloc(sizeof(*protocol_message));
    protocol_message->next = NULL;
    protocol_message->bytes = rz_overlay_encode(message, bytes, sizeof(bytes));
    rz_fuzz_holds(protocol_message->bytes > 0);
    protocol_message->data = rz_fuzz_copy(bytes, protocol_message->bytes);
    return protocol_message;
}

void rz_overlay_send(struct rz_overlay *overlay, rz_id to, const struct rz_overlay_message *message)
{
    struct node *self = (struct node *)overlay;
    struct protocol_message **at = &cluster.nodes[to].from[self - cluster.nodes];
    rz_fuzz_holds(to < NODES && self != &cluster.nodes[to]);
    if (cluster.nodes[to].gone || self->knows_gone[to]) {
        return;
    }
    while (*at) {
        at = &(*at)->next;
    }
    *at = protocol_message_of(message);
}

void rz_link_router_handle(struct rz_link_router *router, enum rz_link_type type,
                           rz_link_handler_fn handler, void *arg)
{
    (void)router, (void)handler, (void)arg;
    rz_fuzz_holds(type == RZ_LINK_NAME);
}

void rz_overlay_router_handle(struct rz_overlay_router *router, enum rz_overlay_type type,
                              rz_overlay_handler_fn handler, void *arg)
{
    (void)router, (void)type, (void)handler, (void)arg;
}

/* A name stands for one port at a time. */
static void look_at_answer(const struct question *question, rz_status_t status)
{
    uint32_t *holder = &cluster.holder[question->name];
    rz_fuzz_holds(!question->too_long || status == RZ_ERR_INVALID);
    if (question->what == RZ_NAME_UNPUBLISH) {
        rz_fuzz_holds(status == RZ_ERR_INVALID || question->had == PORTS ||
                      (status == RZ_OK) == (question->had == question->port));
    }
    if (question->what != RZ_NAME_PUBLISH) {
        return;
    }
    if (*holder == question->rank) {
        *holder = RANKS;
    }
    if (status == RZ_OK) {
        rz_fuzz_holds(*holder == RANKS);
        *holder = question->rank;
        cluster.held[question->name] = question->port;
    }
}

rz_status_t rz_link_router_send_to(const struct rz_children *children, uint32_t rank,
                                   const struct rz_link_message *message, int fd)
{
    rz_fuzz_holds(message->type == RZ_LINK_NAMED && fd == -1);
    uint64_t number = message->named.question;
    if (number == QUESTIONS_MAX) { /* our own look */
        strcpy(cluster.found, message->named.status == RZ_OK ? message->named.port : "-");
        return RZ_OK;
    }
    rz_fuzz_holds(number < cluster.n_questions);
    struct question *question = &cluster.questions[number];
    if (!lives(rank)) {
        return RZ_ERR_CLOSED;
    }
    rz_fuzz_holds(question->rank == rank && children == &cluster.nodes[home(rank)].children);
    rz_fuzz_holds(question->incarnation == cluster.incarnation[rank]);
    rz_fuzz_holds(question->answers++ == 0);
    if (cluster.honest) {
        look_at_answer(question, (rz_status_t)message->named.status);
    }
    return RZ_OK;
}

/* ---- what processes do ---- */

/* Nothing stands that a failed process has published. */
static void forget_failed(void)
{
    for (uint32_t name = 0; name < NAMES; name++) {
        if (cluster.holder[name] < RANKS && !lives(cluster.holder[name])) {
            cluster.holder[name] = RANKS;
        }
    }
}

static bool waits_for(uint32_t rank, uint32_t name)
{
    for (uint32_t i = 0; i < cluster.n_questions; i++) {
        const struct question *question = &cluster.questions[i];
        if (question->rank == rank && question->name == name && !question->answers &&
            !question->void_) {
            return true;
        }
    }
    return false;
}

/* A process that unpublishes a name while its publisher is about to publish it has no definite
 * answer. */
static bool is_settled(uint32_t name)
{
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        if (waits_for(rank, name)) {
            return false;
        }
    }
    return true;
}

static void ask(void)
{
    static char text[RZ_NAME_BYTES_MAX + 2];
    uint32_t rank = (uint32_t)below(RANKS), name = (uint32_t)below(NAMES);
    uint32_t what = (uint32_t)below(3), port = (uint32_t)below(PORTS);
    struct rz_link_name question = {.question = cluster.n_questions,
                                    .what = what,
                                    .service = services[name],
                                    .port = ports[port]};
    bool too_long = below(32) == 0;
    if (!lives(rank) || cluster.n_questions == QUESTIONS_MAX || waits_for(rank, name) ||
        (what == RZ_NAME_UNPUBLISH && !is_settled(name))) {
        return;
    }
    if (below(32) == 0) {
        question.what = (uint32_t)below(UINT32_MAX);
    }
    if (too_long) {
        memset(text, 'x', sizeof(text) - 1);
        question.service = below(2) ? text : question.service;
        question.port = text;
    }
    struct node *node = &cluster.nodes[home(rank)];
    uint32_t incarnation = cluster.incarnation[rank];
    cluster.questions[cluster.n_questions++] = (struct question){
        .rank = rank,
        .incarnation = incarnation,
        .name = name,
        .what = question.what,
        .port = port,
        .too_long = too_long,
        .had = cluster.holder[name] < RANKS && !cluster.failures ? cluster.held[name] : PORTS};
    if (question.what == RZ_NAME_UNPUBLISH && !too_long && port == cluster.held[name]) {
        cluster.holder[name] = RANKS;
    }
    rz_names_ask(node->names, rank, incarnation, &question);
}

static void crash(void)
{
    uint32_t rank = (uint32_t)below(RANKS);
    cluster.failed[rank] = cluster.failures = true;
    for (uint32_t i = 0; i < cluster.n_questions; i++) {
        if (cluster.questions[i].rank == rank) {
            cluster.questions[i].void_ = true;
        }
    }
    forget_failed();
}

static void hear_of_failures(struct node *node)
{
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        if (cluster.failed[rank]) {
            node->slots[rank].failed = cluster.incarnation[rank];
        }
    }
    rz_names_look_at_failures(node->names);
}

/* Once all know of its failure; the processes of a failed node do not return. */
static void come_again(void)
{
    uint32_t rank = (uint32_t)below(RANKS);
    if (!cluster.failed[rank] || cluster.nodes[home(rank)].gone) {
        return;
    }
    for (uint32_t i = 0; i < NODES; i++) {
        if (!cluster.nodes[i].gone) {
            hear_of_failures(&cluster.nodes[i]);
        }
    }
    cluster.failed[rank] = false;
    cluster.incarnation[rank]++;
    for (uint32_t i = 0; i < NODES; i++) {
        cluster.nodes[i].slots[rank].incarnation++;
    }
}

/* ---- what daemons do ---- */

static void drop_protocol_messages(struct protocol_message **at)
{
    while (*at) {
        struct protocol_message *protocol_message = *at;
        *at = protocol_message->next;
        free(protocol_message->data);
        free(protocol_message);
    }
}

static bool deliver(struct node *to, rz_id from)
{
    struct protocol_message *protocol_message = to->from[from];
    struct rz_overlay_message message;
    if (!protocol_message || to->gone) {
        return false;
    }
    to->from[from] = protocol_message->next;
    rz_fuzz_holds(rz_overlay_decode(&message, protocol_message->data, protocol_message->bytes) ==
                  RZ_OK);
    rz_names_message(to->names, from, &message);
    free(protocol_message->data);
    free(protocol_message);
    return true;
}

static void lose_node(struct node *node)
{
    rz_id id = (rz_id)(node - cluster.nodes);
    uint32_t living = 0;
    for (uint32_t i = 0; i < NODES; i++) {
        living += !cluster.nodes[i].gone;
    }
    if (living == 1 || node->gone) {
        return;
    }
    node->gone = cluster.failures = true;
    for (uint32_t i = 0; i < NODES; i++) {
        struct protocol_message **at = &cluster.nodes[i].from[id];
        while (*at && below(2)) {
            at = &(*at)->next;
        }
        drop_protocol_messages(at);
        drop_protocol_messages(&node->from[i]);
    }
    for (uint32_t i = 0; i < cluster.n_questions; i++) {
        if (home(cluster.questions[i].rank) == id) {
            cluster.questions[i].void_ = true;
        }
    }
    forget_failed();
}

static void hear_of_nodes(struct node *node)
{
    for (rz_id id = 0; id < NODES; id++) {
        if (cluster.nodes[id].gone) {
            node->knows_gone[id] = true;
            node->nodes[id] = RZ_NODE_FAILED;
            drop_protocol_messages(&node->from[id]);
        }
    }
    rz_names_look_at_failures(node->names);
}

static void say_anything(struct node *node)
{
    struct rz_overlay_message message = {.type = RZ_OVERLAY_NAME_KEPT,
                                         .name_kept = {.serial = below(20), .status = below(4)}};
    const char *service = services[below(NAMES)];
    uint64_t serial = below(20), owner = below(20);
    uint32_t rank = (uint32_t)below(RANKS + 2), incarnation = (uint32_t)below(4);
    uint64_t what = below(3);
    if (what == 1) {
        message.type = RZ_OVERLAY_NAME_PUT;
        message.name_put = (struct rz_overlay_name_put){.serial = serial,
                                                        .owner_serial = owner,
                                                        .rank = rank,
                                                        .incarnation = incarnation,
                                                        .service = service,
                                                        .port = ports[below(PORTS)]};
    } else if (what == 2) {
        message.type = RZ_OVERLAY_NAME_DROP;
        message.name_drop = (struct rz_overlay_name_drop){.serial = serial,
                                                          .owner_serial = owner,
                                                          .rank = rank,
                                                          .incarnation = incarnation,
                                                          .service = service};
    }
    rz_id from = (rz_id)below(NODES);
    if (from == (rz_id)(node - cluster.nodes) || node->gone || node->knows_gone[from]) {
        return;
    }
    struct protocol_message *protocol_message = protocol_message_of(&message);
    protocol_message->next = node->from[from];
    node->from[from] = protocol_message;
    deliver(node, from);
}

/* ---- one run ---- */

static void begin(struct rz_fuzz_input *input)
{
    memset(&cluster, 0, sizeof(cluster));
    cluster.input = input;
    cluster.honest = below(4) > 0;
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        cluster.incarnation[rank] = 1;
    }
    for (uint32_t name = 0; name < NAMES; name++) {
        cluster.holder[name] = RANKS;
    }
    for (rz_id id = 0; id < NODES; id++) {
        struct node *node = &cluster.nodes[id];
        node->own.job.n_nodes = NODES;
        node->own.job.n_ranks = node->own.job.n_slots = RANKS;
        node->own.job.node = id;
        node->own.membership = (struct rz_membership){
            .n_nodes = NODES, .n_slots = RANKS, .slots = node->slots, .nodes = node->nodes};
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            node->slots[rank] = (struct rz_membership_slot){.node = home(rank), .incarnation = 1};
        }
        const struct rz_names_config config = {
            .own = &node->own, .children = &node->children, .overlay = (struct rz_overlay *)node};
        rz_fuzz_holds(rz_names_open(&node->names, &config) == RZ_OK);
    }
}

static void turn(void)
{
    uint64_t what = below(32);
    struct node *node = &cluster.nodes[below(NODES)];
    if (what < 10) {
        ask();
    } else if (what < 24) {
        deliver(node, (rz_id)below(NODES));
    } else if (what < 26) {
        crash();
    } else if (what < 28) {
        come_again();
    } else if (what < 29 && !node->gone) {
        hear_of_failures(node);
    } else if (what < 30 && !node->gone) {
        hear_of_nodes(node);
    } else if (what < 31) {
        lose_node(node);
    } else if (!cluster.honest) {
        say_anything(node);
    }
}

/* All messages arrive, and all learn of all failures. */
static void settle(void)
{
    bool more = true;
    for (uint32_t turns = 0; more; turns++) {
        more = false;
        rz_fuzz_holds(turns < 100 * QUESTIONS_MAX);
        for (uint32_t i = 0; i < NODES * NODES; i++) {
            more = deliver(&cluster.nodes[i / NODES], i % NODES) || more;
        }
        for (uint32_t i = 0; turns == 0 && i < NODES; i++) {
            if (!cluster.nodes[i].gone) {
                hear_of_failures(&cluster.nodes[i]);
                hear_of_nodes(&cluster.nodes[i]);
            }
        }
        more = more || turns == 0;
    }
}

static void all_agree(void)
{
    char first[RZ_NAME_BYTES_MAX + 1];
    for (uint32_t name = 0; name < NAMES; name++) {
        bool any = false;
        for (uint32_t i = 0; i < NODES; i++) {
            struct rz_link_name look = {.question = QUESTIONS_MAX,
                                        .what = RZ_NAME_LOOK_UP,
                                        .service = services[name],
                                        .port = ""};
            if (cluster.nodes[i].gone) {
                continue;
            }
            rz_names_ask(cluster.nodes[i].names, i, 1, &look);
            rz_fuzz_holds(!any || strcmp(first, cluster.found) == 0);
            strcpy(first, cluster.found);
            any = true;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rz_fuzz_input input = {data, data + size};
    begin(&input);
    while (rz_fuzz_left(&input) > 0) {
        turn();
    }
    settle();
    for (uint32_t i = 0; cluster.honest && i < cluster.n_questions; i++) {
        rz_fuzz_holds(cluster.questions[i].answers == 1 || cluster.questions[i].void_);
    }
    if (cluster.honest) {
        all_agree();
    }
    for (uint32_t i = 0; i < NODES; i++) {
        for (rz_id from = 0; from < NODES; from++) {
            drop_protocol_messages(&cluster.nodes[i].from[from]);
        }
        rz_names_close(cluster.nodes[i].names);
    }
    return 0;
}

static size_t seed(uint32_t number, uint8_t *bytes, size_t max)
{
    return number < 24 ? rz_fuzz_seed_noise(number, 32u << number % 5, bytes, max) : 0;
}

const struct rz_fuzz_target rz_fuzz_target = {.name = "fuzz_daemon_names",
                                              .input_max = 2048,
                                              .memory_fixed = 1u << 20,
                                              .memory_factor = 4096,
                                              .seed = seed};
