import enum
@enum.global_enum
class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5
print(LOW, HIGH, repr(LOW), LOW < HIGH, Level(5) is HIGH, max(Level))
