//! The rounds of the compression function over vectors. Each backend's file defines the six
//! operations `add`, `xor`, `rotate_16`, `rotate_12`, `rotate_8` and `rotate_7`.
//!
//! The rounds are a macro because a function with target features cannot be forced inline. A call
//! for each G would move the whole state through memory.

/// The four G of half a round, step by step together, so that four independent chains are in
/// flight.
macro_rules! half_round {
    ($v:ident, $m:ident, $round:literal, $([$a:literal $b:literal $c:literal $d:literal $x:literal $y:literal])+) => {
        $($v[$a] = add(add($v[$a], $m[const { SCHEDULE[$round][$x] }]), $v[$b]);)+
        $($v[$d] = rotate_16(xor($v[$d], $v[$a]));)+
        $($v[$c] = add($v[$c], $v[$d]);)+
        $($v[$b] = rotate_12(xor($v[$b], $v[$c]));)+
        $($v[$a] = add(add($v[$a], $m[const { SCHEDULE[$round][$y] }]), $v[$b]);)+
        $($v[$d] = rotate_8(xor($v[$d], $v[$a]));)+
        $($v[$c] = add($v[$c], $v[$d]);)+
        $($v[$b] = rotate_7(xor($v[$b], $v[$c]));)+
    };
}

/// All seven rounds on the state `v` with the message words `m`: columns, then diagonals.
macro_rules! rounds {
    ($v:ident, $m:ident, $($round:literal)+) => {$(
        half_round!($v, $m, $round, [0 4 8 12 0 1] [1 5 9 13 2 3] [2 6 10 14 4 5] [3 7 11 15 6 7]);
        half_round!($v, $m, $round, [0 5 10 15 8 9] [1 6 11 12 10 11] [2 7 8 13 12 13] [3 4 9 14 14 15]);
    )+};
}
