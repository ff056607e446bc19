//! The kernel over vectors, written once. [`kernel!`] makes it for a backend's number of lanes, vector
//! type and target features.
//!
//! The kernel is a macro because a function with target features can be generic neither over its features nor over
//! vectors whose operations need them. A backend's file must define the operations under these names:
//!
//! | name | meaning, lane by lane |
//! |---|---|
//! | `Vector`, `Mask` | a word of every lane; a yes or no of every lane |
//! | `splat`, `load`, `store` | one word in every lane; from and to an array |
//! | `add`, `xor`, `or`, `sub` | on words |
//! | `rotate_16`, `rotate_12`, `rotate_8`, `rotate_7` | to the right |
//! | `mask`, `equal` | words that are all ones or 0; words that are equal |
//! | `select`, `keep` | one of two words; a word or 0 |
//! | `bits` | a mask as a number, lane 0 lowest |
//! | `least` | the least word of an array |
//! | `transpose`, `untranspose` | blocks to message words; chaining values to digests |
//! | `pad` | a last block, zeros after it, at an address of 64 bytes |
//! | `fetch` | brings an address into the cache, or does nothing |

macro_rules! kernel {
    ($token:ty, $lanes:literal, $features:tt) => {
        impl Kernel<$lanes> for $token {
            fn advance(self, lanes: &mut Lanes<'_, $lanes>, mode: &Mode) -> u32 {
                // SAFETY: the token proves the features.
                unsafe { advance(lanes, mode) }
            }

            fn uniform<M: AsRef<[u8]>>(
                self,
                messages: &[M; $lanes],
                next: &[M; $lanes],
                mode: &Mode,
                tails: &mut [[u8; BLOCK]; $lanes],
                digests: &mut [[u8; 32]; $lanes],
            ) -> bool {
                // SAFETY: the token proves the features.
                unsafe { uniform(messages, next, mode, tails, digests) }
            }

            #[inline]
            fn prefetch(self, bytes: &[u8]) {
                // SAFETY: the token proves the features.
                unsafe { fetch_all(bytes) }
            }
        }

        #[target_feature(enable = $features)]
        fn fetch_all(bytes: &[u8]) {
            for k in 0..bytes.len().div_ceil(BLOCK) {
                fetch(bytes.as_ptr().wrapping_add(BLOCK * k));
            }
        }

        #[target_feature(enable = $features)]
        fn advance(lanes: &mut Lanes<'_, $lanes>, mode: &Mode) -> u32 {
            let fresh = mask(load(&lanes.fresh));
            let mut cv = [splat(0); 8];
            for ((vector, words), key) in cv.iter_mut().zip(&lanes.cv).zip(mode.key) {
                *vector = select(fresh, splat(key), load(words));
            }
            let counter = [load(&lanes.counter_low), load(&lanes.counter_high)];
            let base = splat(mode.flags);
            let mut flags = or(base, keep(fresh, load(&lanes.start)));
            let left = load(&lanes.left);
            let n = least(&lanes.left);
            let mut blocks = [core::ptr::null(); $lanes];
            for (block, (bytes, at)) in blocks
                .iter_mut()
                .zip(lanes.bytes.iter().zip(&mut lanes.at))
            {
                *block = bytes.as_ptr().wrapping_add(*at as usize);
                *at += 64 * n;
            }
            let mut offset = 0;
            for _ in 1..n {
                // SAFETY: every lane has `n` blocks left, all but the last of them whole.
                unsafe { compress(&mut cv, &blocks, offset, counter, splat(64), flags) };
                flags = base;
                offset += BLOCK;
            }
            let last = equal(left, splat(n));
            let done = bits(last);
            for lane in ones(done) {
                // SAFETY: the lane is at its last block, of `tail_len` bytes.
                let tail = unsafe {
                    from_raw_parts(
                        blocks[lane].wrapping_add(offset),
                        lanes.tail_len[lane] as usize,
                    )
                };
                blocks[lane] = pad(tail, &mut lanes.tails[lane]).wrapping_sub(offset);
            }
            let len = select(last, load(&lanes.tail_len), splat(64));
            flags = or(flags, keep(last, load(&lanes.end)));
            // SAFETY: lanes that are not done have a whole block here, the others a padded one.
            unsafe { compress(&mut cv, &blocks, offset, counter, len, flags) };
            store(&mut lanes.left, sub(left, splat(n)));
            lanes.fresh = [0; $lanes];
            for (words, vector) in lanes.cv.iter_mut().zip(cv) {
                store(words, vector);
            }
            done
        }

        #[target_feature(enable = $features)]
        fn uniform<M: AsRef<[u8]>>(
            messages: &[M; $lanes],
            next: &[M; $lanes],
            mode: &Mode,
            tails: &mut [[u8; BLOCK]; $lanes],
            digests: &mut [[u8; 32]; $lanes],
        ) -> bool {
            let mut blocks = [core::ptr::null(); $lanes];
            let (mut lens, mut any) = ([0; $lanes], 0);
            for ((block, len), message) in blocks.iter_mut().zip(&mut lens).zip(messages) {
                let message = message.as_ref();
                *block = message.as_ptr();
                *len = len_of(message);
                any |= message.len();
            }
            let count = |len: u32| len.div_ceil(64).max(1);
            let first = count(lens[0]);
            let others = lens.iter().fold(0, |differ, len| differ | (count(*len) ^ first));
            if any >= 2 * CHUNK || first > 16 || others != 0 {
                return false;
            }
            let mut cv = [splat(0); 8];
            for (vector, word) in cv.iter_mut().zip(mode.key) {
                *vector = splat(word);
            }
            let counter = [splat(0), splat(0)];
            let mut flags = mode.flags | flag::CHUNK_START;
            let full = 64 * (first - 1);
            let mut offset = 0;
            prefetch(next, 0);
            while offset < full as usize {
                prefetch(next, offset + BLOCK);
                // SAFETY: every message has a whole block here, and at least a byte after it.
                unsafe { compress(&mut cv, &blocks, offset, counter, splat(64), splat(flags)) };
                flags = mode.flags;
                offset += BLOCK;
            }
            flags |= flag::CHUNK_END | flag::ROOT;
            let mut tail_len = splat(64);
            if lens.iter().any(|len| *len != full + 64) {
                tail_len = sub(load(&lens), splat(full));
                for (lane, space) in tails.iter_mut().enumerate() {
                    // SAFETY: the message has this number of bytes left, which is at most 64.
                    let tail = unsafe {
                        from_raw_parts(
                            blocks[lane].wrapping_add(offset),
                            (lens[lane] - full) as usize,
                        )
                    };
                    blocks[lane] = pad(tail, space);
                }
                offset = 0;
            }
            // SAFETY: every last block is whole, or a padded copy.
            unsafe { compress(&mut cv, &blocks, offset, counter, tail_len, splat(flags)) };
            untranspose(&cv, digests);
            true
        }

        /// Prefetches the block at `offset` of every message.
        #[inline]
        #[target_feature(enable = $features)]
        fn prefetch<M: AsRef<[u8]>>(messages: &[M; $lanes], offset: usize) {
            for message in messages {
                fetch(message.as_ref().as_ptr().wrapping_add(offset));
            }
        }

        /// Applies the compression function in every lane to the blocks at `offset` of `blocks`.
        ///
        /// # Safety
        /// 64 bytes must be readable at each block.
        #[target_feature(enable = $features)]
        unsafe fn compress(
            cv: &mut [Vector; 8],
            blocks: &[*const u8; $lanes],
            offset: usize,
            counter: [Vector; 2],
            block_len: Vector,
            flags: Vector,
        ) {
            // SAFETY: the caller promises that the blocks are readable.
            let m = unsafe { transpose(blocks, offset) };
            let mut v = [
                cv[0],
                cv[1],
                cv[2],
                cv[3],
                cv[4],
                cv[5],
                cv[6],
                cv[7],
                splat(IV[0]),
                splat(IV[1]),
                splat(IV[2]),
                splat(IV[3]),
                counter[0],
                counter[1],
                block_len,
                flags,
            ];
            rounds!(v, m, 0 1 2 3 4 5 6);
            for i in 0..8 {
                cv[i] = xor(v[i], v[i + 8]);
            }
        }
    };
}
