package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
)

// The paced server of the benchmarks: what peers were measured against.
const (
	pacedTTFT   = 50 * time.Millisecond
	pacedGap    = 10 * time.Millisecond
	pacedTokens = 128
)

// servePaced is a command of the benchmarks: it answers each request with pacedTokens
// chunks, the first one after pacedTTFT and one each pacedGap, all by one schedule from the
// request's arrival on. When standard input ends it prints how long each first chunk took
// by its own clock, by the request's id.
func servePaced() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	var lock sync.Mutex
	took := map[string]time.Duration{}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		received := clock.Wall()
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		flush := http.NewResponseController(w).Flush
		for i := range pacedTokens {
			time.Sleep(pacedTTFT + time.Duration(i)*pacedGap - clock.Wall().Sub(received))
			if i == 0 {
				lock.Lock()
				took[r.Header.Get("X-Request-Id")] = clock.Wall().Sub(received)
				lock.Unlock()
			}
			io.WriteString(w, "data: {\"id\":\"cmpl-0123456789abcdef\",\"object\":\"text_completion\",\"created\":1750000000,\"model\":\"m\",\"choices\":[{\"index\":0,\"text\":\" word\",\"logprobs\":null,\"finish_reason\":null}]}\n\n")
			flush()
		}
		io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"text\":\"\",\"finish_reason\":\"length\"}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":16,\"completion_tokens\":128}}\n\ndata: [DONE]\n\n")
	})}
	go s.Serve(l)
	fmt.Println(l.Addr())
	io.Copy(io.Discard, os.Stdin)
	s.Close()
	lock.Lock()
	defer lock.Unlock()
	if err := json.NewEncoder(os.Stdout).Encode(took); err != nil {
		log.Fatal(err)
	}
}

// paced starts the server; end stops it and returns what it printed.
func paced(b *testing.B) (url string, end func() map[string]time.Duration) {
	b.Helper()
	c := command(b, "goodput-paced")
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
	r := bufio.NewReader(out)
	addr, err := r.ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return "http://" + strings.TrimSpace(addr), func() map[string]time.Duration {
		in.Close()
		took := map[string]time.Duration{}
		if err := json.NewDecoder(r).Decode(&took); err != nil {
			b.Fatal(err)
		}
		c.Wait()
		return took
	}
}

// offered is what one run of the benchmarks showed. Times are in milliseconds.
type offered struct {
	cpu    float64   // processor time of a request, while the load lasted
	whole  float64   // the same of the whole program, the report at its end included
	errors []float64 // time to the first token by the client, less that by the server
	lag    []float64
	gaps   []float64 // between requests as they left
}

// offer runs goodput with full recording, and reads the rows.
func offer(b *testing.B, n int, args ...string) (offered, []record.Request) {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "run")
	c := command(b, "goodput", append([]string{"run", "--num-prompts", strconv.Itoa(n), "--out", dir}, args...)...)
	if text, err := c.CombinedOutput(); err != nil && c.ProcessState.ExitCode() != 4 { // 4: late, as is shown
		b.Fatalf("%v:\n%s", err, text)
	}
	run, err := record.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	var all []record.Request
	var left []int64
	out := offered{whole: float64(c.ProcessState.UserTime()+c.ProcessState.SystemTime()) / 1e6 / float64(n)}
	if g := run.Manifest.Generator; g != nil && g.CPU != nil {
		out.cpu = float64(*g.CPU) / 1e6 / float64(n)
	}
	if err := run.Requests(func(r *record.Request) error {
		if r.Outcome != record.OK {
			b.Errorf("request %d: %v %s", r.Seq, r.Outcome, r.Error)
		}
		all = append(all, record.Request{RequestID: r.RequestID, FirstToken: r.FirstToken, Dispatched: r.Dispatched})
		out.lag = append(out.lag, float64(r.Lag())/1e6)
		left = append(left, int64(r.Dispatched))
		return nil
	}, record.WithoutGaps()); err != nil {
		b.Fatal(err)
	}
	slices.Sort(left)
	for i := 1; i < len(left); i++ {
		out.gaps = append(out.gaps, float64(left[i]-left[i-1])/1e6)
	}
	return out, all
}

// at is a quantile.
func at(q float64, x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[int(q*float64(len(x)-1))]
}

