//go:build unix

package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/observe"
	"goodput/loadgen/record"
	"goodput/loadgen/target"
	"goodput/loadgen/wire"
)

// serveVariable has the test's own program serve streams instead of testing, so that
// the processor time of a benchmark is the client's alone.
const serveVariable = "GOODPUT_TEST_SERVE"

const (
	benchStreams = 100
	benchTokens  = 128
	benchGap     = 5 * time.Millisecond
)

// TestServe is no test: it is what the program does for streamServer.
func TestServe(t *testing.T) {
	if os.Getenv(serveVariable) == "" {
		t.Skip("it serves the benchmark")
	}
	if err := serveStreams(); err != nil {
		t.Fatal(err)
	}
}

// serveStreams answers each request with benchTokens chunks, one every benchGap, until
// standard input ends.
func serveStreams() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		flush := http.NewResponseController(w).Flush
		tick := make(chan struct{}, benchTokens)
		stop := clock.Every(benchGap, func() { tick <- struct{}{} })
		for range benchTokens {
			<-tick
			io.WriteString(w, "data: "+tok+"\n\n")
			flush()
		}
		stop()
		io.WriteString(w, "data: "+finish+"\n\ndata: [DONE]\n\n")
	})}
	go s.Serve(l)
	fmt.Println(l.Addr())
	io.Copy(io.Discard, os.Stdin)
	return s.Close()
}

// streamServer starts this program as a server and returns its URL.
func streamServer(b *testing.B) string {
	c := exec.Command(os.Args[0], "-test.run=^TestServe$")
	c.Env = append(os.Environ(), serveVariable+"=1")
	in, err := c.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		c.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return "http://" + strings.TrimSpace(line)
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkAgainstNetHTTP has the client and a minimal one, which is net/http, a line
// scanner and encoding/json, read the same 100 paced streams of 128 tokens in turn, and
// compares the processor time of a request. The client makes the row of each as well.
func BenchmarkAgainstNetHTTP(b *testing.B) {
	url := streamServer(b)
	var ours, theirs time.Duration
	for b.Loop() {
		at := cpuTime(b)
		sendOurs(b, url)
		mid := cpuTime(b)
		sendMinimal(b, url)
		ours, theirs = ours+mid-at, theirs+cpuTime(b)-mid
	}
	n := float64(b.N) * benchStreams
	b.ReportMetric(ours.Seconds()*1e3/n, "cpu-ms/request")
	b.ReportMetric(theirs.Seconds()*1e3/n, "minimal-cpu-ms/request")
	b.ReportMetric(ours.Seconds()/theirs.Seconds(), "x-minimal")
}

// pack is a number of attempts that begin at once on the loop, and stop it when all have
// ended.
type pack struct {
	b    *testing.B
	c    *Client
	loop *clock.Real
	left int
}

func (p *pack) Entity() uint64 { return 0 }

func (p *pack) Fire(now clock.Time) {
	for i := range benchStreams {
		m := &member{p: p}
		r := &target.Request{Seq: uint64(i), Intended: now, Out: benchTokens}
		m.asm.Begin(r, now)
		p.c.Start(r, m)
	}
}

type member struct {
	p   *pack
	asm observe.Assembler
}

func (m *member) Event(e target.Event) {
	m.asm.Event(e)
	if e.Kind != target.End {
		return
	}
	if row := m.asm.Finish(clock.Never); row.Chunks != benchTokens || row.Outcome != record.OK {
		m.p.b.Errorf("%v, %d chunks: %s", row.Outcome, row.Chunks, row.Error)
	}
	if m.p.left--; m.p.left == 0 {
		m.p.loop.Stop()
	}
}

func sendOurs(b *testing.B, url string) {
	loop, err := clock.NewReal()
	if err != nil {
		b.Fatal(err)
	}
	c, err := New(Config{
		BaseURLs: []string{url}, Loop: loop, Stamp: loop,
		Prompt: func([]target.Span, ...target.Quote) wire.Prompt { return words("x") },
	})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	loop.At(0, clock.RankArrival, &pack{b: b, c: c, loop: loop, left: benchStreams})
	loop.Run()
}

func sendMinimal(b *testing.B, url string) {
	transport := &http.Transport{MaxIdleConnsPerHost: benchStreams}
	defer transport.CloseIdleConnections()
	var all sync.WaitGroup
	for range benchStreams {
		all.Go(func() {
			req, err := http.NewRequest(http.MethodPost, url+"/v1/completions", strings.NewReader(`{"prompt":"x","stream":true}`))
			if err != nil {
				b.Error(err)
				return
			}
			resp, err := transport.RoundTrip(req)
			if err != nil {
				b.Error(err)
				return
			}
			defer resp.Body.Close()
			tokens := 0
			for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
				data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
				if !ok || string(data) == "[DONE]" {
					continue
				}
				var c struct {
					Choices []struct{ Delta struct{ Content string } }
				}
				if err := json.Unmarshal(data, &c); err == nil && len(c.Choices) > 0 && c.Choices[0].Delta.Content != "" {
					tokens++
				}
			}
			if tokens != benchTokens {
				b.Errorf("%d tokens", tokens)
			}
		})
	}
	all.Wait()
}
