/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attributes: numbers of Fortran in the place of C's addresses, and the functions for copying and
 * deleting.
 *
 * To C, an attribute that Fortran has set is the address of its number: of an MPI_Aint, or of an
 * MPI_Fint where MPI_ATTR_PUT has set it. To Fortran, an attribute that C has set is the address
 * itself (MPI 5.0, section 19.3.7). So Fortran's numbers are kept here, one for each value, and the
 * address of one says that Fortran has set it. They stay until the process ends: a key of C has
 * copy and delete functions of C, and then the end of the last attribute with a number is not seen
 * here.
 */
#include <pthread.h>
#include <string.h>

#include "mpifort/mpifort.h"

/* ---- Numbers ---- */

/* What C reads comes first. */
struct number {
    union {
        MPI_Aint address;
        MPI_Fint integer;
    } c;
    MPI_Aint value;
    bool is_integer; /* set by a call that has default integers */
    struct number *next;
};

/* Block i holds NUMBERS_FIRST << i numbers. */
enum { NUMBERS_FIRST = 64, NUMBERS_BLOCKS = 40, NUMBERS_CHAINS = 4096 };
static struct number *numbers[NUMBERS_BLOCKS];
static struct number *numbers_chains[NUMBERS_CHAINS]; /* by a hash of the value */
static size_t numbers_used;                           /* of the last block */
static int numbers_blocks;
static pthread_mutex_t numbers_lock = PTHREAD_MUTEX_INITIALIZER;

static struct number **numbers_chain(MPI_Aint value)
{
    uint64_t hash = (uint64_t)value * 0x9e3779b97f4a7c15u; /* 2^64 by the golden ratio */
    return &numbers_chains[hash >> 52];
}

/* A new number; NULL: no memory. */
static struct number *number_add(struct number **chain, MPI_Aint value, bool is_integer)
{
    if (numbers_blocks == 0 || numbers_used == (size_t)NUMBERS_FIRST << (numbers_blocks - 1)) {
        struct number *more = numbers_blocks < NUMBERS_BLOCKS
                                  ? calloc((size_t)NUMBERS_FIRST << numbers_blocks, sizeof(*more))
                                  : NULL;
        if (!more) {
            return NULL;
        }
        numbers[numbers_blocks++] = more;
        numbers_used = 0;
    }
    struct number *number = &numbers[numbers_blocks - 1][numbers_used++];
    *number = (struct number){.value = value, .is_integer = is_integer, .next = *chain};
    if (is_integer) {
        number->c.integer = (MPI_Fint)value;
    } else {
        number->c.address = value;
    }
    *chain = number;
    return number;
}

void *rz_mpifort_attribute_of(MPI_Aint value, bool is_integer)
{
    struct number **chain = numbers_chain(value);
    pthread_mutex_lock(&numbers_lock);
    struct number *number = *chain;
    while (number && (number->value != value || number->is_integer != is_integer)) {
        number = number->next;
    }
    if (!number) {
        number = number_add(chain, value, is_integer);
    }
    pthread_mutex_unlock(&numbers_lock);
    return number;
}

MPI_Aint rz_mpifort_attribute_value(void *attribute)
{
    MPI_Aint value = (MPI_Aint)attribute;
    pthread_mutex_lock(&numbers_lock);
    for (int i = 0; i < numbers_blocks; i++) {
        uintptr_t offset = (uintptr_t)attribute - (uintptr_t)numbers[i];
        if (offset < ((size_t)NUMBERS_FIRST << i) * sizeof(struct number) &&
            offset % sizeof(struct number) == 0) {
            value = ((struct number *)attribute)->value;
            break;
        }
    }
    pthread_mutex_unlock(&numbers_lock);
    return value;
}

/* ---- Functions of the user ---- */

typedef void rz_mpifort_copy_function(MPI_Fint *object, MPI_Fint *keyval, MPI_Aint *extra,
                                      MPI_Aint *in, MPI_Aint *out, MPI_Fint *flag, MPI_Fint *error);
typedef void rz_mpifort_delete_function(MPI_Fint *object, MPI_Fint *keyval, MPI_Aint *value,
                                        MPI_Aint *extra, MPI_Fint *error);
typedef void rz_mpifort_old_copy_function(MPI_Fint *object, MPI_Fint *keyval, MPI_Fint *extra,
                                          MPI_Fint *in, MPI_Fint *out, MPI_Fint *flag,
                                          MPI_Fint *error);
typedef void rz_mpifort_old_delete_function(MPI_Fint *object, MPI_Fint *keyval, MPI_Fint *value,
                                            MPI_Fint *extra, MPI_Fint *error);

static struct rz_mpifort_key *keys; /* all, so that they are reachable */
static pthread_mutex_t keys_lock = PTHREAD_MUTEX_INITIALIZER;

struct rz_mpifort_key *rz_mpifort_key_new(rz_mpifort_function *copy, rz_mpifort_function *delete,
                                          MPI_Aint extra, bool old)
{
    struct rz_mpifort_key *key = malloc(sizeof(*key));
    if (key) {
        pthread_mutex_lock(&keys_lock);
        *key = (struct rz_mpifort_key){copy, delete, extra, old, keys};
        keys = key;
        pthread_mutex_unlock(&keys_lock);
    }
    return key;
}

