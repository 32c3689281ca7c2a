/*
 * What arrives from other processes, behind the transports: envelopes of any content and length,
 * payloads inline and still with their sender, among receives, probes and sends of ours. The daemon
 * and the transport are those of tests/unit/mpi/fake_world.
 */
#include "fake_world.h"
#include "fuzz.h"
#include "mpi/p2p/p2p.h"
#include "net/shm/shm.h"

#include <stdlib.h>
#include <string.h>

enum { RANKS = 6, REQUESTS_MAX = 12, TURNS_MAX = 1000, SERIALS = 4 };

static struct world {
    struct rz_fuzz_input *input;
    struct {
        MPI_Request handle;
        uint8_t *buffer;
        size_t bytes;
    } requests[REQUESTS_MAX];
    unsigned n;
    uint64_t stopped, letters; /* at the door, as we reckon; a letter may be none inside */
} world;

static uint64_t below(uint64_t bound)
{
    return rz_fuzz_below(world.input, bound);
}

static struct rz_comm *comm(void)
{
    return rz_comm_predefined(0x101);
}

/* --- what comes ---------------------------------------------------------------------------------
 */

/* The door, written anew. */
static bool may_pass(const struct rz_envelope *envelope)
{
    return envelope->job_token == 99 && envelope->slot < RANKS && envelope->epoch == 1 &&
           envelope->incarnation == 1 && envelope->kind < RZ_ENVELOPE_COUNT &&
           envelope->zero == 0 &&
           (envelope->kind > RZ_ENVELOPE_SYNC || (uint32_t)envelope->source < RANKS);
}

static uint64_t dropped(void)
{
    const struct rz_engine_counters *counters = &rz_engine.counters;
    return counters->foreign + counters->old_epoch + counters->future_epoch +
           counters->old_incarnation;
}

static struct rz_envelope any_envelope(void)
{
    uint32_t from = 1 + (uint32_t)below(RANKS - 1);
    enum rz_plane plane = (enum rz_plane)below(2);
    struct rz_envelope envelope =
        fake_envelope(from, rz_comm_context(comm(), plane), (int)below(4));
    uint64_t odd = below(32);
    envelope.kind = (uint32_t)below(RZ_ENVELOPE_COUNT);
    envelope.serial = below(3) << 32 | below(SERIALS);
    if (odd == 1)
        envelope.job_token = (uint32_t)rz_fuzz_take(world.input, 4);
    if (odd == 2)
        envelope.epoch = (uint32_t)below(4);
    if (odd == 3)
        envelope.incarnation = (uint32_t)below(4);
    if (odd == 4)
        envelope.slot = (uint32_t)rz_fuzz_take(world.input, 4);
    if (odd == 5)
        envelope.context = rz_fuzz_take(world.input, 8);
    if (odd == 6)
        envelope.source = (int32_t)rz_fuzz_take(world.input, 4);
    if (odd == 7)
        envelope.tag = (int32_t)rz_fuzz_take(world.input, 4);
    if (odd == 8)
        envelope.kind = (uint32_t)rz_fuzz_take(world.input, 4);
    if (odd == 9)
        envelope.zero = (uint32_t)rz_fuzz_take(world.input, 1);
    if (odd == 10)
        envelope.serial = rz_fuzz_take(world.input, 8);
    return envelope;
}

static void message(void)
{
    struct rz_envelope envelope = any_envelope();
    uint8_t payload[1200];
    size_t n = below(4) ? below(200) : below(sizeof payload);
    bool by_token = below(2), odd = below(16) == 0;
    if (odd) { /* no envelope at all */
        uint8_t header[RZ_NET_HEADER_MAX];
        size_t bytes = below(sizeof header);
        rz_envelope_encode(&envelope, payload);
        memset(header, 0, sizeof header);
        memcpy(header, payload, bytes < RZ_ENVELOPE_BYTES ? bytes : RZ_ENVELOPE_BYTES);
        if (bytes == RZ_ENVELOPE_BYTES)
            bytes++;
        uint8_t *exact = rz_fuzz_copy(header, bytes);
        uint64_t before = dropped();
        rz_p2p_arrived(&rz_engine.paths[RZ_PATH_SHM], exact, (uint32_t)bytes, payload, n, NULL);
        rz_fuzz_holds(dropped() == before + 1);
        world.stopped++;
        free(exact);
        return;
    }
    memset(payload, (int)(0x40 + envelope.slot % 64), sizeof payload);
    if (envelope.kind == RZ_ENVELOPE_LETTER)
        for (size_t i = 0; i < n; i++)
            payload[i] = (uint8_t)rz_fuzz_take(world.input, 1);
    fake_inject(&envelope, payload, n, by_token);
    world.stopped += !may_pass(&envelope);
    world.letters += envelope.kind == RZ_ENVELOPE_LETTER;
}

