/* Runs a function of Kiln on an array of C, of which nothing is copied. */
#include <dlpack.h>
#include <kiln.h>
#include <stdio.h>

static int failed(kiln_error* error) {
  if (error == NULL) return 0;
  fputs(kiln_error_text(error), stderr);
  kiln_error_free(error);
  return 1;
}

static void keep(DLManagedTensor* self) { (void)self; } /* of a static array */

int main(void) {
  static float elements[6] = {1, 2, 3, 4, 5, 6};
  static int64_t sizes[2] = {2, 3};
  DLManagedTensor array = {.dl_tensor = {.data = elements,
                                         .device = {kDLCPU, 0},
                                         .ndim = 2,
                                         .dtype = {kDLFloat, 32, 1},
                                         .shape = sizes},
                           .deleter = keep};
  DLManagedTensor *argument = &array, *result = NULL;
  kiln_session* session = NULL;
  kiln_value* function = NULL;
  size_t count = 0;
  int error = failed(kiln_session_new(NULL, &session)) ||
              failed(kiln_eval(session, "fn rows(x) { x *= 10; return x.sum(dim=1) }", NULL)) ||
              failed(kiln_lookup(session, "rows", &function)) ||
              failed(kiln_function_call(session, function, &argument, 1, &result, 1, &count));
  if (!error) {
    const float* sums = result->dl_tensor.data;
    printf("sums %g %g, and the array is %g ... %g\n", sums[0], sums[1], elements[0], elements[5]);
    result->deleter(result);
  }
  kiln_value_free(function);
  kiln_session_free(session);
  return error;
}
