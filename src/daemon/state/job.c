/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and checks JOB, copies it, and derives the keys of the processes and of their networks from
 * the job's key. */
#include "daemon/state/job.h"

#include "base/no_memory.h"
#include "net/proof/proof.h"
#include "wire/cursor.h"
#include "wire/slots.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(RZ_JOB_KEY_BYTES == RZ_PROOF_KEY_BYTES, "other keys are derived from the job's");

/* Upper bounds of a job. A JOB beyond them is malformed. */
#define NODES_MAX 65536u
#define RANKS_MAX 1048576u
#define TEXTS_MAX 4194304u
#define HB_PERIOD_MIN_NS (100 * RZ_MICROSECOND)

static void derive(const struct rz_daemon_job *job, const char *label, uint32_t a, uint32_t b,
                   uint8_t key[RZ_JOB_KEY_BYTES])
{
    uint8_t bound[16];
    struct rz_wire_writer w;
    rz_wire_writer_init(&w, bound, sizeof(bound));
    rz_wire_put_u64(&w, job->id);
    rz_wire_put_u32(&w, a);
    rz_wire_put_u32(&w, b);
    rz_proof_derive(job->key, label, bound, sizeof(bound), key);
}

void rz_job_process_key(const struct rz_daemon_job *job, uint32_t rank, uint32_t incarnation,
                        uint8_t key[RZ_JOB_KEY_BYTES])
{
    derive(job, "a process and its daemon", rank, incarnation, key);
}

void rz_job_ring_key(const struct rz_daemon_job *job, uint8_t key[RZ_JOB_KEY_BYTES])
{
    derive(job, "heartbeats of processes", 0, 0, key);
}

void rz_job_net_key(const struct rz_daemon_job *job, uint8_t key[RZ_JOB_KEY_BYTES])
{
    derive(job, "connections of processes", 0, 0, key);
}

void rz_job_group_key(const struct rz_daemon_job *job, uint8_t key[RZ_JOB_KEY_BYTES])
{
    derive(job, "datagrams of groups", 0, 0, key);
}

void rz_job_gateway_secret(const struct rz_daemon_job *job, uint8_t secret[RZ_JOB_KEY_BYTES])
{
    derive(job, "names of processes of other libraries", 0, 0, secret);
}

static uint32_t data_context_offset_token(const struct rz_daemon_job *job)
{
    uint8_t key[RZ_JOB_KEY_BYTES];
    struct rz_wire_reader r;
    derive(job, "token of shared memory", 0, 0, key);
    rz_wire_reader_init(&r, key, sizeof(key));
    return rz_wire_get_u32(&r) | 1; /* never 0, which a header of zeros would contain */
}

#define FOR_JOB "for the description of the job"

static char *copy_of(const char *text)
{
    char *copy = strdup(text);
    rz_need_memory(copy, FOR_JOB);
    return copy;
}

static bool read_numbers(const uint8_t *bytes, uint32_t length, uint32_t n, uint32_t below,
                         uint32_t **numbers)
{
    struct rz_wire_reader r;
    rz_wire_reader_init(&r, bytes, length);
    if (length != (size_t)n * 4) {
        return false;
    }
    *numbers = calloc(n, sizeof(**numbers));
    rz_need_memory(*numbers, FOR_JOB);
    bool good = true;
    for (uint32_t i = 0; i < n; i++) {
        (*numbers)[i] = rz_wire_get_u32(&r);
        good = good && (*numbers)[i] < below;
    }
    return good && !r.malformed;
}

static bool read_texts(const uint8_t *bytes, uint32_t length, char ***texts)
{
    struct rz_wire_reader r;
    rz_wire_reader_init(&r, bytes, length);
    uint32_t n = 0;
    for (uint32_t i = 0; i < length; i++) {
        n += bytes[i] == 0; /* an upper bound; the reader determines the true number */
    }
    if (n > TEXTS_MAX) {
        return false;
    }
    *texts = calloc(n + 1, sizeof(**texts));
    rz_need_memory(*texts, FOR_JOB);
    for (uint32_t i = 0; i < n && r.at != r.end; i++) {
        const char *text = rz_wire_get_text(&r);
        if (r.malformed) {
            return false;
        }
        (*texts)[i] = copy_of(text);
    }
    return r.at == r.end;
}

static void free_texts(char **texts)
{
    for (char **text = texts; text && *text; text++) {
        free(*text);
    }
    free(texts);
}

/* Reads n texts; false: there are fewer, or no memory. */
static bool read_so_many(struct rz_wire_reader *r, uint32_t n, char ***texts)
{
    if (r->malformed || n > TEXTS_MAX || n > (size_t)(r->end - r->at)) {
        return false;
    }
    *texts = calloc((size_t)n + 1, sizeof(**texts));
    rz_need_memory(*texts, FOR_JOB);
    for (uint32_t i = 0; i < n; i++) {
        const char *text = rz_wire_get_text(r);
        if (r->malformed) {
            return false;
        }
        (*texts)[i] = copy_of(text);
    }
    return true;
}

