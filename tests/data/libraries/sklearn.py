import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

X, y = load_iris(return_X_y=True)
a, b, ya, yb = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
for model in (
    LogisticRegression(max_iter=500),
    RandomForestClassifier(20, random_state=0),
):
    fitted = make_pipeline(StandardScaler(), model).fit(a, ya)
    print(type(model).__name__, round(accuracy_score(yb, fitted.predict(b)), 4))
print(GridSearchCV(SVC(), {"C": [0.1, 1]}, cv=3, n_jobs=-1).fit(X, y).best_params_)
print(np.bincount(KMeans(3, n_init=3, random_state=0).fit(X).labels_))
print(TfidfVectorizer().fit_transform(["a cat", "a dog sat"]).toarray().round(3))
SVC().predict(X)
