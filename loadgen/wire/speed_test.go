//go:build unix

package wire_test

import (
	"bytes"
	"encoding/json"
	"syscall"
	"testing"
	"time"

	"goodput/loadgen/wire"
)

// cpu is the processor time of the process. Unlike the time on the wall it does not hold
// what other processes take.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkAgainstEncodingJSON reads one stream both ways in turn, so that a busy machine
// is busy for both: by scanner and probe, and line by line with encoding/json into the
// fields of a chunk that a client needs at least. Rates are per second of processor time.
func BenchmarkAgainstEncodingJSON(b *testing.B) {
	const chunks = 500
	stream := chatStream(chunks)
	var ours, theirs time.Duration
	read := probing(b, stream)
	for b.Loop() {
		at := cpu(b)
		read()
		mid := cpu(b)
		decoding(b, stream)
		ours, theirs = ours+mid-at, theirs+cpu(b)-mid
	}
	n := float64(b.N) * chunks
	b.ReportMetric(n/ours.Seconds(), "chunks/cpu-s")
	b.ReportMetric(n/theirs.Seconds(), "json-chunks/cpu-s")
	b.ReportMetric(theirs.Seconds()/ours.Seconds(), "x-encoding/json")
}

// probing returns a function that reads stream by scanner and probe.
func probing(b *testing.B, stream []byte) func() {
	s := wire.NewScanner(0)
	r := bytes.NewReader(nil)
	var p wire.Probe
	var c wire.Chunk
	return func() {
		r.Reset(stream)
		s.Reset(r)
		for err := error(nil); err == nil; {
			_, err = s.Fill()
			for s.Next() {
				p.Read(s.Data(), &c)
			}
		}
		if c.Kind != wire.Done || p.Fallbacks != 0 {
			b.Fatalf("ends with %+v, %d fallbacks", c, p.Fallbacks)
		}
	}
}

// decoding reads stream by encoding/json.
func decoding(b *testing.B, stream []byte) {
	var tokens int
	for line := range bytes.Lines(stream) {
		data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data: "))
		if !ok || string(data) == "[DONE]" {
			continue
		}
		var c struct {
			Choices []struct {
				Delta        struct{ Content, ReasoningContent string }
				FinishReason *string `json:"finish_reason"`
			}
			Usage *struct {
				Prompt     int `json:"prompt_tokens"`
				Completion int `json:"completion_tokens"`
			}
			Error json.RawMessage
		}
		if err := json.Unmarshal(data, &c); err != nil {
			b.Fatal(err)
		}
		for i := range c.Choices {
			if c.Choices[i].Delta.Content != "" {
				tokens++
			}
		}
	}
	if tokens == 0 {
		b.Fatal("no tokens")
	}
}
