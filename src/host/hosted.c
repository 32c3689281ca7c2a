#include "host/hosted.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

#define ACTIONS_MAX 32

bool rz_hosted_open(struct rz_hosted *hosted, const struct rz_proto_room *room, const void *config,
                    rz_id self, rz_time now, uint64_t seed)
{
    size_t bytes = room->size(config);
    void *state = calloc(1, bytes);
    if (!state)
        return false;
    room->init(state, config, self, now, seed);
    *hosted = (struct rz_hosted){.room = room, .state = state, .bytes = bytes};
    return true;
}

void rz_hosted_close(struct rz_hosted *hosted)
{
    free(hosted->state);
    *hosted = (struct rz_hosted){0};
}

static bool enlarge(struct rz_hosted *hosted, size_t bytes)
{
    rz_assert(bytes > hosted->bytes);
    void *state = realloc(hosted->state, bytes);
    if (!state)
        return false;
    memset((char *)state + hosted->bytes, 0, bytes - hosted->bytes);
    hosted->state = state;
    hosted->bytes = bytes;
    hosted->room->grow(state, bytes);
    return true;
}

bool rz_hosted_step(struct rz_hosted *hosted, const struct rz_event *event,
                    void (*carry_out)(void *arg, const struct rz_actions *actions), void *arg)
{
    struct rz_action actions[ACTIONS_MAX];
    struct rz_actions out = {.v = actions, .max = ACTIONS_MAX};
    struct rz_event next = *event;
    for (;;) {
        out.count = 0;
        enum rz_more more = hosted->room->step(hosted->state, &next, &out);
        carry_out(arg, &out);
        if (more == RZ_DONE)
            return true;
        if (more == RZ_MORE)
            next = (struct rz_event){.kind = RZ_EVENT_CONTINUE, .now = event->now};
        else if (!enlarge(hosted, out.need))
            return false;
    }
}
