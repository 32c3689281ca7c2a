/* SPDX-License-Identifier: BSD-3-Clause */
/* Info objects: ordered lists of key and value. */
#include "mpi/core/info.h"

#include "mpi/core/errhandler.h"

#include "mpi/impl.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

struct entry {
    char *key, *value;
};

struct rz_info {
    struct rz_object object;
    struct entry *entries;
    int n, max;
    /* while its memory is free: a stale handle reads a freed object, no foreign memory */
    struct rz_info *next;
};

static struct rz_info *free_first;

static int find(const struct rz_info *info, const char *key)
{
    for (int i = 0; i < info->n; i++) {
        if (strcmp(info->entries[i].key, key) == 0) {
            return i;
        }
    }
    return -1;
}

static int check_key(const char *key)
{
    size_t length = strlen(key);
    if (length == 0 || length >= MPI_MAX_INFO_KEY) {
        return rzm_error(MPI_ERR_INFO_KEY, "key has %zu characters, not 1 to %d", length,
                         MPI_MAX_INFO_KEY - 1);
    }
    return MPI_SUCCESS;
}

static int append(struct rz_info *info, const char *key, const char *value)
{
    if (info->n == info->max) {
        int more = info->max == 0 ? 8 : 2 * info->max;
        struct entry *larger = realloc(info->entries, (size_t)more * sizeof(*larger));
        if (!larger) {
            return MPI_ERR_NO_MEM;
        }
        info->entries = larger;
        info->max = more;
    }
    struct entry entry = {strdup(key), strdup(value)};
    if (!entry.key || !entry.value) {
        free(entry.key);
        free(entry.value);
        return MPI_ERR_NO_MEM;
    }
    info->entries[info->n++] = entry;
    return MPI_SUCCESS;
}

/* ---- Making and freeing ---- */

int rzm_info_create(struct rz_info **info)
{
    struct rz_info *made = free_first;
    if (made) {
        free_first = made->next;
        *made = (struct rz_info){0};
    } else if ((made = calloc(1, sizeof(*made))) == NULL) {
        return MPI_ERR_NO_MEM;
    }
    rz_object_init(&made->object, RZ_OBJECT_INFO, 0);
    *info = made;
    return MPI_SUCCESS;
}

int rzm_info_free(struct rz_info *info)
{
    if (rz_object_release(&info->object)) {
        for (int i = 0; i < info->n; i++) {
            free(info->entries[i].key);
            free(info->entries[i].value);
        }
        free(info->entries);
        info->next = free_first;
        free_first = info;
    }
    return MPI_SUCCESS;
}

int rzm_info_dup(struct rz_info *info, struct rz_info **newinfo)
{
    struct rz_info *made;
    int error = rzm_info_create(&made);
    if (error != MPI_SUCCESS) {
        return error;
    }
    for (int i = 0; i < info->n && error == MPI_SUCCESS; i++) {
        error = append(made, info->entries[i].key, info->entries[i].value);
    }
    if (error != MPI_SUCCESS) {
        rzm_info_free(made);
        return error;
    }
    *newinfo = made;
    return MPI_SUCCESS;
}

/* ---- Keys and values ---- */

static int refuse_predefined(const struct rz_info *info)
{
    return rz_object_is_predefined(info)
               ? rzm_error(MPI_ERR_INFO, "info is MPI_INFO_ENV, which can only be read")
               : MPI_SUCCESS;
}

int rzm_info_set(struct rz_info *info, const char *key, const char *value)
{
    int error = refuse_predefined(info);
    error = error != MPI_SUCCESS ? error : check_key(key);
    if (error != MPI_SUCCESS) {
        return error;
    }
    size_t length = strlen(value);
    if (length == 0 || length >= MPI_MAX_INFO_VAL) {
        return rzm_error(MPI_ERR_INFO_VALUE, "value (of %s) has %zu characters, not 1 to %d", key,
                         length, MPI_MAX_INFO_VAL - 1);
    }
    int i = find(info, key);
    if (i < 0) {
        return append(info, key, value);
    }
    char *copy = strdup(value);
    if (!copy) {
        return MPI_ERR_NO_MEM;
    }
    free(info->entries[i].value);
    info->entries[i].value = copy;
    return MPI_SUCCESS;
}

