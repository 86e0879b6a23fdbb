/*
 * unit.h - what every unit test includes: cmocka, with the headers that it
 * needs before it.
 */
#ifndef TESTS_LIB_UNIT_H
#define TESTS_LIB_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> /* after the four above */

#include "temp.h"

/* A test in a folder of its own. */
#define UNIT_TEST_IN_FOLDER(f)                                                 \
	cmocka_unit_test_setup_teardown(f, temp_setup, temp_teardown)

#endif