/* The functions of MPI for copying and deleting, as Fortran calls them. */
#define PREDEFINED(kind)                                                                           \
    RZ_F_PUBLIC void mpi_##kind##null_copy_fn_(MPI_Fint *object, MPI_Fint *keyval,                 \
                                               MPI_Aint *extra, MPI_Aint *in, MPI_Aint *out,       \
                                               MPI_Fint *flag, MPI_Fint *error)                    \
    {                                                                                              \
        (void)object, (void)keyval, (void)extra, (void)in, (void)out;                              \
        *flag = 0;                                                                                 \
        *error = MPI_SUCCESS;                                                                      \
    }                                                                                              \
    RZ_F_PUBLIC void mpi_##kind##null_delete_fn_(                                                  \
        MPI_Fint *object, MPI_Fint *keyval, MPI_Aint *value, MPI_Aint *extra, MPI_Fint *error)     \
    {                                                                                              \
        (void)object, (void)keyval, (void)value, (void)extra;                                      \
        *error = MPI_SUCCESS;                                                                      \
    }
#define DUP(kind, number)                                                                          \
    RZ_F_PUBLIC void mpi_##kind##dup_fn_(MPI_Fint *object, MPI_Fint *keyval, MPI_Aint *extra,      \
                                         number *in, number *out, MPI_Fint *flag, MPI_Fint *error) \
    {                                                                                              \
        (void)object, (void)keyval, (void)extra;                                                   \
        *out = *in;                                                                                \
        *flag = 1;                                                                                 \
        *error = MPI_SUCCESS;                                                                      \
    }
PREDEFINED()
PREDEFINED(comm_)
PREDEFINED(type_)
PREDEFINED(win_)
DUP(, MPI_Fint)
DUP(comm_, MPI_Aint)
DUP(type_, MPI_Aint)
DUP(win_, MPI_Aint)

/* Fortran's functions that copy the attribute as it is: also the address that C has set. */
static bool copies_all(rz_mpifort_function *copy)
{
    return copy == (rz_mpifort_function *)mpi_dup_fn_ ||
           copy == (rz_mpifort_function *)mpi_comm_dup_fn_ ||
           copy == (rz_mpifort_function *)mpi_type_dup_fn_ ||
           copy == (rz_mpifort_function *)mpi_win_dup_fn_;
}

static int copy_by(const struct rz_mpifort_key *key, MPI_Fint object, int keyval, void *in,
                   void **out, int *flag)
{
    MPI_Fint error = MPI_SUCCESS, f_flag = 0;
    MPI_Aint extra = key->extra, from = rz_mpifort_attribute_value(in), to = 0;
    if (copies_all(key->copy)) {
        *flag = 1;
        *out = in;
        return MPI_SUCCESS;
    }
    if (key->old) {
        MPI_Fint old_extra = (MPI_Fint)extra, old_from = (MPI_Fint)from, old_to = 0;
        ((rz_mpifort_old_copy_function *)key->copy)(&object, &keyval, &old_extra, &old_from,
                                                    &old_to, &f_flag, &error);
        to = old_to;
    } else {
        ((rz_mpifort_copy_function *)key->copy)(&object, &keyval, &extra, &from, &to, &f_flag,
                                                &error);
    }
    *flag = error == MPI_SUCCESS && f_flag != 0;
    if (*flag) {
        *out = rz_mpifort_attribute_of(to, key->old);
        error = *out ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    }
    return error;
}

static int delete_by(const struct rz_mpifort_key *key, MPI_Fint object, int keyval, void *value)
{
    MPI_Fint error = MPI_SUCCESS;
    MPI_Aint extra = key->extra, f_value = rz_mpifort_attribute_value(value);
    if (key->old) {
        MPI_Fint old_extra = (MPI_Fint)extra, old_value = (MPI_Fint)f_value;
        ((rz_mpifort_old_delete_function *)key->delete)(&object, &keyval, &old_value, &old_extra,
                                                        &error);
    } else {
        ((rz_mpifort_delete_function *)key->delete)(&object, &keyval, &f_value, &extra, &error);
    }
    return error;
}

#define ATTRIBUTE(kind, Kind, type)                                                                \
    int rz_mpifort_##kind##_copy(type object, int keyval, void *extra, void *in, void *out,        \
                                 int *flag)                                                        \
    {                                                                                              \
        return copy_by(extra, PMPI_##Kind##_toint(object), keyval, in, out, flag);                 \
    }                                                                                              \
    int rz_mpifort_##kind##_delete(type object, int keyval, void *value, void *extra)              \
    {                                                                                              \
        return delete_by(extra, PMPI_##Kind##_toint(object), keyval, value);                       \
    }
ATTRIBUTE(comm, Comm, MPI_Comm)
ATTRIBUTE(type, Type, MPI_Datatype)
ATTRIBUTE(win, Win, MPI_Win)
