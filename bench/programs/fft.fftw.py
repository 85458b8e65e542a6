"""FFTW by its C interface, with plans that it measures first; one thread."""
import ctypes
import ctypes.util
import time

MEASURE, FORWARD = 0, -1
PLANNING = 5.0  # seconds, after which a plan is the best one so far


class Library:
    """FFTW of one precision: names of functions begin with `prefix`."""

    def __init__(self, name, prefix, scalar):
        self.library = ctypes.CDLL(ctypes.util.find_library(name))
        self.prefix, self.scalar = prefix, scalar
        for function in ("malloc", "plan_dft_1d", "plan_dft_r2c_1d", "plan_many_dft"):
            self.function(function).restype = ctypes.c_void_p
        self.function("set_timelimit")(ctypes.c_double(PLANNING))

    def function(self, name):
        return getattr(self.library, f"{self.prefix}_{name}")

    def numbers(self, count):
        memory = self.function("malloc")(ctypes.c_size_t(ctypes.sizeof(self.scalar) * count))
        return (self.scalar * count).from_address(memory)

    def execute(self, plan):
        return lambda f=self.function("execute"), p=ctypes.c_void_p(plan): f(p)


def fill(numbers, count):
    for i in range(count):
        numbers[i] = (i * i * 7919 % 100003) / 100003 - 0.5


def timed(name, n, f, check):
    calls = max(1, 2**17 // n)
    f()
    times = []
    for _ in range(9):
        started = time.perf_counter()
        for _ in range(calls):
            f()
        times.append((time.perf_counter() - started) / calls)
    print(name, sorted(times)[4], check())


def complex_lines(library, name, lines, n):
    x, y = library.numbers(2 * n * lines), library.numbers(2 * n * lines)
    one = (ctypes.c_int * 1)(n)
    at = [ctypes.cast(each, ctypes.c_void_p) for each in (x, y)]
    plan = library.function("plan_many_dft")(1, one, lines, at[0], None, 1, n, at[1], None, 1, n, FORWARD, MEASURE)
    fill(x, 2 * n * lines)
    timed(name, n * lines, library.execute(plan), lambda: y[2 * (n * min(3, lines - 1) + 7)])


def real_line(library, name, n):
    x, y = library.numbers(n), library.numbers(n + 2)
    plan = library.function("plan_dft_r2c_1d")(n, ctypes.cast(x, ctypes.c_void_p), ctypes.cast(y, ctypes.c_void_p), MEASURE)
    fill(x, n)
    timed(name, n, library.execute(plan), lambda: y[14])


single = Library("fftw3f", "fftwf", ctypes.c_float)
for dtype, library in (("f32", single), ("f64", Library("fftw3", "fftw", ctypes.c_double))):
    for power in range(10, 21, 2):
        complex_lines(library, f"complex_{dtype}_2^{power}", 1, 2**power)
        real_line(library, f"real_{dtype}_2^{power}", 2**power)
complex_lines(single, "lines_f32_1000", 1000, 1000)
complex_lines(single, "prime_f32_100003", 1, 100003)
