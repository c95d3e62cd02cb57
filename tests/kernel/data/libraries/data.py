import os

os.environ["JOBLIB_MULTIPROCESSING"] = "0"
import joblib
import numpy as np
import pandas as pd
import scipy.fft
import scipy.io
import scipy.sparse.linalg
import scipy.spatial
from PIL import Image
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

a = np.random.default_rng(0).random((300, 300))
(a @ a).sum()
np.save("x.npy", a)
np.load("x.npy", mmap_mode="r")[0]
a.tofile("z.bin")
np.fromfile("z.bin")
np.memmap("z.bin", dtype="f8", mode="r")[:2]
np.memmap("z.bin", dtype="f8", mode="c")[:] = 1
scipy.fft.fft(np.ones(100), workers=2)
scipy.spatial.cKDTree(a[:, :3]).query(a[:10, :3], workers=2)
scipy.sparse.linalg.spsolve(scipy.sparse.eye(10).tocsc(), np.ones(10))
scipy.io.savemat("x.mat", {"a": np.ones(3)})
scipy.io.loadmat("x.mat")
frame = pd.DataFrame({"b": a[0], "d": pd.date_range("2020-01-01", periods=300, tz="Europe/Paris")})
frame.eval("b + b")
frame.to_pickle("x.pkl")
pd.read_pickle("x.pkl").to_html()
frame.set_index("d").b.resample("D").mean().tz_convert("Asia/Tokyo")
X, y = load_iris(return_X_y=True)
HistGradientBoostingClassifier(max_iter=5).fit(X, y)
joblib.dump(RandomForestClassifier(20, n_jobs=2).fit(X, y), "m.joblib")
joblib.load("m.joblib").predict(X)
Image.new("RGB", (20, 10)).rotate(30).save("a.tiff")
print("done")
