/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inter-communicators between random groups: made, queried, copied, divided, merged; messages both
 * ways. Prints a sum over what was seen, which is the same with every MPI.
 *
 * Arguments: [SEED [ROUNDS [LESS]]]; replay a failure with the seed it was run with. LESS 1:
 * without parts and subsets, for comparing (MPICH 4.0.2 ends by a signal in the one, Open MPI 4.1.4
 * orders the groups of the other otherwise).
 */
#include "inter_random.h"

#include <string.h>

static uint64_t sum;

static void saw(int value)
{
    sum += mix((uint64_t)world_rank << 32 ^ (uint64_t)value ^ sum);
}

static MPI_Group world_group(void)
{
    MPI_Group all;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    return all;
}

/* group, which is freed, has these world ranks in this order. */
static void is_group(MPI_Group group, const int *expected, int n)
{
    int there, ranks[WORLD_MAX], found[WORLD_MAX];
    MPI_Group all = world_group();
    MPI_Group_size(group, &there);
    CHECK(there == n);
    for (int i = 0; i < n; i++) {
        ranks[i] = i;
    }
    MPI_Group_translate_ranks(group, n, ranks, all, found);
    for (int i = 0; i < n; i++) {
        CHECK(found[i] == expected[i]);
        saw(found[i]);
    }
    MPI_Group_free(&group);
    MPI_Group_free(&all);
}

/* inter is between these. */
static void is_between(MPI_Comm inter, const int *here, int n_here, const int *there, int n_there)
{
    MPI_Group group;
    int flag, n, status;
    MPI_Comm_test_inter(inter, &flag);
    CHECK(flag);
    MPI_Topo_test(inter, &status);
    CHECK(status == MPI_UNDEFINED);
    MPI_Comm_size(inter, &n);
    CHECK(n == n_here);
    MPI_Comm_remote_size(inter, &n);
    CHECK(n == n_there);
    MPI_Comm_group(inter, &group);
    is_group(group, here, n_here);
    MPI_Comm_remote_group(inter, &group);
    is_group(group, there, n_there);
}

/* A number from each to each, in any order; then one that is found by a probe. */
static void talk(MPI_Comm inter)
{
    int me, n, got[WORLD_MAX], out[WORLD_MAX], flag = 0;
    MPI_Request sends[WORLD_MAX];
    MPI_Status status;
    MPI_Message message;
    MPI_Comm_rank(inter, &me);
    MPI_Comm_remote_size(inter, &n);
    for (int i = 0; i < n; i++) {
        out[i] = world_rank * 1000 + i;
        MPI_Isend(&out[i], 1, MPI_INT, i, 1, inter, &sends[i]);
        got[i] = -1;
    }
    for (int i = 0; i < n; i++) {
        int value;
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, inter, &status);
        CHECK(status.MPI_SOURCE >= 0 && status.MPI_SOURCE < n && got[status.MPI_SOURCE] == -1);
        CHECK(value % 1000 == me);
        got[status.MPI_SOURCE] = value / 1000;
    }
    MPI_Waitall(n, sends, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n; i++) {
        saw(got[i]);
        MPI_Issend(&world_rank, 1, MPI_INT, i, 2, inter, &sends[i]);
    }
    for (int i = n - 1; i >= 0; i--) {
        int value = -1;
        if (i % 2) {
            MPI_Probe(i, 2, inter, &status);
            CHECK(status.MPI_SOURCE == i);
            MPI_Recv(&value, 1, MPI_INT, i, 2, inter, &status);
        } else {
            do {
                MPI_Improbe(i, 2, inter, &flag, &message, &status);
            } while (!flag);
            MPI_Mrecv(&value, 1, MPI_INT, &message, &status);
        }
        CHECK(value == got[i] && status.MPI_SOURCE == i);
    }
    MPI_Waitall(n, sends, MPI_STATUSES_IGNORE);
}

/* Collective operations reach all members. */
static void count_all(MPI_Comm inter)
{
    int n, one = 1, there = 0;
    MPI_Comm_remote_size(inter, &n);
    MPI_Allreduce(&one, &there, 1, MPI_INT, MPI_SUM, inter);
    CHECK(there == n);
    MPI_Barrier(inter);
}

static void works(MPI_Comm inter, const int *here, int n_here, const int *there, int n_there)
{
    is_between(inter, here, n_here, there, n_there);
    talk(inter);
    count_all(inter);
}

/* ---- Copies ---- */

static int copies;

static int copy(MPI_Comm comm, int key, void *extra, void *value, void *copied, int *flag)
{
    (void)comm;
    (void)key;
    (void)extra;
    copies++;
    *(void **)copied = value;
    *flag = 1;
    return MPI_SUCCESS;
}

