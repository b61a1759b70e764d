package plan

// targetNull is the value of Target.
const targetNull = "null"

// Null reports whether requests are answered at once, without a server or an engine.
func (p *Plan) Null() bool { return p.Target == targetNull }

// InPool reports whether the fake engines of this process answer.
func (p *Plan) InPool() bool { return !p.Remote() && !p.Null() }

// Searches reports whether the run looks for the generator's own limit, because
// nothing says when requests are due.
func (p *Plan) Searches() bool {
	return p.Null() && !p.Mixed() && p.RequestRate == 0 && p.Concurrency == 0 && !p.Ramped() && !p.InSessions() && !IsTrace(p.DatasetName)
}

func (p *Plan) checkNull(v *checker) {
	if p.Target == "" {
		return
	}
	v.oneOf("target", p.Target, targetNull)
	v.ok(!p.Remote(), "target", "the load goes to --base-url: leave out one of the two")
	v.ok(p.Speed.Virtual(), "speed", "the generator is measured in real time: leave --speed or --target out")
	if !p.Searches() {
		return
	}
	v.ok(p.NumPrompts == 0 && p.Duration == 0, "num-prompts", "the search for a rate decides how long its runs are: leave --num-prompts and --duration out, or give --request-rate")
	v.ok(p.MaxConcurrency == 0, "max-concurrency", "requests are answered at once, so none is in flight: leave it out")
	v.ok(p.ProbeRate == 0, "probe-request-rate", "the search for a rate has none: leave it out, or give --request-rate")
	d, n, _ := p.Warming()
	v.ok(d == 0 && n == 0 && p.Cache != CacheWarm, "warmup", "the search for a rate has none: leave it out, or give --request-rate")
	v.ok(p.Rescale == "" && p.Arrival != "trace", "arrival", "the search for a rate needs one that can be changed: leave out --rescale and --arrival trace")
}
