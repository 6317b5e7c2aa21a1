/* SPDX-License-Identifier: MIT */
/* Stories, scenes and subscriptions as plain calls, as in harness.h. */
#ifndef TESTS_CONTRACT_STORIES_H
#define TESTS_CONTRACT_STORIES_H

#include "contract/harness.h"

enum { ANN = 1, BOB = 2, CID = 3, DAN = 4 };

uint64_t story(uint64_t author, const char *title);
struct tidings_op scene_op(uint64_t author, uint64_t story_id, const char *title,
                           const struct tidings_message *messages, size_t n);
/* With two messages, "one" and "two". */
uint64_t scene(uint64_t author, uint64_t story_id, const char *title);
struct tidings_op edit_op(uint64_t author, uint64_t id, const char *title,
                          const struct tidings_message *messages, size_t n);
enum tidings_err delete_scene(uint64_t user, enum tidings_role role, uint64_t id);

/* Whether that changed anything. */
bool subscribe(uint64_t user, uint64_t story_id);
bool unsubscribe(uint64_t user, uint64_t story_id);
void want_updates(uint64_t user, bool wanted);

/* ---- Lists, put together from small pages ---------------------------------------------------- */

enum { PAGE = 3 };

void add(struct ids *ids, uint64_t id);
void list_subscriptions(uint64_t user, struct ids *ids);
void list_subscribers(uint64_t story_id, struct ids *ids);

#define ASSERT_LIST(list, of, ...)                                                    \
    do {                                                                              \
        const uint64_t expected_[] = {0, ##__VA_ARGS__};                              \
        static struct ids found_;                                                     \
        list((of), &found_);                                                          \
        assert_ids(&found_, expected_ + 1, sizeof expected_ / sizeof *expected_ - 1); \
    } while (0)

#endif
