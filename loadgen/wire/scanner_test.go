package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tmaxmax/go-sse"
	"pgregory.net/rapid"

	"goodput/loadgen/wire"
)

// pieces is a reader that returns one piece per Read, as a socket does.
type pieces []string

func (p *pieces) Read(b []byte) (int, error) {
	if len(*p) == 0 {
		return 0, io.EOF
	}
	n := copy(b, (*p)[0])
	if (*p)[0] = (*p)[0][n:]; (*p)[0] == "" {
		*p = (*p)[1:]
	}
	return n, nil
}

type event struct {
	Data      string
	Coalesced bool
}

func scan(s *wire.Scanner, r io.Reader) ([]event, error) {
	s.Reset(r)
	var got []event
	for {
		_, err := s.Fill()
		for s.Next() {
			got = append(got, event{string(s.Data()), s.Coalesced()})
		}
		switch {
		case s.Err() != nil:
			return got, s.Err()
		case err == io.EOF:
			return got, nil
		case err != nil:
			return got, err
		}
	}
}

func payloads(events []event) []string {
	var out []string
	for _, e := range events {
		out = append(out, e.Data)
	}
	return out
}

func TestScanner(t *testing.T) {
	tests := []struct {
		name  string
		reads pieces
		want  []event
	}{
		{"nothing", nil, nil},
		{"one", pieces{"data: a\n\n"}, []event{{"a", false}}},
		{"no space after the colon", pieces{"data:a\n\n"}, []event{{"a", false}}},
		{"only one space is dropped", pieces{"data:  a \n\n"}, []event{{" a ", false}}},
		{"CRLF", pieces{"data: a\r\n\r\ndata: b\r\n\r\n"}, []event{{"a", false}, {"b", true}}},
		{"CR", pieces{"data: a\r\rdata: b\r\r"}, []event{{"a", false}, {"b", true}}},
		{"mixed ends", pieces{"data: a\r\n\ndata: b\n\rdata: c\r\r\n"}, []event{{"a", false}, {"b", true}, {"c", true}}},
		{"CR at the end of a read is a line end at once", pieces{"data: a\r\n\r", "\ndata: b\n\n"}, []event{{"a", false}, {"b", false}}},
		{"multi-line", pieces{"data: a\ndata\ndata: b\n\n"}, []event{{"a\n\nb", false}}},
		{"multi-line over reads", pieces{"data: a\nda", "ta: b\n", "\n"}, []event{{"a\nb", false}}},
		{"comments and other fields", pieces{": ping\n\nevent: x\nid: 7\nretry: 5\ndatax: no\ndata: a\n: ping\n\n"}, []event{{"a", false}}},
		{"event without data is none", pieces{"event: x\n\ndata: a\n\n"}, []event{{"a", false}}},
		{"empty data", pieces{"data\n\ndata:\n\n"}, []event{{"", false}, {"", true}}},
		{"byte order mark", pieces{"\xef", "\xbb", "\xbfdata: a\n\n"}, []event{{"a", false}}},
		{"byte order mark later is text", pieces{"data: a\n\n\xef\xbb\xbfdata: b\n\n"}, []event{{"a", false}}},
		{"coalesced per read", pieces{"data: a\n\ndata: b\n", "\ndata: c\n\n"}, []event{{"a", false}, {"b", false}, {"c", true}}},
		{"unfinished event is none", pieces{"data: a\n\ndata: b\n"}, []event{{"a", false}}},
		{"colons in the value", pieces{"data: {\"a\":1}\n\n"}, []event{{`{"a":1}`, false}}},
		{"NUL is text", pieces{"data: \x00\n\n"}, []event{{"\x00", false}}},
	}
	s := wire.NewScanner(0)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := scan(s, &tt.reads)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestScannerRest(t *testing.T) {
	tests := []struct {
		name, text, want string
		ok               bool
	}{
		{"nothing", "data: a\n\n", "", false},
		{"line without blank line", "data: [DONE]\n", "[DONE]", true},
		{"unfinished line", "data: [DONE]", "[DONE]", true},
		{"several lines", "data: a\ndata: b", "a\nb", true},
		{"comment", ": ping", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := wire.NewScanner(0)
			if _, err := scan(s, strings.NewReader(tt.text)); err != nil {
				t.Fatal(err)
			}
			got, ok := s.Rest()
			if string(got) != tt.want || ok != tt.ok {
				t.Errorf("Rest() = %q, %v; want %q, %v", got, ok, tt.want, tt.ok)
			}
		})
	}
}

