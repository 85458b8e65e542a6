#!/usr/bin/env python3
"""Checks the translator of PTX by itself: what instructions give at their edges, and what it refuses.

    check_translate.py compiler"""
import ctypes
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE))
import rounding  # noqa: E402
import translate  # noqa: E402


def f32(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def f64(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


INF, NAN = float("inf"), float("nan")
MINUS = {bits: (1 << bits) - 1 for bits in (16, 32, 64)}

# (instructions that write register 3 of a class from 0, 1 and 2 of it, bits of those, bits of the result). Registers are %rs
# of 16 bits, %r of 32, %rd of 64, %f and %fd of floats, of which the class is the first that is named.
CASES = [
    ("add.s32 %r3, %r0, %r1", (0x7FFFFFFF, 1), 0x80000000),
    ("sub.s64 %rd3, %rd0, %rd1", (0, 1), MINUS[64]),
    ("mul.lo.s32 %r3, %r0, %r1", (0x10001, 0x10001), 0x20001),
    ("mul.hi.u32 %r3, %r0, %r1", (0xFFFFFFFF, 0xFFFFFFFF), 0xFFFFFFFE),
    ("mul.hi.s64 %rd3, %rd0, %rd1", (MINUS[64], 5), MINUS[64]),
    ("mul.hi.u64 %rd3, %rd0, %rd1", (MINUS[64], MINUS[64]), MINUS[64] - 1),
    ("mad.lo.s32 %r3, %r0, %r1, %r2", (3, 4, 5), 17),
    ("div.s32 %r3, %r0, %r1", (0xFFFFFFF9, 2), 0xFFFFFFFD),
    ("div.s32 %r3, %r0, %r1", (0x80000000, 0xFFFFFFFF), 0x80000000),
    ("rem.s64 %rd3, %rd0, %rd1", (MINUS[64] - 6, 4), MINUS[64] - 2),
    ("rem.u32 %r3, %r0, %r1", (0xFFFFFFFF, 10), 5),
    ("shl.b32 %r3, %r0, %r1", (1, 32), 0),
    ("shr.u32 %r3, %r0, %r1", (0x80000000, 31), 1),
    ("shr.s32 %r3, %r0, %r1", (0x80000000, 40), 0xFFFFFFFF),
    ("shr.s32 %r3, %r0, 4", (0x80000000,), 0xF8000000),
    ("shf.l.wrap.b32 %r3, %r0, %r1, 8", (0x12345678, 0x9ABCDEF0), 0xBCDEF012),
    ("prmt.b32 %r3, %r0, %r1, 0x7650", (0x44332211, 0x88776655), 0x88776611),
    ("prmt.b32 %r3, %r0, %r1, 0x8888", (0x00000080, 0), 0xFFFFFFFF),
    ("clz.b32 %r3, %r0", (0,), 32),
    ("popc.b32 %r3, %r0", (0xF0F0,), 8),
    ("cvt.s32.s8 %r3, %r0", (0x1FF,), 0xFFFFFFFF),
    ("cvt.u32.u16 %r3, %r0", (0x12345,), 0x2345),
    ("cvt.s64.s32 %rd3, %rd0", (0x80000000,), 0xFFFFFFFF80000000),
    ("mov.b64 {%r0, %r1}, %rd0; mov.b64 %rd3, {%r1, %r0}", (0x1111111122222222,), 0x2222222211111111),
    ("{ .reg .b32 tmp; mov.b64 {tmp, %r3}, %rd0; }", (0x1111111122222222,), 0x11111111),
    ("setp.lt.s32 %p1, %r0, %r1; selp.b32 %r3, 7, 9, %p1", (MINUS[32], 1), 7),
    ("setp.lt.u32 %p1, %r0, %r1; selp.b32 %r3, 7, 9, %p1", (MINUS[32], 1), 9),
    ("mov.b32 %r3, 1; bra $L_end; mov.b32 %r3, 2; $L_end:", (), 1),
    ("setp.eq.s32 %p1, %r0, 5; mov.b32 %r3, 1; @!%p1 bra $L_other; mov.b32 %r3, 2; $L_other:", (5,), 2),
    ("brx.idx %r0, $L_table; $L_table: .branchtargets $L_a, $L_b; $L_a: mov.b32 %r3, 1; $L_b: add.s32 %r3, %r3, 2", (1,), 2),
    ("mad.wide.u32 %rd3, %r0, %r1, %rd2", (MINUS[32], 2, 5), 0x200000003),
    ("dp4a.s32.u32 %r3, %r0, %r1, %r2", (0x010002FF, 0x02FF03FF, 10), MINUS[32] & (10 + 2 + 6 - 255)),
    ("dp4a.u32.u32 %r3, %r0, %r1, %r2", (MINUS[32], MINUS[32], 1), 1 + 4 * 255 * 255),
    ("bfe.u32 %r3, %r0, %r1, %r2", (0xABCD1234, 8, 8), 0x12),
    ("bfe.s32 %r3, %r0, 28, 8", (0x90000000,), 0xFFFFFFF9),
    ("bfe.s64 %rd3, %rd0, 4, 4", (0x70,), 7),
    ("bfi.b32 %r3, %r0, %r1, 4, 8", (0xFF5, MINUS[32]), 0xFFFFFF5F),
    ("bfind.shiftamt.u32 %r3, %r0", (0x10,), 27),
    ("bfind.u32 %r3, %r0", (0x10,), 4),
    ("bfind.u32 %r3, %r0", (0,), MINUS[32]),
    ("brev.b32 %r3, %r0", (1,), 0x80000000),
    (".shared .align 8 .b8 pair[8]; st.shared.v2.b32 [pair], {%r0, %r1}; ld.shared.b64 %rd3, [pair]", (1, 2), 0x200000001),
    (".shared .align 4 .b8 word[8]; mov.b32 %r1, word; st.shared.b32 [%r1+4], %r0; atom.shared.max.s32 %r2, [word+4], 7; "
     "ld.shared.b32 %r3, [word+4]", (MINUS[32],), 7),
    (".shared .align 4 .b32 count; mov.b64 %rd1, count; cvta.shared.u64 %rd2, %rd1; st.b32 [%rd2], 5; "
     "red.shared.add.u32 [count], 2; "
     "atom.shared.cas.b32 %r1, [count], 7, 9; cvta.to.shared.u64 %rd1, %rd2; ld.shared.u32 %r2, [%rd1]; add.s32 %r3, %r1, %r2",
     (), 16),
    (".shared .align 16 .b8 four[16]; .shared .align 16 .b8 from[16]; mov.b32 %r1, from; st.shared.v2.b32 [from], {%r0, 7}; "
     "cvta.shared.u64 %rd1, from; cp.async.cg.shared.global [four], [%rd1], 16, 4; cp.async.commit_group; ld.shared.b32 %r2, [four]; "
     "cp.async.wait_group 0; ld.shared.b64 %rd3, [four]; mov.b64 %rd1, {%r2, %r2}; sub.s64 %rd3, %rd3, %rd1", (5,), 5),
    ("add.rn.f32 %f3, %f0, %f1", (f32(1.0), f32(2.0**-24)), f32(1.0)),
    ("mul.rn.f32 %f3, %f0, %f1", (1, f32(0.5)), 0),
    ("mul.rn.f32 %f3, %f0, %f1", (3, f32(0.5)), 2),
    ("fma.rn.f32 %f3, %f0, %f1, %f2", (f32(1 + 2.0**-23), f32(1 + 2.0**-23), f32(-1 - 2.0**-22)), f32(2.0**-46)),
    ("div.rn.f64 %fd3, %fd0, %fd1", (f64(1.0), f64(3.0)), f64(1.0 / 3.0)),
    ("rcp.rn.f32 %f3, %f0", (f32(-0.0),), f32(-INF)),
    ("sqrt.rn.f64 %fd3, %fd0", (f64(2.0),), f64(2.0**0.5)),
    ("neg.f32 %f3, %f0", (0,), 0x80000000),
    ("abs.f32 %f3, %f0", (0x80000000,), 0),
    ("copysign.f32 %f3, %f0, %f1", (f32(-1.0), f32(2.0)), f32(-2.0)),
    ("min.f32 %f3, %f0, %f1", (f32(NAN), f32(2.0)), f32(2.0)),
    ("min.f32 %f3, %f0, %f1", (0, 0x80000000), 0x80000000),
    ("max.f32 %f3, %f0, %f1", (0x80000000, 0), 0),
    ("cvt.rni.f32.f32 %f3, %f0", (f32(2.5),), f32(2.0)),
    ("cvt.rmi.f32.f32 %f3, %f0", (f32(-2.5),), f32(-3.0)),
    ("cvt.rzi.f64.f64 %fd3, %fd0", (f64(-0.5),), f64(-0.0)),
    ("cvt.rzi.s32.f32 %r3, %f0", (f32(INF),), 0x7FFFFFFF),
    ("cvt.rzi.s32.f32 %r3, %f0", (f32(-3e9),), 0x80000000),
    ("cvt.rzi.u32.f32 %r3, %f0", (f32(-1.0),), 0),
    ("cvt.rzi.s32.f32 %r3, %f0", (f32(NAN),), 0),
    ("cvt.rn.f32.s32 %f3, %r0", (0x7FFFFFFF,), f32(2.0**31)),
    ("cvt.rn.f32.f64 %f3, %fd0", (f64(1e300),), f32(INF)),
    ("cvt.rn.f16x2.f32 %r3, %f0, %f1", (f32(1.5), f32(-2.0**-24)), 0x3E008001),
    ("cvt.rn.bf16x2.f32 %r3, %f0, %f1", (f32(1 + 2.0**-8), f32(INF)), 0x3F807F80),
    ("setp.ne.f32 %p1, %f0, %f0; selp.b32 %r3, 1, 0, %p1", (f32(NAN),), 0),
    ("setp.neu.f32 %p1, %f0, %f0; selp.b32 %r3, 1, 0, %p1", (f32(NAN),), 1),
    ("setp.nan.f32 %p1, %f0, %f1; selp.b32 %r3, 1, 0, %p1", (f32(1.0), f32(NAN)), 1),
    ("setp.geu.f64 %p1, %fd0, %fd1; selp.b32 %r3, 1, 0, %p1", (f64(1.0), f64(2.0)), 0),
    ("mov.f32 %f3, 0f3FC00000", (), f32(1.5)),
]
REFUSED = ["add.f32 %f3, %f0, %f1", "mul.ftz.f32 %f3, %f0, %f1", "sqrt.approx.f32 %f3, %f0", "ex2.approx.f32 %f3, %f0",
           "mad.rn.f32 %f3, %f0, %f1, %f2", "div.full.f32 %f3, %f0, %f1", "add.sat.s32 %r3, %r0, %r1", "bar.sync 1, 64",
           "cvt.rn.f16.f32 %rs3, %f0", "cvt.rzi.ftz.s32.f32 %r3, %f0", "nosuch.u32 %r3, %r0", "mov.u32 %r3, %smid",
           "activemask.b32 %r3", "shfl.down.b32 %r3, %r0, %r1, %r2", "atom.global.add.noftz.f16 %rs3, [%rd0], %rs1",
           "setp.lt.foo.u32 %p1, %r0, %r1", "cp.async.ca.shared.global [%r0], [%rd1], 4", "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0, %r1}, [%r2]",
           "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1}, {%r2}, {%f0, %f1, %f2, %f3}"]
FAULTS = ["add.f32 %f3, %f0, %f1", "sub.f64 %fd3, %fd0, %fd1", "mul.ftz.f32 %f3, %f0, %f1", "mul.f32 %f3, %f0, %f1",
          "@%p1 mul.f32 %f3, %f0, %f1", "sqrt.approx.f32 %f3, %f0", "mad.rn.f32 %f3, %f0, %f1, %f2", "div.full.f32 %f3, %f0, %f1"]
WIDTHS = {"rs": 16, "r": 32, "rd": 64, "f": 32, "fd": 64}


def lines_of_contractions():
    """A sum and a product that are rounded together stand in the program as such."""
    ptx = '.loc 1 2 0\nfma.rn.f32 %f1, %f2, %f3, %f4;\n.loc 1 1 0\nfma.rn.f32 %f1, %f2, %f3, %f4;\n.file 1 "a.cu"\n'
    found = rounding.rounding_faults(ptx, lambda file: "x * y + z\nfma(x, y, z)\n")
    expected = ["4: fma.rn.f32 %f1, %f2, %f3, %f4; of the line: x * y + z"]
    return [] if found == expected else [f"contractions: {found}"]


def kernel(name, code):
    """Three arguments of 64 bits into registers 0, 1 and 2 of each class, the code, and register 3 into memory."""
    lines = [f".visible .entry {name}(.param .u64 {name}_p0, .param .u64 {name}_p1, .param .u64 {name}_p2, .param .u64 {name}_p3)",
             "{", ".reg .pred %p<2>;", *(f".reg .b{bits} %{c}<4>;" for c, bits in WIDTHS.items()), ".reg .b64 %out<1>;"]
    for i in range(3):
        lines += [f"ld.param.b{bits} %{c}{i}, [{name}_p{i}];" for c, bits in WIDTHS.items()]
    lines += [code if code.endswith(":") else code + ";", f"ld.param.u64 %out0, [{name}_p3];"]
    target = next(c for c in ("rs", "rd", "fd", "r", "f") if f"%{c}3" in code)
    lines += [f"st.global.b{WIDTHS[target]} [%out0], %{target}3;", "ret;", "}"]
    return "\n".join(lines), WIDTHS[target]


def run(function, values):
    result = ctypes.c_uint64(0)
    arguments = [ctypes.c_uint64(v) for v in (*values, *[0] * (3 - len(values)))] + [ctypes.c_uint64(ctypes.addressof(result))]
    pointers = (ctypes.c_void_p * 4)(*[ctypes.addressof(a) for a in arguments])
    function(pointers)
    return result.value


def main(compiler):
    kernels = [kernel(f"case{i}", code) for i, (code, _, _) in enumerate(CASES)]
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "cases.cpp"
        source.write_text(translate.translate("\n".join(text for text, _ in kernels)))
        library = source.with_suffix(".so")
        subprocess.run([compiler, *translate.CXX_OPTIONS, f"-I{ROOT}", str(source), "-o", str(library)], check=True)
        loaded = ctypes.CDLL(str(library))
        for i, (code, values, expected) in enumerate(CASES):
            given = run(getattr(loaded, f"case{i}"), values)
            if given != expected:
                failures.append(f"{code} of {[hex(v) for v in values]}: {given:#x}, not {expected:#x}")
    for code in REFUSED:
        try:
            translate.statement(code)
            failures.append(f"taken: {code}")
        except translate.TranslationError:
            pass
    failures += [f"no fault: {code}" for code in FAULTS if not rounding.rounding_faults(f"\t{code};\n")]
    clean = [code for code, _, _ in CASES if rounding.rounding_faults(f"\t{code};\n")]
    failures += [f"a fault: {code}" for code in clean]
    failures += lines_of_contractions()
    print("\n".join(failures) or f"{len(CASES)} instructions give what they should, {len(REFUSED)} are refused")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
