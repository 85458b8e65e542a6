/* The interface of libkiln: programs of Kiln inside other programs.
 *
 * Errors. A function that can fail gives a `kiln_error *`: NULL when all went well, else an error that the
 * caller frees by kiln_error_free. What it would have given through its last arguments is then not written.
 * Nothing is thrown, and nothing ends the process.
 *
 * Handles. Sessions, values and errors are opaque. Each is freed by the function of its kind, which takes
 * NULL, too. A value may be freed in any thread at any time, but before the session that made it. Handles
 * that a function is given stay the caller's.
 *
 * Threads. All functions may be called from any thread. Those that run programs run one after another: a call
 * waits until those of other threads are done, also of other sessions. kiln_interrupt never waits.
 *
 * Signals. The library installs no signal handlers, but see kiln_watch_signal.
 *
 * Text is UTF-8. Texts that the library gives live as long as the handle they were asked of.
 */
#ifndef KILN_H
#define KILN_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define KILN_API __attribute__((visibility("default")))
#else
#define KILN_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Functions are added, never changed, as long as this number stays. */
#define KILN_ABI_VERSION 1

typedef struct kiln_session kiln_session;
typedef struct kiln_value kiln_value;
typedef struct kiln_error kiln_error;

/* DLPack's structures (dlpack.h), by which libraries hand tensors to each other without copying elements. */
struct DLManagedTensor;
struct DLManagedTensorVersioned;

KILN_API int kiln_abi_version(void);     /* KILN_ABI_VERSION of the library */
KILN_API const char* kiln_version(void); /* "0.1.0" */

/* ---- Errors ---- */

typedef enum kiln_error_kind {
  KILN_ERROR_PROGRAM = 1,     /* the program is wrong, or raised an error */
  KILN_ERROR_INTERRUPTED = 2, /* kiln_interrupt or a watched signal stopped it */
  KILN_ERROR_EXIT = 3,        /* the program called `exit` */
  KILN_ERROR_ARGUMENT = 4,    /* a function of this header was called wrongly */
  KILN_ERROR_INTERNAL = 5     /* a mistake of Kiln itself */
} kiln_error_kind;

KILN_API kiln_error_kind kiln_error_get_kind(const kiln_error* error);
/* The error's name in the language: "ShapeError"; and its code, "K0501", or "". */
KILN_API const char* kiln_error_name(const kiln_error* error);
KILN_API const char* kiln_error_code(const kiln_error* error);
KILN_API const char* kiln_error_message(const kiln_error* error); /* one sentence */
/* What the prompt prints: the sentence, lines of the program with carets, a help, active calls. */
KILN_API const char* kiln_error_text(const kiln_error* error);
/* The same as one JSON object: kind, code, message, file, line, column, end_line, end_column, labels, help,
 * trace. */
KILN_API const char* kiln_error_json(const kiln_error* error);
/* Where the program is wrong, counted from 1; "" and 0 where there is no place. */
KILN_API const char* kiln_error_file(const kiln_error* error);
KILN_API int kiln_error_line(const kiln_error* error);
KILN_API int kiln_error_exit_code(const kiln_error* error); /* of KILN_ERROR_EXIT */
KILN_API void kiln_error_free(kiln_error* error);

/* ---- Sessions ---- */

/* Takes text that a program writes, in the thread that runs it. It may call this library. */
typedef void (*kiln_sink)(void* context, const char* text, size_t size);

typedef struct kiln_options {
  size_t size;        /* sizeof(kiln_options): later versions append fields */
  kiln_sink out, err; /* what programs print, and warnings; NULL: the process's stdout and stderr */
  void *out_context, *err_context;
  const char* const* arguments; /* the program's `args` */
  size_t argument_count;
  int never_compiles; /* not 0: functions run in the interpreter, unless they are marked with @jit */
} kiln_options;

/* `options` may be NULL. */
KILN_API kiln_error* kiln_session_new(const kiln_options* options, kiln_session** session);
KILN_API void kiln_session_free(kiln_session* session);

