/* SPDX-License-Identifier: BSD-3-Clause */
/* Singly linked lists of structs with a field `next`. */
#ifndef RZ_BASE_LINKED_LIST_H
#define RZ_BASE_LINKED_LIST_H

#include <stddef.h>

/* Removes an item from the list that begins at *first; no effect if it is not in that list. The
 * item itself is not accessed: it may be freed next. */
#define rz_list_unlink(first, item)                                                                \
    do {                                                                                           \
        __typeof__(*(first)) *rz_list_at = (first);                                                \
        while (*rz_list_at && *rz_list_at != (item)) {                                             \
            rz_list_at = &(*rz_list_at)->next;                                                     \
        }                                                                                          \
        if (*rz_list_at) {                                                                         \
            *rz_list_at = (*rz_list_at)->next;                                                     \
        }                                                                                          \
    } while (0)

/* Lists whose items also have a field `back`, which points to the pointer to them: an item is
 * removed without a search, and without knowledge of its list. Inserts an item at the front of
 * *first. */
#define rz_list_push(first, item)                                                                  \
    do {                                                                                           \
        (item)->next = *(first);                                                                   \
        (item)->back = (first);                                                                    \
        if ((item)->next) {                                                                        \
            (item)->next->back = &(item)->next;                                                    \
        }                                                                                          \
        *(first) = (item);                                                                         \
    } while (0)

/* Removes an item from its list. */
#define rz_list_remove(item)                                                                       \
    do {                                                                                           \
        *(item)->back = (item)->next;                                                              \
        if ((item)->next) {                                                                        \
            (item)->next->back = (item)->back;                                                     \
        }                                                                                          \
    } while (0)

#endif
