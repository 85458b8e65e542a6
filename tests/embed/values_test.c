/* Values, errors, calls and sinks of kiln.h. */
#include "check.h"

static void numbers_and_texts(kiln_session* session) {
  CHECK(int_of(session, "6 * 7") == 42);
  kiln_value* half = value_of(session, "1 / 2");
  CHECK(kiln_value_kind(half) == KILN_FLOAT && kiln_value_float(half) == 0.5);
  kiln_value_free(half);
  kiln_value* complex_value = value_of(session, "1-2j");
  CHECK(kiln_value_kind(complex_value) == KILN_COMPLEX && kiln_value_float(complex_value) == 1 &&
        kiln_value_imaginary(complex_value) == -2 && kiln_value_int(complex_value) == 0);
  kiln_value_free(complex_value);
  kiln_value* text = value_of(session, "\"grün\"");
  size_t size = 0;
  CHECK(strcmp(kiln_value_string(text, &size), "grün") == 0 && size == 5);
  CHECK(kiln_value_int(text) == 0 && kiln_value_size(text) == 0);
  kiln_value_free(text);
  kiln_value* none_value = value_of(session, "x = 1");
  CHECK(kiln_value_kind(none_value) == KILN_NONE);
  kiln_value_free(none_value);
}

static void containers(kiln_session* session) {
  kiln_value* dict = value_of(session, "d = {\"a\": [1, 2], \"b\": (true, none)}\nd");
  kiln_value *key = NULL, *pair = NULL, *first = NULL;
  CHECK(kiln_value_kind(dict) == KILN_DICT && kiln_value_size(dict) == 2);
  OK(kiln_value_key(dict, 1, &key));
  CHECK(strcmp(kiln_value_string(key, NULL), "b") == 0);
  OK(kiln_value_item(dict, 1, &pair));
  CHECK(kiln_value_kind(pair) == KILN_TUPLE && kiln_value_size(pair) == 2);
  OK(kiln_value_item(pair, 0, &first));
  CHECK(kiln_value_kind(first) == KILN_BOOL && kiln_value_int(first) == 1);
  kiln_value* other = NULL;
  CHECK(refused(kiln_value_item(pair, 2, &other), KILN_ERROR_ARGUMENT, "index is 2"));
  CHECK(other == NULL);
  kiln_value_free(first);
  kiln_value_free(pair);
  kiln_value_free(key);
  kiln_value_free(dict);
}

static void made_values(kiln_session* session) {
  kiln_value* items[] = {kiln_int(3), kiln_float(0.5), kiln_string("ab", 2), kiln_bool(1), kiln_none()};
  kiln_value* list = kiln_list((const kiln_value* const*)items, 5);
  kiln_value *dict = NULL, *text = NULL;
  OK(kiln_dict((const kiln_value* const*)&items[2], (const kiln_value* const*)&list, 1, &dict));
  OK(kiln_value_repr(session, dict, &text));
  CHECK(strcmp(kiln_value_string(text, NULL), "{'ab': [3, 0.5, 'ab', true, none]}") == 0);
  kiln_value* wrong = NULL;
  CHECK(refused(kiln_dict((const kiln_value* const*)&list, (const kiln_value* const*)&list, 1, &wrong),
                KILN_ERROR_PROGRAM, "list"));
  kiln_value_free(text);
  kiln_value_free(dict);
  kiln_value_free(list);
  for (int i = 0; i < 5; ++i) kiln_value_free(items[i]);
}

