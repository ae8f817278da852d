"""The constants of Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011); `polyad.random.philox` says what they do."""

from __future__ import annotations

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
"""What the counter's first and third word are multiplied by."""

KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
"""What is added to the key's words after each round: the golden ratio and sqrt(3) - 1, in units of 2**-32."""

ROUNDS = 10
