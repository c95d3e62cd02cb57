import os

os.environ["MPLCONFIGDIR"] = os.getcwd() + "/.mpl"
import subprocess


def no_programs(*args, **kwargs):
    raise OSError("fc-list is not asked")


subprocess.check_output = no_programs
import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt, numpy as np

fig, ax = plt.subplots()
ax.plot(np.arange(10), label="$x^2$ é")
ax.legend()
ax.set_title("t")
fig.savefig("a.png")
fig.savefig("a.svg")
fig.savefig("a.pdf")
fig = plt.figure()
ax = fig.add_subplot(projection="3d")
ax.plot_surface(*np.meshgrid(range(5), range(5)), np.ones((5, 5)))
fig.savefig("b.png")
plt.hist(np.random.rand(100))
plt.savefig("c.jpg")
plt.imshow(np.random.rand(5, 5))
plt.colorbar()
plt.savefig("d.png")
print("done")