int rzm_info_delete(struct rz_info *info, const char *key)
{
    int error = refuse_predefined(info);
    error = error != MPI_SUCCESS ? error : check_key(key);
    if (error != MPI_SUCCESS) {
        return error;
    }
    int i = find(info, key);
    if (i < 0) {
        return rzm_error(MPI_ERR_INFO_NOKEY, "key \"%s\" is not there", key);
    }
    free(info->entries[i].key);
    free(info->entries[i].value);
    info->n--;
    memmove(&info->entries[i], &info->entries[i + 1],
            (size_t)(info->n - i) * sizeof(info->entries[0]));
    return MPI_SUCCESS;
}

/* The value of key, NULL if it is not set. */
static int look_up(const struct rz_info *info, const char *key, const char **value)
{
    int error = check_key(key);
    if (error == MPI_SUCCESS) {
        int i = find(info, key);
        *value = i < 0 ? NULL : info->entries[i].value;
    }
    return error;
}

/* Copies at most `room` characters and a null. */
static void give(char *to, const char *value, size_t room)
{
    size_t length = strnlen(value, room);
    memcpy(to, value, length);
    to[length] = '\0';
}

int rzm_info_get(struct rz_info *info, const char *key, int valuelen, char *value, int *flag)
{
    const char *found;
    if (valuelen < 0) {
        return rzm_error(MPI_ERR_ARG, "valuelen is %d", valuelen);
    }
    int error = look_up(info, key, &found);
    if (error != MPI_SUCCESS) {
        return error;
    }
    *flag = found != NULL;
    if (found) {
        give(value, found, (size_t)valuelen);
    }
    return MPI_SUCCESS;
}

int rzm_info_get_string(struct rz_info *info, const char *key, int *buflen, char *value, int *flag)
{
    const char *found;
    if (*buflen < 0) {
        return rzm_error(MPI_ERR_ARG, "buflen is %d", *buflen);
    }
    int error = look_up(info, key, &found);
    if (error != MPI_SUCCESS) {
        return error;
    }
    *flag = found != NULL;
    if (found) {
        if (*buflen > 0) {
            give(value, found, (size_t)*buflen - 1);
        }
        *buflen = (int)strlen(found) + 1;
    }
    return MPI_SUCCESS;
}

int rzm_info_get_valuelen(struct rz_info *info, const char *key, int *valuelen, int *flag)
{
    const char *found;
    int error = look_up(info, key, &found);
    if (error != MPI_SUCCESS) {
        return error;
    }
    *flag = found != NULL;
    if (found) {
        *valuelen = (int)strlen(found);
    }
    return MPI_SUCCESS;
}

int rzm_info_get_nkeys(struct rz_info *info, int *nkeys)
{
    *nkeys = info->n;
    return MPI_SUCCESS;
}

int rzm_info_get_nthkey(struct rz_info *info, int n, char *key)
{
    if (n < 0 || n >= info->n) {
        return rzm_error(MPI_ERR_ARG, "n is %d, of %d keys", n, info->n);
    }
    give(key, info->entries[n].key, MPI_MAX_INFO_KEY - 1);
    return MPI_SUCCESS;
}

/* ---- How this process was started ---- */

static int maxprocs_kept; /* from the environment when the library began; 0: not read yet */

/* The number of processes that the launcher or MPI_Comm_spawn was asked for; 1 for a process
 * without a launcher. */
static int maxprocs(void)
{
    const char *told = getenv("RZ_MAXPROCS");
    if (maxprocs_kept != 0) {
        return maxprocs_kept;
    }
    /* A child of a process of the job has the same environment, but no link. */
    return getenv("RZ_LINK_FD") && told ? atoi(told) : 1;
}

