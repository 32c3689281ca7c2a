/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages from other processes, as the transports deliver them: envelopes of any content and
 * length, payloads inline and still in their sender's memory, control messages of the library,
 * among receives, probes and sends of ours. Meanwhile processes fail and others are spawned in
 * their slots; their messages arrive before the board shows them. The daemon and the transport are
 * those of tests/unit/mpi/fake_world.
 *
 * The epoch check is modelled here: its counters are predicted, and which control messages (of a
 * kind that has no receiver in this job) must remain unread, in which order. Bootstrap messages are
 * read separately: one that cannot be read ends a process that has left.
 */
#include "fake_world.h"
#include "fuzz.h"
#include "mpi/create/setup_message.h"
#include "mpi/ft/bootstrap.h"
#include "mpi/engine/epoch_check.h"
#include "mpi/p2p/p2p_inside.h"
#include "net/shm/shm.h"

#include <stdlib.h>
#include <string.h>

enum { RANKS = 6, REQUESTS_MAX = 12, TURNS_MAX = 1000, SERIALS = 4, TOLD_MAX = 1024 };

struct told {
    uint32_t slot, incarnation;
    uint64_t about;
};

static struct world {
    struct rz_fuzz_input *input;
    struct {
        MPI_Request handle;
        uint8_t *buffer;
        size_t bytes;
    } requests[REQUESTS_MAX];
    unsigned n;
    struct {
        uint32_t incarnation; /* on the board */
        bool alive;
    } slots[FAKE_SLOTS];
    bool failures;
    /* The expected counters of the epoch check; a control message that passed may be none inside,
     * and a message may be of no member of its communicator: `loose` ones are foreign or not. */
    uint64_t foreign, old_epoch, future_epoch, old_incarnation, loose;
    /* Of processes that are to be spawned, and those that must be there: in the order of coming. */
    struct told unstarted[TOLD_MAX], unread[TOLD_MAX];
    unsigned n_unstarted, n_unread;
    uint64_t told;
} world;

static uint64_t below(uint64_t bound)
{
    return rz_fuzz_below(world.input, bound);
}

static struct rz_comm *comm(void)
{
    return rz_comm_predefined(0x101);
}

/* ---- arrivals ---- */

static void note_down(struct told *list, unsigned *n, const struct told *one)
{
    rz_fuzz_holds(*n < TOLD_MAX);
    list[(*n)++] = *one;
}

/* A message inside. */
static void has_passed(const struct rz_envelope *envelope)
{
    bool plain = envelope->kind <= RZ_ENVELOPE_SYNC;
    if (plain && (uint32_t)envelope->source >= UINT32_C(1) << 20) {
        world.foreign++;
    } else {
        world.loose += envelope->kind == RZ_ENVELOPE_WINDOW ||
                       envelope->kind == RZ_ENVELOPE_SNAPSHOT ||
                       (envelope->kind != RZ_ENVELOPE_ACK && envelope->kind < RZ_ENVELOPE_CANCEL);
    }
}

/* The epoch check, written again. */
static void stands_at_the_epoch_check(const struct rz_envelope *envelope)
{
    if (envelope->kind >= RZ_ENVELOPE_COUNT || envelope->zero != 0 || envelope->job_token != 99 ||
        envelope->slot >= FAKE_SLOTS) {
        world.foreign++;
        return;
    }
    uint32_t present = world.slots[envelope->slot].incarnation;
    bool alive = world.slots[envelope->slot].alive, later = envelope->incarnation > present;
    struct told one = {envelope->slot, envelope->incarnation, envelope->context};
    bool modelled = envelope->kind == RZ_ENVELOPE_SETUP && envelope->tag == RZ_SETUP_GO;
    if (envelope->epoch != 1) {
        *(envelope->epoch > 1 ? &world.future_epoch : &world.old_epoch) += 1;
    } else if (!later && (envelope->incarnation < present || !alive)) {
        world.old_incarnation++;
    } else if (modelled) {
        later ? note_down(world.unstarted, &world.n_unstarted, &one)
              : note_down(world.unread, &world.n_unread, &one);
    } else if (later) {
        world.loose++; /* once it is inside, if ever: with a bad source it is foreign for sure */
    } else {
        has_passed(envelope);
    }
}

