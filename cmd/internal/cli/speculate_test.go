package cli

import (
	"bytes"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"goodput/loadgen/plan"
	"goodput/loadgen/record"
)

// runRows runs a load, which may be late on a busy machine, and returns what it
// recorded.
func runRows(t *testing.T, args ...string) []record.Request {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	var out, log bytes.Buffer
	env := Env{
		Args: append([]string{"run", "--out", dir}, args...), Stdout: &out, Stderr: &log,
		Getenv: func(string) string { return "" },
	}
	if code := Main(env); code != exitOK && code != exitInvalid {
		t.Fatalf("exit code %d: %s", code, log.String())
	}
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var rows []record.Request
	if err := run.Requests(func(r *record.Request) error {
		row := *r
		// The reader fills the same slices again.
		row.TokenGapsUS, row.ChunkTokens = slices.Clone(r.TokenGapsUS), slices.Clone(r.ChunkTokens)
		rows = append(rows, row)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return rows
}

// burstiness is the mean gap between outputs over the mean time of a token, both
// over all requests, and the mean number of tokens of an output after the first.
func burstiness(t *testing.T, rows []record.Request) (itlByTPOT, tokens float64) {
	t.Helper()
	var time, gaps, outputs, chunks float64
	for i := range rows {
		r := &rows[i]
		if r.Outcome != record.OK || int(r.Chunks) != len(r.TokenGapsUS)+1 {
			t.Fatalf("request %d: %v, %d chunks, %d gaps", r.Seq, r.Outcome, r.Chunks, len(r.TokenGapsUS))
		}
		n := int32(0)
		for _, k := range r.ChunkTokens { // unknown over HTTP
			n += k
		}
		if n != 0 && (n != r.OutputTokens || r.ChunkTokens[0] != 1) {
			t.Fatalf("request %d: chunks hold %d tokens, usage has %d", r.Seq, n, r.OutputTokens)
		}
		for _, g := range r.TokenGapsUS {
			gaps += float64(g) * 1e3
		}
		time += float64(r.LastToken - r.FirstToken)
		outputs += float64(r.OutputTokens - 1) // the prompt gives one
		chunks += float64(len(r.TokenGapsUS))
	}
	return (gaps / chunks) / (time / outputs), outputs / chunks
}

// vLLM's documentation says that the mean ITL of speculative decoding is about
// twice the mean TPOT where two tokens are accepted at a time, because ITL is the
// gap between outputs and not between tokens.
func TestITLIsTwiceTPOT(t *testing.T) {
	rows := runRows(t, "--request-rate", "10", "--num-prompts", "300", "--random-input-len", "128", "--random-output-len", "256",
		"--engine.speculative-method", "eagle", "--engine.num-speculative-tokens", "3",
		"--engine.speculative-acceptance", "0.6,0.45,0.5", "--engine.speculative-acceptance-spread", "0.1")
	ratio, tokens := burstiness(t, rows)
	// 1 + 0.6 + 0.27 + 0.135.
	if math.Abs(ratio-2) > 0.1 || math.Abs(tokens-2) > 0.1 {
		t.Errorf("ITL is %.2f times TPOT, outputs have %.2f tokens; want about 2", ratio, tokens)
	}
}

// The same through HTTP and the wall clock: the server writes an event for each
// burst, and the client counts its tokens.
func TestITLIsTwiceTPOTOverHTTP(t *testing.T) {
	p := plan.Default()
	p.EngineSpecMethod, p.EngineSpecTokens, p.EngineSpecRates = "eagle", 3, "0.6,0.45,0.5"
	rig := newServeRig(t, p, 1)
	rows := runRows(t, "--base-url", rig.url, "--request-rate", "40", "--num-prompts", "40",
		"--random-input-len", "64", "--random-output-len", "100", "--ignore-eos")
	ratio, tokens := burstiness(t, rows)
	// 40 answers of some 50 bursts each: the mean is known to about 0.02.
	if math.Abs(ratio-2) > 0.15 || math.Abs(tokens-2) > 0.15 {
		t.Errorf("ITL is %.2f times TPOT, outputs have %.2f tokens; want about 2", ratio, tokens)
	}
}
