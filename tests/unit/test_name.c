/* SPDX-License-Identifier: MIT */
/* Names without case, as they are stored to be searched for. */
#include <string.h>

#include "domain/name.h"
#include "unit/test.h"

static const char *folded(const char *name)
{
    static uint8_t bytes[NAME_FOLDED_MAX + 1], twice[NAME_FOLDED_MAX];
    size_t n = name_fold((struct bytes){(const uint8_t *)name, strlen(name)}, bytes);
    assert_int_equal(name_fold((struct bytes){bytes, n}, twice), n);
    assert_memory_equal(twice, bytes, n);
    bytes[n] = '\0';
    return (const char *)bytes;
}

static void capitals_of_the_scripts_that_have_them_become_small(void **state)
{
    (void)state;
    const struct {
        const char *name, *small;
    } rows[] = {
        {"", ""},
        {"Ann", "ann"},
        {"AZ[`az{0 9", "az[`az{0 9"},
        {"ÀÖ×ØÞßàÿ", "àö×øþßàÿ"},
        {"ĀāĮįİıĲĳĶĸĹĺŇňŊŋŶŷŸŹźŽžſ", "āāįįİıĳĳķĸĺĺňňŋŋŷŷÿźźžžs"},
        {"ƠơƯưẠạỸỹ", "ơơưưạạỹỹ"},
        {"ΆΈΊΌΎΏΑΡΣΫΰαρςσώ", "άέίόύώαρσϋΰαρσσώ"},
        {"µ", "μ"},
        {"ЀЏАЯаяѐџѠѡҀҁ҂Ҋҋӂ", "ѐџаяаяѐџѡѡҁҁ҂ҋҋӂ"},
        {"ӀӁӍӐԮԯ", "ӏӂӎӑԯԯ"},
        {"小林", "小林"},
        {"Ω漢😀Z", "ω漢😀z"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_string_equal(folded(rows[i].name), rows[i].small);
}

/* Names are compared as far as that, and a character is never cut in two. */
static void a_long_name_is_cut_between_characters(void **state)
{
    (void)state;
    char name[1024];
    memset(name, 'X', sizeof name);
    name[NAME_FOLDED_MAX + 5] = '\0';
    assert_int_equal(strlen(folded(name)), NAME_FOLDED_MAX);
    memcpy(name + NAME_FOLDED_MAX - 2, "小", sizeof "小");
    assert_int_equal(strlen(folded(name)), NAME_FOLDED_MAX - 2);
    memset(name, 'X', NAME_FOLDED_MAX);
    memcpy(name + NAME_FOLDED_MAX - 1, "ſs", sizeof "ſs"); /* which becomes shorter, and fits */
    assert_int_equal(strlen(folded(name)), NAME_FOLDED_MAX);
    memcpy(name + NAME_FOLDED_MAX - 4, "😀", sizeof "😀");
    assert_int_equal(strlen(folded(name)), NAME_FOLDED_MAX);
}

/* A row that is damaged may hold anything. */
static void bytes_that_are_no_characters_do_no_harm(void **state)
{
    (void)state;
    uint8_t bytes[NAME_FOLDED_MAX], name[3];
    for (unsigned lead = 0; lead < 256; lead++)
        for (unsigned next = 0; next < 256; next += 15)
            for (size_t n = 1; n <= 3; n++) {
                name[0] = (uint8_t)lead;
                name[1] = name[2] = (uint8_t)next;
                assert_true(name_fold((struct bytes){name, n}, bytes) <= n);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(capitals_of_the_scripts_that_have_them_become_small),
        cmocka_unit_test(a_long_name_is_cut_between_characters),
        cmocka_unit_test(bytes_that_are_no_characters_do_no_harm),
    };
    return RUN_TESTS(tests);
}
