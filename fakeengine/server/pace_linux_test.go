package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"goodput/loadgen/clock"
)

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

// BenchmarkPace holds 1000 streams of 50 tokens a second for 10 s, with a client in a
// process of its own that does nothing but read. It reports how late, after the end of
// the step that made it, the server had written a token (ms-write-late), and how late
// the client had read it (ms-read-late, which includes the former); by how much a stream
// as a whole takes longer or shorter than its steps, where it is written and where it is
// read; and the processor time of the server for each token. One replica makes the tokens
// of all streams at the same instant; several take turns.
func BenchmarkPace(b *testing.B) {
	for _, replicas := range []int{1, 4} {
		p := pace{replicas: replicas, streams: 1000, tokens: 500, step: 20 * time.Millisecond}
		b.Run(fmt.Sprintf("replicas=%d", replicas), func(b *testing.B) {
			for b.Loop() {
				p.measure(b)
			}
		})
		b.Run(fmt.Sprintf("floor=%d", replicas), func(b *testing.B) {
			for b.Loop() {
				p.floor(b)
			}
		})
	}
}

// written stamps, token by token, when the write to the socket that held it was over.
type written struct {
	lane
	at    []clock.Time
	stamp func() clock.Time
}

func (w *written) try(p []byte) (int, error) {
	n, err := w.lane.try(p)
	w.note(p[:n])
	return n, err
}

func (w *written) write(p []byte) error {
	err := w.lane.write(p)
	w.note(p)
	return err
}

// note takes a token for written with the write that began it.
func (w *written) note(p []byte) {
	now := w.stamp()
	for range bytes.Count(p, []byte(tokenMark)) {
		w.at = append(w.at, now)
	}
}

// stamps has room for those of all tokens.
func (p pace) stamps() [][]clock.Time {
	out := make([][]clock.Time, p.streams)
	for i := range out {
		out[i] = make([]clock.Time, 0, p.tokens)
	}
	return out
}

func (p pace) measure(b *testing.B) {
	g := start(b, func(c *Config) {
		c.Replicas, c.Step = p.replicas, evenSteps(p.step)
		c.Engine.MaxNumSeqs, c.Engine.NumGPUBlocks = 1024, 1<<18
	})
	wrote := make([]*written, p.streams)
	inner := g.Handler()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i, err := strconv.Atoi(r.Header.Get(headerRequestID))
		if err != nil {
			b.Error(err)
			return
		}
		wrote[i] = laneOf(r).(*written)
		inner.ServeHTTP(w, r)
	}))
	s.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		inner := ConnContext(ctx, c).Value(laneKey{}).(lane)
		return withLane(ctx, &written{lane: inner, at: make([]clock.Time, 0, p.tokens), stamp: g.loop.Stamp})
	}
	s.Start()
	defer s.Close()
	runtime.GC()
	before := processorTime(b)
	read := p.client(b, s.Listener.Addr().String())
	s.Close() // every line of truth is written
	after := processorTime(b)

	epoch := g.epoch()
	var writes, reads lateness
	for _, f := range g.truth.facts(b) {
		i, err := strconv.Atoi(f.RequestID)
		if err != nil {
			b.Fatal(err)
		}
		if len(wrote[i].at) != p.tokens || len(read[i]) != p.tokens {
			b.Fatalf("%d tokens of stream %d were written, %d read", len(wrote[i].at), i, len(read[i]))
		}
		first := clock.Time(*f.FirstToken)
		writes.stream(wrote[i].at, first, p.step)
		reads.stream(read[i], first+epoch, p.step)
	}
	writes.report(b, "write")
	reads.report(b, "read")
	b.ReportMetric(1e6*(after-before).Seconds()/float64(p.streams*p.tokens), "cpu-us/token")
}

// epoch is the loop's, on the clock that processes have in common.
func (g *rig) epoch() clock.Time {
	for {
		from, stamp, to := monotonic(), g.loop.Stamp(), monotonic()
		if to-from < 10*clock.Time(time.Microsecond) {
			return from - stamp
		}
	}
}

