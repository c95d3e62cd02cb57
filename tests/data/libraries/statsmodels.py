import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf
from statsmodels.tsa.arima.model import ARIMA

warnings.simplefilter("ignore")
rng = np.random.default_rng(7)
n = 120
df = pd.DataFrame({"x": rng.normal(size=n), "z z": rng.uniform(1, 3, n), "g": list("abc") * (n // 3)})
df["y"] = 1 + 2 * df["x"] - df["z z"] + df["g"].map({"a": 0.0, "b": 1.0, "c": 2.0}) + rng.normal(scale=0.3, size=n)

X = sm.add_constant(df[["x", "z z"]])
fit = sm.OLS(df["y"], X).fit()
print(fit.params.round(6).to_dict(), round(fit.rsquared, 6), fit.pvalues.round(6).tolist(), fit.conf_int().round(4).values.tolist())
print(fit.summary().tables[1])


def by_formula(data):
    offset = 1.5
    return smf.ols("y ~ x + np.log(Q('z z')) + C(g, Treatment('b')) + I(x ** 2) + center(x - offset):x", data=data).fit()


formula = by_formula(df)
print(formula.params.round(5).to_dict())

index = pd.date_range("2020-01-01", periods=n, freq="MS")
t = np.arange(n)
series = pd.Series(10 + 0.1 * t + 3 * np.sin(2 * np.pi * t / 12) + rng.normal(scale=0.2, size=n), index=index)
arima = ARIMA(series, order=(1, 1, 1)).fit()
print(arima.params.round(2).to_dict(), arima.forecast(2).round(2).tolist(), type(arima.summary()).__name__)
sm.qqplot(fit.resid, line="s").savefig("qq.png")
plt.close("all")
print(sm.datasets.longley.load_pandas().data.shape, sm.nonparametric.lowess(df["y"], df["x"])[:1].round(4).tolist())
smf.ols("y ~ x + nothing", df)
