//! AMX: the level for which a process must ask the operating system.

#![expect(
    unsafe_code,
    reason = "XCR0 is read by an instruction, and the permission is a system call"
)]

use core::arch::asm;
use core::arch::x86_64::__cpuid_count;
use core::sync::atomic::{AtomicU8, Ordering};

use crate::token::sealed::Sealed;
use crate::{Avx512Vnni, Level, Token};

/// Bits of EDX in CPUID leaf 7: AMX-TILE and AMX-INT8.
const TILE_AND_INT8: u32 = 1 << 24 | 1 << 25;
/// Bits of XCR0: the system saves the tiles' configuration and their data.
const TILE_STATE: u32 = 1 << 17 | 1 << 18;

/// `Avx512Vnni` and AMX-INT8: products of tiles of bytes.
///
/// Linux gives a process the tiles only after the process asks for them. [`Self::detect`] asks at its first call on a
/// processor that has them. From then on every thread of the process may use the tiles, including threads started
/// before, and so may forked processes. This costs no memory until a thread uses the tiles. Then the system keeps 8 KiB
/// more for the thread, and 8 KiB more on the stack of a signal handler. If the system refuses, and on every other
/// system, there is no token.
#[derive(Clone, Copy, Debug)]
pub struct Amx(Avx512Vnni);

impl Amx {
    /// The token, if this processor has the level and both the system and `SORDINO_CPU` admit it.
    #[inline]
    #[must_use]
    pub fn detect() -> Option<Self> {
        let vnni = Avx512Vnni::detect()?;
        (Level::ceiling() >= Level::Amx && usable()).then_some(Self(vnni))
    }

    /// The token of the next lower level, which this level includes.
    #[inline]
    #[must_use]
    pub const fn vnni(self) -> Avx512Vnni {
        self.0
    }
}

impl Sealed for Amx {}

impl Token for Amx {
    const LEVEL: Level = Level::Amx;

    #[inline]
    fn detect() -> Option<Self> {
        Self::detect()
    }
}

/// Asks the processor and the system once. Threads that ask at the same time get the same answer, so any of their
/// results may be stored.
fn usable() -> bool {
    const UNKNOWN: u8 = 2;
    static USABLE: AtomicU8 = AtomicU8::new(UNKNOWN);
    match USABLE.load(Ordering::Relaxed) {
        UNKNOWN => {
            let usable = has_tiles() && permitted();
            USABLE.store(u8::from(usable), Ordering::Relaxed);
            usable
        }
        known => known == 1,
    }
}

/// True if the processor has tiles of bytes and the system saves them. Call it only on processors with AVX-512.
fn has_tiles() -> bool {
    if __cpuid_count(0, 0).eax < 7 || __cpuid_count(7, 0).edx & TILE_AND_INT8 != TILE_AND_INT8 {
        return false;
    }
    let xcr0: u32;
    // SAFETY: AVX-512 was detected, so the system has enabled XGETBV; it reads a register, nothing else.
    unsafe {
        asm!("xgetbv", in("ecx") 0, out("eax") xcr0, out("edx") _, options(nomem, nostack, preserves_flags));
    }
    xcr0 & TILE_STATE == TILE_STATE
}

/// Asks the system for tile data: `arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA)`.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn permitted() -> bool {
    const ARCH_PRCTL: i64 = 158;
    const ARCH_REQ_XCOMP_PERM: i64 = 0x1023;
    const XFEATURE_XTILEDATA: i64 = 18;
    let result: i64;
    // SAFETY: the call reads and writes no memory of the process, and clobbers what is named here. A
    // kernel that does not know the request answers with an error.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") ARCH_PRCTL => result,
            in("rdi") ARCH_REQ_XCOMP_PERM,
            in("rsi") XFEATURE_XTILEDATA,
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
    result == 0
}

/// On other systems no such request is known.
#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
fn permitted() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_given_where_the_processor_has_them_and_the_system_admits_them() {
        if Avx512Vnni::detect().is_none() {
            assert!(Amx::detect().is_none());
            return;
        }
        // The system does not admit tiles that it does not save.
        assert!(has_tiles() || !permitted());
        let admitted = Level::ceiling() >= Level::Amx;
        assert_eq!(
            Amx::detect().is_some(),
            admitted && has_tiles() && permitted()
        );
    }
}
