//! Valgrind's client requests: an instruction sequence that has no effect on a real processor.
#![cfg_attr(
    target_arch = "x86_64",
    expect(
        unsafe_code,
        reason = "valgrind's client requests are an instruction sequence"
    )
)]

/// Valgrind's request sequence for x86-64: rotations that add up to nothing, then an exchange of a
/// register with itself. It returns 0 if valgrind does not run.
#[cfg(target_arch = "x86_64")]
pub(crate) fn request(code: usize, address: usize, len: usize) -> usize {
    let arguments = [code, address, len, 0, 0, 0];
    let mut result = 0usize;
    // SAFETY: outside valgrind these instructions change nothing; inside, the requests used here
    // read `arguments` and change no memory that the program sees.
    unsafe {
        core::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") arguments.as_ptr(),
            inout("rdx") result,
            inout("rdi") 0usize => _,
        );
    }
    result
}

/// This crate has no request sequence for other processors.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn request(_code: usize, _address: usize, _len: usize) -> usize {
    0
}
