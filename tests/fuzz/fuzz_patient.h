/* SPDX-License-Identifier: BSD-3-Clause */
/* A member of a protocol that gets nothing but nonsense: what every component's target shares. */
#ifndef RZ_TESTS_FUZZ_PATIENT_H
#define RZ_TESTS_FUZZ_PATIENT_H

#include "fuzz.h"
#include "proto/protocol.h"

#define PATIENT_MEMBERS_MAX 70
#define PATIENT_ITEMS_MAX 200
#define PATIENT_VIEW 3
#define RANKS_PER_DAEMON 2

struct patient_protocol;

struct patient {
    const struct patient_protocol *told; /* the sender of its instructions */
    const struct rz_protocol *protocol;
    const void *config;
    uint32_t n, types;
    uint32_t items_usual; /* of a message of this component, where its size is fixed; else 0 */
    uint32_t calls;       /* of 32 events; 0: 3 */
    struct rz_fuzz_input *input;
    uint32_t view; /* that messages of others have */
    rz_id self;
    void *state;
    size_t bytes, bytes_max;
    rz_time now;
    struct rz_message said; /* the last message it sent: nonsense that refers to it goes deeper */
    uint64_t memory[2 * PATIENT_MEMBERS_MAX]; /* of what it settled */
    uint32_t notices[8];                      /* number of notices so far, by kind */
    uint64_t sum; /* of all that was read, so that the sanitizers see it read */
};

/* What a component adds. */
struct patient_protocol {
    const struct rz_protocol *protocol;
    /* Chooses a configuration (kept in *config, valid during the run) and sets n, types, ... */
    void (*begin)(struct patient *patient);
    /* A call that a host may make now (false: none). items[0..2 * PATIENT_MEMBERS_MAX). */
    bool (*call)(struct patient *patient, struct rz_event *event, uint64_t *items);
    /* What must hold after each step. */
    void (*holds)(struct patient *patient);
    /* For a model of the component, or NULL: the event of the next step; the component's
     * actions. */
    void (*comes)(struct patient *patient, const struct rz_event *event);
    void (*acts)(struct patient *patient, const struct rz_action *action);
};

/* A component without a model, of the functions begin_NAME, call_NAME and holds_NAME. */
#define PATIENT_PROTOCOL(name)                                                                     \
    {                                                                                              \
        .protocol = &rz_protocol_##name, .begin = begin_##name, .call = call_##name,               \
        .holds = holds_##name                                                                      \
    }

/* One run; the input chooses everything. */
void patient_live(const struct patient_protocol *protocol, struct rz_fuzz_input *input);

/* The number of members of a component, up to most. */
uint32_t patient_any_n(struct patient *patient, uint32_t most);

static inline uint64_t patient_below(struct patient *patient, uint64_t bound)
{
    return rz_fuzz_below(patient->input, bound);
}

#endif
