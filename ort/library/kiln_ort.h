/* The interface of kiln_ort, which lets ONNX Runtime's training build run autograd functions of Kiln
   programs. Texts that a call gives are the caller's and go to kiln_ort_free. A call that fails gives null or
   -1, and what went wrong as a text in `error`. All need Python's lock. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KILN_ORT_API __attribute__((visibility("default")))

typedef struct kiln_ort_program kiln_ort_program; /* a program that runs in a process of its own */
typedef struct kiln_ort_model kiln_ort_model;     /* a model made ready for it */

/* Runs the file, which defines the functions, and leaves it waiting for calls. `executable`: kiln_functions;
   null: the one beside this library. */
KILN_ORT_API kiln_ort_program* kiln_ort_start(const char* file, const char* executable, char** error);
/* Ends its process. Functions of it are no longer called. */
KILN_ORT_API void kiln_ort_stop(kiln_ort_program* program);

/* Reads a model whose PythonOp nodes name functions of the program, and readies these functions. */
KILN_ORT_API kiln_ort_model* kiln_ort_load(kiln_ort_program* program, const char* file, char** error);
KILN_ORT_API const char* kiln_ort_bytes(const kiln_ort_model* model, size_t* count);
KILN_ORT_API size_t kiln_ort_function_count(const kiln_ort_model* model);
KILN_ORT_API const char* kiln_ort_function(const kiln_ort_model* model,
                                           size_t index); /* its qualified name */
/* Does it say the shapes of its results (`infer_shape`)? 1 or 0. */
KILN_ORT_API int kiln_ort_infers_shape(const kiln_ort_model* model, size_t index);
KILN_ORT_API void kiln_ort_free_model(kiln_ort_model* model);

/* How many contexts wait for their backward; -1 on an error. */
KILN_ORT_API int64_t kiln_ort_live(kiln_ort_program* program, char** error);

/* The types of a function's results by its infer_shape. Request and answer are in the form of ort/frames.h
   (Request::Shapes): texts and numbers of 8 bytes. The answer goes to kiln_ort_free. */
KILN_ORT_API char* kiln_ort_shapes(kiln_ort_program* program, const char* request, size_t size, size_t* count,
                                   char** error);

/* What register_forward_runner and register_backward_runner take. */
KILN_ORT_API size_t kiln_ort_forward_runner(void);
KILN_ORT_API size_t kiln_ort_backward_runner(void);

KILN_ORT_API void kiln_ort_free(char* text);

#ifdef __cplusplus
}
#endif
