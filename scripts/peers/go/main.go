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
	windows    = 5
	samples    = 5 // of a window
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

// row is a measurement and the function that it times. Rows of the same kind, if it is not empty, time the same call,
// which the function makes the given number of times.
type row struct {
	measurement
	f     func()
	kind  string
	calls int
}

// rows are all measurements of a run.
var rows []row

// bench adds the measurement of one call of f.
func bench(group, function string, parameter any, f func()) {
	benchCalls("", 1, group, function, parameter, f)
}

// benchCalls adds the measurement of f, which makes calls of this kind.
func benchCalls(kind string, calls int, group, function string, parameter any, f func()) {
	rows = append(rows, row{measurement{group, function, fmt.Sprint(parameter), 0, 0}, f, kind, calls})
}

// measure prints the least median of each row's windows. All other rows lie between two windows of a row, so that a
// slow moment of the machine counts in few of them. The least time of a call counts for all rows of its kind.
func measure() {
	for range windows {
		for i := range rows {
			ns := window(rows[i].f)
			if least := rows[i].MedianNs; least == 0 || ns < least {
				rows[i].MedianNs = ns
			}
		}
	}
	least := map[string]float64{}
	for _, row := range rows {
		each := row.MedianNs / float64(row.calls)
		if known, ok := least[row.kind]; !ok || each < known {
			least[row.kind] = each
		}
	}
	for _, row := range rows {
		if row.kind != "" {
			row.MedianNs = least[row.kind] * float64(row.calls)
		}
		row.print()
	}
}

// window gives the median time of one call of f, over samples of many calls each.
func window(f func()) float64 {
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
	return times[samples/2]
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
	measure()
}
