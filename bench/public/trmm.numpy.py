from harness import measure, noise


def trmm(alpha, a, b):
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] += a[i + 1 :, i] @ b[i + 1 :, j]
    b *= alpha
    return b


measure("trmm", trmm, lambda: (1.5, noise(60, 60), noise(60, 70)))