static void duplicates(MPI_Comm inter)
{
    MPI_Comm second, third;
    MPI_Request request;
    int result, key, flag;
    void *value;
    copies = 0;
    MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(inter, key, &copies);
    MPI_Comm_dup(inter, &second);
    MPI_Comm_idup(inter, &third, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_get_attr(second, key, &value, &flag);
    CHECK(flag && value == &copies && copies == 2);
    MPI_Comm_compare(inter, second, &result);
    CHECK(result == MPI_CONGRUENT);
    MPI_Comm_compare(inter, inter, &result);
    CHECK(result == MPI_IDENT);
    MPI_Comm_compare(inter, MPI_COMM_WORLD, &result);
    CHECK(result == MPI_UNEQUAL);
    works(third, members[side], size, members[1 - side], peers);
    works(second, members[side], size, members[1 - side], peers);
    MPI_Comm_disconnect(&third);
    MPI_Comm_free(&second);
    CHECK(second == MPI_COMM_NULL && third == MPI_COMM_NULL);
    MPI_Comm_delete_attr(inter, key);
    MPI_Comm_free_keyval(&key);
}

/* ---- Parts ---- */

/* Of members[s], those of that colour in the order of a split by key -rank; how many. */
static int part_of(int s, const int *colours, int colour, int *ranks)
{
    int n = 0;
    for (int i = n_members[s] - 1; i >= 0; i--) {
        if (colours[members[s][i]] == colour) {
            ranks[n++] = members[s][i];
        }
    }
    return n;
}

/* Some colours stand in one group only; key: the ranks in reverse. */
static void parts(MPI_Comm inter)
{
    int colours[WORLD_MAX], kinds = 1 + draw(4), here[GROUP_MAX], there[GROUP_MAX];
    MPI_Comm part;
    for (int i = 0; i < world_size; i++) {
        int colour = draw(kinds + 1);
        colours[i] = colour == kinds ? MPI_UNDEFINED : colour;
    }
    if (side < 0) {
        return;
    }
    int mine = colours[world_rank];
    MPI_Comm_split(inter, mine, -rank, &part);
    int n_here = part_of(side, colours, mine, here);
    int n_there = part_of(1 - side, colours, mine, there);
    CHECK((part != MPI_COMM_NULL) == (mine != MPI_UNDEFINED && n_there > 0));
    if (part != MPI_COMM_NULL) {
        works(part, here, n_here, there, n_there);
        MPI_Comm_free(&part);
    }
}

/* The whole in another order is similar. */
static void reversed(MPI_Comm inter)
{
    MPI_Comm turned;
    int result;
    if (side < 0) {
        return;
    }
    MPI_Comm_split(inter, 5, -rank, &turned);
    MPI_Comm_compare(inter, turned, &result);
    CHECK(result == (size == 1 && peers == 1 ? MPI_CONGRUENT : MPI_SIMILAR));
    MPI_Comm_free(&turned);
}

/* MPI_Comm_create: each group keeps some, or none. */
static void subsets(MPI_Comm inter)
{
    int kept[2][GROUP_MAX], ranks[2][GROUP_MAX], n[2] = {0, 0}, keep = draw(4);
    for (int s = 0; s < 2; s++) {
        for (int i = n_members[s] - 1; i >= 0; i--) {
            if (draw(4) < keep) {
                ranks[s][n[s]] = i;
                kept[s][n[s]++] = members[s][i];
            }
        }
    }
    if (side < 0) {
        return;
    }
    MPI_Group all, some;
    MPI_Comm part;
    int me;
    MPI_Comm_group(inter, &all);
    MPI_Group_incl(all, n[side], ranks[side], &some);
    MPI_Group_rank(some, &me);
    MPI_Comm_create(inter, some, &part);
    CHECK((part != MPI_COMM_NULL) == (me != MPI_UNDEFINED && n[1 - side] > 0));
    if (part != MPI_COMM_NULL) {
        works(part, kept[side], n[side], kept[1 - side], n[1 - side]);
        MPI_Comm_free(&part);
    }
    MPI_Group_free(&all);
    MPI_Group_free(&some);
}

/* ---- Merging ---- */

static void merge(MPI_Comm inter)
{
    int high = draw(3), ranks[2 * GROUP_MAX], n = 0, flag;
    if (side < 0) {
        return;
    }
    /* 0, 1: that group is the high one; 2: both say the same, and which is first is not said. */
    MPI_Comm merged;
    MPI_Group group;
    MPI_Intercomm_merge(inter, high == 2 ? 1 : side == high, &merged);
    MPI_Comm_test_inter(merged, &flag);
    CHECK(!flag);
    MPI_Comm_group(merged, &group);
    for (int k = 0; k < 2 && high < 2; k++) {
        int s = k == 0 ? 1 - high : high;
        memcpy(ranks + n, members[s], (size_t)n_members[s] * sizeof(int));
        n += n_members[s];
    }
    if (high < 2) {
        is_group(group, ranks, n);
    } else {
        MPI_Group_free(&group);
    }
    int one = 1, total;
    MPI_Allreduce(&one, &total, 1, MPI_INT, MPI_SUM, merged);
    CHECK(total == size + peers);
    MPI_Comm_free(&merged);
}

/* ---- What other MPIs do not have, or refuse ---- */

#ifdef MPI_ABI_VERSION
/* An inter-communicator as the bridge for another one: the leaders meet over it. */
static void bridge(MPI_Comm inter)
{
    int leaders[2] = {draw(n_members[0]), draw(n_members[1])};
    MPI_Comm local = local_of_members(), second;
    if (side < 0) {
        return;
    }
    MPI_Intercomm_create(local, leaders[side], inter, leaders[1 - side], 3, &second);
    works(second, members[side], size, members[1 - side], peers);
    MPI_Comm_free(&second);
    MPI_Comm_free(&local);
}

static void from_groups(void)
{
    int leaders[2] = {draw(n_members[0]), draw(n_members[1])}, n, me;
    if (side < 0) {
        return;
    }
    MPI_Group all = world_group(), here, there;
    MPI_Comm intra[2], inter[2]; /* the same name may come again */
    MPI_Group_incl(all, size, members[side], &here);
    MPI_Group_incl(all, peers, members[1 - side], &there);
    for (int i = 0; i < 2; i++) {
        MPI_Comm_create_from_group(here, "inter_making", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                                   &intra[i]);
        MPI_Comm_size(intra[i], &n);
        MPI_Comm_rank(intra[i], &me);
        CHECK(n == size && me == rank);
        MPI_Allreduce(&me, &n, 1, MPI_INT, MPI_SUM, intra[i]);
        CHECK(n == size * (size - 1) / 2);
        int leads = rank == leaders[side];
        MPI_Intercomm_create_from_groups(here, leaders[side], leads ? there : MPI_GROUP_NULL,
                                         leads ? leaders[1 - side] : -1, "inter_making",
                                         MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &inter[i]);
        works(inter[i], members[side], size, members[1 - side], peers);
    }
    MPI_Comm_compare(inter[0], inter[1], &n);
    CHECK(n == MPI_CONGRUENT);
    for (int i = 0; i < 2; i++) {
        MPI_Comm_free(&intra[i]);
        MPI_Comm_free(&inter[i]);
    }
    MPI_Group_free(&here);
    MPI_Group_free(&there);
    MPI_Group_free(&all);
}

static void is_hint(MPI_Comm comm, const char *key, const char *expected)
{
    MPI_Info info;
    char value[16];
    int there;
    MPI_Comm_get_info(comm, &info);
    MPI_Info_get(info, key, 15, value, &there);
    CHECK(there == (expected != NULL));
    CHECK(!there || strcmp(value, expected) == 0);
    MPI_Info_free(&info);
}

static void hints(MPI_Comm inter)
{
    MPI_Info info;
    MPI_Comm second, third, fourth;
    MPI_Request request;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
    MPI_Info_set(info, "mpi_assert_exact_length", "perhaps");
    MPI_Info_set(info, "colour_of_the_sea", "blue");
    MPI_Comm_set_info(inter, info);
    MPI_Comm_dup_with_info(inter, info, &second);
    MPI_Comm_dup(inter, &third);
    MPI_Comm_idup_with_info(inter, info, &fourth, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    is_hint(inter, "mpi_assert_no_any_tag", "true");
    is_hint(inter, "mpi_assert_exact_length", "false");
    is_hint(inter, "colour_of_the_sea", NULL);
    is_hint(second, "mpi_assert_no_any_tag", "true");
    is_hint(third, "mpi_assert_no_any_tag", "false");
    is_hint(fourth, "mpi_assert_no_any_tag", "true");
    MPI_Info_set(info, "mpi_assert_no_any_tag", "false");
    MPI_Comm_set_info(inter, info);
    is_hint(inter, "mpi_assert_no_any_tag", "false");
    count_all(fourth);
    MPI_Comm_free(&second);
    MPI_Comm_free(&third);
    MPI_Comm_free(&fourth);
    MPI_Info_free(&info);
}

/* The same operations again and again, from and to buffers that change. */
static void persistent(MPI_Comm inter)
{
    int out, in, news, root = side == 0 ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
    MPI_Request requests[3];
    MPI_Allreduce_init(&out, &in, 1, MPI_INT, MPI_SUM, inter, MPI_INFO_NULL, &requests[0]);
    MPI_Bcast_init(&news, 1, MPI_INT, root, inter, MPI_INFO_NULL, &requests[1]);
    MPI_Barrier_init(inter, MPI_INFO_NULL, &requests[2]);
    for (int i = 0; i < 4; i++) {
        out = i + side;
        news = root == MPI_ROOT ? i : -1;
        MPI_Startall(3, requests);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        CHECK(in == peers * (i + 1 - side));
        CHECK(news == (root == MPI_PROC_NULL ? -1 : i));
    }
    for (int i = 0; i < 3; i++) {
        MPI_Request_free(&requests[i]);
    }
}

/* Invalid uses are refused, at all members, and the communicator stays usable. */
static void refusals(MPI_Comm inter)
{
    int one = 1, got = 0, grid = 1, periodic = 0;
    MPI_Comm none = MPI_COMM_NULL;
    MPI_Group group;
    MPI_Request request;
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    MPI_Comm_group(inter, &group);
    CHECK(class_of(MPI_Scan(&one, &got, 1, MPI_INT, MPI_SUM, inter)) == MPI_ERR_COMM);
    CHECK(class_of(MPI_Iexscan(&one, &got, 1, MPI_INT, MPI_SUM, inter, &request)) == MPI_ERR_COMM);
    CHECK(class_of(MPI_Allreduce(MPI_IN_PLACE, &got, 1, MPI_INT, MPI_SUM, inter)) ==
          MPI_ERR_BUFFER);
    CHECK(class_of(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, &got, 1, MPI_INT, inter)) ==
          MPI_ERR_BUFFER);
    CHECK(class_of(MPI_Bcast(&got, 1, MPI_INT, peers, inter)) == MPI_ERR_ROOT);
    CHECK(class_of(MPI_Comm_create_group(inter, group, 0, &none)) == MPI_ERR_COMM);
    CHECK(class_of(MPI_Cart_create(inter, 1, &grid, &periodic, 0, &none)) == MPI_ERR_COMM);
    CHECK(class_of(MPI_Intercomm_create(inter, 0, MPI_COMM_WORLD, 0, 0, &none)) == MPI_ERR_COMM);
    CHECK(class_of(MPI_Send(&one, 1, MPI_INT, peers, 0, inter)) == MPI_ERR_RANK);
    CHECK(none == MPI_COMM_NULL && got == 0);
    MPI_Group_free(&group);
    count_all(inter);
}

static void refusals_of_world(void)
{
    int n;
    MPI_Comm world, none = MPI_COMM_NULL;
    MPI_Group group;
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Intercomm_merge(world, 0, &none)) == MPI_ERR_COMM);
    CHECK(class_of(MPI_Comm_remote_size(world, &n)) == MPI_ERR_COMM);
    CHECK(class_of(MPI_Comm_remote_group(world, &group)) == MPI_ERR_COMM);
    /* A leader that is its own remote leader: the groups have all members in common. */
    CHECK(class_of(MPI_Intercomm_create(world, 0, world, 0, 0, &none)) == MPI_ERR_GROUP);
    CHECK(class_of(MPI_Intercomm_create(world, 0, world, world_size, 0, &none)) == MPI_ERR_RANK);
    CHECK(none == MPI_COMM_NULL);
    MPI_Comm_free(&world);
}
#endif

int main(int argc, char **argv)
{
    int rounds = inter_begin(argc, argv, 12), less = argc > 3 && atoi(argv[3]) != 0;
    for (int i = 0; i < rounds; i++) {
        draw_members();
        MPI_Comm inter = inter_of_members();
        CHECK((inter != MPI_COMM_NULL) == (side >= 0));
        if (side >= 0) {
            works(inter, members[side], size, members[1 - side], peers);
            duplicates(inter);
        }
        if (!less) {
            parts(inter);
            subsets(inter);
        }
        reversed(inter);
        merge(inter);
#ifdef MPI_ABI_VERSION
        uint64_t before[2] = {sum, random_state};
        bridge(inter);
        from_groups();
        if (side >= 0) {
            hints(inter);
            persistent(inter);
            refusals(inter);
        }
        sum = before[0];
        random_state = before[1];
#endif
        if (side >= 0) {
            MPI_Comm_free(&inter);
        }
    }
#ifdef MPI_ABI_VERSION
    refusals_of_world();
#endif
    uint64_t total;
    MPI_Reduce(&sum, &total, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (world_rank == 0) {
        printf("sum %016llx\n", (unsigned long long)total);
    }
    MPI_Finalize();
    return 0;
}
