"""An application with plugins: each is loaded once, called many times, and cannot hurt its host.

Four price rules and a hostile one are called 100 times each. With `state="keep"` the calls of a plugin share its
variables (`loyalty` counts); with `"fresh"` every call finds the plugin as it was loaded. A call that does not end
costs that call.

Prints:

    bulk     keep   100 calls, 1899.05
    loyalty  keep   100 calls, 1979.00
    cents    keep   100 calls, 2000.00
    tax      keep   100 calls, 2378.81
    hostile  keep   dropped at call 7: plugin.price(): TimeoutError: the step was stopped after its limit of 1 s…
    bulk     fresh  100 calls, 1899.05
    loyalty  fresh  100 calls, 1999.00
    cents    fresh  100 calls, 2000.00
    tax      fresh  100 calls, 2378.81
    hostile  fresh  dropped at call 7: plugin.price(): TimeoutError: the step was stopped after its limit of 1 s…
"""

from typing import Literal

from safeexec import PluginError, Sandbox

RULES = {
    "bulk": "def price(order):\n    return order['price'] * (0.9 if order['count'] >= 10 else 1)",
    "loyalty": "calls = 0\n"
    "def price(order):\n"
    "    global calls\n"
    "    calls += 1\n"
    "    return order['price'] - (5 if calls % 25 == 0 else 0)",
    "cents": "def price(order):\n    return round(order['price'] * 20) / 20",
    "tax": "from decimal import Decimal\n"
    "def price(order):\n"
    "    return float(Decimal(str(order['price'])) * Decimal('1.19'))",
    "hostile": "def price(order):\n    while order['count'] > 5: pass\n    return -1",
}
ORDERS = [{"price": 19.99, "count": n % 20} for n in range(100)]


def total_of(sandbox: Sandbox, name: str, state: Literal["keep", "fresh"]) -> str:
    total, calls = 0.0, 0
    with sandbox.plugin(RULES[name], exports=["price"], state=state, timeout=1, checkpoints="off") as rule:
        try:
            for order in ORDERS:
                total += rule.price(order)
                calls += 1
        except PluginError as error:
            return f"dropped at call {calls + 1}: {str(error).splitlines()[0]}"
    return f"{calls} calls, {total:.2f}"


def main() -> None:
    states: tuple[Literal["keep", "fresh"], ...] = ("keep", "fresh")
    with Sandbox("plugin") as sandbox:
        for state in states:
            for name in RULES:
                print(f"{name:8} {state:6} {total_of(sandbox, name, state)}")


if __name__ == "__main__":
    main()
