package datasets

import "fmt"

// Openings are the first requests of sessions, as a set: item i is that of session i. It
// numbers sessions among the items of other sets (Join), where they are not sent as items.
type Openings struct {
	sessions SessionSet
	name     fmt.Stringer
}

var _ Set = (*Openings)(nil)

// NewOpenings returns those of the sessions, which are called as name says.
func NewOpenings(s SessionSet, name fmt.Stringer) *Openings { return &Openings{s, name} }

// Len is the number of sessions.
func (o *Openings) Len() int { return o.sessions.Sessions() }

// Item fills dst with the first request of session i.
func (o *Openings) Item(i int, dst *Item) {
	var s Session
	o.sessions.Session(i, &s)
	st := &s.Threads[0].Steps[0]
	*dst = Item{
		Prompt: st.Prompt(dst.Prompt[:0], nil), In: st.In, Out: st.Out, OutKey: st.OutKey,
		Prefix: uint64(s.Tenant), At: s.At, Session: s.ID,
	}
}

// Timed is false: whether sessions have arrivals is for their schedule.
func (o *Openings) Timed() bool { return false }

// PrefixesUnknown reports whether the source does not say which prompts begin alike.
func (o *Openings) PrefixesUnknown() bool {
	a, is := o.sessions.(anonymous)
	return is && a.PrefixesUnknown()
}

// String names the sessions.
func (o *Openings) String() string { return o.name.String() }
