from harness import measure, noise


def symm(alpha, beta, c, a, b):
    m, n = c.shape
    c *= beta
    for i in range(m):
        for j in range(n):
            c[:i, j] += alpha * b[i, j] * a[i, :i]
            c[i, j] += alpha * b[i, j] * a[i, i] + alpha * (b[:i, j] @ a[i, :i])
    return c


measure("symm", symm, lambda: (1.5, 1.2, noise(40, 50), noise(40, 40), noise(40, 50)))
