package cli

import (
	"bufio"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"goodput/loadgen/monitor"
)

// asking is a source of one picture that notes what it was asked.
type asking struct {
	pic   monitor.Picture
	asked chan monitor.Query
}

func (a asking) Picture(q monitor.Query) (monitor.Picture, error) {
	select {
	case a.asked <- q:
	default:
	}
	return a.pic, nil
}

// served is a server of the picture that README shows.
func served(t *testing.T) (*monitorServer, asking) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(screensDir, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	var k kept
	if err := json.Unmarshal(b, &k); err != nil {
		t.Fatal(err)
	}
	a := asking{k.Pic, make(chan monitor.Query, 1)}
	s, err := listenMonitor("127.0.0.1:0", a)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s, a
}

// samePicture compares pictures by their JSON, in which unknown numbers are equal.
func samePicture(t *testing.T, want, got any) {
	t.Helper()
	text := func(v any) string {
		b, err := json.MarshalIndent(v, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if diff := cmp.Diff(text(want), text(got)); diff != "" {
		t.Error(diff)
	}
}

// TestRemotePicture: watch sees the picture of the other process, by its own query.
func TestRemotePicture(t *testing.T) {
	s, a := served(t)
	q := monitor.Query{Window: 30 * time.Second, Filter: monitor.ParseFilter("class=a b&c")}
	r := &remote{base: s.url()}
	p, err := r.Picture(q)
	if err != nil {
		t.Fatal(err)
	}
	samePicture(t, a.pic, p)
	if got := <-a.asked; got != q {
		t.Errorf("asked %+v, want %+v", got, q)
	}
	s.close()
	if p, err = r.Picture(q); err != nil || p.State != "gone" {
		t.Errorf("after the end: %s, %v", p.State, err)
	}
}

// TestStreamIsLines: each line of the stream is a picture.
func TestStreamIsLines(t *testing.T) {
	s, a := served(t)
	resp, err := http.Get(s.url() + "/stream?window=10s")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	line, err := bufio.NewReader(resp.Body).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var p monitor.Picture
	if err := json.Unmarshal(line, &p); err != nil {
		t.Fatal(err)
	}
	samePicture(t, a.pic, p)
	s.close()
	_, _ = io.Copy(io.Discard, resp.Body) // ends with the server, in order or cut
}

// TestMetricsParse: Prometheus' own parser reads the numbers of the picture.
func TestMetricsParse(t *testing.T) {
	s, a := served(t)
	resp, err := http.Get(s.url() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	value := func(name, label string) float64 {
		t.Helper()
		f := families[name]
		if f == nil {
			t.Errorf("no %s", name)
			return math.NaN()
		}
		for _, m := range f.Metric {
			if label == "" || len(m.Label) == 1 && m.Label[0].GetValue() == label {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
		t.Errorf("no %s of %s", name, label)
		return math.NaN()
	}
	for _, c := range []struct {
		name, label string
		want        float64
	}{
		{"goodput_requests_sent_total", "", float64(a.pic.Sent)},
		{"goodput_requests_ended_total", "ok", float64(a.pic.Outcomes[0].N)},
		{"goodput_output_tokens_total", "", float64(a.pic.OutputTokens)},
		{"goodput_requests_in_flight", "", float64(a.pic.InFlight)},
		{"goodput_offered_rps", "", float64(a.pic.Offered)},
		{"goodput_good_rps", "", float64(a.pic.Good)},
		{"goodput_attainment", "", float64(a.pic.Attainment)},
		{"goodput_ttft_seconds", "0.95", float64(a.pic.TTFT.P95) / 1e9},
		{"goodput_e2e_seconds", "0.99", float64(a.pic.E2E.P99) / 1e9},
	} {
		if got := value(c.name, c.label); got != c.want {
			t.Errorf("%s of %q: %v, want %v", c.name, c.label, got, c.want)
		}
	}
	if families["goodput_cpu_cores"] != nil {
		t.Error("the processors are unknown, and are told")
	}
}

// TestMonitorRefusesQueries that it can't answer.
func TestMonitorRefusesQueries(t *testing.T) {
	s, _ := served(t)
	for _, query := range []string{"window=fast", "window=0s", "window=24h"} {
		resp, err := http.Get(s.url() + "/snapshot?" + query)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s", query, resp.Status)
		}
	}
}

// TestRemoteRefusesGarbage: an address that answers something else is told of in one line;
// once there was a picture, it stays.
func TestRemoteRefusesGarbage(t *testing.T) {
	var answer atomic.Value
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(answer.Load().([]byte)) }))
	t.Cleanup(other.Close)
	good, err := json.Marshal(monitor.Blank("a run"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, body, want string
	}{
		{"a page", "<html>", "invalid character"},
		{"nothing", "", "unexpected end"},
		{"something else", `{"version":"1"}`, "no picture of a run"},
		{"half a line", string(good[:len(good)/2]), "unexpected end"},
		{"two lines", string(good) + "\n" + string(good), "after top-level value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &remote{base: other.URL}
			answer.Store([]byte(c.body))
			_, err := r.Picture(monitor.Query{Window: time.Minute})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "--monitor-listen") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %q", err, c.want)
			}
			answer.Store(good)
			if p, err := r.Picture(monitor.Query{Window: time.Minute}); err != nil || p.State != "running" {
				t.Errorf("%s, %v", p.State, err)
			}
			answer.Store([]byte(c.body))
			if p, err := r.Picture(monitor.Query{Window: time.Minute}); err != nil || p.State != "gone" || p.Title != "a run" {
				t.Errorf("%s of %q, %v", p.State, p.Title, err)
			}
		})
	}
}
