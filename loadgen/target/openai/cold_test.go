package openai

import (
	"fmt"
	"net/http"
	"testing"

	"goodput/loadgen/target"
)

// TestHTTP2ColdBurst: many requests at once, before the server's limit of streams is
// known, all get their answers.
func TestHTTP2ColdBurst(t *testing.T) {
	for _, c := range []struct {
		secure bool
		most   int
	}{{false, 1}, {false, 8}, {true, 8}} {
		t.Run(fmt.Sprintf("secure %v, %d streams", c.secure, c.most), func(t *testing.T) {
			s := serveH2(t, c.secure, &http.HTTP2Config{MaxConcurrentStreams: c.most}, answers)
			r := newRig(t, s.URL, overH2)
			recs := make([]*recorder, 50)
			for i := range recs {
				recs[i] = newRecorder(t)
				r.Start(r.request(), recs[i])
			}
			r.loop.awaitAll(recs)
			for i, rec := range recs {
				if rec.result.Err != "" || rec.count(target.Done) != 1 {
					t.Errorf("request %d: %s, %+v", i, rec.story(), rec.result)
				}
			}
		})
	}
}

// TestHTTP2GateIsLeft: who waits beside a first request that is never answered is given
// up in time, as is the first request, and the gate is open again.
func TestHTTP2GateIsLeft(t *testing.T) {
	held := make(chan struct{})
	s := serveH2(t, true, nil, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-held: // from the second on, all are answered
			answers(w, r)
		default:
			<-r.Context().Done()
		}
	})
	r := newRig(t, s.URL, overH2)
	first, second := newRecorder(t), newRecorder(t)
	one, two := r.request(), r.request()
	r.Start(one, first)
	r.Start(two, second)
	r.Cancel(two)
	r.loop.await(second)
	r.Cancel(one)
	r.loop.await(first)
	for _, rec := range []*recorder{first, second} {
		if rec.result.Cause != target.CauseCanceled {
			t.Errorf("%+v", rec.result)
		}
	}
	close(held)
	if third := r.one(t); third.result.Err != "" {
		t.Errorf("%+v", third.result)
	}
}
