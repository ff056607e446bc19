// Command peers measures Go implementations on the inputs of Sordino's benches and prints one JSON
// object per measurement: {"group", "function", "parameter", "median_ns"}, or "bytes" for a size.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"
)

const (
	samples    = 25
	sampleTime = 20 * time.Millisecond
)

// measurement is one line of output. Group and parameter are as in the Criterion bench.
type measurement struct {
	Group     string  `json:"group"`
	Function  string  `json:"function"`
	Parameter string  `json:"parameter"`
	MedianNs  float64 `json:"median_ns,omitempty"`
	Bytes     int     `json:"bytes,omitempty"`
}

func (m measurement) print() {
	if err := json.NewEncoder(os.Stdout).Encode(m); err != nil {
		panic(err)
	}
}

// bench prints the median time of one call of f, over samples of many calls each.
func bench(group, function string, parameter any, f func()) {
	f()
	start := time.Now()
	f()
	calls := int(sampleTime/(time.Since(start)+1)) + 1
	times := make([]float64, samples)
	for i := range times {
		start := time.Now()
		for range calls {
			f()
		}
		times[i] = float64(time.Since(start).Nanoseconds()) / float64(calls)
	}
	slices.Sort(times)
	measurement{group, function, fmt.Sprint(parameter), times[samples/2], 0}.print()
}

// size prints a number of bytes on the wire.
func size(group, function, parameter string, bytes int) {
	measurement{group, function, parameter, 0, bytes}.print()
}

// must gives the value of a call that cannot fail on the inputs of this program.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// assert stops a measurement of wrong answers.
func assert(holds bool, what string) {
	if !holds {
		panic("wrong answer: " + what)
	}
}

func main() {
	runtime.GOMAXPROCS(1)
	fpe()
	mldsa()
	products()
}