/* Nothing is on its way any more. */
static void settle_net(void)
{
    rz_shm_ops.progress(NULL);
}

static void counts_hold(void)
{
    const struct rz_engine_counters *counters = &rz_engine.counters;
    rz_fuzz_holds(counters->old_epoch == world.old_epoch);
    rz_fuzz_holds(counters->future_epoch == world.future_epoch);
    rz_fuzz_holds(counters->old_incarnation == world.old_incarnation);
    rz_fuzz_holds(counters->foreign >= world.foreign);
    rz_fuzz_holds(counters->foreign <= world.foreign + world.loose);
}

/* No message of a live process is lost, duplicated or overtaken. */
static void words_hold(void)
{
    const struct rz_setup_message *word = NULL;
    for (unsigned i = 0; i < world.n_unread; i++) {
        const struct told *one = &world.unread[i];
        word = rz_setup_message_next(RZ_SETUP_GO, word);
        rz_fuzz_holds(word != NULL);
        rz_fuzz_holds(word->about == one->about);
        rz_fuzz_holds(word->process == rz_process(one->slot, one->incarnation));
    }
    rz_fuzz_holds(!rz_setup_message_next(RZ_SETUP_GO, word));
}

/* ---- live processes ---- */

/* Messages that waited for that process are delivered, those of older ones are dropped, the rest
 * waits. */
static void is_spawned(uint32_t slot, uint32_t incarnation)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < world.n_unstarted; i++) {
        struct told *one = &world.unstarted[i];
        if (one->slot == slot && one->incarnation == incarnation) {
            note_down(world.unread, &world.n_unread, one);
        } else if (one->slot != slot || one->incarnation > incarnation) {
            world.unstarted[kept++] = *one;
        }
    }
    world.n_unstarted = kept;
    world.slots[slot].incarnation = incarnation;
    world.slots[slot].alive = true;
}

static void fails(uint32_t slot)
{
    fake_process_state(slot, RZ_PROCESS_FAILED);
    world.slots[slot].alive = false;
    world.failures = true;
}

/* The board changes: a failure, a spawn (now and then of one whose predecessors were never shown),
 * or both between two checks. */
static void life_and_failure(void)
{
    bool awaited = world.n_unstarted > 0 && below(4) > 0;
    uint32_t slot = awaited ? world.unstarted[0].slot : 1 + (uint32_t)below(FAKE_SLOTS - 1);
    uint32_t incarnation = world.slots[slot].incarnation + 1 + (below(4) == 0);
    uint64_t what = below(4);
    settle_net();
    if (what > 0) {
        world.failures = world.failures || world.slots[slot].alive;
        fake_reincarnate(slot, incarnation);
        is_spawned(slot, incarnation);
    }
    if (what < 2 && world.slots[slot].alive) {
        fails(slot);
    }
    rz_engine_progress();
    counts_hold();
    words_hold();
}

/* One that is on the way announces itself through shared memory. */
static void stranger(void)
{
    uint32_t slot = 1 + (uint32_t)below(FAKE_SLOTS + 1);
    uint32_t present = slot < FAKE_SLOTS ? world.slots[slot].incarnation : 0;
    fake_stranger(slot, present + (uint32_t)below(3));
}

/* ---- messages ---- */

/* Of a process that exists, or will soon. */
static uint32_t any_incarnation(uint32_t slot)
{
    uint32_t present = world.slots[slot].incarnation;
    uint64_t ahead = below(8);
    return present + (ahead < 6 ? present == 0 : (uint32_t)ahead - 5);
}