/* Runs text. `value` may be NULL; it gets the value of the last statement where that is an expression, else
 * none. */
KILN_API kiln_error* kiln_eval(kiln_session* session, const char* text, kiln_value** value);
/* Runs a file in the session: its names become the session's, and its imports are relative to it. */
KILN_API kiln_error* kiln_load(kiln_session* session, const char* path);
/* The value of a name, as the program sees it. */
KILN_API kiln_error* kiln_lookup(kiln_session* session, const char* name, kiln_value** value);

/* Asks the call that runs now, if any, to stop. To be called from any thread or signal handler. Work that
 * others see, as a write to a tensor, is finished first. */
KILN_API void kiln_interrupt(void);
/* From now on this signal interrupts what the session runs in the thread that calls this function, as Ctrl-C
 * does at the prompt: for the time of each such call the library's handler stands in front of the one that is
 * there, which is called as well. That is two calls of the system for each; a program that waits for signals
 * elsewhere calls kiln_interrupt instead. 0: no signal. */
KILN_API kiln_error* kiln_watch_signal(kiln_session* session, int signal_number);

/* From now on a thread of the library reads bytes from a pipe and interrupts the call that runs at each that
 * is `signal_number`, until the other end is closed: what a handler of the program writes there, as Python's
 * do (signal.set_wakeup_fd), so that calls pay nothing for it. The library closes `pipe` then. */
KILN_API kiln_error* kiln_watch_pipe(int pipe, int signal_number);

/* ---- Values ---- */

typedef enum kiln_kind {
  KILN_NONE,
  KILN_BOOL,
  KILN_INT,
  KILN_FLOAT,
  KILN_STRING,
  KILN_LIST,
  KILN_TUPLE,
  KILN_DICT,
  KILN_TENSOR,
  KILN_FUNCTION, /* all that can be called */
  KILN_OBJECT,   /* anything else */
  KILN_COMPLEX
} kiln_kind;

/* New values; NULL when there is no memory. Items are shared with the container, not copied. */
KILN_API kiln_value* kiln_none(void);
KILN_API kiln_value* kiln_bool(int value);
KILN_API kiln_value* kiln_int(int64_t value);
KILN_API kiln_value* kiln_float(double value);
KILN_API kiln_value* kiln_complex(double real, double imaginary);
KILN_API kiln_value* kiln_string(const char* text, size_t size);
KILN_API kiln_value* kiln_list(const kiln_value* const* items, size_t count);
KILN_API kiln_value* kiln_tuple(const kiln_value* const* items, size_t count);
KILN_API kiln_error* kiln_dict(const kiln_value* const* keys, const kiln_value* const* items, size_t count,
                               kiln_value** dict);
KILN_API void kiln_value_free(kiln_value* value);

KILN_API kiln_kind kiln_value_kind(const kiln_value* value);
/* Of a bool, an int or a float; 0 for other kinds. */
KILN_API int64_t kiln_value_int(const kiln_value* value);
KILN_API double kiln_value_float(const kiln_value* value);     /* also the real part of a complex number */
KILN_API double kiln_value_imaginary(const kiln_value* value); /* of a complex number; 0 for other kinds */
/* Of a string; NULL for other kinds. `size` may be NULL; the text ends in a 0 that it does not count. */
KILN_API const char* kiln_value_string(const kiln_value* value, size_t* size);
/* Items of a list, tuple or dict; 0 for other kinds. */
KILN_API size_t kiln_value_size(const kiln_value* value);
/* Item `index`, and the key that it has in a dict, as new handles. */
KILN_API kiln_error* kiln_value_item(const kiln_value* value, size_t index, kiln_value** item);
KILN_API kiln_error* kiln_value_key(const kiln_value* value, size_t index, kiln_value** key);
/* `value.name`: a field, a method, a name of a module. */
KILN_API kiln_error* kiln_value_attribute(kiln_session* session, const kiln_value* value, const char* name,
                                          kiln_value** attribute);
