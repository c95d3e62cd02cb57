# domain: data-analysis
# needs: scikit-learn, scipy, matplotlib, numpy
import io
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy import stats
from scipy.optimize import minimize_scalar
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import silhouette_score
from sklearn.naive_bayes import MultinomialNB

# A spam filter
train = ["win cash now", "limited offer win prize", "meeting at noon", "lunch with team tomorrow"]
labels = ["spam", "spam", "ham", "ham"]
vec = CountVectorizer()
X = vec.fit_transform(train)
nb = MultinomialNB().fit(X, labels)
dummy = DummyClassifier(strategy="most_frequent").fit(X, labels)
test = vec.transform(["win a prize now", "team meeting"])
print(len(vec.vocabulary_), vec.get_feature_names_out()[:3], sorted(test[0].nonzero()[1].tolist()))
print(nb.predict(test), nb.predict_proba(test).round(3), dummy.predict(test))

# Clusters of flowers
iris = load_iris()
km = KMeans(n_clusters=3, n_init=5, random_state=0).fit(iris.data)
print(sorted(np.bincount(km.labels_).tolist()), round(float(silhouette_score(iris.data, km.labels_)), 3))

# Statistics
a, b = np.array([5.1, 4.9, 5.6, 5.8, 6.0]), np.array([6.2, 6.8, 6.1, 7.0, 6.5])
print(round(float(stats.spearmanr(a, b).statistic), 4), round(float(stats.chi2.sf(3.84, 1)), 3), stats.norm.cdf(0))
found = minimize_scalar(lambda x: (x - 2) ** 2 + 1, bounds=(0, 5), method="bounded")
print("minimum near 2:", abs(found.x - 2) < 1e-4)

# A figure
xs = np.linspace(0, 6, 60)
fig, axes = plt.subplots(2, 1, sharex=True, figsize=(5, 4))
for ax, (name, ys) in zip(axes, {"sin": np.sin(xs), "cos": np.cos(xs)}.items()):
    ax.plot(xs, ys, "--", label=name)
    ax.set_ylabel(name)
buf = io.BytesIO()
fig.savefig(buf, format="png", dpi=50)
plt.close(fig)
print(buf.getvalue()[:4], [line.get_label() for line in axes[0].get_lines()], axes[0].get_title())
