import sys
import threading
def main():
    print(sum(map(int, input().split())))
threading.Thread(target=main).start()
