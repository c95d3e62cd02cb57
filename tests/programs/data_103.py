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
print("\n".join("".join("#" if v >= 5 else "." for v in row) for row in out))
print(np.array_equal(img, np.fliplr(img)), np.rot90(img[:2, :3]).shape, [int(a.min()) for a in np.nonzero(img)])

# Points and distances
x, y = np.array([0.0, 3.0, 6.0, -3.0]), np.array([0.0, 4.0, 8.0, 4.0])
xy = np.column_stack([x, y])
dist = np.sqrt(((xy[:, None, :] - xy[None, :, :]) ** 2).sum(axis=-1))
print(*dist.max(axis=0).round(2))
with np.errstate(divide="ignore", invalid="ignore"):
    print(np.nan_to_num(np.true_divide(y, x), nan=-1).round(3).tolist())

# Linear algebra
A = np.array([[4.0, 1.0, 2.0], [1.0, 3.0, 0.0], [2.0, 0.0, 5.0]])
vals, vecs = np.linalg.eigh(A)
assert np.allclose(vecs.T @ vecs, np.identity(3)), "orthonormal"
try:
    np.linalg.inv(np.ones((2, 2)))
except np.linalg.LinAlgError as e:
    print("LinAlgError:", e)

# Chance
z = np.concatenate([x, -x])
payoff = np.maximum(np.exp(z / 10) - 1, 0) * exp(-0.03)
print(payoff.round(3), bool(np.any(payoff)), bool(np.isclose(payoff.mean(), 0.3, atol=0.3)), np.log1p(z[:3]).round(3))
visits = dict.fromkeys("ab", 0) | {"c": max(abs(-1), 0)}
print(visits, all(v <= 1 for v in visits.values()) & True, list(map(str, visits)))
