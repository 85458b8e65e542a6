import time

import numpy as np

n = 1 << 22
x = ((np.arange(n) % 1000) / 250 - 2).astype(np.float32)
q = x.reshape(2048, 2048)
m = x.reshape(4096, 1024)


def timed(name, f):
    r = f()
    times = []
    for _ in range(15):
        started = time.perf_counter()
        r = f()
        times.append(time.perf_counter() - started)
    first = r[0] if isinstance(r, tuple) else r
    print(name, sorted(times)[7], np.mean(first, dtype=np.float64))


timed("transpose", lambda: np.ascontiguousarray(q.T))
timed("transpose_f64", lambda: np.ascontiguousarray(q.astype(np.float64).T))
timed("add_transposed", lambda: q + q.T)
timed("permute", lambda: np.ascontiguousarray(x.reshape(128, 128, 256).transpose(2, 0, 1)))
timed("channels_last", lambda: np.ascontiguousarray(x.reshape(16, 64, 64, 64).transpose(0, 2, 3, 1)))
timed("heads", lambda: np.ascontiguousarray(x.reshape(8, 512, 16, 64).swapaxes(1, 2)))
timed("cat_rows", lambda: np.concatenate([m, m]))
timed("cat_columns", lambda: np.concatenate([m, m], 1))
timed("stack", lambda: np.stack([x, x]))
timed("pad", lambda: np.pad(m, 8))
timed("flip", lambda: np.ascontiguousarray(m[:, ::-1]))
timed("roll", lambda: np.roll(m, 3, 1))
timed("where", lambda: np.where(x > 0, x, np.float32(0)))
timed("compare", lambda: x > 0.5)
timed("cast_f64", lambda: x.astype(np.float64))
timed("repeat", lambda: np.repeat(x[:1048576], 4))
timed("flip_rows", lambda: np.ascontiguousarray(m[::-1]))
timed("flip_f64", lambda: np.ascontiguousarray(m.astype(np.float64)[:, ::-1]))
timed("roll_all", lambda: np.roll(x, 12345))
timed("roll_rows", lambda: np.roll(m, 3, 0))
timed("tile", lambda: np.tile(q[:1024], (1, 2)))
timed("tile_rows", lambda: np.tile(m[:2048], (2, 1)))
timed("repeat_rows", lambda: np.repeat(m[:1024], 4, 0))
timed("stretch", lambda: np.ascontiguousarray(np.broadcast_to(q[0], (2048, 2048))))
timed("every_other", lambda: np.ascontiguousarray(q[:, ::2]))
timed("clone", lambda: x.copy())
timed("tril", lambda: np.tril(q))
timed("cast_f16", lambda: x.astype(np.float16))
timed("cast_i64", lambda: x.astype(np.int64))
