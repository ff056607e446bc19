"""pyffx and ff3 on the key, the tweak and the texts of the Criterion bench."""

from functools import partial

import pyffx
from bench import measure, run
from ff3 import FF3Cipher

KEY = "0123456789abcdef0123456789abcdef"
TWEAK = "0011223344556677"


def digits(n: int) -> str:
    """The text of the Criterion bench with this length."""
    return "".join(str((i * i * 7 + i // 3) % 97 % 10) for i in range(n))


def main() -> None:
    for n in (6, 9, 16):
        text = digits(n)
        # pyffx takes an integer and no tweak; it is FFX over HMAC-SHA1, not FF1.
        ffx = pyffx.Integer(bytes.fromhex(KEY), length=n)
        number = int(text)
        assert ffx.decrypt(ffx.encrypt(number)) == number
        measure("fpe/encrypt", "ffx-pyffx-python", n, partial(ffx.encrypt, number))
        measure("fpe/decrypt", "ffx-pyffx-python", n, partial(ffx.decrypt, number))

        ff3 = FF3Cipher(KEY, TWEAK)
        assert ff3.decrypt(ff3.encrypt(text)) == text
        measure("fpe/encrypt", "ff3-python", n, partial(ff3.encrypt, text))
        measure("fpe/decrypt", "ff3-python", n, partial(ff3.decrypt, text))
    run()


if __name__ == "__main__":
    main()
