/* Owns how the tests in C look at what the library does. */
#ifndef KILN_TESTS_EMBED_CHECK_H
#define KILN_TESTS_EMBED_CHECK_H

#include <dlpack.h>
#include <kiln.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

#define CHECK(holds)                                                      \
  do {                                                                    \
    if (!(holds)) {                                                       \
      ++failures;                                                         \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #holds); \
    }                                                                     \
  } while (0)

/* Without an error; one is shown. */
#define OK(call) CHECK(none(call))

static inline int none(kiln_error* error) {
  if (error == NULL) return 1;
  fputs(kiln_error_text(error), stderr);
  kiln_error_free(error);
  return 0;
}

/* An error of this kind whose sentence has this text in it. */
static inline int refused(kiln_error* error, kiln_error_kind kind, const char* text) {
  if (error == NULL) return 0;
  const int is_it = kiln_error_get_kind(error) == kind && strstr(kiln_error_message(error), text) != NULL;
  if (!is_it) fprintf(stderr, "kind %d: %s", (int)kiln_error_get_kind(error), kiln_error_text(error));
  kiln_error_free(error);
  return is_it;
}

static inline kiln_value* value_of(kiln_session* session, const char* text) {
  kiln_value* value = NULL;
  OK(kiln_eval(session, text, &value));
  return value;
}

static inline int64_t int_of(kiln_session* session, const char* text) {
  kiln_value* value = value_of(session, text);
  CHECK(value != NULL && kiln_value_kind(value) == KILN_INT);
  const int64_t number = value == NULL ? 0 : kiln_value_int(value);
  kiln_value_free(value);
  return number;
}

static inline kiln_session* new_session(void) {
  kiln_session* session = NULL;
  OK(kiln_session_new(NULL, &session));
  return session;
}

#endif
