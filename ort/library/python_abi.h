// The functions of Python's stable ABI that kiln_ort calls, which the process that loads it has: it is built
// without Python, and for every version from 3.8 on.
#pragma once

#include <cstddef>

extern "C" {
struct PyObject;
using PyCapsuleDestructor = void (*)(PyObject*);
using PyGilState = int;

PyGilState PyGILState_Ensure();
void PyGILState_Release(PyGilState state);
void Py_IncRef(PyObject* object);
void Py_DecRef(PyObject* object);
PyObject* Py_BuildValue(const char* format, ...);
PyObject* PyCapsule_New(void* pointer, const char* name, PyCapsuleDestructor destructor);
int PyCapsule_IsValid(PyObject* capsule, const char* name);
void* PyCapsule_GetPointer(PyObject* capsule, const char* name);
int PyCapsule_SetName(PyObject* capsule, const char* name);
PyObject* PyObject_Type(PyObject* object);
PyObject* PyObject_Repr(PyObject* object);
int PyObject_IsInstance(PyObject* object, PyObject* type);
long long PyLong_AsLongLong(PyObject* object);
double PyFloat_AsDouble(PyObject* object);
std::ptrdiff_t PyTuple_Size(PyObject* tuple);
PyObject* PyTuple_GetItem(PyObject* tuple, std::ptrdiff_t index);
PyObject* PyErr_Occurred();
void PyErr_Clear();
extern PyObject _Py_NoneStruct;
extern PyObject PyBool_Type, PyLong_Type, PyFloat_Type, PyTuple_Type;
}
