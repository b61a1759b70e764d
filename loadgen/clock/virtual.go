package clock

// Virtual is a Loop whose time jumps from event to event, as fast as the processor
// allows. Only Post and Stop may be called from other goroutines. A run without
// them is a pure function of the events.
type Virtual struct {
	now   Time
	mark  mark
	queue queue
	inbox inbox
}

var (
	_ Runner  = (*Virtual)(nil)
	_ Stamper = (*Virtual)(nil)
	_ Orderer = (*Virtual)(nil)
)

// NewVirtual returns a loop at the epoch.
func NewVirtual() *Virtual { return &Virtual{mark: mark{at: Never}} }

// Now is the instant of the event being run.
func (v *Virtual) Now() Time { return v.now }

// Stamp is Now: in virtual time nothing is ever late. Unlike Real's it may be
// called only where Now may.
func (v *Virtual) Stamp() Time { return v.now }

// Passed implements Orderer.
func (v *Virtual) Passed(t Time, r Rank, entity uint64) bool { return v.mark.passed(t, r, entity) }

// At arranges for e.Fire at t, or at Now if t is before it.
func (v *Virtual) At(t Time, r Rank, e Event) { v.queue.push(max(t, v.now), r, e) }

// Post makes e fire at the instant that the loop has reached, with RankTransit.
// What is posted to a loop that has returned from Run stays pending.
func (v *Virtual) Post(e Event) { v.inbox.post(e, func() Time { return Never }) }

// Run fires events until none is left or Stop was called. If none is left it may be
// called again after more were added.
func (v *Virtual) Run() {
	for {
		if !v.inbox.quiet() && !v.inbox.drain(&v.queue, v.now) {
			return
		}
		if len(v.queue.items) == 0 {
			return
		}
		t, e := v.queue.pop(&v.mark)
		v.now = t
		e.Fire(t)
	}
}

// Stop makes Run return after the event being run, and at once from then on.
func (v *Virtual) Stop() { v.inbox.stop() }
