/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_T: all that is listed can be queried, read and found again; counters count what was done. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#define IS(call) CHECK((call) == MPI_SUCCESS)

static int cvars, pvars;

static void before_init(void)
{
    int n, provided;
    CHECK(MPI_T_cvar_get_num(&n) == MPI_T_ERR_NOT_INITIALIZED);
    CHECK(MPI_T_finalize() == MPI_T_ERR_NOT_INITIALIZED);
    IS(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    CHECK(provided == MPI_THREAD_MULTIPLE);
    IS(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    IS(MPI_T_finalize());
    IS(MPI_T_cvar_get_num(&cvars));
    IS(MPI_T_pvar_get_num(&pvars));
    CHECK(cvars > 5 && pvars > 5);
}

static void texts_are_cut(void)
{
    char name[64];
    int whole = 0, length = 4, index;
    IS(MPI_T_cvar_get_index("RZ_SHM_CMA", &index));
    IS(MPI_T_cvar_get_info(index, NULL, &whole, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(whole == (int)strlen("RZ_SHM_CMA") + 1);
    IS(MPI_T_cvar_get_info(index, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(strcmp(name, "RZ_") == 0 && length == whole);
}

static void cvars_can_be_read(void)
{
    for (int i = 0; i < cvars; i++) {
        char name[64], text[1024], desc[512], *set;
        int name_len = sizeof(name), desc_len = sizeof(desc), verbosity, bind, scope, again, count;
        unsigned long long number;
        MPI_Datatype type;
        MPI_T_enum items;
        MPI_T_cvar_handle handle;
        IS(MPI_T_cvar_get_info(i, name, &name_len, &verbosity, &type, &items, desc, &desc_len,
                               &bind, &scope));
        CHECK(name_len == (int)strlen(name) + 1 && desc_len == (int)strlen(desc) + 1);
        int written = strcmp(name, "RZ_KILL_AT") == 0;
        CHECK(bind == MPI_T_BIND_NO_OBJECT);
        int alike = strcmp(name, "RZ_AGREE") == 0 || strcmp(name, "RZ_COLL") == 0;
        CHECK(scope == (written ? MPI_T_SCOPE_LOCAL
                        : alike ? MPI_T_SCOPE_ALL_EQ
                                : MPI_T_SCOPE_READONLY));
        CHECK(verbosity >= MPI_T_VERBOSITY_USER_BASIC && verbosity <= MPI_T_VERBOSITY_MPIDEV_ALL);
        IS(MPI_T_cvar_get_index(name, &again));
        CHECK(again == i);
        IS(MPI_T_cvar_handle_alloc(i, NULL, &handle, &count));
        if (type == MPI_CHAR) {
            CHECK(count <= (int)sizeof(text));
            IS(MPI_T_cvar_read(handle, text));
            set = getenv(name);
            CHECK(strncmp(text, set ? set : "", (size_t)count - 1) == 0);
        } else if (type == MPI_INT) {
            int value, n, item, item_len = sizeof(text);
            CHECK(items != MPI_T_ENUM_NULL);
            IS(MPI_T_cvar_read(handle, &value));
            IS(MPI_T_enum_get_info(items, &n, NULL, NULL));
            for (int k = 0; k < n; k++) {
                item_len = sizeof(text);
                IS(MPI_T_enum_get_item(items, k, &item, text, &item_len));
                CHECK(item == k && text[0] && item_len == (int)strlen(text) + 1);
            }
            item_len = sizeof(text);
            IS(MPI_T_enum_get_item(items, value, &item, text, &item_len));
            CHECK(item == value && n > value);
            CHECK(MPI_T_enum_get_item(items, n, &item, text, &item_len) == MPI_T_ERR_INVALID_INDEX);
            set = getenv(name);
            CHECK((strcmp(text, "ring") == 0) == (set && strcmp(set, "0") == 0));
            CHECK((strcmp(text, "direct") == 0) == (set && strcmp(set, "1") == 0));
        } else {
            CHECK(type == MPI_UNSIGNED_LONG_LONG && count == 1);
            IS(MPI_T_cvar_read(handle, &number));
        }
        CHECK(MPI_T_cvar_write(handle, written || alike ? "nowhere" : text) ==
              (written ? MPI_T_ERR_CVAR_SET_NOT_NOW
               : alike ? MPI_T_ERR_INVALID
                       : MPI_T_ERR_CVAR_SET_NEVER));
        IS(MPI_T_cvar_handle_free(&handle));
        CHECK(handle == MPI_T_CVAR_HANDLE_NULL);
    }
    CHECK(MPI_T_cvar_get_info(cvars, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
          MPI_T_ERR_INVALID_INDEX);
}

static MPI_T_pvar_handle handle_of(MPI_T_pvar_session session, const char *name, int class)
{
    int index, count;
    MPI_T_pvar_handle handle;
    IS(MPI_T_pvar_get_index(name, class, &index));
    IS(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
    CHECK(count == 1);
    return handle;
}

static unsigned long long value_of(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    unsigned long long value = 0;
    IS(MPI_T_pvar_read(session, handle, &value));
    return value;
}

static void ring(int times, int bytes)
{
    static char out[5000], in[5000];
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < times; i++) {
        MPI_Sendrecv(out, bytes, MPI_CHAR, (rank + 1) % size, 1, in, bytes, MPI_CHAR,
                     (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void counters_count(void)
{
    MPI_T_pvar_session session, other;
    unsigned long long value = 7;
    IS(MPI_T_pvar_session_create(&session));
    IS(MPI_T_pvar_session_create(&other));
    MPI_T_pvar_handle sent = handle_of(session, "rz_messages_sent", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle got = handle_of(session, "rz_messages_received", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle out = handle_of(session, "rz_bytes_sent", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle in = handle_of(session, "rz_bytes_received", MPI_T_PVAR_CLASS_COUNTER);
    ring(3, 10);
    CHECK(value_of(session, sent) == 0); /* not started */
    IS(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    ring(5, 100);
    ring(2, 5000);
    CHECK(value_of(session, sent) == 7 && value_of(session, got) == 7);
    CHECK(value_of(session, out) == 10500 && value_of(session, in) == 10500);
    IS(MPI_T_pvar_stop(session, sent));
    ring(4, 1);
    CHECK(value_of(session, sent) == 7 && value_of(session, got) == 11);
    IS(MPI_T_pvar_start(session, sent));
    ring(1, 1);
    CHECK(value_of(session, sent) == 8);
    IS(MPI_T_pvar_readreset(session, sent, &value));
    CHECK(value == 8 && value_of(session, sent) == 0);
    value = 100;
    IS(MPI_T_pvar_write(session, sent, &value));
    ring(1, 1);
    CHECK(value_of(session, sent) == 101);
    IS(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
    CHECK(value_of(session, in) == 0);
    CHECK(MPI_T_pvar_read(other, sent, &value) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_pvar_read(MPI_T_PVAR_SESSION_NULL, sent, &value) == MPI_T_ERR_INVALID_SESSION);
    IS(MPI_T_pvar_handle_free(session, &sent));
    CHECK(sent == MPI_T_PVAR_HANDLE_NULL);
    IS(MPI_T_pvar_session_free(&session));
    CHECK(session == MPI_T_PVAR_SESSION_NULL);
    IS(MPI_T_pvar_session_free(&other));
}

/* A message without a receive is unexpected, and waits. */
static void levels_show_the_present(void)
{
    MPI_T_pvar_session session;
    int rank, value, flag, state;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    IS(MPI_T_pvar_session_create(&session));
    MPI_T_pvar_handle length = handle_of(session, "rz_unexpected_length", MPI_T_PVAR_CLASS_LEVEL);
    MPI_T_pvar_handle phase = handle_of(session, "rz_phase", MPI_T_PVAR_CLASS_STATE);
    unsigned long long before = value_of(session, length);
    MPI_Send(&rank, 1, MPI_INT, rank, 3, MPI_COMM_WORLD);
    MPI_Iprobe(rank, 3, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK(flag && value_of(session, length) == before + 1);
    MPI_Recv(&value, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(value_of(session, length) == before);
    IS(MPI_T_pvar_read(session, phase, &state));
    CHECK(state == 1);
    CHECK(MPI_T_pvar_start(session, length) == MPI_T_ERR_PVAR_NO_STARTSTOP);
    CHECK(MPI_T_pvar_write(session, length, &before) == MPI_T_ERR_PVAR_NO_WRITE);
    CHECK(MPI_T_pvar_reset(session, length) == MPI_T_ERR_PVAR_NO_WRITE);
    CHECK(MPI_T_pvar_readreset(session, length, &before) == MPI_T_ERR_PVAR_NO_ATOMIC);
    IS(MPI_T_pvar_session_free(&session));
}

/* Every variable is in one category below the first, and nowhere else. */
static void categories_hold_all(void)
{
    int n, seen[200] = {0}, below, total_cvars = 0, total_pvars = 0, index, changed;
    IS(MPI_T_category_get_num(&n));
    for (int i = 0; i < n; i++) {
        char name[64], desc[256];
        int name_len = sizeof(name), desc_len = sizeof(desc), n_cvars, n_pvars, members[200];
        IS(MPI_T_category_get_info(i, name, &name_len, desc, &desc_len, &n_cvars, &n_pvars,
                                   &below));
        CHECK(below == (i == 0 ? n - 1 : 0));
        IS(MPI_T_category_get_index(name, &index));
        CHECK(index == i && n_cvars <= 200 && n_pvars <= 200);
        IS(MPI_T_category_get_cvars(i, 200, members));
        for (int k = 0; k < n_cvars; k++) {
            CHECK(members[k] >= 0 && members[k] < cvars && !seen[members[k]]++);
        }
        total_cvars += n_cvars;
        total_pvars += n_pvars;
    }
    CHECK(total_cvars == cvars && total_pvars == pvars);
    IS(MPI_T_category_changed(&changed));
    CHECK(MPI_T_category_get_index("none", &index) == MPI_T_ERR_INVALID_NAME);
}

static void there_are_no_events(void)
{
    int n = 1, index;
    IS(MPI_T_event_get_num(&n));
    CHECK(n == 0);
    IS(MPI_T_source_get_num(&n));
    CHECK(n == 0);
    CHECK(MPI_T_event_get_index("none", &index) == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, NULL) == MPI_T_ERR_INVALID_INDEX);
}

int main(int argc, char **argv)
{
    before_init();
    cvars_can_be_read();
    MPI_Init(&argc, &argv);
    texts_are_cut();
    cvars_can_be_read();
    counters_count();
    levels_show_the_present();
    categories_hold_all();
    there_are_no_events();
    MPI_Finalize();
    cvars_can_be_read();
    IS(MPI_T_finalize());
    return 0;
}
