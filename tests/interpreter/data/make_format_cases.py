#!/usr/bin/env python3
"""Writes format_cases.txt: what Python's format() gives, one case a line: kind, value, spec, result, tab-separated.

Run it with python3 >= 3.10 after adding a case; the result is kept so that the tests need no Python.
"""
import itertools
import pathlib

FLOATS = ["0.0", "-0.0", "1.0", "-1.5", "0.1", "2.5", "3.5", "1e16", "1e15", "123456789.0", "1e-4", "1e-5", "1.7976931348623157e308",
          "5e-324", "0.30000000000000004", "1234.5678", "-99999.5", "0.00012345", "inf", "-inf", "nan", "1e100", "12345678901234567.0", "0.5",
          "9.995", "999999.5"]
INTS = ["0", "1", "-1", "42", "-1234", "1234567", "9223372036854775807", "-9223372036854775808", "255"]
TEXTS = ["", "a", "héllo", "12345", "日本"]

float_specs = [""] + ["".join(p) for p in itertools.product(["", "+", " "], ["", "12", "012", "<14", "^15", "*>13", "=+14"[0:1] + "14"], ["", ","],
                                                           ["", ".0", ".2", ".10"], ["", "e", "f", "g", "%"])]
float_specs += ["#.0f", "#.3g", "#g", "E", "F", "G", ".3E", "_", "_.3f", "010,.1f", "z.1f", "n", ".20f", ".17g", ".0e", "#.0e", "x^20.3f"]
int_specs = [""] + ["".join(p) for p in itertools.product(["", "+", " "], ["", "#"], ["", "10", "010", "<12", "^9"], ["", "d", "b", "o", "x", "X"])]
int_specs += [",", "_", "_x", "#_b", "010,", "020_x", ",d", "e", ".2f", ".1%", "g", "=+10", "*=12", "n"]
text_specs = ["", "s", "10", "<10", ">10", "^10", "*^11", ".2", "10.3", "é>6", "010", "^3", ".0"]


def cases():
    for kind, values, specs, make in (("f", FLOATS, float_specs, float), ("i", INTS, int_specs, int), ("s", TEXTS, text_specs, str)):
        for i, (value, spec) in enumerate(itertools.product(values, specs)):
            # All of the odd ones, every seventh of the products.
            if kind == "f" and spec in float_specs[1:-17] and i % 7:
                continue
            try:
                yield kind, value, spec, format(make(value), spec)
            except ValueError:
                continue


lines = ["\t".join(case) for case in cases()]
pathlib.Path(__file__).with_name("format_cases.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")

# The shortest text of floats, f64 and f32.
import random
import struct

random.seed(1)
lines = []
for _ in range(1500):
    bits = random.getrandbits(64)
    value = struct.unpack("<d", struct.pack("<Q", bits))[0]
    if random.random() < 0.5:
        value = round(random.uniform(-1e6, 1e6), random.randrange(0, 8))
    lines.append(f"{struct.pack('<d', value).hex()}\t{value!r}")
pathlib.Path(__file__).with_name("repr_cases.txt").write_text("\n".join(lines) + "\n")