// floor is the same load from a server that knows only the time: one thread, and for each
// token one system call that writes as many bytes to the socket. There is no faster way
// to write to sockets one after the other; what a server does beside it is what BenchmarkPace shows more.
func (p pace) floor(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	wrote, first := p.stamps(), make([]clock.Time, p.streams)
	done := make(chan time.Duration, 1)
	go func() {
		used, err := p.writeOnly(b, l, wrote, first)
		if err != nil {
			b.Error(err)
		}
		done <- used
	}()
	read := p.client(b, l.Addr().String())
	used := <-done
	var writes, reads lateness
	for i := range wrote {
		writes.stream(wrote[i], first[i], p.step)
		reads.stream(read[i], first[i], p.step)
	}
	writes.report(b, "write")
	reads.report(b, "read")
	b.ReportMetric(1e6*used.Seconds()/float64(p.streams*p.tokens), "cpu-us/token")
}

// writeOnly serves the streams of one client: in as many turns a step as there are replicas.
func (p pace) writeOnly(b *testing.B, l net.Listener, wrote [][]clock.Time, first []clock.Time) (time.Duration, error) {
	fds := make([]int, p.streams)
	for i := range fds {
		conn, err := l.Accept()
		if err != nil {
			return 0, err
		}
		f, err := conn.(*net.TCPConn).File() // out of the hands of Go's poller
		if err != nil {
			return 0, err
		}
		defer f.Close()
		_ = conn.Close() // the file is another descriptor
		fds[i] = int(f.Fd())
	}
	chunk := []byte("e6\r\n" + tokenMark + string(bytes.Repeat([]byte{'x'}, 219)) + "}\n\n\r\n")
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, start, turns := processorTime(b), monotonic(), clock.Time(p.replicas)
	for k := range clock.Time(p.tokens) {
		for turn := range turns {
			due := start + (k*turns+turn)*clock.Time(p.step)/turns
			if left := unix.NsecToTimespec(int64(due - monotonic())); due > monotonic() {
				_ = unix.Nanosleep(&left, nil)
			}
			for i := int(turn); i < p.streams; i += p.replicas {
				if k == 0 {
					first[i] = due
				}
				if _, err := unix.Write(fds[i], chunk); err != nil {
					return 0, err
				}
				wrote[i] = append(wrote[i], monotonic())
			}
		}
	}
	return processorTime(b) - before, nil
}

func monotonic() clock.Time {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // always there
	return clock.Time(t.Nano())
}

func processorTime(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// client runs TestPaceClient in another process, and returns when each token of each
// stream was read, on the clock that processes have in common.
func (p pace) client(b *testing.B, addr string) [][]clock.Time {
	file := filepath.Join(b.TempDir(), "read")
	c := exec.Command(os.Args[0], "-test.run", "^TestPaceClient$")
	c.Env = append(os.Environ(), paceEnv+"="+fmt.Sprintf("%s %s %d %d %d %d", file, addr, p.replicas, p.streams, p.tokens, p.step))
	if out, err := c.CombinedOutput(); err != nil {
		b.Fatalf("the client: %v: %s", err, out)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	read := p.stamps()
	for i := range read {
		for range p.tokens {
			read[i] = append(read[i], clock.Time(binary.LittleEndian.Uint64(data)))
			data = data[8:]
		}
	}
	return read
}

// lateness is that of tokens, and the drift of streams, as a fraction.
type lateness struct {
	late  []time.Duration
	drift []float64
}

// stream takes the tokens of one stream, which were made every step from first on.
func (l *lateness) stream(at []clock.Time, first clock.Time, step time.Duration) {
	for k, t := range at {
		l.late = append(l.late, t.Sub(first.Add(time.Duration(k)*step)))
	}
	steps := len(at) - 1
	drift := float64(at[steps]-at[0])/float64(time.Duration(steps)*step) - 1
	l.drift = append(l.drift, max(drift, -drift))
}

func (l *lateness) report(b *testing.B, what string) {
	slices.Sort(l.late)
	for _, q := range []float64{0.5, 0.9, 0.99, 1} {
		b.ReportMetric(l.late[int(q*float64(len(l.late)-1))].Seconds()*1e3, fmt.Sprintf("ms-%s-late-p%v", what, 100*q))
	}
	slices.Sort(l.drift)
	b.ReportMetric(100*l.drift[len(l.drift)*99/100], "%-"+what+"-drift-p99")
	b.ReportMetric(100*l.drift[len(l.drift)-1], "%-"+what+"-drift-max")
}
