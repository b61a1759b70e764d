package extproc

import (
	"net/http"
	"net/textproto"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Apply changes headers as the picker wants: what it removes goes first. Pseudo-headers
// and Host are left alone, as Envoy leaves them, and so is what can't be in a header;
// dropped is the number of those.
func (m *Mutation) Apply(h http.Header) (dropped int) {
	for _, name := range m.remove {
		h.Del(name)
	}
	for i := range m.set {
		s := &m.set[i]
		if strings.HasPrefix(s.name, ":") || strings.EqualFold(s.name, "host") {
			dropped++
			continue
		}
		if !httpguts.ValidHeaderFieldName(s.name) || !httpguts.ValidHeaderFieldValue(s.value) {
			dropped++
			continue
		}
		s.apply(h)
	}
	return dropped
}

func (s *setting) apply(h http.Header) {
	name := textproto.CanonicalMIMEHeaderKey(s.name)
	_, there := h[name]
	switch {
	case s.how == appended:
		h.Add(name, s.value)
	case s.how == addIfAbsent && there, s.how == ifExists && !there:
	case s.value == "" && !s.keepEmpty:
		h.Del(name)
	default:
		h.Set(name, s.value)
	}
}

// get is the value that a header is set to last.
func (m *Mutation) get(name string) string {
	for i := len(m.set) - 1; i >= 0; i-- {
		if strings.EqualFold(m.set[i].name, name) {
			return m.set[i].value
		}
	}
	return ""
}
