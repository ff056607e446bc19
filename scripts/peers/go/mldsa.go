package main

import (
	"bytes"
	"fmt"

	"github.com/cloudflare/circl/sign/mldsa/mldsa87"
)

// signed is a public key, a message of 64 bytes and its signature, as in the Criterion bench.
type signed struct {
	publicKey, message, signature []byte
}

func sign(seed, message byte) signed {
	var xi [mldsa87.SeedSize]byte
	copy(xi[:], bytes.Repeat([]byte{seed}, len(xi)))
	public, secret := mldsa87.NewKeyFromSeed(&xi)
	s := signed{
		publicKey: public.Bytes(),
		message:   bytes.Repeat([]byte{message}, 64),
		signature: make([]byte, mldsa87.SignatureSize),
	}
	check(mldsa87.SignTo(secret, s.message, nil, false, s.signature))
	return s
}

func (s signed) key() *mldsa87.PublicKey {
	key := new(mldsa87.PublicKey)
	check(key.UnmarshalBinary(s.publicKey))
	return key
}

func (s signed) verify(key *mldsa87.PublicKey) {
	assert(mldsa87.Verify(key, s.message, nil, s.signature), "ML-DSA-87")
}

func mldsa() {
	const set = "ML-DSA-87"
	var one, many []signed
	for i := range byte(128) {
		one = append(one, sign(0, i))
		many = append(many, sign(i+1, 0))
	}
	at := 0
	// A batch of many keys makes the call of `fresh`, once for each signature.
	const fresh = "circl fresh"
	benchCalls(fresh, 1, "mldsa/verify", "circl-go fresh", set, func() {
		s := many[at%16]
		at++
		s.verify(s.key())
	})
	key := one[0].key()
	bench("mldsa/verify", "circl-go expanded", set, func() { one[0].verify(key) })
	for _, n := range []int{8, 32, 64, 128} {
		parameter := fmt.Sprintf("%sx%d", set, n)
		bench("mldsa/batch", "circl-go one key", parameter, func() {
			key := one[0].key()
			for _, s := range one[:n] {
				s.verify(key)
			}
		})
		benchCalls(fresh, n, "mldsa/batch", "circl-go many keys", parameter, func() {
			for _, s := range many[:n] {
				s.verify(s.key())
			}
		})
	}
}
