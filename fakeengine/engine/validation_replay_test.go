package engine

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
	"goodput/profiles"
)

// shared is the folder of reference data beside the project. Tests that need it
// are skipped where it is absent.
func shared(t testing.TB, path string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	path = filepath.Join(filepath.Dir(dir), "shared", path)
	if _, err := os.Stat(path); err != nil {
		t.Skip("no reference data")
	}
	return path
}

// recording is a run of real vLLM: what was asked, when, and what came of it.
type recording struct {
	dir      string
	cfg      Config
	deployed steptime.Deployment
	model    steptime.Model
	requests []recorded
	assumed  bool // the number of KV blocks is not recorded
}

// recorded is one request of a recording. Instants are in seconds from the
// first arrival.
type recorded struct {
	arrival               float64
	in, out               int
	queued, scheduled     float64
	firstToken, lastToken float64
	blocks                []uint64
}

// settings is what meta.json tells of a recorded engine.
type settings struct {
	Kwargs struct {
		Model               string `json:"model"`
		TP                  int    `json:"tensor_parallel_size"`
		DP                  int    `json:"data_parallel_size"`
		EP                  bool   `json:"enable_expert_parallel"`
		MaxNumSeqs          int    `json:"max_num_seqs"`
		MaxNumBatchedTokens int    `json:"max_num_batched_tokens"`
		MaxModelLen         *int   `json:"max_model_len"`
	} `json:"engine_kwargs"`
	KV *struct {
		Blocks  int  `json:"num_gpu_blocks"`
		Size    int  `json:"block_size"`
		Caching bool `json:"enable_prefix_caching"`
	} `json:"kv_cache"`
}

// deployment finds the model's profile by the name of its checkpoint.
func (s *settings) deployment() (d steptime.Deployment, err error) {
	k := &s.Kwargs
	if d.Model, err = profiles.LoadModel(strings.ToLower(path.Base(k.Model))); err != nil {
		return d, err
	}
	d.TP = k.TP
	if k.DP > 1 {
		if !k.EP {
			return d, fmt.Errorf("%d ranks of data parallelism without expert parallelism: no such engine", k.DP)
		}
		d.EP = k.DP
	}
	return d, nil
}

// loadRecording reads a recording by its name, and the kernel times of its GPU.
func loadRecording(t testing.TB, name string) *recording {
	t.Helper()
	return readRecording(t, shared(t, filepath.Join("validation", "vllm-replay", name)))
}

// readRecording reads the recording in a folder. Where it does not say how many KV
// blocks there were, as many are taken as can't be filled.
func readRecording(t testing.TB, dir string) *recording {
	t.Helper()
	r := &recording{dir: dir}
	var meta settings
	data, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &meta); err != nil {
		t.Fatal(err)
	}
	d, err := meta.deployment()
	if err != nil {
		t.Fatal(err)
	}
	r.cfg = Config{
		MaxNumSeqs: meta.Kwargs.MaxNumSeqs, MaxNumBatchedTokens: meta.Kwargs.MaxNumBatchedTokens,
		MaxModelLen: d.Model.MaxLen, BlockSize: 16, AsyncScheduling: true,
		PrefixCaching: true, ChunkedPrefill: true, ReserveFullISL: true,
	}
	if n := meta.Kwargs.MaxModelLen; n != nil {
		r.cfg.MaxModelLen = *n
	}
	if kv := meta.KV; kv != nil {
		r.cfg.NumGPUBlocks, r.cfg.BlockSize, r.cfg.PrefixCaching = kv.Blocks, kv.Size, kv.Caching
		if d.EP > 1 {
			// Reported is the sum over the ranks.
			r.cfg.NumGPUBlocks /= d.EP
		}
	}
	r.deployed = d
	if r.model, err = steptime.LoadTable(filepath.Join(dir, "kernels"), d); err != nil {
		t.Fatal(err)
	}
	r.readRequests(t)
	if r.assumed = r.cfg.NumGPUBlocks == 0; r.assumed {
		r.cfg.NumGPUBlocks = 1
		for i := range r.requests {
			r.cfg.NumGPUBlocks += (r.requests[i].in+r.requests[i].out)/r.cfg.BlockSize + 1
		}
	}
	return r
}

// requestColumns are those of requests.csv that are read.
var requestColumns = [...]string{
	"arrival_s", "input_tokens", "output_tokens", "queued_s", "scheduled_s", "first_token_s", "last_token_s", "prompt_block_ids",
}

