/* Tensors of kiln.h: elements are shared both ways, and what cannot be is refused. */
#include "check.h"

enum { kCount = 6 };

/* An array that counts how often it was let go of. */
struct Array {
  DLManagedTensor managed;
  _Alignas(64) float elements[kCount];
  int64_t sizes[2], strides[2];
  int releases;
};

static void release(DLManagedTensor* self) { ++((struct Array*)self->manager_ctx)->releases; }

static void fill(struct Array* array) {
  *array = (struct Array){.elements = {1, 2, 3, 4, 5, 6}, .sizes = {2, 3}, .strides = {3, 1}};
  array->managed = (DLManagedTensor){.dl_tensor = {.data = array->elements,
                                                   .device = {kDLCPU, 0},
                                                   .ndim = 2,
                                                   .dtype = {kDLFloat, 32, 1},
                                                   .shape = array->sizes,
                                                   .strides = array->strides},
                                     .manager_ctx = array,
                                     .deleter = release};
}

static kiln_value* function_of(kiln_session* session, const char* text) {
  kiln_value* function = value_of(session, text);
  CHECK(function != NULL && kiln_value_kind(function) == KILN_FUNCTION);
  return function;
}

static kiln_value* called(kiln_session* session, const char* text, const kiln_value* argument) {
  kiln_value *function = function_of(session, text), *result = NULL;
  OK(kiln_call(session, function, &argument, 1, NULL, 0, &result));
  kiln_value_free(function);
  return result;
}

static void shares_what_it_is_given(kiln_session* session) {
  struct Array array;
  fill(&array);
  kiln_value* x = NULL;
  OK(kiln_tensor_from_dlpack(&array.managed, &x));
  kiln_value* address = called(session, "x => x.data_ptr()", x);
  CHECK(kiln_value_int(address) == (int64_t)(intptr_t)array.elements);
  kiln_value_free(address);
  kiln_value_free(called(session, "fn(x) { x[1, 0] = 40; x += 1 }", x));
  CHECK(array.elements[3] == 41 && array.elements[0] == 2);
  array.elements[2] = 100; /* and the other way round */
  kiln_value* largest = called(session, "x => x.max().item()", x);
  CHECK(kiln_value_float(largest) == 100);
  kiln_value_free(largest);
  CHECK(array.releases == 0);
  kiln_value_free(x);
  CHECK(array.releases == 1);
}

static void lives_as_long_as_the_program_needs_it(kiln_session* session) {
  struct Array array;
  fill(&array);
  kiln_value* x = NULL;
  OK(kiln_tensor_from_dlpack(&array.managed, &x));
  kiln_value_free(called(session, "kept = {}\nfn(x) { kept[\"x\"] = x[1] }", x));
  kiln_value_free(x);
  CHECK(array.releases == 0);
  OK(kiln_eval(session, "kept.clear()", NULL));
  CHECK(array.releases == 1);
}

static void takes_strides(kiln_session* session) {
  struct Array array;
  fill(&array);
  array.sizes[0] = 3, array.sizes[1] = 2, array.strides[0] = 1, array.strides[1] = 3; /* transposed */
  kiln_value* x = NULL;
  OK(kiln_tensor_from_dlpack(&array.managed, &x));
  kiln_value* text = called(session, "x => str(x.tolist())", x);
  CHECK(strcmp(kiln_value_string(text, NULL), "[[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]") == 0);
  kiln_value_free(text);
  kiln_value_free(x);
}

static void takes_read_only_elements(kiln_session* session) {
  float elements[2] = {1, 2};
  int64_t size = 2;
  DLManagedTensorVersioned given = {
      .version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION},
      .flags = DLPACK_FLAG_BITMASK_READ_ONLY,
      .dl_tensor = {
          .data = elements, .device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLFloat, 32, 1}, .shape = &size}};
  kiln_value* x = NULL;
  OK(kiln_tensor_from_dlpack_versioned(&given, &x));
  kiln_value* sum = called(session, "fn(x) { x += 1; return x.sum().item() }", x);
  CHECK(kiln_value_float(sum) == 5);
  CHECK(elements[0] == 1 && elements[1] == 2);
  kiln_value_free(sum);
  kiln_value_free(x);
  given.version.major = 2;
  CHECK(refused(kiln_tensor_from_dlpack_versioned(&given, &x), KILN_ERROR_PROGRAM, "version 2 of DLPack"));
}

