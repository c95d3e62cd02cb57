# domain: data-analysis
# needs: matplotlib, numpy
import os
import sys
import warnings

os.environ["OMP_NUM_THREADS"] = "1"
os.environ.setdefault("MPLBACKEND", "Agg")
if not sys.warnoptions:
    warnings.simplefilter("ignore")

import matplotlib.pyplot as plt
import numpy as np

plt.switch_backend("Agg")
colors = plt.cm.viridis(np.linspace(0, 1, 3))
print(colors.round(2))
print(plt.cm.Blues.name, "ggplot" in plt.style.available, plt.get_cmap("plasma").N)

fig, axes = plt.subplots(1, 2, figsize=(6, 3))
for ax, color, power in zip(axes.flat, colors, (1, 2)):
    ax.plot(np.arange(5) ** power, color=color, label=f"power {power}")
    ax.legend()
fig.savefig("powers.png", dpi=40)
print(os.path.exists("powers.png"), os.environ["OMP_NUM_THREADS"], os.getenv("NOT_SET_ANYWHERE", "default"))
try:
    os.environ["NOT_SET_ANYWHERE"]
except KeyError as exc:
    print("KeyError", exc)
try:
    os.environ["RETRIES"] = 3
except TypeError as exc:
    print(exc)
