/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every MPI object begins with. A user's handle is the address of an object (>= 0x1000); a
 * predefined handle is a small number of the ABI. The first word tells the kind of the object and
 * that it is not freed, so that a stale or foreign handle is refused with a message.
 *
 * Each struct that users hold a handle of has `struct rz_object object;` as its first
 * member: rz_comm, rz_group, rz_datatype, rz_op, rz_request, rz_matched (MPI_Message), rz_info,
 * rz_errhandler, rz_session, rz_monitor (RZ_Group_monitor).
 */
#ifndef RZ_MPI_OBJECT_H
#define RZ_MPI_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"

/* Of this library alone: reached without a look into the table of global symbols. */
#define RZ_OWN __attribute__((visibility("hidden")))

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

/* Bits of rz_object.flags, kept by the module that owns the kind. */
#define RZ_DATATYPE_COMMITTED UINT16_C(1) /* may be used in communication */
#define RZ_DATATYPE_PERMANENT UINT16_C(2) /* predefined, but without a number in the ABI */
#define RZ_DATATYPE_HUGE UINT16_C(4)      /* 2^31 bytes or more, from one end to the other */
#define RZ_COMM_INTER UINT16_C(1)         /* is an inter-communicator */
#define RZ_COMM_ROUND UINT16_C(2) /* of a round of a group monitor, which alone may end it */

struct rz_object {
    uint32_t magic; /* RZ_OBJECT_MAGIC + kind; 0 after the object was freed */
    uint16_t
        predefined; /* its number in the ABI (0x101 for MPI_COMM_WORLD); 0 for a user's object */
    uint16_t flags; /* by kind, see above */
    uint32_t references; /* number of references, including the user's handle */
    int32_t number;      /* the number given by MPI_X_toint; 0: none */
};

/* Releases the number given by rz_object_number(); object.c. */
void rz_object_number_drop(struct rz_object *object);

/* The number that MPI_X_toint returns for a user's object: >= 0x1000, constant until the object is
 * freed; 0: no memory. */
int32_t rz_object_number(struct rz_object *object);

/* The object of this kind with that number that is not freed, or NULL. */
struct rz_object *rz_object_by_number(int32_t number, enum rz_object_kind kind);

/* Initialises an object, with one reference. predefined is the number in the ABI, 0 for a user's
 * object. */
static inline void rz_object_init(struct rz_object *object, enum rz_object_kind kind,
                                  uint16_t predefined)
{
    object->magic = RZ_OBJECT_MAGIC + (uint32_t)kind;
    object->predefined = predefined;
    object->flags = 0;
    object->references = 1;
    object->number = 0;
}

/* Whether object, not NULL, is an object of this kind that is not freed. */
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
 * Releases a reference. True when it was the last one: users can no longer use the object, and the
 * caller frees its memory. References to a predefined object are counted, too, but its owner keeps
 * the first one until finalize.
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
 * The memory of a freed object, of `bytes`, is to be released, but not at once: as long as it is
 * among the last 256 (1 MiB in all), a stale handle reads a freed object. Kinds that keep their
 * memory in a list of their own do not need this.
 */
void rz_object_retire(struct rz_object *object, size_t bytes);

/* For MPI_X_set_name: copies text into name, which has MPI_MAX_OBJECT_NAME bytes, and cuts off what
 * does not fit. */
void rz_object_name_set(char *name, const char *text);

/* For MPI_X_get_name: copies name into the user's buffer of MPI_MAX_OBJECT_NAME bytes. */
void rz_object_name_get(const char *name, char *buffer, int *resultlen);

/* The user's handle of an object: its number in the ABI, or its address. NULL gives null_handle. */
static inline void *rz_object_handle(struct rz_object *object, uintptr_t null_handle)
{
    if (!object) {
        return (void *)null_handle;
    }
    return object->predefined != 0 ? (void *)(uintptr_t)object->predefined : (void *)object;
}

#endif
