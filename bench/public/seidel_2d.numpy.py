from harness import measure, noise


def seidel_2d(steps, a):
    n = a.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            above, below = a[i - 1], a[i + 1]
            a[i, 1:-1] += above[:-2] + above[1:-1] + above[2:] + a[i, 2:] + below[:-2] + below[1:-1] + below[2:]
            for j in range(1, n - 1):
                a[i, j] += a[i, j - 1]
                a[i, j] /= 9.0
    return a


measure("seidel_2d", seidel_2d, lambda: (4, noise(50, 50)))
