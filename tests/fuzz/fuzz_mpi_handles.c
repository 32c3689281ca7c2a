/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handles as integers and info objects, through the library's own entry points in a job of one: a
 * number of any value is a live object of that kind, or none; what is in an info is what a list
 * written again says.
 */
#include "fuzz.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS_MAX = 24, OBJECTS_MAX = 8 };

static struct {
    char key[MPI_MAX_INFO_KEY + 8], *value;
} model[KEYS_MAX];
static int n_model;

static void begin(void)
{
    int initialized;
    MPI_Initialized(&initialized);
    if (initialized) {
        return;
    }
    rz_fuzz_holds(MPI_Init(NULL, NULL) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

/* ---- numbers ---- */

/* A number of any kind is the number of what it leads to, or leads to nothing. */
#define NUMBER(name, type, null)                                                                   \
    {                                                                                              \
        type handle = name##_fromint(number);                                                      \
        if (handle != null && (number < 0 || number > 0xFFF)) {                                    \
            rz_fuzz_holds(name##_toint(handle) == number);                                         \
        }                                                                                          \
    }

static void check_number(int number)
{
    NUMBER(MPI_Comm, MPI_Comm, MPI_COMM_NULL)
    NUMBER(MPI_Errhandler, MPI_Errhandler, MPI_ERRHANDLER_NULL)
    NUMBER(MPI_Group, MPI_Group, MPI_GROUP_NULL)
    NUMBER(MPI_Info, MPI_Info, MPI_INFO_NULL)
    NUMBER(MPI_Message, MPI_Message, MPI_MESSAGE_NULL)
    NUMBER(MPI_Op, MPI_Op, MPI_OP_NULL)
    NUMBER(MPI_Request, MPI_Request, MPI_REQUEST_NULL)
    NUMBER(MPI_Session, MPI_Session, MPI_SESSION_NULL)
    NUMBER(MPI_Type, MPI_Datatype, MPI_DATATYPE_NULL)
    int value;
    /* Any result may be passed to any call: it succeeds, or reports what is wrong. */
    (void)MPI_Comm_size(MPI_Comm_fromint(number), &value);
    (void)MPI_Group_size(MPI_Group_fromint(number), &value);
    (void)MPI_Type_size(MPI_Type_fromint(number), &value);
    (void)MPI_Op_commutative(MPI_Op_fromint(number), &value);
    (void)MPI_Info_get_nkeys(MPI_Info_fromint(number), &value);
}

static void check_objects(struct rz_fuzz_input *input)
{
    MPI_Group world, groups[OBJECTS_MAX];
    int numbers[OBJECTS_MAX], n = 1 + (int)rz_fuzz_below(input, OBJECTS_MAX);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int i = 0; i < n; i++) {
        int ranks[] = {0};
        rz_fuzz_holds(MPI_Group_incl(world, 1, ranks, &groups[i]) == MPI_SUCCESS);
        numbers[i] = MPI_Group_toint(groups[i]);
        rz_fuzz_holds(MPI_Group_fromint(numbers[i]) == groups[i]);
        rz_fuzz_holds(MPI_Comm_fromint(numbers[i]) == MPI_COMM_NULL);
        check_number(numbers[i] + (int)rz_fuzz_below(input, 3) - 1);
    }
    for (int i = 0; i < n; i++) {
        int number = numbers[i];
        MPI_Group_free(&groups[i]);
        rz_fuzz_holds(MPI_Group_fromint(number) == MPI_GROUP_NULL);
    }
    MPI_Group_free(&world);
    for (int i = 0; i < 4; i++) {
        check_number((int)(int32_t)rz_fuzz_take(input, 4));
    }
    check_number((int)rz_fuzz_below(input, 0x1100));
}

/* ---- info ---- */

static int find(const char *key)
{
    for (int i = 0; i < n_model; i++) {
        if (strcmp(model[i].key, key) == 0) {
            return i;
        }
    }
    return -1;
}

/* Text of the input; now and then as long as may be, or longer. */
static char *any_text(struct rz_fuzz_input *input, size_t bound)
{
    size_t n = rz_fuzz_below(input, 12), odd = rz_fuzz_below(input, 16);
    if (odd == 1) {
        n = bound - 2 + rz_fuzz_below(input, 4);
    }
    char *text = malloc(n + 1);
    memset(text, 'k', n);
    for (size_t i = 0; i < n && i < 4; i++) {
        text[i] = (char)(odd == 2 ? rz_fuzz_take(input, 1) : 'a' + rz_fuzz_below(input, 2));
    }
    text[n] = 0;
    return text;
}

static void set(MPI_Info info, struct rz_fuzz_input *input)
{
    char *key = any_text(input, MPI_MAX_INFO_KEY), *value = any_text(input, MPI_MAX_INFO_VAL);
    size_t key_n = strlen(key), value_n = strlen(value);
    bool fits = key_n > 0 && key_n < MPI_MAX_INFO_KEY && value_n > 0 && value_n < MPI_MAX_INFO_VAL;
    int at = find(key);
    if (at < 0 && n_model == KEYS_MAX) {
        fits = false;
    } else {
        rz_fuzz_holds((MPI_Info_set(info, key, value) == MPI_SUCCESS) == fits);
    }
    if (fits) {
        at = at >= 0 ? at : n_model++;
        snprintf(model[at].key, sizeof(model[at].key), "%s", key);
        free(model[at].value);
        model[at].value = value;
        value = NULL;
    }
    free(key);
    free(value);
}

static void drop(MPI_Info info, struct rz_fuzz_input *input)
{
    char *key = any_text(input, MPI_MAX_INFO_KEY);
    int at = find(key);
    rz_fuzz_holds((MPI_Info_delete(info, key) == MPI_SUCCESS) == (at >= 0));
    if (at >= 0) {
        free(model[at].value);
        n_model--;
        memmove(&model[at], &model[at + 1], (size_t)(n_model - at) * sizeof(model[0]));
        model[n_model].value = NULL;
    }
    free(key);
}

static void get(MPI_Info info, struct rz_fuzz_input *input)
{
    char *key = any_text(input, MPI_MAX_INFO_KEY);
    int at = find(key), flag = 0, room = (int)rz_fuzz_below(input, 20);
    int length = room;
    char *value =
        malloc((size_t)room + 1); /* get_string writes at most `room` bytes, NUL included */
    char *exact = malloc(room > 0 ? (size_t)room : 1);
    int error = MPI_Info_get_string(info, key, &length, exact, &flag);
    size_t key_n = strlen(key);
    rz_fuzz_holds((error == MPI_SUCCESS) == (key_n > 0 && key_n < MPI_MAX_INFO_KEY));
    if (error == MPI_SUCCESS) {
        rz_fuzz_holds(flag == (at >= 0));
        rz_fuzz_holds(!flag || length == (int)strlen(model[at].value) + 1);
        if (flag && room > 0) {
            rz_fuzz_holds(strncmp(exact, model[at].value, (size_t)room - 1) == 0);
        }
        rz_fuzz_holds(MPI_Info_get(info, key, room, value, &flag) == MPI_SUCCESS);
        rz_fuzz_holds(!flag || strncmp(value, model[at].value, (size_t)room) == 0);
    }
    free(value);
    free(exact);
    free(key);
}

static void same(MPI_Info info)
{
    int n = -1;
    char key[MPI_MAX_INFO_KEY];
    rz_fuzz_holds(MPI_Info_get_nkeys(info, &n) == MPI_SUCCESS && n == n_model);
    for (int i = 0; i < n; i++) {
        rz_fuzz_holds(MPI_Info_get_nthkey(info, i, key) == MPI_SUCCESS);
        rz_fuzz_holds(strcmp(key, model[i].key) == 0);
    }
    rz_fuzz_holds(MPI_Info_get_nthkey(info, n, key) != MPI_SUCCESS);
    rz_fuzz_holds(MPI_Info_get_nthkey(info, -1, key) != MPI_SUCCESS);
}

static void check_info(struct rz_fuzz_input *input)
{
    MPI_Info info, copy, back;
    rz_fuzz_holds(MPI_Info_create(&info) == MPI_SUCCESS);
    while (rz_fuzz_left(input) > 0) {
        uint64_t what = rz_fuzz_below(input, 8);
        if (what < 4) {
            set(info, input);
        } else if (what < 5) {
            drop(info, input);
        } else {
            get(info, input);
        }
    }
    same(info);
    rz_fuzz_holds(MPI_Info_dup(info, &copy) == MPI_SUCCESS);
    MPI_Info_free(&info);
    same(copy);
    /* Unknown hints are no error. */
    rz_fuzz_holds(MPI_Comm_set_info(MPI_COMM_SELF, copy) == MPI_SUCCESS);
    rz_fuzz_holds(MPI_Comm_get_info(MPI_COMM_SELF, &back) == MPI_SUCCESS);
    MPI_Info_free(&back);
    MPI_Info_free(&copy);
    for (int i = 0; i < n_model; i++) {
        free(model[i].value), model[i].value = NULL;
    }
    n_model = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rz_fuzz_input input = {data, data + size};
    begin();
    check_objects(&input);
    check_info(&input);
    return 0;
}

static size_t seed(uint32_t number, uint8_t *bytes, size_t max)
{
    return number < 12 ? rz_fuzz_seed_noise(number, 32u << number % 4, bytes, max) : 0;
}

/* The first input starts MPI. */
const struct rz_fuzz_target rz_fuzz_target = {.name = "fuzz_mpi_handles",
                                              .input_max = 1024,
                                              .memory_fixed = 64u << 20,
                                              .memory_factor = 4096,
                                              .seed = seed};
