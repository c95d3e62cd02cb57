import os

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FuncFormatter

fig, axes = plt.subplots(2, 2, figsize=(6, 4), sharex=False)
x = np.linspace(0, 6, 50)
axes[0, 0].plot(x, np.sin(x), "r--", label="$\\sin(x)$")
axes[0, 0].legend(loc="upper right")
axes[0, 0].set(title="Ωλ title", xlabel="x", ylabel="y", xlim=(0, 6))
axes[0, 1].yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:.0f}%"))
image = axes[1, 1].imshow(np.eye(3), cmap="viridis")
fig.tight_layout()
fig.savefig("chart.png", dpi=60)
fig.savefig("chart.svg")
fig.savefig("chart.pdf")
print(sorted(os.listdir(".")), fig.get_size_inches(), len(fig.axes))
plt.close(fig)
ax = plt.figure().add_subplot(projection="3d")
ax.plot_surface(*np.meshgrid([0, 1], [0, 1]), np.zeros((2, 2)))
plt.savefig("three.png")
plt.close("all")
print(plt.get_fignums(), os.path.getsize("three.png") > 1000)
plt.plot([1, 2], [1, 2, 3])