static void takes_nothing_else(void) {
  struct Array array;
  kiln_value* x = NULL;
  fill(&array);
  array.strides[0] = -3;
  CHECK(refused(kiln_tensor_from_dlpack(&array.managed, &x), KILN_ERROR_PROGRAM, "runs backwards"));
  fill(&array);
  array.managed.dl_tensor.byte_offset = 2;
  CHECK(refused(kiln_tensor_from_dlpack(&array.managed, &x), KILN_ERROR_PROGRAM, "not aligned"));
  fill(&array);
  array.managed.dl_tensor.dtype = (DLDataType){kDLComplex, 32, 1};
  CHECK(refused(kiln_tensor_from_dlpack(&array.managed, &x), KILN_ERROR_PROGRAM, "complex32"));
  fill(&array);
  array.managed.dl_tensor.device.device_type = kDLCUDA;
  CHECK(refused(kiln_tensor_from_dlpack(&array.managed, &x), KILN_ERROR_PROGRAM, "on a card"));
  CHECK(array.releases == 0); /* it stays the caller's */
}

static void takes_scalars_and_nothing(kiln_session* session) {
  struct Array array;
  kiln_value* x = NULL;
  fill(&array);
  array.managed.dl_tensor.ndim = 0;
  OK(kiln_tensor_from_dlpack(&array.managed, &x));
  kiln_value* number = called(session, "x => x.item()", x);
  CHECK(kiln_value_float(number) == 1);
  kiln_value_free(number);
  kiln_value_free(x);
  fill(&array);
  array.sizes[0] = 0;
  array.managed.dl_tensor.data = NULL;
  OK(kiln_tensor_from_dlpack(&array.managed, &x));
  CHECK(array.releases == 1);
  number = called(session, "x => x.shape[1]", x);
  CHECK(kiln_value_int(number) == 3);
  kiln_value_free(number);
  kiln_value_free(x);
}

static void lends_its_own(kiln_session* session) {
  kiln_value* x = value_of(session, "x = arange(6.0).reshape(2, 3)\nx");
  kiln_value* view = value_of(session, "x.t()[1:]");
  DLManagedTensor* lent = NULL;
  DLManagedTensorVersioned* versioned = NULL;
  OK(kiln_tensor_to_dlpack(x, &lent));
  OK(kiln_tensor_to_dlpack_versioned(view, &versioned));
  float* elements = lent->dl_tensor.data;
  CHECK((uintptr_t)elements % 64 == 0 && lent->dl_tensor.ndim == 2 && lent->dl_tensor.dtype.bits == 32);
  CHECK((float*)versioned->dl_tensor.data == elements + 1);
  CHECK(versioned->dl_tensor.shape[0] == 2 && versioned->dl_tensor.strides[1] == 3 && versioned->flags == 0);
  OK(kiln_eval(session, "x += 10", NULL));
  CHECK(elements[5] == 15);
  kiln_value_free(x);
  kiln_value_free(view);
  versioned->deleter(versioned);
  OK(kiln_eval(session, "x = none", NULL));
  CHECK(elements[0] == 10); /* the elements outlive the tensor */
  lent->deleter(lent);
  kiln_value* w = value_of(session, "ones(2).requires_grad_()");
  CHECK(refused(kiln_tensor_to_dlpack(w, &lent), KILN_ERROR_PROGRAM, "requires gradients"));
  kiln_value_free(w);
  kiln_value* one = kiln_int(1);
  CHECK(refused(kiln_tensor_to_dlpack(one, &lent), KILN_ERROR_ARGUMENT, "tensor is int"));
  kiln_value_free(one);
}

static void calls_functions_of_tensors(kiln_session* session) {
  struct Array array;
  fill(&array);
  DLManagedTensor *argument = &array.managed, *results[2] = {NULL, NULL};
  size_t count = 0;
  kiln_value* function = function_of(session, "x => (x * 2, x.sum())");
  for (int i = 0; i < 2000; ++i) { /* far beyond where the function is compiled */
    OK(kiln_function_call(session, function, &argument, 1, results, 2, &count));
    CHECK(count == 2 && ((float*)results[0]->dl_tensor.data)[5] == 12 &&
          *(float*)results[1]->dl_tensor.data == 21);
    results[0]->deleter(results[0]);
    results[1]->deleter(results[1]);
  }
  CHECK(array.releases == 2000);
  CHECK(refused(kiln_function_call(session, function, &argument, 1, results, 1, &count), KILN_ERROR_ARGUMENT,
                "room for 1"));
  CHECK(array.releases == 2001); /* also after an error */
  kiln_value_free(function);
}

int main(void) {
  kiln_session* session = new_session();
  shares_what_it_is_given(session);
  lives_as_long_as_the_program_needs_it(session);
  takes_strides(session);
  takes_read_only_elements(session);
  takes_nothing_else();
  takes_scalars_and_nothing(session);
  lends_its_own(session);
  calls_functions_of_tensors(session);
  kiln_session_free(session);
  return failures != 0;
}
