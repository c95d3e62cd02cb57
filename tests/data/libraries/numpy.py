import numpy as np

rng = np.random.default_rng(42)
a = rng.normal(size=(4, 3)).round(3)
print(a, a.mean(axis=0), a.T @ a, np.linalg.eigvalsh(a.T @ a), sep="\n")
print(np.linalg.solve(np.array([[3.0, 1], [1, 2]]), [9, 8]), np.linalg.svd(a, compute_uv=False))
b = np.arange(12).reshape(3, 4)
b[b % 2 == 0] *= -1
print(b, np.where(b < 0, 0, b), np.einsum("ij,kj->ik", b, b), np.cumsum(b, axis=1), b[::-1, [0, 2]], sep="\n")
print(np.fft.rfft([1, 2, 3, 4]), np.polyfit([0, 1, 2], [1, 3, 5], 1).round(6), np.histogram([1, 2, 2, 9], bins=3))
print(np.unique([3, 1, 3], return_counts=True), np.argsort([3, 1, 2]), np.percentile(b, [25, 50]))
print(np.nanmean([1, np.nan]))
r = np.array([("ann", 3), ("bob", 5)], dtype=[("name", "U5"), ("n", "i4")])
print(r["n"].sum(), r[r["n"] > 3], np.char.upper(r["name"]), np.datetime64("2024-03-01") - np.datetime64("2024-02-01"))
with np.errstate(divide="ignore"):
    print(np.log(np.array([0.0, 1])))
np.save("a.npy", a)
np.savez("both.npz", a=a, b=b)
np.savetxt("b.csv", b, delimiter=",", fmt="%d")
print(np.array_equal(np.load("a.npy"), a), sorted(np.load("both.npz")), np.loadtxt("b.csv", delimiter=",").shape)
m = np.ma.masked_greater([1, 5, 9], 4)
print(m, m.sum(), np.vectorize(lambda x: x + 1)([1, 2]), np.apply_along_axis(sum, 1, b))
print(np.random.RandomState(1).randint(9, size=3))
np.linalg.inv(np.zeros((2, 2)))
