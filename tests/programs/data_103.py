# domain: data-analysis
# needs: numpy
import numpy as np
from math import exp

# A picture, its edges and levels
img = np.zeros((6, 6))
img[1:5, 1:5] = 10
padded = np.pad(img, 1, mode="edge")
out = np.empty_like(img)
for i, j in np.ndindex(img.shape):
    out[i, j] = (padded[i : i + 3, j : j + 3] * np.full((3, 3), 1 / 9)).sum()
print(out.round(1), np.flatnonzero(np.abs(np.diff(img)).sum(axis=0)).tolist())
print("\n".join("".join("#" if v >= 5 else "." for v in row) for row in out))
labels = np.digitize(img, [5, 15])
print(dict(zip(*(x.tolist() for x in np.unique(labels, return_counts=True)))))
print(np.array_equal(img, np.fliplr(img)), np.rot90(img[:2, :3]).shape, [int(a.min()) for a in np.nonzero(img)])

# Points and distances
x, y = np.array([0.0, 3.0, 6.0, -3.0]), np.array([0.0, 4.0, 8.0, 4.0])
xy = np.column_stack([x, y])
dist = np.sqrt(((xy[:, None, :] - xy[None, :, :]) ** 2).sum(axis=-1))
np.fill_diagonal(dist, np.inf)
print(dist.argmin(axis=1), np.argsort(np.hypot(x, y), kind="stable"), np.degrees(np.arctan2(y, x)).round(2))
with np.errstate(divide="ignore", invalid="ignore"):
    print(np.nan_to_num(np.true_divide(y, x), nan=-1).round(3).tolist())
print(np.lexsort(xy.T), np.vstack([x, y]).shape, np.c_[x, y].sum(), np.repeat(["old", "new"], 2), np.sort(y))

# Linear algebra
A = np.array([[4.0, 1.0, 2.0], [1.0, 3.0, 0.0], [2.0, 0.0, 5.0]])
print("det: %.3f rank: %d" % (np.linalg.det(A), np.linalg.matrix_rank(A)), round(float(np.linalg.norm(A)), 4))
vals, vecs = np.linalg.eigh(A)
assert np.allclose(vecs.T @ vecs, np.identity(3)), "orthonormal"
try:
    np.linalg.inv(np.ones((2, 2)))
except np.linalg.LinAlgError as e:
    print("LinAlgError:", e)
P = np.array([[0.5, 0.5], [0.25, 0.75]])
vals, vecs = np.linalg.eig(P.T)
pi = np.real(vecs[:, np.argmax(np.real(vals))])
pi = pi / pi.sum()
print(pi.round(4), np.allclose(np.linalg.matrix_power(P, 50)[0], pi), round(float(np.polyval([1, 2, 3], 4)), 3))

# Chance
rng, old = np.random.default_rng(42), np.random.RandomState(3)
print(rng.standard_normal(2).round(3), rng.exponential(2.0, 2).round(3), rng.gamma(9, 1.1, 2).round(3), rng.random(1))
print(old.randn(2).round(3), rng.choice(list("abc"), size=3, p=[0.2, 0.3, 0.5]), np.sign(np.cos(x)))
z = np.concatenate([x, -x])
payoff = np.maximum(np.exp(z / 10) - 1, 0) * exp(-0.03)
print(payoff.round(3), bool(np.any(payoff)), bool(np.isclose(payoff.mean(), 0.3, atol=0.3)), np.log1p(z[:3]).round(3))
visits = dict.fromkeys("ab", 0) | {"c": max(abs(-1), 0)}
print(visits, all(v <= 1 for v in visits.values()) & True, list(map(str, visits)))