static void make_odd(struct rz_envelope *envelope)
{
    uint64_t odd = below(32);
    if (odd == 1) {
        envelope->job_token = (uint32_t)rz_fuzz_take(world.input, 4);
    }
    if (odd == 2) {
        envelope->epoch = (uint32_t)below(4);
    }
    if (odd == 3) {
        envelope->incarnation = (uint32_t)below(4);
    }
    if (odd == 4) {
        envelope->slot = (uint32_t)rz_fuzz_take(world.input, 4);
    }
    if (odd == 5) {
        envelope->context = rz_fuzz_take(world.input, 8);
    }
    if (odd == 6) {
        envelope->source = (int32_t)rz_fuzz_take(world.input, 4);
    }
    if (odd == 7) {
        envelope->tag = (int32_t)rz_fuzz_take(world.input, 4);
    }
    if (odd == 8) {
        envelope->kind = (uint32_t)rz_fuzz_take(world.input, 4);
    }
    if (odd == 9) {
        envelope->zero = (uint32_t)rz_fuzz_take(world.input, 1);
    }
    if (odd == 10) {
        envelope->serial = rz_fuzz_take(world.input, 8);
    }
    if (odd == 11) {
        envelope->incarnation = (uint32_t)rz_fuzz_take(world.input, 4);
    }
}

static struct rz_envelope any_envelope(void)
{
    uint64_t late = below(4);
    uint32_t from = 1 + (uint32_t)below((late == 0 ? FAKE_SLOTS : RANKS) - 1);
    enum rz_context_offset context_offset = (enum rz_context_offset)below(2);
    struct rz_envelope envelope =
        fake_envelope(from, rz_comm_context(comm(), context_offset), (int)below(4));
    envelope.incarnation = any_incarnation(from);
    envelope.kind = (uint32_t)below(RZ_ENVELOPE_COUNT + 1);
    envelope.serial = below(3) << 32 | below(SERIALS);
    if (envelope.kind == RZ_ENVELOPE_SETUP) {
        envelope.tag = (int)below(RZ_SETUP_COUNT + 1);
        envelope.context = below(3);
    } else if (envelope.kind == RZ_ENVELOPE_COUNT) {
        envelope.kind = RZ_ENVELOPE_SETUP;
        envelope.tag = RZ_SETUP_GO;
        envelope.context = ++world.told;
        if (world.n_unstarted > 0 && below(2)) { /* another one of the same */
            envelope.slot = world.unstarted[0].slot;
            envelope.incarnation = world.unstarted[0].incarnation;
        }
    }
    make_odd(&envelope);
    return envelope;
}

/* No envelope at all. */
static void no_message(const struct rz_envelope *envelope, size_t n)
{
    uint8_t header[RZ_NET_HEADER_MAX], payload[1200] = {0};
    size_t bytes = below(sizeof(header));
    rz_envelope_encode(envelope, payload);
    memset(header, 0, sizeof(header));
    memcpy(header, payload, bytes < RZ_ENVELOPE_BYTES ? bytes : RZ_ENVELOPE_BYTES);
    if (bytes == RZ_ENVELOPE_BYTES) {
        bytes++;
    }
    uint8_t *exact = rz_fuzz_copy(header, bytes);
    uint64_t before = rz_engine.counters.foreign;
    rz_epoch_check_arrived(&rz_engine.paths[RZ_PATH_SHM], exact, (uint32_t)bytes, payload, n, NULL);
    rz_fuzz_holds(rz_engine.counters.foreign == before + 1);
    world.foreign++;
    free(exact);
}

/* Payload of the right form and length, but for one byte now and then; its length. */
static size_t nearly_an_bootstrap(uint8_t *data, size_t n)
{
    uint32_t size = (uint32_t)(n / 8 % 8);
    uint32_t words[6 + 2 * 8] = {(uint32_t)below(4) * RZ_CONTEXT_OFFSET_ROOM,
                                 0,
                                 2,
                                 (uint32_t)below(3),
                                 (uint32_t)below(3),
                                 size};
    for (uint32_t i = 0; i < size; i++) {
        words[6 + 2 * i] = rz_process((uint32_t)below(FAKE_SLOTS + 1), 1 + (below(8) == 0));
        words[7 + 2 * i] = (uint32_t)below(3);
    }
    n = (6 + 2 * size) * sizeof(*words);
    memcpy(data, words, n);
    if (below(4) == 0) {
        data[below(n)] = (uint8_t)rz_fuzz_take(world.input, 1);
    }
    return n - (below(8) == 0);
}

