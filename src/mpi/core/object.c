/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers of users' objects, for MPI_X_toint and MPI_X_fromint; the memory of the objects that were
 * freed last; names.
 */
#include "mpi/core/object.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

/* Slot i belongs to number RZ_HANDLE_PREDEFINED_END + i; a free slot is NULL. */
static struct rz_object **numbered;
static int32_t numbered_max;
static int32_t numbered_free; /* no slot below this is free */

static bool numbered_grow(void)
{
    int32_t more = numbered_max == 0 ? 64 : numbered_max * 2;
    struct rz_object **bigger = realloc(numbered, (size_t)more * sizeof(*numbered));
    if (!bigger) {
        return false;
    }
    memset(bigger + numbered_max, 0, (size_t)(more - numbered_max) * sizeof(*bigger));
    numbered = bigger;
    numbered_max = more;
    return true;
}

int32_t rz_object_number(struct rz_object *object)
{
    if (object->number != 0) {
        return object->number;
    }
    while (numbered_free < numbered_max && numbered[numbered_free]) {
        numbered_free++;
    }
    if (numbered_free == numbered_max && !numbered_grow()) {
        return 0;
    }
    numbered[numbered_free] = object;
    object->number = (int32_t)RZ_HANDLE_PREDEFINED_END + numbered_free;
    return object->number;
}

void rz_object_number_drop(struct rz_object *object)
{
    int32_t slot = object->number - (int32_t)RZ_HANDLE_PREDEFINED_END;
    rz_assert(slot >= 0 && slot < numbered_max && numbered[slot] == object);
    numbered[slot] = NULL;
    object->number = 0;
    if (slot < numbered_free) {
        numbered_free = slot;
    }
}

struct rz_object *rz_object_by_number(int32_t number, enum rz_object_kind kind)
{
    int64_t slot = (int64_t)number - (int64_t)RZ_HANDLE_PREDEFINED_END;
    if (slot < 0 || slot >= numbered_max || !numbered[slot]) {
        return NULL;
    }
    return rz_object_is(numbered[slot], kind) ? numbered[slot] : NULL;
}

/* ---- Freed objects ---- */

/* A ring: the oldest is freed when there are too many, or when they are too large together. */
#define RETIRED_MAX 256
#define RETIRED_BYTES_MAX ((size_t)1 << 20)

static struct {
    struct rz_object *object;
    size_t bytes;
} retired[RETIRED_MAX];
static unsigned retired_first, n_retired;
static size_t retired_bytes;

void rz_object_retire(struct rz_object *object, size_t bytes)
{
    rz_assert(object->magic == 0);
    if (bytes > RETIRED_BYTES_MAX) {
        free(object);
        return;
    }
    while (n_retired == RETIRED_MAX || retired_bytes + bytes > RETIRED_BYTES_MAX) {
        free(retired[retired_first].object);
        retired_bytes -= retired[retired_first].bytes;
        retired_first = (retired_first + 1) % RETIRED_MAX;
        n_retired--;
    }
    unsigned last = (retired_first + n_retired++) % RETIRED_MAX;
    retired[last].object = object;
    retired[last].bytes = bytes;
    retired_bytes += bytes;
}

void rz_object_name_set(char *name, const char *text)
{
    size_t length = strnlen(text, MPI_MAX_OBJECT_NAME - 1);
    memcpy(name, text, length);
    name[length] = '\0';
}

void rz_object_name_get(const char *name, char *buffer, int *resultlen)
{
    size_t length = strlen(name);
    memcpy(buffer, name, length + 1);
    *resultlen = (int)length;
}
