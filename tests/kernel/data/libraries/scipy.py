import scipy, scipy.optimize, scipy.stats, scipy.linalg, scipy.sparse, scipy.sparse.linalg, scipy.integrate, scipy.interpolate, scipy.signal, scipy.spatial, scipy.ndimage, scipy.special, scipy.fft, scipy.cluster.hierarchy, scipy.io
import numpy as np

scipy.optimize.minimize(lambda x: (x**2).sum(), np.ones(5))
scipy.stats.ttest_ind(np.arange(5), np.arange(5) + 1)
scipy.integrate.solve_ivp(lambda t, y: -y, (0, 1), [1])
scipy.sparse.linalg.spsolve(scipy.sparse.eye(10).tocsc(), np.ones(10))
scipy.fft.fft(np.ones(100), workers=2)
scipy.spatial.cKDTree(np.random.rand(100, 3)).query(np.random.rand(10, 3), workers=2)
scipy.io.savemat("x.mat", {"a": np.ones(3)})
scipy.io.loadmat("x.mat")
scipy.optimize.linprog([1, 2], [[1, 1]], [3])
scipy.ndimage.gaussian_filter(np.random.rand(50, 50), 2)
print("done")
