/* SPDX-License-Identifier: BSD-3-Clause */
/* A member of any protocol core under random calls, messages, failures and time. */
#include "fuzz_patient.h"

#include <stdlib.h>
#include <string.h>

#define CONTINUES_MAX 10000

uint32_t patient_any_n(struct patient *patient, uint32_t most)
{
    static const uint32_t sizes[] = {1, 2, 5, 16, 64, PATIENT_MEMBERS_MAX};
    uint32_t n = sizes[patient_below(patient, 6)];
    return n < most ? n : most;
}

static void look_at(struct patient *patient, const struct rz_action *action)
{
    if (patient->told->acts) {
        patient->told->acts(patient, action);
    }
    bool sends = action->kind == RZ_ACTION_SEND;
    uint32_t n_items = sends ? action->message.n_items : action->n_items;
    for (uint32_t i = 0; i < n_items; i++) {
        patient->sum += action->items[i];
    }
    if (!sends) {
        rz_fuzz_holds(action->kind == RZ_ACTION_NOTIFY && action->what < 8);
        patient->notices[action->what]++;
        return;
    }
    rz_fuzz_holds(action->n_to > 0 && action->n_to < patient->n);
    for (uint32_t i = 0; i < action->n_to; i++) {
        rz_fuzz_holds(action->to[i] < patient->n && action->to[i] != patient->self);
    }
    rz_fuzz_holds(action->message.from == patient->self);
    patient->said = action->message;
}

/* What is new in a block that has grown is not zero. */
static void grow(struct patient *patient, size_t need)
{
    rz_fuzz_holds(need > patient->bytes && need <= patient->bytes_max);
    uint8_t *larger = malloc(need);
    memcpy(larger, patient->state, patient->bytes);
    memset(larger + patient->bytes, 0xA5, need - patient->bytes);
    free(patient->state);
    patient->state = larger;
    patient->bytes = need;
    patient->protocol->grow(larger, need);
}

static void step(struct patient *patient, struct rz_event *event)
{
    struct rz_action v[RZ_ACTIONS_MIN];
    event->now = patient->now;
    if (patient->told->comes) {
        patient->told->comes(patient, event);
    }
    for (uint32_t i = 0; i < CONTINUES_MAX; i++) {
        struct rz_actions out = {.v = v, .max = RZ_ACTIONS_MIN};
        enum rz_more more = patient->protocol->step(patient->state, event, &out);
        if (more == RZ_NEED) {
            rz_fuzz_holds(out.count == 0);
            grow(patient, out.need);
            continue;
        }
        rz_fuzz_holds(out.count <= RZ_ACTIONS_MIN);
        for (uint32_t k = 0; k < out.count; k++) {
            look_at(patient, &v[k]);
        }
        if (more == RZ_DONE) {
            return;
        }
        *event = (struct rz_event){.kind = RZ_EVENT_CONTINUE, .now = patient->now};
    }
    rz_fuzz_fail("the step comes to an end", __FILE__, __LINE__);
}

/* ---- nonsense ---- */

static uint64_t any_word(struct patient *patient)
{
    switch (patient_below(patient, 8)) {
    case 0:
        return rz_fuzz_take(patient->input, 8);
    case 1:
        return UINT64_MAX - patient_below(patient, 3);
    case 2:
        return patient_below(patient, 4) << 32 | patient_below(patient, patient->n + 1);
    case 3:
        return UINT64_C(0xFFFFFFFF) << 32 | patient_below(patient, patient->n + 1);
    case 4:
        return patient_below(patient, patient->n + 1) << 32 | patient_below(patient, 6);
    case 5:
        return patient->said.word[patient_below(patient, 2)] + patient_below(patient, 2);
    case 6:
        return patient->said.seq + patient_below(patient, 3) - 1;
    default:
        return patient_below(patient, patient->n + 2);
    }
}

static uint32_t any_size(struct patient *patient)
{
    uint32_t words = (patient->n + 63) / 64;
    uint32_t sizes[] = {0,
                        words,
                        2,
                        (uint32_t)patient_below(patient, PATIENT_ITEMS_MAX),
                        patient->items_usual,
                        patient->items_usual,
                        3 * words + 1};
    return sizes[patient_below(patient, 7)];
}

