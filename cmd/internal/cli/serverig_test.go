package cli

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"goodput/fakeengine/router"
	"goodput/fakeengine/server"
	"goodput/loadgen/clock"
	"goodput/loadgen/plan"
)

// heard is one request as a server got it, and what it answered.
type heard struct {
	header       http.Header
	body, answer string
}

// serveRig is a server of fake engines that listens in.
type serveRig struct {
	url string

	mu  sync.Mutex
	all []heard // requests for text, in order of their ends
}

// newServeRig serves engines of the plan p, speed seconds a second.
func newServeRig(t *testing.T, p plan.Plan, speed float64) *serveRig {
	t.Helper()
	setup, err := newEngineSetup(&p)
	if err != nil {
		t.Fatal(err)
	}
	policy, err := router.New("round-robin", 0)
	if err != nil {
		t.Fatal(err)
	}
	loop, err := clock.NewReal(clock.Speed(speed))
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(server.Config{
		Model: "m", Replicas: 1, Engine: setup.config, Step: setup.step, Policy: policy, Loop: loop,
	})
	if err != nil {
		t.Fatal(err)
	}
	loop.Start(0)
	done := make(chan struct{})
	go func() { defer close(done); loop.Run() }()
	rig := &serveRig{}
	web := httptest.NewServer(rig.listenIn(s.Handler()))
	rig.url = web.URL
	t.Cleanup(func() { // the server needs the loop until it is closed
		web.Close()
		if err := s.Close(context.Background()); err != nil {
			t.Log(err)
		}
		loop.Stop()
		<-done
	})
	return rig
}

// listenIn keeps what goes through h.
func (rig *serveRig) listenIn(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path == "/tokenize" {
			h.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has gone
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		tee := &teeWriter{ResponseWriter: w}
		h.ServeHTTP(tee, r)
		rig.mu.Lock()
		defer rig.mu.Unlock()
		rig.all = append(rig.all, heard{r.Header.Clone(), string(body), tee.said.String()})
	})
}

// take is what was heard since the last call.
func (rig *serveRig) take() []heard {
	rig.mu.Lock()
	defer rig.mu.Unlock()
	out := rig.all
	rig.all = nil
	return out
}

// teeWriter keeps what is written.
type teeWriter struct {
	http.ResponseWriter
	said bytes.Buffer
}

func (w *teeWriter) Write(p []byte) (int, error) {
	w.said.Write(p)
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController flush.
func (w *teeWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
