/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators made in every way keep their members in order and their messages apart. */
#include "check.h"

#include <stdlib.h>

static int rank, size;

/* A token once around the ring of comm: all members are there, and no other process. */
static void around(MPI_Comm comm, int members)
{
    int me, n, token = 0;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    CHECK(n == members);
    if (me == 0) {
        token = 1;
        MPI_Send(&token, 1, MPI_INT, 1 % n, 0, comm);
        MPI_Recv(&token, 1, MPI_INT, n - 1, 0, comm, MPI_STATUS_IGNORE);
        CHECK(token == n);
    } else {
        MPI_Recv(&token, 1, MPI_INT, me - 1, 0, comm, MPI_STATUS_IGNORE);
        token++;
        MPI_Send(&token, 1, MPI_INT, (me + 1) % n, 0, comm);
    }
}

static void duplicates_keep_messages_apart(void)
{
    MPI_Comm first, second;
    int result, values[3] = {1, 2, 3}, got;
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Comm_dup(MPI_COMM_WORLD, &second);
    MPI_Comm_compare(first, second, &result);
    CHECK(result == MPI_CONGRUENT);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Request requests[3];
    MPI_Comm comms[3] = {MPI_COMM_WORLD, first, second};
    for (int i = 0; i < 3; i++) {
        MPI_Isend(&values[i], 1, MPI_INT, right, 0, comms[i], &requests[i]);
    }
    for (int i = 2; i >= 0; i--) {
        MPI_Recv(&got, 1, MPI_INT, left, 0, comms[i], MPI_STATUS_IGNORE);
        CHECK(got == values[i]);
    }
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    MPI_Comm_free(&first);
    MPI_Comm_free(&second);
    CHECK(first == MPI_COMM_NULL);
}

static void split_orders_by_key(void)
{
    MPI_Comm part, none;
    int me;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 3, -rank, &part);
    int members = size / 3 + (rank % 3 < size % 3);
    around(part, members);
    MPI_Comm_rank(part, &me);
    CHECK(me == members - 1 - rank / 3);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 0, 0, &none);
    CHECK((none == MPI_COMM_NULL) == (rank == 0));
    if (none != MPI_COMM_NULL) {
        around(none, size - 1);
        MPI_Comm_free(&none);
    }
    MPI_Comm_free(&part);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part);
    MPI_Comm_size(part, &members);
    around(part, members);
    MPI_Comm_free(&part);
}

static void groups_become_communicators(void)
{
    MPI_Group all, odd, even, back;
    MPI_Comm made, alone;
    int range[1][3] = {{1, size - 1, 2}}, result;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    int n_odd = size / 2;
    if (n_odd == 0) {
        MPI_Group_free(&all);
        return;
    }
    MPI_Group_range_incl(all, 1, range, &odd);
    MPI_Group_range_excl(all, 1, range, &even);
    MPI_Group_union(even, odd, &back);
    MPI_Group_compare(all, back, &result);
    CHECK(result == (size > 2 ? MPI_SIMILAR : MPI_IDENT));
    MPI_Comm_create(MPI_COMM_WORLD, rank % 2 ? odd : even, &made);
    around(made, rank % 2 ? n_odd : size - n_odd);
    MPI_Comm_free(&made);
    if (rank % 2) {
        MPI_Comm_create_group(MPI_COMM_WORLD, odd, 5, &alone);
        around(alone, n_odd);
        MPI_Comm_free(&alone);
    }
    MPI_Group_free(&all);
    MPI_Group_free(&odd);
    MPI_Group_free(&even);
    MPI_Group_free(&back);
}

static int copies, deletions;

static int copy(MPI_Comm comm, int key, void *extra, void *value, void *copied, int *flag)
{
    int me;
    MPI_Comm_rank(comm, &me); /* MPI may be called from here */
    CHECK(me == rank && key != MPI_KEYVAL_INVALID && extra == &copies);
    copies++;
    *(void **)copied = (char *)value + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete (MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    deletions++;
    return MPI_SUCCESS;
}

static void attributes_follow_a_duplicate(void)
{
    int key, flag, *tag_ub;
    char base[4], *value;
    MPI_Comm dup;
    MPI_Comm_create_keyval(copy, delete, &key, &copies);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, base);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_get_attr(dup, key, &value, &flag);
    CHECK(flag && value == base + 1 && copies == 1);
    MPI_Comm_free(&dup);
    CHECK(deletions == 1);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag);
    CHECK(!flag && deletions == 2);
    CHECK(MPI_Comm_delete_attr(MPI_COMM_WORLD, key) == MPI_SUCCESS && deletions == 2);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_ub, &flag);
    CHECK(flag && *tag_ub >= 32767);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    around(MPI_COMM_WORLD, size);
    around(MPI_COMM_SELF, 1);
    for (int i = 0; i < 20; i++) {
        duplicates_keep_messages_apart();
    }
    split_orders_by_key();
    groups_become_communicators();
    attributes_follow_a_duplicate();
    MPI_Finalize();
    return 0;
}