func TestScannerLimit(t *testing.T) {
	const limit = 10_000
	fits := strings.Repeat("x", limit-len("data: "))
	tests := []struct {
		name, text string
		tooLong    bool
	}{
		{"longest line", "data: " + fits + "\n\n", false},
		{"line too long", "data: " + fits + "x\n\n", true},
		{"endless line", strings.Repeat("x", 10*limit), true},
		{"payload too long", strings.Repeat("data: "+fits[:1000]+"\n", 11) + "\n", true},
		{"long comments do not add up", "data: a\n" + strings.Repeat(": "+fits[:1000]+"\n", 100) + "\n", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := wire.NewScanner(limit)
			got, err := scan(s, strings.NewReader(tt.text))
			if errors.Is(err, wire.ErrTooLong) != tt.tooLong {
				t.Fatalf("err = %v", err)
			}
			if _, again := s.Fill(); tt.tooLong && !errors.Is(again, wire.ErrTooLong) {
				t.Errorf("Fill after the error: %v", again)
			}
			if !tt.tooLong && len(got) != 1 {
				t.Errorf("%d events, want 1", len(got))
			}
			if got, err := scan(s, strings.NewReader("data: b\n\n")); err != nil || len(got) != 1 {
				t.Errorf("after Reset: %v, %v", got, err)
			}
		})
	}
}

// naive is an independent reading of the standard, of a whole text at once.
func naive(text string) []string {
	text = strings.TrimPrefix(text, "\xef\xbb\xbf")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.ReplaceAll(text, "\r", "\n")
	var out []string
	var data []string
	lines := strings.Split(text, "\n")
	for _, line := range lines[:len(lines)-1] {
		name, value, _ := strings.Cut(line, ":")
		switch {
		case line == "" && data != nil:
			out = append(out, strings.Join(data, "\n"))
			data = nil
		case name == "data":
			data = append(data, strings.TrimPrefix(value, " "))
		}
	}
	return out
}

// oracle reads text with another implementation, which also yields events
// without data; payloads that are empty are therefore left out of both sides.
func oracle(text string) ([]string, error) {
	var out []string
	for e, err := range sse.Read(strings.NewReader(text), &sse.ReadConfig{MaxEventSize: 1 << 22}) {
		if err != nil {
			return nil, err
		}
		if e.Data != "" {
			out = append(out, e.Data)
		}
	}
	return out, nil
}

func notEmpty(in []string) []string {
	var out []string
	for _, s := range in {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

// cut splits text into reads whose sizes come from seed.
func cut(text string, seed uint64) pieces {
	var p pieces
	for text != "" {
		seed = seed*6364136223846793005 + 1442695040888963407
		n := min(len(text), 1+int(seed>>33)%7*int(seed>>60))
		n = max(n, 1)
		p = append(p, text[:n])
		text = text[n:]
	}
	return p
}

func check(t interface{ Fatalf(string, ...any) }, s *wire.Scanner, text string, seed uint64) {
	p := cut(text, seed)
	got, err := scan(s, &p)
	if err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	if diff := cmp.Diff(naive(text), payloads(got)); diff != "" {
		t.Fatalf("%q cut by %d (-naive +got):\n%s", text, seed, diff)
	}
	if strings.LastIndex(text, "\xef\xbb\xbf") > 0 {
		return // go-sse also drops a mark after leading blank lines
	}
	want, err := oracle(text)
	if err != nil {
		t.Fatalf("oracle: %v in %q", err, text)
	}
	if diff := cmp.Diff(want, notEmpty(payloads(got))); diff != "" {
		t.Fatalf("%q cut by %d (-oracle +got):\n%s", text, seed, diff)
	}
}

func FuzzScanner(f *testing.F) {
	f.Add("data: a\n\n", uint64(0))
	f.Add("\xef\xbb\xbfdata: a\r\n\r\n: c\rdata\rdata:b\r\revent: x\nid: 1\n\n", uint64(1))
	f.Add("data: {\"choices\":[]}\n\ndata: [DONE]\n\n", uint64(2))
	s := wire.NewScanner(0)
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		check(t, s, text, seed)
	})
}

