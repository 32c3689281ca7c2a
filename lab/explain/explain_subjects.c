/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of subjects. */
#include "explain/explain_state.h"

#include <string.h>

static const struct rz_explain_subject *const subjects[] = {&rz_explain_agree, &rz_explain_ring,
                                                            &rz_explain_spread, &rz_explain_gossip,
                                                            &rz_explain_recover};
enum { SUBJECTS = sizeof(subjects) / sizeof(*subjects) };

const struct rz_explain_subject *rz_explain_at(size_t i)
{
    return i < SUBJECTS ? subjects[i] : NULL;
}

const struct rz_explain_subject *rz_explain_find(const char *name)
{
    for (size_t i = 0; i < SUBJECTS; i++) {
        if (strcmp(subjects[i]->name, name) == 0) {
            return subjects[i];
        }
    }
    return NULL;
}

const char *rz_explain_name(const struct rz_explain_subject *subject)
{
    return subject->name;
}

uint32_t rz_explain_members_max(const struct rz_explain_subject *subject)
{
    return subject->members_max;
}
