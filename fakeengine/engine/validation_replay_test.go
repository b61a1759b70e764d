package engine

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
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
	model    steptime.Model
	requests []recorded
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

// llamaLayers is the depth of Llama-3.1-8B, of which the kernel tables measure
// one layer.
const llamaLayers = 32

// loadRecording reads a recording and the kernel times of its GPU. Where the
// recording does not say how many KV blocks there were, blocks is taken.
func loadRecording(t testing.TB, name string, blocks int) *recording {
	t.Helper()
	dir := shared(t, filepath.Join("validation", "vllm-replay", name))
	r := &recording{dir: dir}
	var meta struct {
		Kwargs struct {
			MaxNumSeqs          int  `json:"max_num_seqs"`
			MaxNumBatchedTokens int  `json:"max_num_batched_tokens"`
			MaxModelLen         *int `json:"max_model_len"`
		} `json:"engine_kwargs"`
		KV *struct {
			Blocks  int  `json:"num_gpu_blocks"`
			Size    int  `json:"block_size"`
			Caching bool `json:"enable_prefix_caching"`
		} `json:"kv_cache"`
	}
	data, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &meta); err != nil {
		t.Fatal(err)
	}
	r.cfg = Config{
		MaxNumSeqs: meta.Kwargs.MaxNumSeqs, MaxNumBatchedTokens: meta.Kwargs.MaxNumBatchedTokens,
		MaxModelLen: 131072, BlockSize: 16, NumGPUBlocks: blocks, AsyncScheduling: true,
		PrefixCaching: true, ChunkedPrefill: true, ReserveFullISL: true,
	}
	if n := meta.Kwargs.MaxModelLen; n != nil {
		r.cfg.MaxModelLen = *n
	}
	if kv := meta.KV; kv != nil {
		r.cfg.NumGPUBlocks, r.cfg.BlockSize, r.cfg.PrefixCaching = kv.Blocks, kv.Size, kv.Caching
	}
	if r.model, err = steptime.LoadTable(filepath.Join(dir, "kernels"), llamaLayers); err != nil {
		t.Fatal(err)
	}
	r.readRequests(t)
	return r
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
	const header = "index,scheduled_arrival_s,arrival_s,input_tokens,output_tokens,queued_s,scheduled_s,first_token_s,last_token_s,prompt_block_ids"
	if got := strings.Join(rows[0], ","); got != header {
		t.Fatalf("requests.csv has columns %s, want %s", got, header)
	}
	number := func(s string) float64 {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	for _, row := range rows[1:] {
		q := recorded{
			arrival: number(row[2]), in: int(number(row[3])), out: int(number(row[4])),
			queued: number(row[5]), scheduled: number(row[6]), firstToken: number(row[7]), lastToken: number(row[8]),
		}
		for _, id := range strings.Fields(row[9]) {
			q.blocks = append(q.blocks, uint64(number(id)))
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

// replay sends the recorded requests to an engine at their recorded arrivals.
// The engine has no front end: what the recorded one took is part of its
// arrivals.
func (r *recording) replay(t testing.TB, watch ...func(*clock.Virtual, *Engine)) *outcome {
	t.Helper()
	loop := clock.NewVirtual()
	e, err := New(r.cfg, r.model, loop)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range watch {
		f(loop, e)
	}
	sink := &quiet{}
	seqs := make([]Seq, len(r.requests))
	for i := range seqs {
		q := &r.requests[i]
		s := &seqs[i]
		*s = Seq{ID: uint64(i), Prompt: q.in, MaxTokens: q.out, Hashes: q.blocks, Shared: q.in, Sink: sink}
		loop.At(clock.Time(math.Round(q.arrival*1e9)), clock.RankArrival, call{s.ID, func() {
			if err := e.Submit(s); err != nil {
				t.Errorf("request %d: %v", i, err)
			}
		}})
	}
	loop.Run()
	if sink.ends != len(seqs) {
		t.Fatalf("%d of %d requests ended", sink.ends, len(seqs))
	}
	o := &outcome{stats: e.Stats()}
	for i := range seqs {
		s := &seqs[i]
		o.add(seconds(s.Arrival), seconds(s.Queued), seconds(s.Scheduled), seconds(s.FirstToken), seconds(s.LastToken), s.Output)
	}
	return o
}

func seconds(t clock.Time) float64 { return float64(t) / 1e9 }
