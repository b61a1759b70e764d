package otlpin

import "goodput/loadgen/target"

// Watch is inner, whose attempts the receiver expects the spans of.
func (r *Receiver) Watch(inner target.Target) target.Target {
	w := watched{r, inner}
	if c, ok := inner.(target.Canceler); ok {
		return watchedCanceler{w, c}
	}
	return w
}

type watched struct {
	receiver *Receiver
	inner    target.Target
}

// Start implements target.Target.
func (w watched) Start(r *target.Request, s target.Sink) {
	w.receiver.Expect(r.TraceID, r.SpanID, r.Attempt)
	w.inner.Start(r, s)
}

type watchedCanceler struct {
	watched
	target.Canceler
}

var (
	_ target.Target   = watched{}
	_ target.Canceler = watchedCanceler{}
)