void rz_info_keep_maxprocs(void)
{
    maxprocs_kept = maxprocs();
}

/* Adds a pair; leaves out a value that is too long for an info object. */
static int append_if_fits(struct rz_info *info, const char *key, const char *value)
{
    size_t length = strlen(value);
    return length == 0 || length >= MPI_MAX_INFO_VAL ? MPI_SUCCESS : append(info, key, value);
}

static int append_arguments(struct rz_info *info, int argc, char *argv[])
{
    char all[MPI_MAX_INFO_VAL] = "";
    size_t used = 0;
    for (int i = 1; i < argc; i++) {
        int length = snprintf(all + used, sizeof(all) - used, "%s%s", i > 1 ? " " : "", argv[i]);
        used += (size_t)length;
        if (used >= sizeof(all)) {
            return MPI_SUCCESS;
        }
    }
    return append_if_fits(info, "argv", all);
}

static int append_place(struct rz_info *info)
{
    char text[MPI_MAX_INFO_VAL];
    int error = MPI_SUCCESS;
    if (getcwd(text, sizeof(text))) {
        error = append_if_fits(info, "wdir", text);
    }
    if (error == MPI_SUCCESS && gethostname(text, sizeof(text)) == 0) {
        text[sizeof(text) - 1] = '\0';
        error = append_if_fits(info, "host", text);
    }
    struct utsname machine;
    if (error == MPI_SUCCESS && uname(&machine) == 0) {
        error = append_if_fits(info, "arch", machine.machine);
    }
    if (error == MPI_SUCCESS) {
        snprintf(text, sizeof(text), "%d", maxprocs());
        error = append_if_fits(info, "maxprocs", text);
    }
    return error != MPI_SUCCESS
               ? error
               : append_if_fits(info, "mpi_initial_errhandler", rz_errhandler_initial_name());
}

int rzm_info_create_env(int argc, char *argv[], struct rz_info **info)
{
    struct rz_info *made;
    int error = rzm_info_create(&made);
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (argc > 0 && argv) {
        error = append_if_fits(made, "command", argv[0]);
        error = error != MPI_SUCCESS ? error : append_arguments(made, argc, argv);
    }
    error = error != MPI_SUCCESS ? error : append_place(made);
    if (error != MPI_SUCCESS) {
        rzm_info_free(made);
        return error;
    }
    *info = made;
    return MPI_SUCCESS;
}

/* MPI_INFO_ENV, made at its first use; without memory it is empty. */
static struct rz_info environment;

/* The command line of this process, as much of it as fits; returns the number of arguments. */
static int command_line(char *text, size_t room, char *argv[], int max)
{
    int argc = 0, fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, room - 1) : 0;
    if (fd >= 0) {
        close(fd);
    }
    if (n <= 0 || (size_t)n == room - 1) { /* there is none, or it is too long for an info object */
        return 0;
    }
    text[n] = '\0';
    for (char *at = text; at < text + n && argc < max; at += strlen(at) + 1) {
        argv[argc++] = at;
    }
    return argc;
}

static void environment_make(void)
{
    char name[4096], text[2 * MPI_MAX_INFO_VAL], *argv[MPI_MAX_INFO_VAL];
    ssize_t length = readlink("/proc/self/exe", name, sizeof(name) - 1);
    rz_object_init(&environment.object, RZ_OBJECT_INFO, 0x131);
    if (length > 0) {
        name[length] = '\0';
        append_if_fits(&environment, "command", name);
    }
    int argc = command_line(text, sizeof(text), argv, MPI_MAX_INFO_VAL);
    append_arguments(&environment, argc, argv);
    append_place(&environment);
}

struct rz_info *rz_info_predefined(unsigned handle)
{
    if (handle != 0x131) {
        return NULL;
    }
    if (environment.object.magic == 0) {
        environment_make();
    }
    return &environment;
}
