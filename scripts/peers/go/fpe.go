package main

import (
	"encoding/hex"

	"github.com/capitalone/fpe/ff1"
	"github.com/capitalone/fpe/ff3"
	ubiq "gitlab.com/ubiqsecurity/ubiq-fpe-go"
)

// cipher is what the measured implementations share once they have a key and a tweak.
type cipher struct {
	name             string
	encrypt, decrypt func(string) (string, error)
}

// digits is the text of the Criterion bench of the same length.
func digits(n int) string {
	text := make([]byte, n)
	for i := range text {
		text[i] = '0' + byte((i*i*7+i/3)%97%10)
	}
	return string(text)
}

func ciphers() []cipher {
	key := must(hex.DecodeString("0123456789abcdef0123456789abcdef"))
	tweak := must(hex.DecodeString("0011223344556677"))
	capitalone1 := must(ff1.NewCipher(10, len(tweak), key, tweak))
	capitalone3 := must(ff3.NewCipher(10, key, tweak))
	ubiq1 := must(ubiq.NewFF1(key, tweak, 0, len(tweak), 10))
	ubiq3 := must(ubiq.NewFF3_1(key, tweak[:7], 10))
	with := func(f func(string, []byte) (string, error), tweak []byte) func(string) (string, error) {
		return func(text string) (string, error) { return f(text, tweak) }
	}
	return []cipher{
		{"ff1-capitalone-go", capitalone1.Encrypt, capitalone1.Decrypt},
		{"ff3-capitalone-go", capitalone3.Encrypt, capitalone3.Decrypt},
		{"ff1-ubiq-go", with(ubiq1.Encrypt, tweak), with(ubiq1.Decrypt, tweak)},
		{"ff3-1-ubiq-go", with(ubiq3.Encrypt, tweak[:7]), with(ubiq3.Decrypt, tweak[:7])},
	}
}

func fpe() {
	for _, c := range ciphers() {
		for _, n := range []int{6, 9, 16} {
			text := digits(n)
			assert(must(c.decrypt(must(c.encrypt(text)))) == text, c.name)
			bench("fpe/encrypt", c.name, n, func() { must(c.encrypt(text)) })
			bench("fpe/decrypt", c.name, n, func() { must(c.decrypt(text)) })
		}
	}
}
