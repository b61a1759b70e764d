package server

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strconv"
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

// BenchmarkPace holds 1000 streams of 50 tokens a second for 10 s, and reports how
// late a token reaches its client after the end of the step that made it, and by
// how much a stream as a whole takes longer than its steps. One replica makes
// the tokens of all streams at the same instant; several take turns.
func BenchmarkPace(b *testing.B) {
	for _, replicas := range []int{1, 4} {
		b.Run(fmt.Sprintf("replicas=%d", replicas), func(b *testing.B) {
			for b.Loop() {
				benchmarkPace(b, replicas, 1000, 500, 20*time.Millisecond)
			}
		})
	}
}

func benchmarkPace(b *testing.B, replicas, streams, tokens int, step time.Duration) {
	g := start(b, func(c *Config) {
		c.Replicas, c.Step = replicas, evenSteps(step)
		c.Engine.MaxNumSeqs, c.Engine.NumGPUBlocks = 1024, 1<<18
	})
	s := listen(b, g.Handler())
	where, err := url.Parse(s.URL)
	if err != nil {
		b.Fatal(err)
	}
	clients := make([]paced, streams)
	var all sync.WaitGroup
	runtime.GC()
	// The first request of a replica sets the phase of its steps.
	begin := func(i int) time.Duration {
		if i < replicas {
			return time.Duration(i) * step / time.Duration(replicas)
		}
		return step + time.Duration(i)*time.Second/time.Duration(streams)
	}
	for i := range clients {
		p := &clients[i]
		p.id = strconv.Itoa(i)
		all.Go(func() {
			<-time.After(begin(i))
			if err := p.run(where.Host, tokens, g.loop.Stamp); err != nil {
				b.Error(err)
			}
		})
	}
	all.Wait()
	s.Close() // every line of truth is written
	var late []time.Duration
	var drift []float64
	for _, f := range g.truth.facts(b) {
		i, err := strconv.Atoi(f.RequestID)
		if err != nil {
			b.Fatal(err)
		}
		at := clients[i].stamp
		if len(at) != tokens {
			b.Fatalf("stream %d has %d tokens", i, len(at))
		}
		for k, t := range at {
			late = append(late, t.Sub(clock.Time(*f.FirstToken).Add(time.Duration(k)*step)))
		}
		drift = append(drift, float64(at[tokens-1]-at[0])/float64(time.Duration(tokens-1)*step)-1)
	}
	slices.Sort(late)
	slices.Sort(drift)
	for _, q := range []float64{0.5, 0.9, 0.99, 1} {
		b.ReportMetric(late[int(q*float64(len(late)-1))].Seconds()*1e3, fmt.Sprintf("ms-late-p%v", 100*q))
	}
	b.ReportMetric(100*max(drift[len(drift)-1], -drift[0]), "%-drift-max")
	b.ReportMetric(float64(streams*tokens)/(time.Duration(tokens)*step).Seconds(), "tokens/s")
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
