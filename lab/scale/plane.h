/* SPDX-License-Identifier: BSD-3-Clause */
/* A table of 1, 2, 4 or more bits per member, in words of 64 bits. */
#ifndef RZ_SCALE_PLANE_H
#define RZ_SCALE_PLANE_H

#include "scale/crew.h"

/* Members 64 i .. 64 i + 63 share no word with others: threads with such parts may write
 * concurrently. */
struct rz_scale_plane {
    uint64_t *words;
    uint64_t bytes;
    uint32_t log_bits; /* 1 << log_bits bits per member */
};

/* All zero. False: no memory. */
static inline bool rz_scale_plane_create(struct rz_scale_plane *plane, uint32_t n_members,
                                         uint32_t log_bits)
{
    plane->log_bits = log_bits;
    plane->bytes = (((uint64_t)n_members + 63) / 64 << log_bits) * sizeof(uint64_t);
    plane->words = rz_scale_table_create(plane->bytes);
    return plane->words != NULL;
}

static inline void rz_scale_plane_destroy(struct rz_scale_plane *plane)
{
    rz_scale_table_destroy(plane->words, plane->bytes);
}

static inline uint64_t *rz_scale_plane_word(struct rz_scale_plane plane, rz_id p)
{
    return &plane.words[p >> (6 - plane.log_bits)];
}

static inline uint32_t rz_scale_plane_shift(struct rz_scale_plane plane, rz_id p)
{
    return (p << plane.log_bits) & 63;
}

/* Planes of at most 4 bits per member. */
static inline uint32_t rz_scale_plane_get(struct rz_scale_plane plane, rz_id p)
{
    uint64_t mask = (UINT64_C(1) << (1U << plane.log_bits)) - 1;
    return (uint32_t)(*rz_scale_plane_word(plane, p) >> rz_scale_plane_shift(plane, p) & mask);
}

static inline void rz_scale_plane_add(struct rz_scale_plane plane, rz_id p, uint32_t bits)
{
    *rz_scale_plane_word(plane, p) |= (uint64_t)bits << rz_scale_plane_shift(plane, p);
}

/* The words of a part of the members. */
static inline struct rz_scale_part rz_scale_plane_words(struct rz_scale_plane plane,
                                                        struct rz_scale_part members)
{
    return (struct rz_scale_part){members.first / 64 << plane.log_bits,
                                  (members.end + 63) / 64 << plane.log_bits};
}

/* The lowest bit of each member in a word. */
static inline uint64_t rz_scale_plane_lowest(uint32_t log_bits)
{
    return UINT64_MAX / ((UINT64_C(1) << (1U << log_bits)) - 1);
}

#endif
