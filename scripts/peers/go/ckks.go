package main

import (
	"math"
	"math/rand/v2"

	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/schemes/ckks"
)

const (
	vectors = 64
	dim     = 128
	shape   = "64x128"
)

// ckksCase is a parameter set for 64 dot products of 128 dimensions, packed into slots.
type ckksCase struct {
	name       string
	parameters ckks.ParametersLiteral
	publicKey  bool // encrypt under the public key, as the reference does
}

var ckksCases = []ckksCase{
	{"lattigo-v6-go reference parameters", ckks.ParametersLiteral{
		LogN: 14, LogQ: []int{60, 45, 45, 45, 45, 45, 45, 45}, LogP: []int{61, 61}, LogDefaultScale: 45,
	}, true},
	{"lattigo-v6-go depth one", ckks.ParametersLiteral{
		LogN: 13, LogQ: []int{55, 45}, LogP: []int{55}, LogDefaultScale: 45,
	}, false},
}

func unitVector(rng *rand.Rand) []float64 {
	x, norm := make([]float64, dim), 0.0
	for i := range x {
		x[i] = rng.Float64()*2 - 1
		norm += x[i] * x[i]
	}
	for i := range x {
		x[i] /= math.Sqrt(norm)
	}
	return x
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// packed is one kind of cell repeated: slots/128 vectors to a plaintext.
func packed(rows [][]float64) (slots []float64) {
	for _, row := range rows {
		slots = append(slots, row...)
	}
	return slots
}

func products() {
	for _, c := range ckksCases {
		c.measure()
	}
}

func (c ckksCase) measure() {
	params := must(ckks.NewParametersFromLiteral(c.parameters))
	level := params.MaxLevel()
	keygen := rlwe.NewKeyGenerator(params)
	secret := keygen.GenSecretKeyNew()
	elements := params.GaloisElementsForInnerSum(1, dim)
	keys := func() rlwe.EvaluationKeySet {
		return rlwe.NewMemEvaluationKeySet(nil, keygen.GenGaloisKeysNew(elements, secret)...)
	}
	var encryptionKey rlwe.EncryptionKey = secret
	if c.publicKey {
		encryptionKey = keygen.GenPublicKeyNew(secret)
	}
	encryptor := rlwe.NewEncryptor(params, encryptionKey)
	decryptor := rlwe.NewDecryptor(params, secret)
	encoder := ckks.NewEncoder(params)
	evaluator := ckks.NewEvaluator(params, keys())

	rng := rand.New(rand.NewPCG(2, 0))
	query, base := unitVector(rng), make([][]float64, vectors)
	for i := range base {
		base[i] = unitVector(rng)
	}
	perPack := min(vectors, params.MaxSlots()/dim)
	var packs []*rlwe.Plaintext
	for at := 0; at < vectors; at += perPack {
		pack := ckks.NewPlaintext(params, level)
		check(encoder.Encode(packed(base[at:at+perPack]), pack))
		packs = append(packs, pack)
	}
	copies := make([][]float64, perPack)
	for i := range copies {
		copies[i] = query
	}
	replicated := packed(copies)

	encrypt := func() *rlwe.Ciphertext {
		plaintext := ckks.NewPlaintext(params, level)
		check(encoder.Encode(replicated, plaintext))
		return must(encryptor.EncryptNew(plaintext))
	}
	score := func(query *rlwe.Ciphertext) (scores []*rlwe.Ciphertext) {
		for _, pack := range packs {
			product := must(evaluator.MulNew(query, pack))
			check(evaluator.Rescale(product, product))
			check(evaluator.InnerSum(product, 1, dim, product))
			scores = append(scores, product)
		}
		return scores
	}
	decrypt := func(scores []*rlwe.Ciphertext) (found []float64) {
		slots := make([]float64, params.MaxSlots())
		for _, score := range scores {
			check(encoder.Decode(decryptor.DecryptNew(score), slots))
			for i := range perPack {
				found = append(found, slots[i*dim])
			}
		}
		return found
	}

	encrypted := encrypt()
	scores := score(encrypted)
	for i, found := range decrypt(scores) {
		assert(math.Abs(found-dot(query, base[i])) < 1e-5, c.name)
	}
	bytes := 0
	for _, score := range scores {
		bytes += score.BinarySize()
	}
	size("ckks/query_bytes", c.name, shape, encrypted.BinarySize())
	size("ckks/reply_bytes", c.name, shape, bytes)
	bench("ckks/keygen", c.name, shape, func() { keys() })
	bench("ckks/encrypt", c.name, shape, func() { encrypt() })
	bench("ckks/score", c.name, shape, func() { score(encrypted) })
	bench("ckks/decrypt", c.name, shape, func() { decrypt(scores) })
}