func TestScannerAgreesWithOracles(t *testing.T) {
	s := wire.NewScanner(0)
	part := rapid.SampledFrom([]string{
		"\n", "\r", "\r\n", "data", "data:", "data: ", "da", ":", " ", "x", "event: e", "id: 1", "retry: 3", "\x00",
		"\xef\xbb\xbf", strings.Repeat("y", 5000), `{"a":"b"}`, "\n\n", "\r\r",
	})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(part, 0, 40).Draw(t, "parts"), "")
		check(t, s, text, rapid.Uint64().Draw(t, "seed"))
	})
}

// Cuts at every single byte must not change the payloads.
func TestScannerCutEverywhere(t *testing.T) {
	text := "\xef\xbb\xbf: hi\r\n\r\ndata: one\r\n\r\ndata: two\ndata: lines\n\ndata: three\r\rdata: [DONE]\n\n"
	want := naive(text)
	s := wire.NewScanner(0)
	for i := range len(text) + 1 {
		got, err := scan(s, &pieces{text[:i], text[i:]})
		if err != nil || !cmp.Equal(want, payloads(got)) {
			t.Fatalf("cut at %d: %q, %v", i, payloads(got), err)
		}
	}
}

func chatStream(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "data: %s\n\n", chatChunk(i))
	}
	b.WriteString("data: [DONE]\n\n")
	return b.Bytes()
}

// TestScannerDoesNotAllocate guards the hot path: scanning and probing cost no
// allocation per event.
func TestScannerDoesNotAllocate(t *testing.T) {
	stream := chatStream(500)
	s := wire.NewScanner(0)
	r := bytes.NewReader(nil)
	var p wire.Probe
	var c wire.Chunk
	allocs := testing.AllocsPerRun(10, func() {
		r.Reset(stream)
		s.Reset(r)
		for err := error(nil); err == nil; {
			_, err = s.Fill()
			for s.Next() {
				p.Read(s.Data(), &c)
			}
		}
	})
	if allocs != 0 || c.Kind != wire.Done || p.Fallbacks != 0 {
		t.Errorf("%v allocations, last chunk %+v, %d fallbacks", allocs, c, p.Fallbacks)
	}
}

func BenchmarkScanProbe(b *testing.B) {
	const chunks = 500
	stream := chatStream(chunks)
	s := wire.NewScanner(0)
	r := bytes.NewReader(nil)
	var p wire.Probe
	var c wire.Chunk
	b.ReportAllocs()
	b.SetBytes(int64(len(stream)))
	for b.Loop() {
		r.Reset(stream)
		s.Reset(r)
		for err := error(nil); err == nil; {
			_, err = s.Fill()
			for s.Next() {
				p.Read(s.Data(), &c)
			}
		}
	}
	b.ReportMetric(float64(b.N)*chunks/b.Elapsed().Seconds(), "chunks/s")
}

func BenchmarkProbe(b *testing.B) {
	chunk := []byte(chatChunk(7))
	var p wire.Probe
	var c wire.Chunk
	b.ReportAllocs()
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		p.Read(chunk, &c)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "chunks/s")
}

func ExampleScanner() {
	s := wire.NewScanner(0)
	s.Reset(strings.NewReader("data: {\"choices\":[{\"text\":\"hello\"}]}\n\ndata: [DONE]\n\n"))
	var p wire.Probe
	var c wire.Chunk
	for err := error(nil); err == nil; {
		_, err = s.Fill() // stamp right after this
		for s.Next() {
			p.Read(s.Data(), &c)
			fmt.Println(c.Content == wire.Text, c.Kind == wire.Done, s.Coalesced())
		}
	}
	// Output:
	// true false false
	// false true true
}
