name = input("Name? ")
age = int(input("Age? "))
print(f"\n{name} is {age}")
