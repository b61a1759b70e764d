package openai

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"goodput/loadgen/target"
)

// serveH2 serves HTTP/2 only, in the clear or over TLS.
func serveH2(t *testing.T, secure bool, conf *http.HTTP2Config, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Config.HTTP2 = conf
	var p http.Protocols
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(true)
	s.Config.Protocols = &p
	if secure {
		s.EnableHTTP2 = true
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

func overH2(c *Config) {
	c.HTTP2, c.TLS = true, &tls.Config{InsecureSkipVerify: true}
}

func TestHTTP2(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(map[bool]string{false: "in the clear", true: "over TLS"}[secure], func(t *testing.T) {
			s := serveH2(t, secure, nil, func(w http.ResponseWriter, r *http.Request) {
				if r.ProtoMajor != 2 {
					t.Errorf("asked by %s", r.Proto)
				}
				answers(w, r)
			})
			r := newRig(t, s.URL, overH2)
			first, second := r.one(t), r.one(t)
			for _, rec := range []*recorder{first, second} {
				if !sameStory(rec.story(), "text finish:stop done") || rec.result.Err != "" {
					t.Errorf("%s, %+v", rec.story(), rec.result)
				}
				// The upload may be over only after the answer has begun.
				got := map[target.Kind]int{}
				for _, k := range rec.kinds() {
					got[k]++
				}
				want := map[target.Kind]int{target.Dispatched: 1, target.Conn: 1, target.Writing: 1, target.Wrote: 1, target.Header: 1, target.FirstByte: 1, target.End: 1}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
			}
			if first.result.Net == nil || first.result.Net.Dial <= 0 || (first.result.Net.TLS > 0) != secure || second.result.Net != nil {
				t.Errorf("connections: %+v, then %+v", first.result.Net, second.result.Net)
			}
		})
	}
}

// With one stream at a time on a connection, a second request does not wait behind the
// first: it gets a connection of its own.
func TestHTTP2BeyondTheStreamsOfAConnection(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	s := serveH2(t, false, &http.HTTP2Config{MaxConcurrentStreams: 1}, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			both.Done()
			both.Wait()
		}
		answers(w, r)
	})
	r := newRig(t, s.URL, overH2)
	if err := r.Reachable(t.Context()); err != nil { // the limit is known from now on
		t.Fatal(err)
	}
	recs := []*recorder{newRecorder(t), newRecorder(t)}
	for _, rec := range recs {
		r.Start(r.request(), rec)
	}
	r.loop.awaitAll(recs)
	for _, rec := range recs {
		if rec.result.Err != "" || rec.count(target.Done) != 1 {
			t.Errorf("%s, %+v", rec.story(), rec.result)
		}
	}
}

// Where a request does wait for a stream, the wait lies between Conn and Writing.
func TestWaitForAStream(t *testing.T) {
	arrived, waiting := make(chan struct{}, 2), make(chan struct{})
	s := serveH2(t, false, &http.HTTP2Config{MaxConcurrentStreams: 1}, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			arrived <- struct{}{}
			<-waiting
		}
		answers(w, r)
	})
	r := newRig(t, s.URL, overH2)
	// The usual way out, another connection, is barred.
	r.endpoints[0].transport.HTTP2 = &http.HTTP2Config{StrictMaxConcurrentRequests: true}
	if err := r.Reachable(t.Context()); err != nil {
		t.Fatal(err)
	}
	recs := []*recorder{newRecorder(t), newRecorder(t)}
	// One after the other: net/http never comes out of two requests that share the one
	// stream of a connection and are both yet to be written (each waits for the other's
	// reservation).
	r.Start(r.request(), recs[0])
	<-arrived
	r.Start(r.request(), &onReuse{recs[1], func() { close(waiting) }})
	r.loop.awaitAll(recs)
	stamp := func(rec *recorder, k target.Kind) (at int64) {
		for _, e := range rec.events {
			if e.Kind == k {
				at = int64(e.At)
			}
		}
		return at
	}
	if stamp(recs[1], target.Writing) < stamp(recs[0], target.FirstByte) || stamp(recs[1], target.Conn) > stamp(recs[0], target.FirstByte) {
		t.Errorf("the second request was written before the first was answered: %+v, %+v", recs[0].events, recs[1].events)
	}
}

func TestHTTP2Faults(t *testing.T) {
	tests := []struct {
		name   string
		h      http.HandlerFunc
		story  string
		cause  target.Cause
		status int
		err    string
	}{
		{"reset before the answer", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "", target.CauseReset, 0, "before the answer"},
		{"reset within the answer", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: "+tok+"\n\n")
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, "text", target.CauseReset, 200, "within the answer"},
		{"busy", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "slow down", http.StatusTooManyRequests) }, "", target.CauseEOF, 429, "HTTP status 429: slow down"},
		{"error in the stream", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: {\"error\":{\"message\":\"out of memory\"}}\n\n")
		}, "", target.CauseStreamError, 200, "out of memory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serveH2(t, false, nil, func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				tt.h(w, r)
			})
			rec := newRig(t, s.URL, overH2).one(t)
			if res := rec.result; !sameStory(rec.story(), tt.story) || res.Cause != tt.cause || res.Status != tt.status || !says(asError(res.Err), tt.err) {
				t.Errorf("%q, %+v", rec.story(), res)
			}
		})
	}
	for _, secure := range []bool{false, true} {
		t.Run(map[bool]string{false: "HTTP/1.1 in the clear", true: "HTTP/1.1 over TLS"}[secure], func(t *testing.T) {
			s := httptest.NewUnstartedServer(http.HandlerFunc(answers))
			s.Config.ErrorLog = log.New(io.Discard, "", 0)
			if s.Start(); secure {
				s.Close()
				s = httptest.NewUnstartedServer(http.HandlerFunc(answers))
				s.Config.ErrorLog = log.New(io.Discard, "", 0)
				s.StartTLS()
			}
			t.Cleanup(s.Close)
			rec := newRig(t, s.URL, overH2).one(t)
			if rec.result.Err == "" || rec.count(target.Token) != 0 {
				t.Errorf("a server without HTTP/2: %s, %+v", rec.story(), rec.result)
			}
			t.Log(rec.result.Cause, rec.result.Err)
		})
	}
}

type asError string

func (e asError) Error() string { return string(e) }
