/* Singly linked lists of structs with a field `next`. */
#ifndef RZ_BASE_LINKED_LIST_H
#define RZ_BASE_LINKED_LIST_H

#include <stddef.h>

/* Takes an item out of the list that begins at *first; nothing where it is not in that list. The
 * item itself is not touched: it may be freed next. */
#define rz_list_unlink(first, item)                                                                \
    do {                                                                                           \
        __typeof__(*(first)) *rz_list_at = (first);                                                \
        while (*rz_list_at != NULL && *rz_list_at != (item))                                       \
            rz_list_at = &(*rz_list_at)->next;                                                     \
        if (*rz_list_at != NULL)                                                                   \
            *rz_list_at = (*rz_list_at)->next;                                                     \
    } while (0)

/* Lists whose items also have a field `back`, the place that points to them: an item goes without a
 * search, and without knowing which list it is in. Puts an item at the front of *first. */
#define rz_list_push(first, item)                                                                  \
    do {                                                                                           \
        (item)->next = *(first);                                                                   \
        (item)->back = (first);                                                                    \
        if ((item)->next != NULL)                                                                  \
            (item)->next->back = &(item)->next;                                                    \
        *(first) = (item);                                                                         \
    } while (0)

/* Takes an item out of the list that it is in. */
#define rz_list_remove(item)                                                                       \
    do {                                                                                           \
        *(item)->back = (item)->next;                                                              \
        if ((item)->next != NULL)                                                                  \
            (item)->next->back = (item)->back;                                                     \
    } while (0)

#endif