/* The value as the prompt shows it, as a string. */
KILN_API kiln_error* kiln_value_repr(kiln_session* session, const kiln_value* value, kiln_value** text);

/* Calls a function. The last `named_count` of the `count` arguments have names. */
KILN_API kiln_error* kiln_call(kiln_session* session, const kiln_value* function,
                               const kiln_value* const* arguments, size_t count, const char* const* names,
                               size_t named_count, kiln_value** result);

/* An argument or result that needs no handle, for calls that take a microsecond. */
typedef struct kiln_argument {
  int32_t kind;  /* KILN_NONE, KILN_BOOL, KILN_INT, KILN_FLOAT, KILN_STRING or one of those below */
  int32_t flags; /* KILN_READ_ONLY or 0 */
  union {
    int64_t integer; /* also of a bool */
    double number;
    const char* text; /* of `size` bytes */
    const kiln_value* value;
    struct DLManagedTensor* tensor;
    struct DLManagedTensorVersioned* versioned;
  } as;
  size_t size;
} kiln_argument;
enum { KILN_VALUE = 100, KILN_DLPACK = 101, KILN_DLPACK_VERSIONED = 102 }; /* further kinds of arguments */
enum { KILN_READ_ONLY = 1 }; /* of the elements of a DLPack tensor */

/* The value of an argument. What it is made of becomes the library's in any case, also after an error. */
KILN_API kiln_error* kiln_value_new(const kiln_argument* argument, kiln_value** value);
/* Calls a function as kiln_call does. Arguments of DLPack become the library's in any case, also after an
 * error. `result` gets a none, bool, int or float in place, and of every other kind a new handle. */
KILN_API kiln_error* kiln_invoke(kiln_session* session, const kiln_value* function,
                                 const kiln_argument* arguments, size_t count, const char* const* names,
                                 size_t named_count, kiln_argument* result);

/* ---- Tensors ---- */

/* The number of dimensions, -1 for other values; and the first `capacity` of their sizes. */
KILN_API int kiln_tensor_sizes(const kiln_value* tensor, int64_t* sizes, size_t capacity);
/* "f32", as the language writes it; NULL for other values. */
KILN_API const char* kiln_tensor_dtype(const kiln_value* tensor);

/* A tensor of the elements that DLPack's structure describes, which are not copied: writes are seen on both
 * sides. The structure becomes the library's on success, which calls its deleter when no tensor needs the
 * elements any more, in the thread that drops the last one. Refused in words: devices but the CPU, dtypes
 * that Kiln does not have, negative strides, elements that are not aligned to their size. A write to a tensor
 * that is marked as read-only (versioned) goes to a copy. */
KILN_API kiln_error* kiln_tensor_from_dlpack(struct DLManagedTensor* given, kiln_value** tensor);
KILN_API kiln_error* kiln_tensor_from_dlpack_versioned(struct DLManagedTensorVersioned* given,
                                                       kiln_value** tensor);

/* The elements of a tensor for another library, not copied. The caller calls the deleter, in any thread. The
 * first element of a tensor that Kiln made is aligned to 64 bytes. A tensor that requires gradients is
 * refused: hand over `x.detach()`. */
KILN_API kiln_error* kiln_tensor_to_dlpack(const kiln_value* tensor, struct DLManagedTensor** lent);
KILN_API kiln_error* kiln_tensor_to_dlpack_versioned(const kiln_value* tensor,
                                                     struct DLManagedTensorVersioned** lent);

/* Calls a function of tensors that gives a tensor, or a tuple or list of them. The arguments become the
 * library's in any case, also after an error; the caller calls the deleters of the results. `capacity` is how
 * many results there is room for, `result_count` how many came. */
KILN_API kiln_error* kiln_function_call(kiln_session* session, const kiln_value* function,
                                        struct DLManagedTensor* const* arguments, size_t count,
                                        struct DLManagedTensor** results, size_t capacity,
                                        size_t* result_count);

#ifdef __cplusplus
}
#endif

#endif
