import sys
if input() != "yes":
    print("refused")
    sys.exit(3)
print("accepted")
