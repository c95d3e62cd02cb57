import numpy as np
from scipy import integrate, optimize, signal, sparse, spatial, special, stats

print(optimize.minimize(lambda x: (x[0] - 1) ** 2 + (x[1] + 2) ** 2, [0, 0]).x.round(4))
print(optimize.brentq(lambda x: x**3 - 2, 0, 2))
print(optimize.curve_fit(lambda x, a, b: a * x + b, np.arange(5.0), [1, 3, 5, 7, 9])[0].round(6))
print(optimize.linprog([-1, -2], [[1, 1]], [4]).fun)
print(integrate.quad(np.sin, 0, np.pi)[0], integrate.solve_ivp(lambda t, y: -y, (0, 1), [1.0]).y[0, -1].round(4))
print(stats.ttest_ind([1, 2, 3, 4], [2, 3, 4, 9]), stats.pearsonr([1, 2, 3], [1, 2, 4]).statistic)
print(stats.norm.ppf(0.975), stats.linregress([0, 1, 2], [1, 3, 5]).slope)
print(signal.find_peaks([0, 2, 0, 3, 0])[0], signal.butter(2, 0.3)[0].round(5), signal.convolve([1, 2], [1, 1]))
print(special.gamma(5), special.comb(5, 2), special.erf(1))
print(sparse.csr_matrix([[0, 1], [2, 0]]).sum(), sparse.csgraph.shortest_path(sparse.csr_matrix([[0, 1], [2, 0]])))
print(spatial.distance.cdist([[0, 0]], [[3, 4]]), spatial.KDTree([[0, 0], [5, 5]]).query([4, 4]))
print(spatial.ConvexHull([[0, 0], [1, 0], [0, 1], [0.2, 0.2]]).volume)
optimize.brentq(lambda x: x * x + 1, 0, 2)
