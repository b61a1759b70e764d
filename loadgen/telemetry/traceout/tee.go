package traceout

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// teeQueue is how many exports may wait for the collector.
const teeQueue = 256

// Tee hands exports on as they came, on a goroutine of its own. Forward never waits.
type Tee struct {
	out     *Exporter // of which only the connection is used
	exports chan []*tracepb.ResourceSpans
	done    chan struct{}

	sent, lost atomic.Int64 // spans
	err        error        // the first one; read once done is closed
}

// NewTee returns a tee to an endpoint (Config.Endpoint).
func NewTee(c Config) (*Tee, error) {
	out, err := New(c)
	if err != nil {
		return nil, err
	}
	t := &Tee{out: out, exports: make(chan []*tracepb.ResourceSpans, teeQueue), done: make(chan struct{})}
	go t.run()
	return t, nil
}

// Forward takes an export, which must not be changed any more. If the queue is full it is
// dropped, and its spans are counted.
func (t *Tee) Forward(spans []*tracepb.ResourceSpans) {
	select {
	case t.exports <- spans:
	default:
		t.lost.Add(count(spans))
	}
}

func (t *Tee) run() {
	defer close(t.done)
	for spans := range t.exports {
		ctx, cancel := context.WithTimeout(context.Background(), t.out.cfg.patience)
		err := errGone
		if t.err == nil || t.sent.Load() > 0 { // who has taken nothing is not asked again
			err = t.out.client.UploadTraces(ctx, spans)
		}
		cancel()
		if err == nil {
			t.sent.Add(count(spans))
			continue
		}
		t.lost.Add(count(spans))
		if t.err == nil {
			t.err = err
		}
	}
}

var errGone = errors.New("the collector took nothing")

func count(spans []*tracepb.ResourceSpans) (n int64) {
	for _, rs := range spans {
		for _, ss := range rs.GetScopeSpans() {
			n += int64(len(ss.GetSpans()))
		}
	}
	return n
}

// Close hands on what is left. Forward must not be called any more. It returns how many
// spans arrived, how many did not, and the first reason.
func (t *Tee) Close() (sent, lost int64, err error) {
	close(t.exports)
	<-t.done
	if n := t.lost.Load(); n > 0 {
		err = fmt.Errorf("handing spans on to %s: %d of %d did not arrive", t.out.cfg.Endpoint, n, n+t.sent.Load())
		if t.err != nil {
			err = fmt.Errorf("%w: %w", err, t.err)
		}
	}
	return t.sent.Load(), t.lost.Load(), errors.Join(err, t.out.Close())
}