static bool read_context(struct rz_wire_reader *r, struct rz_daemon_context *context,
                         uint32_t *n_ranks)
{
    struct rz_program *program = &context->program;
    uint32_t n = rz_wire_get_u32(r);
    const char *directory = rz_wire_get_text(r);
    context->first = *n_ranks;
    program->maxprocs = n;
    *n_ranks += n;
    if (r->malformed || n == 0 || n > RANKS_MAX || *n_ranks > RANKS_MAX) {
        return false;
    }
    program->directory = copy_of(directory);
    if (!read_so_many(r, rz_wire_get_u32(r), &program->arguments) || !program->arguments[0] ||
        !read_so_many(r, rz_wire_get_u32(r), &program->environment)) {
        return false;
    }
    for (char **entry = program->environment; *entry; entry++) {
        if (!strchr(*entry, '=')) {
            return false;
        }
    }
    return true;
}

static bool read_contexts(struct rz_daemon_job *job, const struct rz_launch_job *m)
{
    struct rz_wire_reader r;
    uint32_t n_ranks = 0;
    rz_wire_reader_init(&r, m->contexts, m->contexts_length);
    while (r.at != r.end) {
        struct rz_daemon_context *more =
            realloc(job->contexts, (job->n_contexts + 1) * sizeof(*job->contexts));
        rz_need_memory(more, FOR_JOB);
        job->contexts = more;
        job->contexts[job->n_contexts] = (struct rz_daemon_context){0};
        if (!read_context(&r, &job->contexts[job->n_contexts++], &n_ranks)) {
            return false;
        }
    }
    return job->n_contexts == 0 || n_ranks == job->n_ranks;
}

uint32_t rz_job_appnum(const struct rz_daemon_job *job, uint32_t slot)
{
    uint32_t number = 0;
    while (number + 1 < job->n_contexts && slot < job->n_ranks &&
           job->contexts[number + 1].first <= slot) {
        number++;
    }
    return number;
}

struct rz_program rz_job_program(const struct rz_daemon_job *job, uint32_t slot)
{
    if (job->n_contexts == 0) {
        return (struct rz_program){
            .arguments = job->arguments, .directory = job->directory, .maxprocs = job->n_ranks};
    }
    return job->contexts[rz_job_appnum(job, slot)].program;
}

static bool read_addresses(const uint8_t *bytes, uint32_t length, uint32_t n,
                           struct rz_overlay_peer **peers)
{
    struct rz_wire_reader r;
    rz_wire_reader_init(&r, bytes, length);
    *peers = calloc(n, sizeof(**peers));
    rz_need_memory(*peers, FOR_JOB);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t length;
        const uint8_t *ip = rz_wire_get_bytes(&r, &length);
        uint32_t tcp = rz_wire_get_u32(&r), udp = rz_wire_get_u32(&r);
        uint32_t pid = rz_wire_get_u32(&r);
        if (r.malformed || tcp > UINT16_MAX || udp > UINT16_MAX || pid > INT32_MAX ||
            !rz_address_take(&(*peers)[i].address, ip, length, 0)) {
            return false;
        }
        (*peers)[i].tcp_port = (uint16_t)tcp;
        (*peers)[i].udp_port = (uint16_t)udp;
        (*peers)[i].pid = (pid_t)pid;
    }
    return r.at == r.end;
}

static const char *read_arrays(struct rz_daemon_job *job, const struct rz_launch_job *m)
{
    if (!read_numbers(m->placement, m->placement_length, job->n_ranks, job->n_nodes,
                      &job->placement)) {
        return "JOB: the placement does not name a node for each rank";
    }
    if (!read_numbers(m->slots, m->slots_length, job->n_nodes, UINT32_MAX, &job->slots)) {
        return "JOB: the slots do not name a number for each node";
    }
    if (!read_addresses(m->addresses, m->addresses_length, job->n_nodes, &job->peers)) {
        return "JOB: the addresses do not name one for each node";
    }
    if (!read_texts(m->arguments, m->arguments_length, &job->arguments) || !job->arguments[0]) {
        return "JOB: no program to run";
    }
    if (!read_texts(m->environment, m->environment_length, &job->environment)) {
        return "JOB: the environment is malformed";
    }
    for (char **entry = job->environment; *entry; entry++) {
        if (!strchr(*entry, '=')) {
            return "JOB: an entry of the environment lacks its value";
        }
    }
    if (!read_contexts(job, m)) {
        return "JOB: the programs are malformed, or are not of all ranks";
    }
    job->directory = copy_of(m->directory);
    job->checkpoints.folder = copy_of(m->checkpoint_folder);
    return NULL;
}

