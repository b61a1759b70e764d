package server

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"goodput/loadgen/clock"
)

// paced is a client of one stream: a socket and nothing else, so that as little
// as possible of what is measured is the client's.
type paced struct {
	id    string
	stamp []clock.Time // of the arrival of token i
}

// run asks for n tokens and stamps each as soon as it is read.
func (p *paced) run(addr string, n int, stamp func() clock.Time) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	body := fmt.Sprintf(`{"prompt":"a b c d","max_tokens":%d,"stream":true}`, n)
	if _, err := fmt.Fprintf(conn, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nX-Request-Id: %s\r\nContent-Length: %d\r\n\r\n%s", p.id, len(body), body); err != nil {
		return err
	}
	p.stamp = make([]clock.Time, 0, n)
	in := bufio.NewReaderSize(conn, 4<<10)
	for len(p.stamp) < n {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if bytes.HasPrefix(line, []byte(`data: {`)) {
			p.stamp = append(p.stamp, stamp())
		}
	}
	return nil
}

// pace is a load of streams: each has so many tokens, one a step.
type pace struct {
	replicas, streams, tokens int
	step                      time.Duration
}

// begin is when stream i begins. The first request of a replica sets the phase of
// its steps.
func (p pace) begin(i int) time.Duration {
	if i < p.replicas {
		return time.Duration(i) * p.step / time.Duration(p.replicas)
	}
	return p.step + time.Duration(i)*time.Second/time.Duration(p.streams)
}

// written stamps, token by token, when the write to the socket that held it was over.
type written struct {
	http.ResponseWriter
	at    *[]clock.Time
	stamp func() clock.Time
	held  int // tokens since the last flush
}

func (w *written) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *written) Write(b []byte) (int, error) {
	w.held += bytes.Count(b, []byte("data: {"))
	return w.ResponseWriter.Write(b)
}

func (w *written) FlushError() error {
	err := http.NewResponseController(w.ResponseWriter).Flush()
	for now := w.stamp(); w.held > 0; w.held-- {
		*w.at = append(*w.at, now)
	}
	return err
}

// BenchmarkPace holds 1000 streams of 50 tokens a second for 10 s, with the client in
// the same process. It reports how late, after the end of the step that made it, the
// server had written a token (ms-write-late), and how late the client had read it
// (ms-read-late, which includes the former); and by how much a stream as a whole takes
// longer or shorter than its steps, where it is written and where it is read. One
// replica makes the tokens of all streams at the same instant; several take turns.
//
// Go looks for what has arrived on sockets when nothing else is left to run, so that
// the client reads what belongs to one instant after most of it was written.
func BenchmarkPace(b *testing.B) {
	for _, replicas := range []int{1, 4} {
		b.Run(fmt.Sprintf("replicas=%d", replicas), func(b *testing.B) {
			for b.Loop() {
				pace{replicas: replicas, streams: 1000, tokens: 500, step: 20 * time.Millisecond}.measure(b)
			}
		})
	}
}

func (p pace) measure(b *testing.B) {
	g := start(b, func(c *Config) {
		c.Replicas, c.Step = p.replicas, evenSteps(p.step)
		c.Engine.MaxNumSeqs, c.Engine.NumGPUBlocks = 1024, 1<<18
	})
	wrote := make([][]clock.Time, p.streams)
	for i := range wrote {
		wrote[i] = make([]clock.Time, 0, p.tokens)
	}
	inner := g.Handler()
	s := listen(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i, err := strconv.Atoi(r.Header.Get(headerRequestID))
		if err != nil {
			b.Error(err)
			return
		}
		inner.ServeHTTP(&written{ResponseWriter: w, at: &wrote[i], stamp: g.loop.Stamp}, r)
	}))
	runtime.GC()
	read := p.client(b, strings.TrimPrefix(s.URL, "http://"), g.loop.Stamp)
	s.Close() // every line of truth is written

	var writes, reads lateness
	for _, f := range g.truth.facts(b) {
		i, err := strconv.Atoi(f.RequestID)
		if err != nil {
			b.Fatal(err)
		}
		if len(wrote[i]) != p.tokens || len(read[i]) != p.tokens {
			b.Fatalf("%d tokens of stream %d were written, %d read", len(wrote[i]), i, len(read[i]))
		}
		writes.stream(wrote[i], clock.Time(*f.FirstToken), p.step)
		reads.stream(read[i], clock.Time(*f.FirstToken), p.step)
	}
	writes.report(b, "write")
	reads.report(b, "read")
	b.ReportMetric(float64(p.streams*p.tokens)/(time.Duration(p.tokens)*p.step).Seconds(), "tokens/s")
}

// client runs the clients, all in this process, and returns when each token of each
// stream was read.
func (p pace) client(b *testing.B, addr string, stamp func() clock.Time) [][]clock.Time {
	read := make([][]clock.Time, p.streams)
	var all sync.WaitGroup
	for i := range read {
		c := paced{id: strconv.Itoa(i)}
		all.Go(func() {
			<-time.After(p.begin(i))
			if err := c.run(addr, p.tokens, stamp); err != nil {
				b.Error(err)
			}
			read[i] = c.stamp
		})
	}
	all.Wait()
	return read
}

// lateness is that of tokens, and the drift of streams, as a fraction.
type lateness struct {
	late  []time.Duration
	drift float64
}

// stream takes the tokens of one stream, which were made every step from first on.
func (l *lateness) stream(at []clock.Time, first clock.Time, step time.Duration) {
	for k, t := range at {
		l.late = append(l.late, t.Sub(first.Add(time.Duration(k)*step)))
	}
	steps := len(at) - 1
	drift := float64(at[steps]-at[0])/float64(time.Duration(steps)*step) - 1
	l.drift = max(l.drift, drift, -drift)
}

func (l *lateness) report(b *testing.B, what string) {
	slices.Sort(l.late)
	for _, q := range []float64{0.5, 0.99, 1} {
		b.ReportMetric(l.late[int(q*float64(len(l.late)-1))].Seconds()*1e3, fmt.Sprintf("ms-%s-late-p%v", what, 100*q))
	}
	b.ReportMetric(100*l.drift, "%-"+what+"-drift-max")
}

// idleMB is what a replica of an H100 with an 8B model, on a port of its own, holds
// in memory beside the others before its first request.
func idleMB(tb testing.TB, replicas int) float64 {
	before := heap()
	g := start(tb, func(c *Config) {
		c.Replicas = replicas
		c.Engine.MaxNumSeqs, c.Engine.NumGPUBlocks, c.Engine.MaxModelLen = 1024, 28156, 131072
	})
	ports := make([]http.Handler, replicas)
	for i := range ports {
		ports[i] = g.Replica(i)
	}
	after := heap()
	runtime.KeepAlive(g)
	runtime.KeepAlive(ports)
	return float64(after-before) / float64(replicas) / 1e6
}

func BenchmarkIdle(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(idleMB(b, 256), "MB/replica")
	}
}

func TestIdleReplicaTakesLessThanAMegabyte(t *testing.T) {
	if mb := idleMB(t, 16); mb >= 1 || mb <= 0 {
		t.Errorf("%.2f MB a replica", mb)
	}
}

// heap is the bytes in use. What earlier tests left in pools goes with the second
// collection.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
