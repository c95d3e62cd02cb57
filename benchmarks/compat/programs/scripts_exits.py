import sys
def main():
    try:
        print("working")
        sys.exit(2)
    finally:
        print("cleaned")
if __name__ == "__main__":
    main()