static void calls(kiln_session* session) {
  OK(kiln_eval(session, "fn area(width, height=2) { return width * height }", NULL));
  kiln_value *area = NULL, *result = NULL;
  OK(kiln_lookup(session, "area", &area));
  CHECK(kiln_value_kind(area) == KILN_FUNCTION);
  kiln_value* sizes[] = {kiln_int(3), kiln_int(5)};
  const char* names[] = {"height"};
  OK(kiln_call(session, area, (const kiln_value* const*)sizes, 2, names, 1, &result));
  CHECK(kiln_value_int(result) == 15);
  kiln_value_free(result);
  OK(kiln_call(session, area, (const kiln_value* const*)sizes, 1, NULL, 0, &result));
  CHECK(kiln_value_int(result) == 6);
  kiln_value_free(result);
  CHECK(refused(kiln_call(session, area, NULL, 0, NULL, 0, NULL), KILN_ERROR_PROGRAM, "width"));
  kiln_value_free(sizes[0]);
  kiln_value_free(sizes[1]);
  kiln_value_free(area);
}

static void errors(kiln_session* session) {
  kiln_error* error = kiln_eval(session, "a = ones(2, 3)\nb = ones(4)\na @ b", NULL);
  CHECK(error != NULL && kiln_error_get_kind(error) == KILN_ERROR_PROGRAM);
  CHECK(strcmp(kiln_error_name(error), "ShapeError") == 0);
  CHECK(kiln_error_code(error)[0] == 'K');
  CHECK(kiln_error_line(error) == 3);
  CHECK(strncmp(kiln_error_file(error), "<eval:", 6) == 0);
  CHECK(strstr(kiln_error_text(error), "^") != NULL);
  CHECK(strstr(kiln_error_json(error), "\"line\":3") != NULL);
  kiln_error_free(error);

  kiln_value* value = NULL;
  CHECK(refused(kiln_lookup(session, "prnt", &value), KILN_ERROR_PROGRAM, "prnt"));
  CHECK(refused(kiln_eval(session, "fn f( {", NULL), KILN_ERROR_PROGRAM, ""));
  CHECK(refused(kiln_load(session, "no_such_file.kiln"), KILN_ERROR_PROGRAM, "no_such_file.kiln"));
  CHECK(refused(kiln_eval(NULL, "1", NULL), KILN_ERROR_ARGUMENT, "session is NULL"));
  CHECK(refused(kiln_eval(session, NULL, NULL), KILN_ERROR_ARGUMENT, "text is NULL"));

  error = kiln_eval(session, "exit(3)", NULL);
  CHECK(error != NULL && kiln_error_get_kind(error) == KILN_ERROR_EXIT && kiln_error_exit_code(error) == 3);
  kiln_error_free(error);
  CHECK(int_of(session, "1 + 1") == 2); /* the session goes on */
}

struct Written {
  char text[200];
  size_t size;
  kiln_session* calls; /* a session that the sink uses, or NULL */
};

static void take(void* context, const char* text, size_t size) {
  struct Written* written = context;
  if (written->size + size < sizeof written->text) memcpy(written->text + written->size, text, size);
  written->size += size;
  if (written->calls != NULL) CHECK(int_of(written->calls, "20 + 1") == 21);
}

static void sinks(kiln_session* other) {
  struct Written out = {.calls = other}, err = {.size = 0};
  const char* arguments[] = {"one", "two"};
  kiln_options options = {.size = sizeof options,
                          .out = take,
                          .err = take,
                          .out_context = &out,
                          .err_context = &err,
                          .arguments = arguments,
                          .argument_count = 2};
  kiln_session* session = NULL;
  OK(kiln_session_new(&options, &session));
  OK(kiln_eval(session, "print(args[1], len(args))", NULL));
  CHECK(strcmp(out.text, "two 2\n") == 0);
  CHECK(err.size == 0);
  kiln_session_free(session);
  options.size = sizeof options + 8;
  CHECK(refused(kiln_session_new(&options, &session), KILN_ERROR_ARGUMENT, "options->size"));
}

int main(void) {
  kiln_session* session = new_session();
  CHECK(kiln_abi_version() == KILN_ABI_VERSION);
  CHECK(strlen(kiln_version()) > 0);
  numbers_and_texts(session);
  containers(session);
  made_values(session);
  calls(session);
  errors(session);
  sinks(session);
  kiln_session_free(session);
  kiln_session_free(NULL);
  kiln_value_free(NULL);
  kiln_error_free(NULL);
  return failures != 0;
}
