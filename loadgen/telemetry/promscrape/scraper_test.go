package promscrape

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
)

// ticks is a clock that goes on by one with each look.
type ticks struct{ n atomic.Int64 }

func (c *ticks) Stamp() clock.Time { return clock.Time(c.n.Add(1)) }

// pages answers in process, by the URL's path.
type pages map[string]func(q *http.Request) (*http.Response, error)

func (p pages) RoundTrip(q *http.Request) (*http.Response, error) { return p[q.URL.Path](q) }

func answer(code int, kind, body string) (*http.Response, error) {
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

func scraper(t *testing.T, p pages, names ...string) (*Scraper, *[]record.EngineSample) {
	t.Helper()
	var got []record.EngineSample
	c := Config{Interval: time.Second, Client: &http.Client{Transport: p}, Stamp: &ticks{}, Emit: func(s *record.EngineSample) { got = append(got, *s) }}
	for _, n := range names {
		c.Pages = append(c.Pages, Page{n, "http://test/" + n})
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s, &got
}

func TestScraperSamplesEachReplica(t *testing.T) {
	n := 0
	s, got := scraper(t, pages{
		"/one": func(*http.Request) (*http.Response, error) {
			n += 10
			if n == 30 {
				n = 1 // it has begun anew
			}
			return answer(200, "text/plain; version=0.0.4", fmt.Sprintf("vllm:prompt_tokens_total{engine=\"0\"} %d\n", n))
		},
		"/two": func(*http.Request) (*http.Response, error) {
			return answer(200, "text/plain", "vllm:num_requests_running{engine=\"0\"} 1\nvllm:num_requests_running{engine=\"1\"} 2\n")
		},
	}, "one", "two")
	for range 3 {
		s.Read(t.Context())
	}
	var names []string
	for _, x := range *got {
		names = append(names, x.Replica)
		if x.Source != record.SampleScrape || x.AsOf >= x.At {
			t.Errorf("%+v", x)
		}
	}
	slices.Sort(names)
	if names = slices.Compact(names); !slices.Equal(names, []string{"one", "two/0", "two/1"}) || len(*got) != 9 {
		t.Errorf("%d samples of %v", len(*got), names)
	}
	if c := s.Counters(); c["scrapes"] != 6 || c["scrape_counter_resets"] != 1 || s.Err() != nil {
		t.Error(c, s.Err())
	}
}

func TestScraperCountsWhatDoesNotCome(t *testing.T) {
	for _, c := range []struct {
		name string
		page func(*http.Request) (*http.Response, error)
		want string
	}{
		{"refused", func(*http.Request) (*http.Response, error) { return nil, io.ErrClosedPipe }, "closed pipe"},
		{"no such page", func(*http.Request) (*http.Response, error) { return answer(404, "text/plain", "no") }, "HTTP status 404"},
		{"a web page", func(*http.Request) (*http.Response, error) { return answer(200, "text/html", "<html>") }, "text/html"},
		{"something else", func(*http.Request) (*http.Response, error) { return answer(200, "text/plain", "go_goroutines 1\n") }, "no figure"},
		{"cut", func(*http.Request) (*http.Response, error) {
			return answer(200, "text/plain", "vllm:num_requests_running 1")
		}, "in part"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, got := scraper(t, pages{"/x": c.page}, "x")
			s.Read(t.Context())
			if len(*got) != 0 || s.Counters()["scrapes_failed"] != 1 || s.Err() == nil || !strings.Contains(s.Err().Error(), c.want) {
				t.Errorf("%d samples, %v, %v", len(*got), s.Counters(), s.Err())
			}
		})
	}
}

// TestScraperIsNotHeldUp: a page that hangs costs its own samples only.
func TestScraperIsNotHeldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, got := scraper(t, pages{
			"/stuck": func(q *http.Request) (*http.Response, error) {
				<-q.Context().Done()
				return nil, q.Context().Err()
			},
			"/fine": func(*http.Request) (*http.Response, error) { return answer(200, "text/plain", "tgi_queue_size 1\n") },
		}, "stuck", "fine")
		stop := s.Start()
		time.Sleep(12*time.Second + time.Millisecond)
		stop()
		if c := s.Counters(); len(*got) != 12 || c["scrapes"] != 12 || c["scrapes_failed"] != 2 || c["scrapes_skipped"] == 0 {
			t.Errorf("%d samples, %v", len(*got), c)
		}
	})
}

// TestScraperReadsOverHTTP: compressed pages, from a real server.
func TestScraperReadsOverHTTP(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Accept") != accept {
			t.Errorf("accept %q", q.Header.Get("Accept"))
		}
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		fmt.Fprint(z, vllmPage)
		_ = z.Close()
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(b.Bytes())
	}))
	defer server.Close()
	if err := Known(context.Background(), server.Client(), server.URL+"/metrics"); err != nil {
		t.Error(err)
	}
}
