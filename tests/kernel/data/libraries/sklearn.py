import os

os.environ["JOBLIB_MULTIPROCESSING"] = "0"
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import RandomForestClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, LinearRegression
from sklearn.cluster import KMeans
from sklearn.model_selection import cross_val_score, GridSearchCV, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.decomposition import PCA
import joblib

X, y = load_iris(return_X_y=True)
RandomForestClassifier(20, n_jobs=2).fit(X, y).score(X, y)
HistGradientBoostingClassifier(max_iter=5).fit(X, y)
make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
KMeans(3, n_init=2).fit(X)
cross_val_score(SVC(), X, y, cv=3)
GridSearchCV(SVC(), {"C": [1, 2]}, cv=2).fit(X, y)
PCA(2).fit(X)
m = SVC().fit(X, y)
joblib.dump(m, "m.joblib")
joblib.load("m.joblib").predict(X)
print("done")
