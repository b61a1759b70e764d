package shaper

// budget bounds the retries among the requests behind a layer.
type budget interface {
	// begun and ended tell of an attempt behind it; done that a request is over, and
	// failed that an attempt was refused.
	begun(again bool)
	ended(again bool)
	done()
	failed()
	// allows reports whether one more retry may be made now.
	allows() bool
}

// noBudget allows all.
type noBudget struct{}

func (noBudget) begun(bool)   {}
func (noBudget) ended(bool)   {}
func (noBudget) done()        {}
func (noBudget) failed()      {}
func (noBudget) allows() bool { return true }

// envoyBudget lets so large a share of the requests behind it be retries, and always so
// many (Envoy circuit_breaker.proto, RetryBudget).
type envoyBudget struct {
	least           int
	share           float64
	active, retries int
}

func (b *envoyBudget) begun(again bool) {
	b.active++
	if again {
		b.retries++
	}
}

func (b *envoyBudget) ended(again bool) {
	b.active--
	if again {
		b.retries--
	}
}

func (b *envoyBudget) done()   {}
func (b *envoyBudget) failed() {}

// most is how many retries there may be at once.
func (b *envoyBudget) most() int { return max(b.least, int(b.share*float64(b.active))) }

func (b *envoyBudget) allows() bool { return b.retries < b.most() }

// grpcThrottle is gRPC's retryThrottling: a failure takes a token, a success gives back a
// part of one, and with half of them or fewer nothing is tried again.
type grpcThrottle struct {
	most, ratio, tokens float64
	bad                 bool // the request that ends now has failed
}

func (b *grpcThrottle) begun(bool) {}
func (b *grpcThrottle) ended(bool) {}

func (b *grpcThrottle) failed() {
	b.tokens = max(0, b.tokens-1)
	b.bad = true
}

func (b *grpcThrottle) done() {
	if !b.bad {
		b.tokens = min(b.most, b.tokens+b.ratio)
	}
	b.bad = false
}

func (b *grpcThrottle) allows() bool {
	b.bad = false // if it is tried again, its end is another one
	return b.tokens > b.most/2
}
