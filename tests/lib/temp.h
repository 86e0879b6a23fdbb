/*
 * temp.h - a test's own folder.
 *
 * temp_new() makes ${TMPDIR:-/tmp}/legato-test-XXXXXX and goes there, so that
 * tests use relative names; temp_remove() goes away and removes it with all
 * that is in it, whatever the modes. Both end the test program where they
 * can't do their work: there is nothing to test then.
 */
#ifndef TESTS_LIB_TEMP_H
#define TESTS_LIB_TEMP_H

#include <stddef.h>

void temp_new(void);
void temp_remove(void);

/* The same as cmocka fixtures; `state` is not used. */
int temp_setup(void **state);
int temp_teardown(void **state);

/* Makes or replaces the file `name`. */
void temp_write(const char *name, const void *data, size_t size);

/* The file's content, NUL-terminated; the caller frees. */
char *temp_read(const char *name, size_t *ret_size);

#endif
