/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Comm_split_type: by memory, by hardware with a guide and without, by process set. */
#include "check.h"

#include <sched.h>
#include <string.h>

static int rank, size;
static MPI_Comm node;
static int node_size;

static MPI_Comm split(int type, const char *key, const char *value)
{
    MPI_Comm made = MPI_COMM_WORLD;
    MPI_Info info = MPI_INFO_NULL;
    if (key) {
        MPI_Info_create(&info);
        MPI_Info_set(info, key, value);
    }
    CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, type, rank, info, &made) == MPI_SUCCESS);
    if (key) {
        MPI_Info_free(&info);
    }
    return made;
}

/* of: its size; 0: there is none. */
static void expect(MPI_Comm comm, int of)
{
    int got = 0;
    if (comm != MPI_COMM_NULL) {
        MPI_Comm_size(comm, &got);
        MPI_Comm_free(&comm);
    }
    CHECK(got == of);
}

/* Upper and lower case of the names of process sets are the same. */
static void by_process_set(void)
{
    const char *names[] = {"mpi://WORLD", "mpi://world", "MPI://World", "mpi://SELF", "mpi://self"};
    for (int i = 0; i < 5; i++) {
        expect(split(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", names[i]), i < 3 ? size : 1);
    }
}

static void hints_are_kept(void)
{
    MPI_Comm comm = split(MPI_COMM_TYPE_SHARED, "mpi_assert_exact_length", "true");
    MPI_Info info;
    char value[8];
    int there;
    CHECK(MPI_Comm_get_info(comm, &info) == MPI_SUCCESS);
    MPI_Info_get(info, "mpi_assert_exact_length", 7, value, &there);
    CHECK(there && strcmp(value, "true") == 0);
    MPI_Info_free(&info);
    MPI_Comm_free(&comm);
}

static void guided(int type)
{
    const char *key = "mpi_hw_resource_type";
    MPI_Comm comm = split(type, key, "mpi_shared_memory");
    int same;
    MPI_Comm_compare(comm, node, &same);
    CHECK(same == MPI_CONGRUENT);
    MPI_Comm_free(&comm);
    expect(split(type, key, "rhizome://node"), node_size);
    expect(split(type, key, "vendor://unheard-of"), 0);
    expect(split(type, NULL, NULL), 0);
    MPI_Info info;
    char value[8];
    int there;
    CHECK(MPI_Get_hw_resource_info(&info) == MPI_SUCCESS);
    CHECK(MPI_Info_get(info, "rhizome://processor", 7, value, &there) == MPI_SUCCESS && there);
    MPI_Info_free(&info);
    comm = split(type, key, "rhizome://processor");
    CHECK((comm != MPI_COMM_NULL) == (strcmp(value, "true") == 0));
    if (comm != MPI_COMM_NULL) {
        MPI_Comm_free(&comm);
    }
}

/* The next smaller thing, if there is one: a node, where there are several. */
static void unguided(void)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Info info;
    char value[64];
    int there, got;
    MPI_Info_create(&info);
    CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, rank, info, &comm) ==
          MPI_SUCCESS);
    MPI_Info_get(info, "mpi_hw_resource_type", 63, value, &there);
    CHECK(there == (comm != MPI_COMM_NULL));
    if (node_size < size) {
        CHECK(there && strcmp(value, "rhizome://node") == 0);
        expect(comm, node_size);
    } else if (comm != MPI_COMM_NULL) {
        MPI_Comm_size(comm, &got);
        CHECK(got < size && strcmp(value, "rhizome://processor") == 0);
        MPI_Comm_free(&comm);
    }
    MPI_Info_free(&info);
    expect(split(MPI_COMM_TYPE_HW_UNGUIDED, "other", "hint"), node_size < size ? node_size : 0);
}

/* All of a node on one processor: then that is no smaller than the node. */
static void bind_to_one(void)
{
    cpu_set_t cpus, one;
    CPU_ZERO(&one);
    CHECK(sched_getaffinity(0, sizeof(cpus), &cpus) == 0);
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++) {
        if (CPU_ISSET(i, &cpus)) {
            CPU_SET(i, &one);
        }
    }
    CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
}

static void bound(void)
{
    expect(split(MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "rhizome://processor"),
           node_size);
    if (node_size == size) {
        expect(split(MPI_COMM_TYPE_HW_UNGUIDED, NULL, NULL), 0);
    }
}

/* "bound": with all processes on one processor. */
int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) {
        bind_to_one();
    }
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    node = split(MPI_COMM_TYPE_SHARED, NULL, NULL);
    MPI_Comm_size(node, &node_size);
    by_process_set();
    hints_are_kept();
    guided(MPI_COMM_TYPE_HW_GUIDED);
    guided(MPI_COMM_TYPE_RESOURCE_GUIDED);
    unguided();
    expect(split(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://WORLD"), size);
    expect(split(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://SELF"), 1);
    expect(split(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "app://none"), 0);
    expect(split(MPI_COMM_TYPE_HW_GUIDED, "mpi_pset_name", "mpi://WORLD"), 0);
    expect(split(MPI_UNDEFINED, NULL, NULL), 0);
    if (argc > 1) {
        bound();
    }
    MPI_Comm_free(&node);
    MPI_Finalize();
    return 0;
}
