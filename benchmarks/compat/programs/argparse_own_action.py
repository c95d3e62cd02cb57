# argv: --point 1,2
import argparse
class Point(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):
        setattr(namespace, self.dest, tuple(map(int, values.split(","))))
parser = argparse.ArgumentParser(prog="x")
parser.add_argument("--point", action=Point, default=(0, 0))
print(parser.parse_args().point)
