package engine

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
)

// prompted is a request of a Mooncake trace: a prompt and the names of its
// blocks of 512 tokens, of which the last may be partial.
type prompted struct {
	Tokens int      `json:"input_length"`
	Blocks []uint64 `json:"hash_ids"`
}

const mooncakeBlock = 512

func readMooncake(t testing.TB) []prompted {
	t.Helper()
	f, err := os.Open(shared(t, "traces/mooncake/conversation.head400.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []prompted
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var p prompted
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		for i := range p.Blocks {
			p.Blocks[i]++ // names from 1 on
		}
		all = append(all, p)
	}
	if err := lines.Err(); err != nil || len(all) == 0 {
		t.Fatalf("%d requests: %v", len(all), err)
	}
	return all
}

// oracleHits is the share of prompt tokens that are found in caches of the given
// numbers of blocks, from stack distances: one stack of all blocks ever used,
// latest on top, tells for every size at once what a cache of that size holds,
// its top. A request puts its blocks on top, the first one uppermost. It knows
// nothing of free lists, reference counts and evictions.
//
// A block that is not full takes its place and is never found. No prompt of the
// trace ends with a full block, so none is computed again for its last token.
func oracleHits(t testing.TB, all []prompted, sizes []int) []float64 {
	t.Helper()
	nameless := ^uint64(0)
	var stack []uint64 // top first
	hits := make([]int, len(sizes))
	total := 0
	for _, p := range all {
		if p.Tokens%mooncakeBlock == 0 {
			t.Fatalf("a prompt of %d tokens ends with a full block", p.Tokens)
		}
		total += p.Tokens
		distance := make(map[uint64]int, len(stack))
		for d, name := range stack {
			distance[name] = d
		}
		full := p.Blocks[:p.Tokens/mooncakeBlock]
		for i, size := range sizes {
			for _, name := range full {
				if d, known := distance[name]; !known || d >= size {
					break
				}
				hits[i] += mooncakeBlock
			}
		}
		top := append(slices.Clone(full), nameless)
		nameless--
		for _, name := range full {
			if d, known := distance[name]; known {
				stack[d] = 0 // moves to the top
			}
		}
		stack = slices.DeleteFunc(stack, func(name uint64) bool { return name == 0 })
		stack = append(top, stack...)
	}
	shares := make([]float64, len(sizes))
	for i := range shares {
		shares[i] = float64(hits[i]) / float64(total)
	}
	return shares
}

type fixedStep struct{}

func (fixedStep) Step(*steptime.Batch) int64 { return 1_000_000_000 }

// engineHits plays the prompts one after the other, through an engine whose
// cache has size usable blocks.
func engineHits(t testing.TB, all []prompted, size int) float64 {
	t.Helper()
	loop := clock.NewVirtual()
	e, err := New(Config{
		MaxNumSeqs: 1, MaxNumBatchedTokens: 1 << 20, MaxModelLen: 1 << 20, BlockSize: mooncakeBlock, NumGPUBlocks: size + 1,
		PrefixCaching: true, ChunkedPrefill: true, ReserveFullISL: true,
	}, fixedStep{}, loop)
	if err != nil {
		t.Fatal(err)
	}
	sink := &quiet{}
	for i, p := range all {
		s := &Seq{ID: uint64(i), Prompt: p.Tokens, MaxTokens: 1, Hashes: p.Blocks, Shared: p.Tokens, Sink: sink}
		loop.At(clock.Time(i)*10*ms, clock.RankArrival, call{s.ID, func() {
			if err := e.Submit(s); err != nil {
				t.Errorf("request %d: %v", i, err)
			}
		}})
	}
	loop.Run()
	if sink.ends != len(all) {
		t.Fatalf("%d of %d requests ended", sink.ends, len(all))
	}
	st := e.Stats()
	return float64(st.PrefixHits) / float64(st.PrefixQueries)
}

// The share of tokens that a cache of a given size finds again, on the first 400
// requests of Mooncake's conversation trace (kvcache-ai/Mooncake).
func TestValidationMooncakeHits(t *testing.T) {
	all := readMooncake(t)
	sizes := []int{300, 1000, 2000, 3000, 5000, 7000, 10_000}
	want := oracleHits(t, all, sizes)
	for i, size := range sizes {
		got := engineHits(t, all, size)
		t.Logf("%6d blocks: %6.2f%% of tokens, stack distances say %6.2f%%", size, 100*got, 100*want[i])
		if math.Abs(got-want[i]) > 0.005 {
			t.Errorf("%d blocks: %.2f%% of tokens found, stack distances say %.2f%%", size, 100*got, 100*want[i])
		}
		if i > 0 && want[i] < want[i-1] {
			t.Errorf("a larger cache finds less: %v of %v", want, sizes)
		}
	}
	if want[0] == want[len(want)-1] {
		t.Error("the size makes no difference: the trace tests nothing")
	}
}
