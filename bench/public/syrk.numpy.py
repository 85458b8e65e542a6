from harness import measure, noise


def syrk(alpha, beta, c, a):
    for i in range(a.shape[0]):
        c[i, : i + 1] *= beta
        for k in range(a.shape[1]):
            c[i, : i + 1] += alpha * a[i, k] * a[: i + 1, k]
    return c


measure("syrk", syrk, lambda: (1.5, 1.2, noise(70, 70), noise(70, 50)))
