// Measures one search of opaque through its public API on one thread: `opaque COUNT ROUNDS COMMIT` prints a JSON line.
//
// The configuration is the one its README recommends. Client and server run in this process, and the API does not say
// what would pass between them. The vectors are clustered.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"sort"
	"strconv"
	"syscall"
	"time"

	"github.com/Prasad-178/opaque"
)

const (
	dimension = 128
	k         = 10
)

// A source of clustered unit vectors, by the recipe of sets.py: embeddings have clusters too.
type clusters struct {
	random  *rand.Rand
	centres [][]float64
	frames  [][][]float64
	weights []float64
}

func normals(random *rand.Rand, scale float64) []float64 {
	vector := make([]float64, dimension)
	for i := range vector {
		vector[i] = random.NormFloat64() * scale
	}
	return vector
}

func newClusters(random *rand.Rand) *clusters {
	scale := 1 / math.Sqrt(dimension)
	mean := normals(random, 0.7*scale)
	source := &clusters{random: random}
	sum := 0.0
	for c := range 400 {
		centre := normals(random, 0.7*scale)
		for i := range centre {
			centre[i] += mean[i]
		}
		var frame [][]float64
		for d := range 12 {
			frame = append(frame, normals(random, 0.45*scale/math.Sqrt(float64(d+1))))
		}
		sum += 1 / float64(c+10)
		source.centres = append(source.centres, centre)
		source.frames = append(source.frames, frame)
		source.weights = append(source.weights, sum)
	}
	return source
}

func (source *clusters) next() []float64 {
	drawn := source.random.Float64() * source.weights[len(source.weights)-1]
	c := sort.SearchFloat64s(source.weights, drawn)
	vector := normals(source.random, 0.12/math.Sqrt(dimension))
	for i, x := range source.centres[c] {
		vector[i] += x
	}
	for _, direction := range source.frames[c] {
		along := source.random.NormFloat64()
		for i, x := range direction {
			vector[i] += along * x
		}
	}
	square := 0.0
	for _, x := range vector {
		square += x * x
	}
	for i := range vector {
		vector[i] /= math.Sqrt(square)
	}
	return vector
}

// The exact best identities of a query.
func best(vectors [][]float64, query []float64) map[string]bool {
	scores := make([]float64, len(vectors))
	order := make([]int, len(vectors))
	for index, vector := range vectors {
		order[index] = index
		for i := range vector {
			scores[index] += vector[i] * query[i]
		}
	}
	sort.Slice(order, func(a, b int) bool { return scores[order[a]] > scores[order[b]] })
	result := make(map[string]bool, k)
	for _, index := range order[:k] {
		result[strconv.Itoa(index)] = true
	}
	return result
}

// The processor's time of this process, which other programs on the same cores do not lengthen.
func processor() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

func median(values []int64) int64 {
	sort.Slice(values, func(a, b int) bool { return values[a] < values[b] })
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

func measure(count, rounds int, commit string) error {
	source := newClusters(rand.New(rand.NewPCG(7, 7)))
	identities := make([]string, count)
	vectors := make([][]float64, count)
	for index := range vectors {
		identities[index] = strconv.Itoa(index)
		vectors[index] = source.next()
	}
	db, err := opaque.NewDB(opaque.Config{
		Dimension:      dimension,
		NumClusters:    128,
		TopClusters:    8,
		ProbeThreshold: 0.95,
		PaddingMode:    opaque.PaddingBucketed,
		TargetEpsilon:  2.5,
		WorkerPoolSize: 1,
	})
	if err != nil {
		return err
	}
	defer db.Close()
	ctx := context.Background()
	start := time.Now()
	if err := db.AddBatch(ctx, identities, vectors); err != nil {
		return err
	}
	if err := db.Build(ctx); err != nil {
		return err
	}
	insert := time.Since(start).Nanoseconds() / int64(count)

	var whole, busy []int64
	found := 0
	for range rounds {
		query := source.next()
		before, start := processor(), time.Now()
		results, err := db.Search(ctx, query, k)
		if err != nil {
			return err
		}
		whole = append(whole, time.Since(start).Nanoseconds())
		busy = append(busy, processor()-before)
		exact := best(vectors, query)
		for _, result := range results {
			if exact[result.ID] {
				found++
			}
		}
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"group":     "systems/search",
		"function":  "opaque",
		"parameter": fmt.Sprintf("%dx%d", count, dimension),
		"median_ns": median(whole),
		"cpu_ns":    median(busy),
		"insert_ns": insert,
		"recall":    float64(found) / float64(k*rounds),
		"rounds":    rounds,
		"note":      "128 clusters, 8 probed, decoys for epsilon 2.5; the client scores what it fetches",
		"commit":    commit,
	})
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: opaque COUNT ROUNDS COMMIT")
		os.Exit(2)
	}
	count, err := strconv.Atoi(os.Args[1])
	rounds, err2 := strconv.Atoi(os.Args[2])
	if err != nil || err2 != nil || count < 128 || rounds < 1 {
		fmt.Fprintf(os.Stderr, "opaque: COUNT is %s and ROUNDS %s; they must be at least 128 and 1\n",
			os.Args[1], os.Args[2])
		os.Exit(2)
	}
	if err := measure(count, rounds, os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "opaque:", err)
		os.Exit(1)
	}
}