static bool read_checkpoints(struct rz_daemon_job *job, const struct rz_launch_job *m)
{
    job->checkpoints.run = m->checkpoint_run;
    job->checkpoints.keep = m->checkpoint_keep;
    job->checkpoints.restored = (struct rz_ckpt_generation){
        .run = m->restored_run, .epoch = m->restored_epoch, .number = m->restored_number};
    if (!*m->checkpoint_folder) {
        return m->restored_number == 0 && job->scheme.kind != RZ_SCHEME_FILE;
    }
    if (!rz_ckpt_name_valid(m->checkpoint_name)) {
        return false;
    }
    memcpy(job->checkpoints.name, m->checkpoint_name, strlen(m->checkpoint_name) + 1);
    return m->checkpoint_keep >= 2 && m->restored_run < m->checkpoint_run &&
           (m->restored_number == 0 || (m->restored_run > 0 && m->restored_epoch > 0));
}

rz_status_t rz_job_read(struct rz_daemon_job *job, const struct rz_launch_job *m, const char **why)
{
    *job = (struct rz_daemon_job){.id = m->job,
                                  .n_nodes = m->n_nodes,
                                  .n_ranks = m->n_ranks,
                                  .n_slots = rz_slots_of(m->n_ranks),
                                  .node = m->node,
                                  .hb_period_ns = m->hb_period_ns,
                                  .hb_timeout_ns = m->hb_timeout_ns,
                                  .detector = m->detector,
                                  .hang_timeout_ns = m->hang_timeout_ns,
                                  .hang_report_ns = m->hang_report_ns,
                                  .restarts_max = m->restarts_max,
                                  .rewind_ns = m->rewind_ns,
                                  .scheme = {.kind = (enum rz_scheme_kind)m->scheme,
                                             .data = m->scheme_data,
                                             .parity = m->scheme_parity},
                                  .flags = m->flags,
                                  .share = m->share,
                                  .shares = m->shares,
                                  .verbosity = m->verbosity,
                                  .spool_bytes = m->spool_bytes,
                                  .output_wait_ns = m->output_wait_ns,
                                  .linger_ns = m->linger_ns,
                                  .timeout_ns = m->timeout_ns};
    *why = NULL;
    if (m->n_nodes == 0 || m->n_nodes > NODES_MAX || m->n_ranks == 0 || m->n_ranks > RANKS_MAX) {
        *why = "JOB: the number of nodes or ranks is out of bounds";
    } else if (m->node >= m->n_nodes) {
        *why = "JOB: there is no such node";
    } else if (m->flags & RZ_JOB_BIND_CORE && m->share >= m->shares) {
        *why = "JOB: the node has no share of its machine's cores";
    } else if (m->key_length != RZ_JOB_KEY_BYTES) {
        *why = "JOB: the key has the wrong length";
    } else if (m->hb_period_ns < HB_PERIOD_MIN_NS || m->hb_timeout_ns < m->hb_period_ns ||
               m->hb_timeout_ns > 3600 * RZ_SECOND) {
        *why = "JOB: hb_period and hb_timeout do not fit together";
    } else if (m->flags & RZ_JOB_DETACHED && m->linger_ns == 0) {
        *why = "JOB: a detached job must stay for a while after its end";
    } else if (m->detector >= RZ_DETECTOR_COUNT) {
        *why = "JOB: there is no such detector";
    } else if (!rz_scheme_valid(&job->scheme)) {
        *why = "JOB: there is no such checkpoint scheme";
    } else if (!read_checkpoints(job, m)) {
        *why = "JOB: the folder for checkpoints, the job's name and what it begins from do not fit "
               "together";
    } else {
        *why = read_arrays(job, m);
    }
    if (*why) {
        rz_job_clear(job);
        return RZ_ERR_INVALID;
    }
    memcpy(job->key, m->key, sizeof(job->key));
    job->token = data_context_offset_token(job);
    return RZ_OK;
}

void rz_job_clear(struct rz_daemon_job *job)
{
    free(job->peers);
    free(job->placement);
    free(job->slots);
    free_texts(job->arguments);
    free_texts(job->environment);
    free(job->directory);
    for (uint32_t i = 0; i < job->n_contexts; i++) {
        free_texts(job->contexts[i].program.arguments);
        free_texts(job->contexts[i].program.environment);
        free((char *)job->contexts[i].program.directory);
    }
    free(job->contexts);
    free(job->checkpoints.folder);
    sodium_memzero(job, sizeof(*job));
}

bool rz_job_single_host(const struct rz_daemon_job *job)
{
    for (uint32_t i = 0; i < job->n_nodes; i++) {
        if (!rz_address_is_loopback(&job->peers[i].address)) {
            return false;
        }
    }
    return true;
}