static void any_message(struct patient *patient)
{
    uint64_t odd = patient_below(patient, 256);
    struct rz_message message = {.protocol = (uint8_t)patient->protocol->number,
                                 .type = (uint8_t)patient_below(patient, patient->types + 1),
                                 .flags = (uint16_t)patient_below(patient, 2),
                                 .view = patient->view,
                                 .from = (rz_id)patient_below(patient, patient->n),
                                 .origin = (rz_id)patient_below(patient, patient->n + 1),
                                 .seq = any_word(patient),
                                 .word = {any_word(patient), any_word(patient)},
                                 .n_items = any_size(patient)};
    if (odd % 16 == 1) {
        message.view = (uint32_t)rz_fuzz_take(patient->input, 4);
    }
    if (odd % 16 == 2) {
        message.from = patient->n + (rz_id)rz_fuzz_take(patient->input, 4);
    }
    if (odd % 16 == 3) {
        message.type = (uint8_t)rz_fuzz_take(patient->input, 1);
    }
    if (odd % 16 == 4) {
        message.origin = (rz_id)rz_fuzz_take(patient->input, 4);
    }
    uint64_t *items = malloc(message.n_items * sizeof(*items));
    bool ascending = odd / 16 % 2; /* many components look no further at what is not */
    for (uint32_t i = 0; i < message.n_items; i++) {
        items[i] = any_word(patient);
        if (ascending && i > 0 && items[i] <= items[i - 1] && items[i - 1] < UINT64_MAX) {
            items[i] = items[i - 1] + 1;
        }
    }
    struct rz_event event = {.kind = RZ_EVENT_RECEIVE, .message = &message, .items = items};
    step(patient, &event);
    free(items);
}

static void any_failure(struct patient *patient)
{
    rz_id id = (rz_id)patient_below(patient, patient->n);
    struct rz_event event = {.kind = RZ_EVENT_FAILURE, .ids = &id, .n_ids = 1};
    event.arg[0] = patient_below(patient, 2);
    if (id != patient->self) {
        step(patient, &event);
    }
}

static void pass_time(struct patient *patient)
{
    patient->now += patient_below(patient, 400);
    for (uint32_t i = 0; patient->protocol->deadline(patient->state) <= patient->now; i++) {
        rz_fuzz_holds(i < CONTINUES_MAX);
        struct rz_event event = {.kind = RZ_EVENT_TICK};
        step(patient, &event);
    }
}

/* ---- one run ---- */

void patient_live(const struct patient_protocol *protocol, struct rz_fuzz_input *input)
{
    struct patient patient = {
        .told = protocol, .protocol = protocol->protocol, .input = input, .view = PATIENT_VIEW};
    protocol->begin(&patient);
    patient.bytes = patient.protocol->size(patient.config);
    /* Items that may become part of its state are bounded by what the input can say. */
    patient.bytes_max = 8 * patient.bytes + 4096 + 512 * (size_t)rz_fuzz_left(input);
    patient.self = (rz_id)patient_below(&patient, patient.n);
    patient.state = malloc(patient.bytes);
    patient.protocol->init(patient.state, patient.config, patient.self, 0, rz_fuzz_take(input, 2));
    while (rz_fuzz_left(input) > 0) {
        uint64_t items[2 * PATIENT_MEMBERS_MAX], what = patient_below(&patient, 32);
        struct rz_event event = {.kind = RZ_EVENT_CALL, .items = items};
        uint64_t calls = patient.calls ? patient.calls : 3;
        if (what == 31) {
            any_failure(&patient);
        } else if (what < calls && protocol->call(&patient, &event, items)) {
            step(&patient, &event);
        } else if (what < calls + 5) {
            pass_time(&patient);
        } else {
            any_message(&patient);
        }
        patient.sum += patient.protocol->hash(patient.state);
        protocol->holds(&patient);
    }
    free(patient.state);
}
