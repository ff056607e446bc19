//! Tokens for 64-bit Arm.

token!(
    /// NEON: 128-bit vectors, in every 64-bit Arm processor.
    Neon, Neon, is_aarch64_feature_detected, ["neon"]
);
token!(
    /// NEON and the AES instructions.
    NeonAes, Neon, is_aarch64_feature_detected, ["neon", "aes"]
);
token!(
    /// NEON and the SHA-3 instructions (`eor3`, `rax1`, `xar`, `bcax`).
    NeonSha3, Neon, is_aarch64_feature_detected, ["neon", "sha3"]
);
token!(
    /// NEON and the dot-product instructions (`udot`, `sdot`).
    NeonDot, Neon, is_aarch64_feature_detected, ["neon", "dotprod"]
);
