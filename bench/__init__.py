"""Speed, side by side: `make bench`.

Every number is taken next to the thing it is compared with, in turns, in the same run and at full durability. The
bench reports; it fails only if it could not measure.
"""
