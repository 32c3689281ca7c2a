/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory and steps of an embedded protocol core. */
#include "host/embedded.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

#define ACTIONS_MAX 32

bool rz_embedded_open(struct rz_embedded *embedded, const struct rz_protocol *protocol,
                      const void *config, rz_id self, rz_time now, uint64_t seed)
{
    size_t bytes = protocol->size(config);
    void *state = calloc(1, bytes);
    if (!state) {
        return false;
    }
    protocol->init(state, config, self, now, seed);
    *embedded = (struct rz_embedded){.protocol = protocol, .state = state, .bytes = bytes};
    return true;
}

void rz_embedded_close(struct rz_embedded *embedded)
{
    free(embedded->state);
    *embedded = (struct rz_embedded){0};
}

static bool enlarge(struct rz_embedded *embedded, size_t bytes)
{
    rz_assert(bytes > embedded->bytes);
    void *state = realloc(embedded->state, bytes);
    if (!state) {
        return false;
    }
    memset((char *)state + embedded->bytes, 0, bytes - embedded->bytes);
    embedded->state = state;
    embedded->bytes = bytes;
    embedded->protocol->grow(state, bytes);
    return true;
}

bool rz_embedded_step(struct rz_embedded *embedded, const struct rz_event *event,
                      void (*carry_out)(void *arg, const struct rz_actions *actions), void *arg)
{
    struct rz_action actions[ACTIONS_MAX];
    struct rz_actions out = {.v = actions, .max = ACTIONS_MAX};
    struct rz_event next = *event;
    for (;;) {
        out.count = 0;
        enum rz_more more = embedded->protocol->step(embedded->state, &next, &out);
        carry_out(arg, &out);
        if (more == RZ_DONE) {
            return true;
        }
        if (more == RZ_MORE) {
            next = (struct rz_event){.kind = RZ_EVENT_CONTINUE, .now = event->now};
        } else if (!enlarge(embedded, out.need)) {
            return false;
        }
    }
}
