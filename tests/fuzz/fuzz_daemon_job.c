/* SPDX-License-Identifier: BSD-3-Clause */
/* The description of a job: the frame, and the arrays inside it. */
#include "daemon/state/job.h"
#include "fuzz.h"
#include "wire/cursor.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

static void look(const struct rz_daemon_job *job, const struct rz_launch_job *told)
{
    rz_fuzz_holds(job->n_nodes > 0 && job->n_ranks > 0 && job->node < job->n_nodes);
    rz_fuzz_holds(told->placement_length == 4 * (uint64_t)job->n_ranks);
    rz_fuzz_holds(told->slots_length == 4 * (uint64_t)job->n_nodes);
    rz_fuzz_holds(told->key_length == RZ_JOB_KEY_BYTES);
    rz_fuzz_holds(memcmp(job->key, told->key, RZ_JOB_KEY_BYTES) == 0 && job->token % 2 == 1);
    rz_fuzz_holds(job->hb_period_ns > 0 && job->hb_timeout_ns >= job->hb_period_ns);
    for (uint32_t i = 0; i < job->n_ranks; i++) {
        rz_fuzz_holds(job->placement[i] < job->n_nodes);
    }
    for (uint32_t i = 0; i < job->n_nodes; i++) {
        rz_fuzz_holds(job->peers[i].address.port == 0 && job->slots[i] < UINT32_MAX);
    }
    rz_fuzz_holds(job->arguments[0] && job->directory);
    for (uint32_t rank = 0; rank < job->n_ranks; rank++) {
        struct rz_program program = rz_job_program(job, rank);
        rz_fuzz_holds(program.arguments[0] && program.directory);
    }
    rz_fuzz_holds(!*job->checkpoints.folder || rz_ckpt_name_valid(job->checkpoints.name));
    rz_fuzz_holds(job->checkpoints.restored.number == 0 || job->checkpoints.run > 1);
    for (char **entry = job->environment; *entry; entry++) {
        rz_fuzz_holds(strchr(*entry, '=') != NULL);
    }
    uint8_t key[RZ_JOB_KEY_BYTES];
    rz_job_process_key(job, 0, 1, key);
    (void)rz_job_single_host(job);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rz_launch_message message;
    struct rz_daemon_job job;
    const char *why = NULL;
    if (rz_launch_decode(&message, data, size) != RZ_OK || message.type != RZ_LAUNCH_JOB) {
        return 0;
    }
    rz_status_t status = rz_job_read(&job, &message.job, &why);
    rz_fuzz_holds(status == RZ_OK || status == RZ_ERR_INVALID || status == RZ_ERR_NO_MEMORY);
    if (status == RZ_OK) {
        look(&job, &message.job);
        rz_job_clear(&job);
    } else {
        rz_fuzz_holds(why && strncmp(why, "JOB: ", 5) == 0);
    }
    return 0;
}

static uint32_t put_texts(uint8_t *at, const char *const *texts)
{
    struct rz_wire_writer w;
    rz_wire_writer_init(&w, at, 256);
    for (; *texts; texts++) {
        rz_wire_put_text(&w, *texts);
    }
    return (uint32_t)(w.at - at);
}

/* A program for the first rank, another for all others. */
static uint32_t put_programs(uint8_t *bytes, size_t room, uint32_t n_ranks)
{
    struct rz_wire_writer w;
    rz_wire_writer_init(&w, bytes, room);
    for (uint32_t i = 0; i < 2; i++) {
        rz_wire_put_u32(&w, i == 0 ? 1 : n_ranks - 1);
        rz_wire_put_text(&w, "/there");
        rz_wire_put_u32(&w, 2);
        rz_wire_put_text(&w, "./program");
        rz_wire_put_text(&w, "-x");
        rz_wire_put_u32(&w, 1);
        rz_wire_put_text(&w, "A=b");
    }
    return (uint32_t)(w.at - w.start);
}

static const struct rz_address loopback = {.ip = RZ_ADDRESS_LOOPBACK};

static size_t seed(uint32_t number, uint8_t *bytes, size_t max)
{
    static const char *const arguments[] = {"./program", "-x", "", NULL};
    static const char *const environment[] = {"A=b", "PATH=/usr/bin", "EMPTY=", NULL};
    uint8_t key[RZ_JOB_KEY_BYTES] = {1}, numbers[64], addresses[256], words[2][256], parts[256];
    uint32_t n_nodes = 1 + number, n_ranks = 2 * n_nodes;
    struct rz_wire_writer w;
    if (number >= 3) {
        return 0;
    }
    rz_wire_writer_init(&w, numbers, sizeof(numbers));
    for (uint32_t i = 0; i < n_ranks; i++) {
        rz_wire_put_u32(&w, i / 2);
    }
    struct rz_launch_message message = {
        .type = RZ_LAUNCH_JOB,
        .job = {.job = 7,
                .key = key,
                .key_length = sizeof(key),
                .n_nodes = n_nodes,
                .n_ranks = n_ranks,
                .node = number,
                .hb_period_ns = 100 * RZ_MILLISECOND,
                .hb_timeout_ns = 300 * RZ_MILLISECOND,
                .placement = numbers,
                .placement_length = 4 * n_ranks,
                .slots = numbers,
                .slots_length = 4 * n_nodes,
                .addresses = addresses,
                .arguments = words[0],
                .arguments_length = put_texts(words[0], arguments),
                .environment = words[1],
                .environment_length = put_texts(words[1], environment),
                .checkpoint_folder = number == 1 ? "/checkpoints/job" : "",
                .checkpoint_name = "job",
                .checkpoint_run = 2,
                .checkpoint_keep = 2,
                .restored_run = number == 1,
                .restored_epoch = number == 1,
                .restored_number = number == 1 ? 12 : 0,
                .directory = "/"}};
    if (number == 2) {
        message.job.contexts = parts;
        message.job.contexts_length = put_programs(parts, sizeof(parts), n_ranks);
    }
    rz_wire_writer_init(&w, addresses, sizeof(addresses));
    for (uint32_t i = 0; i < n_nodes; i++) {
        rz_wire_put_bytes(&w, loopback.ip, RZ_IP_BYTES);
        rz_wire_put_u32(&w, 1000 + i);
        rz_wire_put_u32(&w, 2000 + i);
        rz_wire_put_u32(&w, 3000 + i);
    }
    message.job.addresses_length = (uint32_t)(w.at - addresses);
    return rz_launch_encode(&message, bytes, max);
}

/* Peers are larger than what the message must hold for each of them (its slots: 4 bytes). */
const struct rz_fuzz_target rz_fuzz_target = {.name = "fuzz_daemon_job",
                                              .input_max = 2048,
                                              .memory_fixed = 1024,
                                              .memory_factor = 16,
                                              .seed = seed};
