"""Regression on arrays of the host: numpy arrays go in and come back as such, a model stays in the session.

The fitted model is an object of scikit-learn that lives in the sandbox; only what is asked for crosses. A checkpoint
keeps it while a second, worse model is tried.

Needs: numpy, sklearn

Prints:

    ok {'slope': 3.0, 'intercept': 2.0, 'r2': 0.99}
    predictions: float64 (3,) [ 2. 17. 32.]
    rows that do not fit together: ValueError
    a model of the mean: 0.0
    after the rollback: 0.99
"""

import numpy as np

from safeexec import Sandbox

FIT = """
from sklearn.linear_model import LinearRegression
model = LinearRegression().fit(x.reshape(-1, 1), y)
{"slope": round(float(model.coef_[0]), 1), "intercept": round(float(model.intercept_), 1), "r2": round(score(model), 2)}
"""
SCORE = "def score(model): return model.score(x.reshape(-1, 1), y)"
WORSE = """
from sklearn.dummy import DummyRegressor
model = DummyRegressor().fit(x.reshape(-1, 1), y)
"""


def main() -> None:
    x = np.linspace(0, 10, 200)
    y = 3 * x + 2 + np.sin(40 * x)
    with Sandbox("data-analysis") as sandbox, sandbox.session() as session:
        session.namespace.update(x=x, y=y)
        session.run(SCORE).check()
        result = session.run(FIT)
        print(result.outcome, result.value)
        session.set("new", np.array([0.0, 5.0, 10.0]))
        session.run("found = model.predict(new.reshape(-1, 1)).round()").check()
        found = session.get("found")
        print("predictions:", found.dtype, found.shape, found)
        failed = session.run("model.fit(x[:5].reshape(-1, 1), y)")
        print("rows that do not fit together:", failed.error.type if failed.error else failed.value)
        session.checkpoint("fitted")
        session.run(WORSE).check()
        print("a model of the mean:", session.run("round(score(model), 2)").value)
        session.rollback("fitted")
        print("after the rollback:", session.run("round(score(model), 2)").value)


if __name__ == "__main__":
    main()
