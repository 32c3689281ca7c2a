/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every MPI object begins with. A user's handle is the address of an object (>= 0x1000); a
 * predefined handle is a small number of the ABI. The first word tells kind and life, so that a
 * stale or foreign handle is refused in words.
 *
 * Each struct of a chapter that users hold a handle of has `struct rz_object object;` as its first
 * member: rz_comm, rz_group, rz_datatype, rz_op, rz_request, rz_matched (MPI_Message), rz_info,
 * rz_errhandler, rz_session, rz_monitor (RZ_Group_monitor).
 */
#ifndef RZ_MPI_OBJECT_H
#define RZ_MPI_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"

enum rz_object_kind {
    RZ_OBJECT_NONE,
    RZ_OBJECT_COMM,
    RZ_OBJECT_GROUP,
    RZ_OBJECT_DATATYPE,
    RZ_OBJECT_OP,
    RZ_OBJECT_REQUEST,
    RZ_OBJECT_MATCHED,
    RZ_OBJECT_INFO,
    RZ_OBJECT_ERRHANDLER,
    RZ_OBJECT_WIN,
    RZ_OBJECT_FILE,
    RZ_OBJECT_SESSION,
    RZ_OBJECT_MONITOR,
    RZ_OBJECT_COUNT
};

/* Handles below this are numbers of the ABI, never addresses. */
#define RZ_HANDLE_PREDEFINED_END ((uintptr_t)0x1000)

#define RZ_OBJECT_MAGIC UINT32_C(0x525a0b00)

/* Bits of rz_object.flags, kept by the chapter that owns the kind. */
#define RZ_DATATYPE_COMMITTED UINT16_C(1) /* may be used in communication */
#define RZ_DATATYPE_PERMANENT UINT16_C(2) /* predefined, but without a number in the ABI */
#define RZ_DATATYPE_HUGE UINT16_C(4)      /* 2^31 bytes or more, from one end to the other */
#define RZ_COMM_INTER UINT16_C(1)         /* is an inter-communicator */
#define RZ_COMM_ROUND UINT16_C(2)         /* of a round: its monitor ends it, and nobody else */

struct rz_object {
    uint32_t magic; /* RZ_OBJECT_MAGIC + kind while it lives; 0 afterwards */
    uint16_t
        predefined; /* its number in the ABI (0x101 for MPI_COMM_WORLD); 0 for a user's object */
    uint16_t flags; /* by kind, see above */
    uint32_t references; /* how many hold it, the user's handle included */
    int32_t number;      /* what MPI_X_toint gave it; 0: never asked */
};

/* Forget the number given by rz_object_number(); object.c. */
void rz_object_number_drop(struct rz_object *object);

/* The number MPI_X_toint shows for a user's object: >= 0x1000, the same until the object ends; 0:
 * no memory. */
int32_t rz_object_number(struct rz_object *object);

/* The living object of this kind with that number, or NULL. */
struct rz_object *rz_object_by_number(int32_t number, enum rz_object_kind kind);

/* Begin a life, with one reference. predefined is the number in the ABI, 0 for a user's object. */
static inline void rz_object_init(struct rz_object *object, enum rz_object_kind kind,
                                  uint16_t predefined)
{
    object->magic = RZ_OBJECT_MAGIC + (uint32_t)kind;
    object->predefined = predefined;
    object->flags = 0;
    object->references = 1;
    object->number = 0;
}

/* Whether object, not NULL, is a living object of this kind. */
static inline bool rz_object_is(const void *object, enum rz_object_kind kind)
{
    return ((const struct rz_object *)object)->magic == RZ_OBJECT_MAGIC + (uint32_t)kind;
}

static inline bool rz_object_is_predefined(const void *object)
{
    return ((const struct rz_object *)object)->predefined != 0;
}

static inline void rz_object_retain(struct rz_object *object)
{
    rz_assert(object->references > 0);
    object->references++;
}

/*
 * Give one reference back. True when it was the last: the object has failed to users and the caller
 * frees its memory. A predefined object is counted, too, but its owner keeps the first reference
 * until finalize.
 */
static inline bool rz_object_release(struct rz_object *object)
{
    rz_assert(object->references > 0);
    if (--object->references > 0) {
        return false;
    }
    if (object->number != 0) {
        rz_object_number_drop(object);
    }
    object->magic = 0;
    return true;
}

/*
 * The memory of a failed object, of `bytes`, is to be freed, but not at once: for as long as it is
 * among the last 256 failed (1 MiB in all) a stale handle reads a failed object. Kinds that keep
 * their memory in a list of their own do not need this.
 */
void rz_object_bury(struct rz_object *object, size_t bytes);

/* The user's handle of an object: its number in the ABI, or its address. NULL gives null_handle. */
static inline void *rz_object_handle(struct rz_object *object, uintptr_t null_handle)
{
    if (!object) {
        return (void *)null_handle;
    }
    return object->predefined != 0 ? (void *)(uintptr_t)object->predefined : (void *)object;
}

#endif
