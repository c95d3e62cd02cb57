import asyncio, threading, concurrent.futures as cf, tempfile, shutil, os, pathlib, zipfile, tarfile, sqlite3, csv, json, zoneinfo, datetime, locale, uuid, logging, multiprocessing.dummy, time, random, secrets, platform, getpass, socket, subprocess, ssl, decimal, unicodedata, bz2, lzma, gzip, hashlib, glob, fileinput, mmap, queue, signal, select, selectors


async def main():
    await asyncio.sleep(0.01)
    return await asyncio.to_thread(lambda: 5)


print(asyncio.run(main()))
with cf.ThreadPoolExecutor(4) as ex:
    print(list(ex.map(abs, [-1, 2])))
with tempfile.TemporaryDirectory() as d:
    pathlib.Path(d, "a").write_text("x")
with tempfile.NamedTemporaryFile() as f:
    f.write(b"x")
    f.flush()
open("a.txt", "w").write("hello\n" * 10)
shutil.copy("a.txt", "b.txt")
shutil.copy2("a.txt", "c.txt")
os.makedirs("d/e/f")
shutil.copytree("d", "g")
shutil.move("b.txt", "d/b.txt")
shutil.rmtree("g")
pathlib.Path("a.txt").touch()
with zipfile.ZipFile("z.zip", "w") as z:
    z.write("a.txt")
zipfile.ZipFile("z.zip").extractall("zz")
with tarfile.open("t.tgz", "w:gz") as t:
    t.add("a.txt")
tarfile.open("t.tgz").extractall("tt", filter="data")
shutil.make_archive("arch", "zip", "d")
c = sqlite3.connect("x.db")
c.execute("create table t(a)")
c.execute("insert into t values(1)")
c.commit()
c.execute("pragma journal_mode=wal").fetchall()
c.execute("insert into t values(2)")
c.commit()
c.close()
print(zoneinfo.ZoneInfo("Europe/Paris"), datetime.datetime.now().astimezone(), datetime.datetime.strptime("2020", "%Y"))
print(os.getcwd(), os.listdir(), list(os.scandir()), glob.glob("**", recursive=True))
os.rename("a.txt", "q.txt")
os.remove("q.txt")
print(
    os.cpu_count(),
    len(os.sched_getaffinity(0)),
    shutil.get_terminal_size(),
    os.urandom(4) != b"",
    shutil.disk_usage(".").total > 0,
    time.localtime(),
)
m = mmap.mmap(-1, 4096)
m[:3] = b"abc"
with open("mm", "wb+") as f:
    f.truncate(4096)
    mm = mmap.mmap(f.fileno(), 4096, access=mmap.ACCESS_READ)
    mm[0]
    mm.flush()
os.truncate("mm", 10)
print("x".encode("cp1252"), uuid.uuid4() != 0)
r, w = os.pipe()
os.write(w, b"x")
print(os.read(r, 1))
print(select.select([r], [], [], 0))
selectors.DefaultSelector()
print(threading.active_count())
t = threading.Timer(0.01, lambda: None)
t.start()
t.join()
signal.alarm(0)
print(locale.setlocale(locale.LC_ALL, ""), __import__("resource").getrlimit(7))
print("done")