func (r *recording) readRequests(t testing.TB) {
	t.Helper()
	f, err := os.Open(filepath.Join(r.dir, "requests.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var at [len(requestColumns)]int
	for i, name := range requestColumns {
		if at[i] = slices.Index(rows[0], name); at[i] < 0 {
			t.Fatalf("requests.csv has columns %q and no %s", rows[0], name)
		}
	}
	for _, row := range rows[1:] {
		number := func(i int) float64 {
			x, err := strconv.ParseFloat(row[at[i]], 64)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
		q := recorded{
			arrival: number(0), in: int(number(1)), out: int(number(2)),
			queued: number(3), scheduled: number(4), firstToken: number(5), lastToken: number(6),
		}
		for _, id := range strings.Fields(row[at[7]]) {
			n, err := strconv.ParseUint(id, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			q.blocks = append(q.blocks, n)
		}
		r.requests = append(r.requests, q)
	}
}

// outcome is the times of the requests of a run, in seconds, one entry for each.
type outcome struct {
	queue, prefill, ttft, tpot, e2e []float64
	stats                           Stats
}

func (o *outcome) add(arrival, queued, scheduled, first, last float64, out int) {
	o.queue = append(o.queue, scheduled-queued)
	o.prefill = append(o.prefill, first-scheduled)
	o.ttft = append(o.ttft, first-arrival)
	o.e2e = append(o.e2e, last-arrival)
	if out > 1 {
		o.tpot = append(o.tpot, (last-first)/float64(out-1))
	}
}

// measured is what the real engine did.
func (r *recording) measured() *outcome {
	o := &outcome{}
	for i := range r.requests {
		q := &r.requests[i]
		o.add(q.arrival, q.queued, q.scheduled, q.firstToken, q.lastToken, q.out)
	}
	return o
}

// engines are the recorded engine, or all ranks of it.
func (r *recording) engines(t testing.TB, loop *clock.Virtual) []*Engine {
	t.Helper()
	if m, ok := r.model.(steptime.Ranked); ok && m.Ranks() > 1 {
		ranks, err := NewRanks(r.cfg, m, loop)
		if err != nil {
			t.Fatal(err)
		}
		return ranks.Engines()
	}
	e, err := New(r.cfg, r.model, loop)
	if err != nil {
		t.Fatal(err)
	}
	return []*Engine{e}
}

// replay sends the recorded requests to an engine at their recorded arrivals, to
// the rank with the fewest. The engine has no front end: what the recorded one took
// is part of its arrivals.
func (r *recording) replay(t testing.TB, watch ...func(*clock.Virtual, *Engine)) *outcome {
	t.Helper()
	loop := clock.NewVirtual()
	engines := r.engines(t, loop)
	for _, f := range watch {
		f(loop, engines[0])
	}
	sink := &quiet{}
	seqs := make([]Seq, len(r.requests))
	for i := range seqs {
		q := &r.requests[i]
		s := &seqs[i]
		*s = Seq{ID: uint64(i), Prompt: q.in, MaxTokens: q.out, Hashes: q.blocks, Shared: q.in, Sink: sink}
		loop.At(clock.Time(math.Round(q.arrival*1e9)), clock.RankArrival, call{s.ID, func() {
			if err := emptiest(engines).Submit(s); err != nil {
				t.Errorf("request %d: %v", i, err)
			}
		}})
	}
	loop.Run()
	if sink.ends != len(seqs) {
		t.Fatalf("%d of %d requests ended", sink.ends, len(seqs))
	}
	o := &outcome{stats: engines[0].Stats()}
	for _, e := range engines[1:] {
		o.stats.Preemptions += e.Stats().Preemptions
	}
	for i := range seqs {
		s := &seqs[i]
		o.add(seconds(s.Arrival), seconds(s.Queued), seconds(s.Scheduled), seconds(s.FirstToken), seconds(s.LastToken), s.Output)
	}
	return o
}

// emptiest is the engine with the fewest sequences, the first of them among equals.
func emptiest(engines []*Engine) *Engine {
	return slices.MinFunc(engines, func(a, b *Engine) int { return a.Stats().sequences() - b.Stats().sequences() })
}

func (s Stats) sequences() int { return s.Arriving + s.Waiting + s.Running }

func seconds(t clock.Time) float64 { return float64(t) / 1e9 }
