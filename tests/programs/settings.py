"""Prints settings for examples/ini: sections that return, keys that are set again, comments, lines without a value."""
import random

random.seed(1)
for i in range(2000):
    if i % 20 == 0:
        print(f"\n  [part {i // 100}]  # {i}")
    print(random.choice(["  key {}  =  value {}  ", "key {}={}", "\tkey {} = {}=x # no comment"]).format(random.randrange(60), i))
    if i % 500 == 7:
        print("no value here")
