import numpy as np

a = np.random.default_rng(0).random((300, 300))
np.linalg.svd(a)
np.linalg.inv(a)
(a @ a).sum()
np.sort(a)
np.fft.fft2(a)
np.save("x.npy", a)
np.load("x.npy", mmap_mode="r")[0]
np.savez("y.npz", a=a)
np.load("y.npz")["a"]
np.savetxt("t.txt", a[:5])
np.loadtxt("t.txt")
a.tofile("z.bin")
np.fromfile("z.bin")
np.memmap("z.bin", dtype="f8", mode="r")[:2]
np.memmap("z.bin", dtype="f8", mode="c")[:] = 1
print("done")
