"""TenSEAL: an encrypted query of 128 dimensions times a plain matrix of 64 vectors, one thread."""

import random

import tenseal
from bench import emit, measure, run

VECTORS, DIM = 64, 128
SHAPE = f"{VECTORS}x{DIM}"
NAME = "tenseal-python mm"


def unit_vector(rng: random.Random) -> list[float]:
    x = [rng.uniform(-1, 1) for _ in range(DIM)]
    norm = sum(x * x for x in x) ** 0.5
    return [x / norm for x in x]


def context() -> tenseal.Context:
    """Times one multiplication at 40 bits of scale: 160 bits of modulus at N = 8192."""
    made = tenseal.context(
        tenseal.SCHEME_TYPE.CKKS,
        poly_modulus_degree=8192,
        coeff_mod_bit_sizes=[60, 40, 60],
        encryption_type=tenseal.ENCRYPTION_TYPE.SYMMETRIC,
        n_threads=1,
    )
    made.global_scale = 2**40
    return made


def with_keys() -> tenseal.Context:
    made = context()
    made.generate_galois_keys()
    return made


def main() -> None:
    rng = random.Random(2)
    query = unit_vector(rng)
    base = [unit_vector(rng) for _ in range(VECTORS)]
    # Made once, so that no call converts lists of Python. Each call of `mm` still encodes the matrix, because
    # TenSEAL's vectors take no encoded operand.
    columns = tenseal.plain_tensor(
        [list(column) for column in zip(*base, strict=True)], dtype="float"
    )
    keyed = with_keys()
    encrypted = tenseal.ckks_vector(keyed, query)
    scores = encrypted.mm(columns)
    for vector, score in zip(base, scores.decrypt(), strict=True):
        exact = sum(a * b for a, b in zip(vector, query, strict=True))
        assert abs(exact - score) < 1e-4, "wrong score"
    emit("ckks/query_bytes", NAME, SHAPE, bytes=len(encrypted.serialize()))
    emit("ckks/reply_bytes", NAME, SHAPE, bytes=len(scores.serialize()))
    measure("ckks/keygen", NAME, SHAPE, with_keys)
    measure("ckks/encrypt", NAME, SHAPE, lambda: tenseal.ckks_vector(keyed, query))
    measure("ckks/score", NAME, SHAPE, lambda: encrypted.mm(columns))
    measure("ckks/decrypt", NAME, SHAPE, scores.decrypt)
    run()


if __name__ == "__main__":
    main()