/* --- what we do ---------------------------------------------------------------------------------
 */

static void receive(void)
{
    if (world.n == REQUESTS_MAX)
        return;
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
    if (world.n == REQUESTS_MAX)
        return;
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

static void ended(unsigned i, const MPI_Status *status)
{
    size_t room = world.requests[i].bytes;
    const uint8_t *buffer = world.requests[i].buffer;
    if (room != SIZE_MAX && !rz_status_cancelled(status)) {
        size_t got = (size_t)rz_status_bytes(status);
        rz_fuzz_holds(got <= room);
        for (size_t k = 1; k < got; k++)
            rz_fuzz_holds(buffer[k] == buffer[0]); /* of one sender */
    }
    free(world.requests[i].buffer);
    world.requests[i] = world.requests[--world.n];
}

static void test_one(void)
{
    if (world.n == 0)
        return;
    unsigned i = (unsigned)below(world.n);
    MPI_Status status = {0};
    int flag = 0;
    if (below(8) == 0)
        (void)rzm_cancel(rz_request_of(world.requests[i].handle));
    (void)rzm_test(&world.requests[i].handle, &flag, &status);
    if (flag)
        ended(i, &status);
}

static void probe(void)
{
    struct rz_matched *message;
    MPI_Status status = {0};
    uint8_t *buffer;
    int flag = 0;
    if (below(2)) {
        rz_fuzz_holds(rzm_iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm(), &flag, &status) ==
                      MPI_SUCCESS);
        return;
    }
    rz_fuzz_holds(rzm_improbe(MPI_ANY_SOURCE, (int)below(4), comm(), &flag, &message, &status) ==
                  MPI_SUCCESS);
    if (!flag)
        return;
    size_t bytes = below(200);
    buffer = malloc(bytes);
    int error = rzm_mrecv(buffer, (MPI_Count)bytes, rz_datatype_of(MPI_BYTE), message, &status);
    rz_fuzz_holds(error == MPI_SUCCESS || error == MPI_ERR_TRUNCATE);
    rz_fuzz_holds((size_t)rz_status_bytes(&status) <= bytes);
    free(buffer);
}

/* Everything that is still under way ends: receives are cancelled, sends acknowledged. */
static void settle(void)
{
    for (unsigned turns = 0; world.n > 0; turns++) {
        MPI_Status status = {0};
        int flag = 0;
        rz_fuzz_holds(turns < TURNS_MAX);
        struct rz_request *request = rz_request_of(world.requests[0].handle);
        if (world.requests[0].bytes == SIZE_MAX && turns % 4 == 0) {
            for (uint32_t from = 1; from < RANKS; from++) {
                struct rz_envelope ack = fake_envelope(from, 0, 0);
                ack.kind = RZ_ENVELOPE_ACK;
                ack.serial = request->serial;
                fake_inject(&ack, "", 0, false);
            }
        } else if (world.requests[0].bytes != SIZE_MAX) {
            (void)rzm_cancel(request);
        }
        (void)rzm_test(&world.requests[0].handle, &flag, &status);
        if (flag)
            ended(0, &status);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rz_fuzz_input input = {data, data + size};
    world = (struct world){.input = &input};
    fake_world_begin(RANKS);
    fake.slow_fetches = below(2);
    fake.slow_sends = below(2);
    while (rz_fuzz_left(&input) > 0) {
        uint64_t what = below(16);
        if (what < 7)
            message();
        else if (what < 10)
            receive();
        else if (what < 11)
            send_one();
        else if (what < 13)
            probe();
        else
            test_one();
    }
    settle();
    rz_shm_ops.progress(NULL); /* what was injected last */
    rz_fuzz_holds(dropped() >= world.stopped && dropped() <= world.stopped + world.letters);
    fake_world_end();
    return 0;
}

static size_t seed(uint32_t number, uint8_t *bytes, size_t max)
{
    return number < 16 ? rz_fuzz_seed_noise(number, 32u << number % 4, bytes, max) : 0;
}

const struct rz_fuzz_target rz_fuzz_target = {.name = "fuzz_mpi_door",
                                              .input_max = 1024,
                                              .memory_fixed = 4u << 20,
                                              .memory_factor = 4096,
                                              .seed = seed};