/* What a bootstrap message says is read, or refused. */
static void bootstrap(const struct rz_envelope *envelope, const uint8_t *data, size_t n)
{
    struct rz_setup_message *word = malloc(sizeof(*word) + n);
    *word = (struct rz_setup_message){.kind = RZ_SETUP_BOOTSTRAP,
                                      .process = rz_process(envelope->slot, envelope->incarnation),
                                      .about = envelope->context,
                                      .bytes = n};
    memcpy(word->data, data, n);
    struct rz_bootstrap read;
    if (rz_bootstrap_read(&read, word)) {
        bool member = false;
        for (uint32_t i = 0; i < read.size; i++) {
            rz_fuzz_holds(rz_process_slot(read.process[i]) < FAKE_SLOTS);
            member = member || read.process[i] == rz_engine.self;
        }
        rz_fuzz_holds(member && read.index < read.n);
    }
    rz_bootstrap_free(&read);
    free(word);
}

static void message(void)
{
    struct rz_envelope envelope = any_envelope();
    uint8_t payload[1200];
    size_t n = below(4) ? below(200) : below(sizeof(payload));
    bool by_token = below(2);
    if (below(16) == 0) {
        no_message(&envelope, n);
        return;
    }
    memset(payload, (int)(0x40 + envelope.slot % 64), sizeof(payload));
    if (envelope.kind == RZ_ENVELOPE_PROTOCOL || envelope.kind == RZ_ENVELOPE_SETUP) {
        for (size_t i = 0; i < n; i++) {
            payload[i] = (uint8_t)rz_fuzz_take(world.input, 1);
        }
    }
    if (envelope.kind == RZ_ENVELOPE_SETUP && envelope.tag == RZ_SETUP_BOOTSTRAP) {
        n = below(2) ? nearly_an_bootstrap(payload, n) : n;
        bootstrap(&envelope, payload, n);
        return;
    }
    /* What is fetched may be overtaken, and is lost with its sender. */
    by_token = by_token && (envelope.kind != RZ_ENVELOPE_SETUP || envelope.tag != RZ_SETUP_GO);
    fake_inject(&envelope, payload, n, by_token);
    stands_at_the_epoch_check(&envelope);
}

/* ---- what we do ---- */

static void receive(void)
{
    if (world.n == REQUESTS_MAX) {
        return;
    }
    struct rz_request *request;
    size_t bytes = below(300);
    int source = (int)below(RANKS + 1), tag = (int)below(5);
    uint8_t *buffer = malloc(bytes);
    int error = rzm_irecv(buffer, (MPI_Count)bytes, rz_datatype_of(MPI_BYTE),
                          source == RANKS ? MPI_ANY_SOURCE : source, tag == 4 ? MPI_ANY_TAG : tag,
                          comm(), &request);
    if (error != MPI_SUCCESS) {
        free(buffer);
        return;
    }
    world.requests[world.n].handle = rz_request_handle(request);
    world.requests[world.n].buffer = buffer;
    world.requests[world.n++].bytes = bytes;
}

static void send_one(void)
{
    if (world.n == REQUESTS_MAX) {
        return;
    }
    struct rz_request *request;
    uint8_t *buffer = calloc(1, 64);
    int to = 1 + (int)below(RANKS - 1);
    int error = rzm_issend(buffer, 64, rz_datatype_of(MPI_BYTE), to, 0, comm(), &request);
    if (error != MPI_SUCCESS) {
        free(buffer);
        return;
    }
    world.requests[world.n].handle = rz_request_handle(request);
    world.requests[world.n].buffer = buffer;
    world.requests[world.n++].bytes = SIZE_MAX; /* a send */
}

/* Tests one request of ours; one that only reports a failure (of any process) continues. */
static void test(unsigned i)
{
    MPI_Status status = {0};
    int flag = 0;
    int error = rzm_test(&world.requests[i].handle, &flag, &status);
    rz_fuzz_holds((world.requests[i].handle != MPI_REQUEST_NULL) ==
                  (!flag || error == MPI_ERR_PROC_FAILED_PENDING));
    if (world.requests[i].handle != MPI_REQUEST_NULL) {
        return;
    }
    size_t room = world.requests[i].bytes;
    const uint8_t *buffer = world.requests[i].buffer;
    bool whole = error == MPI_SUCCESS || error == MPI_ERR_TRUNCATE;
    rz_fuzz_holds(whole || (world.failures && error == MPI_ERR_PROC_FAILED));
    if (room != SIZE_MAX && whole && !rz_status_cancelled(&status)) {
        size_t got = (size_t)rz_status_bytes(&status);
        rz_fuzz_holds(got <= room);
        for (size_t k = 1; k < got; k++) {
            rz_fuzz_holds(buffer[k] == buffer[0]); /* of one sender */
        }
    }
    free(world.requests[i].buffer);
    world.requests[i] = world.requests[--world.n];
}