// stream offers paced streams for six seconds.
func stream(b *testing.B, rate int) offered {
	b.Helper()
	url, end := paced(b)
	n := 6 * rate
	out, rows := offer(b, n, "--base-url", url, "--backend", "openai", "--model", "m", "--request-rate", strconv.Itoa(rate),
		"--random-input-len", "16", "--random-output-len", strconv.Itoa(pacedTokens))
	took := end()
	for i := range rows {
		r := &rows[i]
		out.errors = append(out.errors, float64(r.FirstToken-r.Dispatched)/1e6-float64(took[r.RequestID])/1e6)
	}
	return out
}

// What was published or measured of others on two processors, beside a server that takes
// one of them: a transcription of the hot path of vLLM's Python client takes 4.5 to 5 ms of
// a processor for a request of 128 tokens, and errs by more than 5 ms at P99 from 120 to 140
// requests/s on; a minimal client of net/http takes 1.6 to 2.5 ms, and errs so from 100 to
// 200 on.
const (
	barCPU   = 2.0 // ms of a processor for a request of 128 tokens
	barError = 5.0 // ms at P99 of the time to the first token
	vllmCPU  = 4.5
)

// BenchmarkClient offers streams of 128 tokens, recorded in full, and compares with the
// bars: below 1 they are met. The error is that of the time to the first token, connecting
// included, against the server's own account of it.
func BenchmarkClient(b *testing.B) {
	for _, rate := range []int{100, 200} {
		b.Run(fmt.Sprintf("%d per s", rate), func(b *testing.B) {
			for b.Loop() {
				got := stream(b, rate)
				b.ReportMetric(got.cpu, "cpu-ms/request")
				b.ReportMetric(got.whole, "whole-cpu-ms/request")
				b.ReportMetric(got.cpu/barCPU, "x-bar-2ms")
				b.ReportMetric(got.cpu/vllmCPU, "x-vllm-python")
				b.ReportMetric(at(.5, got.errors), "err-ms-p50")
				b.ReportMetric(at(.99, got.errors), "err-ms-p99")
				b.ReportMetric(at(.99, got.errors)/barError, "x-bar-5ms")
				b.ReportMetric(at(.99, got.lag), "lag-ms-p99")
			}
		})
	}
}

// BenchmarkHonestRate climbs until the time to the first token errs by 5 ms at P99, and
// reports the last rate before: vLLM's Python client gets to 120 requests/s, a minimal one
// of net/http to 100 to 200.
func BenchmarkHonestRate(b *testing.B) {
	for b.Loop() {
		honest := 0
		for _, rate := range []int{100, 150, 200, 250, 300, 400, 500, 600, 800} {
			if at(.99, stream(b, rate).errors) >= barError {
				break
			}
			honest = rate
		}
		b.ReportMetric(float64(honest), "honest-requests/s")
		b.ReportMetric(float64(honest)/120, "x-vllm-python")
	}
}

// BenchmarkDispatch offers a constant rate to nobody, and to a server that answers at once.
// vegeta, k6 and time.Sleep have a CV of 0.3 to 0.4 at 500/s and of 1.26 to 1.29 at 2,000/s,
// and a lag of 0.6 ms at the median; below 1 the bars are met.
func BenchmarkDispatch(b *testing.B) {
	for _, c := range []struct {
		name         string
		rate         int
		http         bool
		lag, cv, p50 float64 // bars; 0: there is none
	}{
		{"null 500 per s", 500, false, 0, 0.1, 0.25},
		{"null 2000 per s", 2000, false, 1, 0.4, 0.25},
		{"http 2000 per s", 2000, true, 5, 0, 0},
	} {
		b.Run(c.name, func(b *testing.B) {
			args := []string{"--arrival", "constant", "--request-rate", strconv.Itoa(c.rate), "--target", "null"}
			if c.http {
				url, _ := instant(b)
				args = append(args[:4], "--base-url", url, "--model", "m", "--random-input-len", "16", "--random-output-len", "2")
			}
			for b.Loop() {
				got, _ := offer(b, 4*c.rate, args...)
				mean, std := stat.PopMeanStdDev(got.gaps, nil)
				cv := std / mean
				b.ReportMetric(at(.5, got.lag), "lag-ms-p50")
				b.ReportMetric(at(.99, got.lag), "lag-ms-p99")
				b.ReportMetric(cv, "gap-cv")
				for name, x := range map[string]struct{ got, bar float64 }{
					"x-bar-lag-p99": {at(.99, got.lag), c.lag}, "x-bar-cv": {cv, c.cv}, "x-bar-lag-p50": {at(.5, got.lag), c.p50},
				} {
					if x.bar > 0 {
						b.ReportMetric(x.got/x.bar, name)
					}
				}
			}
		})
	}
}
