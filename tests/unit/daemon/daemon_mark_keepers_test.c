/* SPDX-License-Identifier: BSD-3-Clause */
/* Which marks are lost when nodes fail. */
#include "daemon/service/mark_keepers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void both_who_have_a_mark_fail(void **state)
{
    enum { OWNER = 1, KEEPER = 2, NEXT = 3 };
    struct rz_mark_keepers keepers = {.n = 0};
    struct rz_membership membership = {.n_nodes = 0};
    (void)state;
    assert_int_equal(rz_membership_open(&membership, 5, 5), RZ_OK);
    rz_mark_keepers_note(&keepers, OWNER, KEEPER, 7);
    rz_mark_keepers_note(&keepers, OWNER, KEEPER, 6);
    rz_mark_keepers_note(&keepers, OWNER, RZ_ID_NONE, 9); /* all have those */
    assert_true(rz_mark_keepers_has(&keepers, OWNER, KEEPER, 7));
    assert_false(rz_mark_keepers_has(&keepers, OWNER, KEEPER, 8));
    rz_membership_node_failed(&membership, OWNER, true);
    assert_null(rz_mark_keepers_lost(&keepers, &membership, 1));
    rz_membership_node_failed(&membership, KEEPER, true);
    assert_int_equal(rz_mark_keepers_lost(&keepers, &membership, 7)->keeper, KEEPER);
    assert_null(rz_mark_keepers_lost(&keepers, &membership, 8)); /* of what is not rolled back */
    /* Had the keeper given them to the next one before: */
    rz_mark_keepers_note(&keepers, KEEPER, NEXT, 7);
    rz_mark_keepers_drop(&keepers, OWNER, KEEPER);
    assert_null(rz_mark_keepers_lost(&keepers, &membership, 1));
    rz_membership_node_failed(&membership, NEXT, false);
    assert_int_equal(rz_mark_keepers_lost(&keepers, &membership, 1)->owner, KEEPER);
    rz_mark_keepers_forget(&keepers, 8); /* no image of moment 7 is needed any more */
    assert_null(rz_mark_keepers_lost(&keepers, &membership, 1));
    rz_mark_keepers_clear(&keepers);
    rz_membership_close(&membership);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_who_have_a_mark_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
