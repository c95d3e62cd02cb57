import numpy as np
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris, make_regression
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, classification_report, confusion_matrix, mean_squared_error, r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelEncoder, OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, export_text

X, y = load_iris(return_X_y=True)
a, b, ya, yb = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
for model in (
    LogisticRegression(max_iter=500),
    DecisionTreeClassifier(random_state=0),
    RandomForestClassifier(20, random_state=0),
    SVC(),
    KNeighborsClassifier(),
):
    fitted = make_pipeline(StandardScaler(), model).fit(a, ya)
    print(type(model).__name__, round(accuracy_score(yb, fitted.predict(b)), 4))
print(classification_report(yb, fitted.predict(b)), confusion_matrix(yb, fitted.predict(b)))
print(cross_val_score(LogisticRegression(max_iter=500), X, y, cv=KFold(3, shuffle=True, random_state=1)).round(3))
print(GridSearchCV(SVC(), {"C": [0.1, 1]}, cv=3, n_jobs=-1).fit(X, y).best_params_)
print(PCA(2).fit(X).explained_variance_ratio_.round(4))
print(np.bincount(KMeans(3, n_init=3, random_state=0).fit(X).labels_))
print(export_text(DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)))
R, t = make_regression(60, 4, noise=3, random_state=0)
for model in (LinearRegression(), Ridge(2.0), GradientBoostingRegressor(n_estimators=20, random_state=0)):
    guess = model.fit(R, t).predict(R)
    print(type(model).__name__, round(r2_score(t, guess), 4), round(mean_squared_error(t, guess), 2))
print(TfidfVectorizer().fit_transform(["a cat", "a dog sat"]).toarray().round(3))
print(LabelEncoder().fit_transform(list("bab")))
print(
    ColumnTransformer([("c", OneHotEncoder(), [0])], remainder="passthrough").fit_transform(
        np.array([["x", 1], ["y", 2]], dtype=object)
    )
)
SVC().predict(X)
