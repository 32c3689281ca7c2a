/* SPDX-License-Identifier: BSD-3-Clause */
/* Which files a process may be restored with: on the same host, and on another one, which a job of
 * one machine does not have. */
#include "image/area.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { HERE = 7, ELSEWHERE = 8, SAVED_NS = 1000 };

static const struct rz_image_identity was = {
    .device = 1, .inode = 2, .made_ns = 3, .bytes = 4, .written_ns = 2000000005, .changed_ns = 6};

/* Whether another identity is taken for the same content, and the same reading. */
struct answer {
    bool content, reading;
};

static struct answer of(const struct rz_image_identity *is, uint64_t host)
{
    const struct rz_image_head head = {.host = host, .saved_ns = SAVED_NS};
    return (struct answer){rz_image_same_content(&head, &was, is),
                           rz_image_same_reading(&head, &was, is)};
}

#define EXPECT(is, host, content_is, reading_is)                                                   \
    do {                                                                                           \
        struct answer answer = of(&(is), host);                                                    \
        assert_int_equal(answer.content, content_is);                                              \
        assert_int_equal(answer.reading, reading_is);                                              \
    } while (0)

static void the_same_file(void **state)
{
    (void)state;
    struct rz_image_identity is = was;
    EXPECT(is, HERE, true, true);
    is.written_ns++;
    EXPECT(is, HERE, false, true);
    is = was, is.changed_ns++;
    EXPECT(is, HERE, false, true);
    is = was, is.bytes++;
    EXPECT(is, HERE, false, true);
    EXPECT(is, ELSEWHERE, false, true);
    is = was, is.device++; /* of a file system that both hosts see */
    EXPECT(is, ELSEWHERE, true, true);
}

static void another_file(void **state)
{
    (void)state;
    struct rz_image_identity is = was;
    is.inode++, is.changed_ns = SAVED_NS + 1, is.written_ns++;
    EXPECT(is, HERE, false, false);
    is.inode--, is.made_ns++;
    EXPECT(is, HERE, false, false);
    EXPECT(is, ELSEWHERE, false, false);
    is.written_ns = was.written_ns; /* what was restored under its name */
    EXPECT(is, HERE, true, true);
    is.bytes++;
    EXPECT(is, HERE, false, false);
}

static void whole_seconds_on_one_host(void **state)
{
    (void)state;
    const struct rz_image_head head = {.host = HERE};
    struct rz_image_identity whole = was;
    whole.written_ns = 2000000000;
    struct rz_image_identity is = whole;
    assert_true(rz_image_same_content(&head, &whole, &is));
    is.inode++;
    assert_false(rz_image_same_content(&head, &whole, &is));
    assert_false(rz_image_same_reading(&head, &whole, &is));
}

static void a_copy_on_another_host(void **state)
{
    (void)state;
    struct rz_image_identity is = was;
    is.inode++, is.made_ns++, is.changed_ns = SAVED_NS + 1;
    EXPECT(is, ELSEWHERE, true, true);
    is.written_ns = 2000000000; /* without fractions */
    EXPECT(is, ELSEWHERE, true, true);
    is.written_ns++;
    EXPECT(is, ELSEWHERE, false, false);
    is.changed_ns = SAVED_NS - 1; /* it was there already */
    EXPECT(is, ELSEWHERE, false, true);
    EXPECT(is, HERE, false, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_file),
        cmocka_unit_test(another_file),
        cmocka_unit_test(whole_seconds_on_one_host),
        cmocka_unit_test(a_copy_on_another_host),
    };
    if (!rz_image_area_ready()) {
        return 1;
    }
    RZ_AREA->host = HERE;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
