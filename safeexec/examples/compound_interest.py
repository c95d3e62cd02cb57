"""A question about money: `MathAssistant` lets a model compute the answer, and runs the code again to check it.

With MISTRAL_API_KEY set a real model is asked; without it the reply below is played back.

Prints:

    5020.14
    verified: True
    from decimal import Decimal
    rate = Decimal("0.035")
    capital = Decimal(12000)
    grown = capital * (1 + rate / 12) ** 120
    answer = round(grown - capital, 2)
    answer
"""

import os

from safeexec.agent import MathAssistant, MistralModel, ScriptedModel

QUESTION = "How much interest do 12,000 EUR earn in ten years at 3.5 % a year, compounded monthly? To the cent."
REPLY = """\
The interest is what the capital grows to, less the capital.
<execute_python>
from decimal import Decimal
rate = Decimal("0.035")
capital = Decimal(12000)
grown = capital * (1 + rate / 12) ** 120
final_answer(round(grown - capital, 2))
</execute_python>
"""


def main() -> None:
    model = MistralModel() if os.environ.get("MISTRAL_API_KEY") else ScriptedModel([REPLY])
    answer = MathAssistant(model).ask(QUESTION)
    print(answer.text)
    print("verified:", answer.verified)
    print(answer.code)


if __name__ == "__main__":
    main()