static void test_one(void)
{
    if (world.n == 0) {
        return;
    }
    unsigned i = (unsigned)below(world.n);
    if (below(8) == 0) {
        (void)rzm_cancel(rz_request_of(world.requests[i].handle));
    }
    test(i);
}

/* Only failures are errors. */
static void ended_well(int error)
{
    rz_fuzz_holds(error == MPI_SUCCESS || (world.failures && error == MPI_ERR_PROC_FAILED));
}

static void probe(void)
{
    struct rz_matched *message;
    MPI_Status status = {0};
    uint8_t *buffer;
    int flag = 0;
    if (below(2)) {
        ended_well(rzm_iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm(), &flag, &status));
        return;
    }
    int found = rzm_improbe(MPI_ANY_SOURCE, (int)below(4), comm(), &flag, &message, &status);
    ended_well(found);
    if (found != MPI_SUCCESS || !flag) {
        return;
    }
    size_t bytes = below(200);
    buffer = malloc(bytes);
    int error = rzm_mrecv(buffer, (MPI_Count)bytes, rz_datatype_of(MPI_BYTE), message, &status);
    if (error != MPI_ERR_TRUNCATE) {
        ended_well(error);
    }
    rz_fuzz_holds((size_t)rz_status_bytes(&status) <= bytes);
    free(buffer);
}

/* Of a send that waits for its receiver. */
static void answer(uint32_t from, enum rz_envelope_kind kind, uint64_t serial)
{
    struct rz_envelope envelope = fake_envelope(from, 0, 0);
    envelope.kind = kind;
    envelope.serial = serial;
    fake_inject(&envelope, "", 0, false);
    stands_at_the_epoch_check(&envelope);
}

/* Everything that is still under way ends: receives are cancelled, sends acknowledged, and those
 * that were to be cancelled answered. */
static void settle(void)
{
    for (unsigned turns = 0; world.n > 0; turns++) {
        rz_fuzz_holds(turns < TURNS_MAX);
        struct rz_request *request = rz_request_of(world.requests[0].handle);
        uint64_t serial = request->serial;
        if (world.requests[0].bytes == SIZE_MAX && turns % 4 == 0) {
            for (uint32_t from = 1; from < RANKS; from++) {
                answer(from, RZ_ENVELOPE_ACK, serial);
                answer(from, RZ_ENVELOPE_MET, serial);
            }
        } else if (world.requests[0].bytes != SIZE_MAX) {
            (void)rzm_cancel(request);
        }
        test(0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rz_fuzz_input input = {data, data + size};
    memset(&world, 0, sizeof(world));
    world.input = &input;
    for (uint32_t slot = 0; slot < RANKS; slot++) {
        world.slots[slot].incarnation = 1;
        world.slots[slot].alive = true;
    }
    fake_world_begin(RANKS);
    fake.slow_fetches = below(2);
    fake.slow_sends = below(2);
    while (rz_fuzz_left(&input) > 0) {
        uint64_t what = below(18);
        if (what < 7) {
            message();
        } else if (what >= 16) {
            below(4) ? life_and_failure() : stranger();
        } else if (what < 10) {
            receive();
        } else if (what < 11) {
            send_one();
        } else if (what < 13) {
            probe();
        } else {
            test_one();
        }
    }
    settle();
    settle_net(); /* what was injected last */
    counts_hold();
    words_hold();
    fake_world_end();
    return 0;
}

static size_t seed(uint32_t number, uint8_t *bytes, size_t max)
{
    return number < 16 ? rz_fuzz_seed_noise(number, 32u << number % 6, bytes, max) : 0;
}

const struct rz_fuzz_target rz_fuzz_target = {.name = "fuzz_mpi_epoch_check",
                                              .input_max = 1024,
                                              .memory_fixed = 4u << 20,
                                              .memory_factor = 4096,
                                              .seed = seed};
