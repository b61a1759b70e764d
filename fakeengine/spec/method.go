package spec

import (
	"fmt"
	"strings"
)

// Method is who drafts.
type Method uint8

// The methods, by vLLM's names.
const (
	NGram      Method = iota // finds the last tokens earlier in the text, and copies what followed
	Eagle                    // a trained layer on top of the target
	MTP                      // the target's own layers for tokens further ahead
	DraftModel               // a smaller model
)

var methodNames = [...]string{"ngram", "eagle", "mtp", "draft_model"}

// String is the name in a configuration.
func (m Method) String() string { return methodNames[m] }

// Methods lists the names, for a help text.
func Methods() []string { return methodNames[:] }

// ParseMethod is the inverse of String. The error lists the names.
func ParseMethod(name string) (Method, error) {
	for i, n := range methodNames {
		if n == name {
			return Method(i), nil
		}
	}
	return 0, fmt.Errorf("%q drafts nothing: use one of %s", name, strings.Join(methodNames[:], ", "))
}

// Lookahead is the number of KV slots beyond those of a step that the drafter needs
// for k drafts: a model writes its own KV there, a look-up none (vLLM v1 scheduler,
// num_lookahead_tokens).
func (m Method) Lookahead(k int) int {
	if m == NGram {
		return 0
	}
	return k
}

// DropsLastHit: the drafter reads the target's hidden states, which are not cached,
// so that the last cached block of a prompt is computed again (vLLM v1 KV cache
// manager, use_eagle).
func (m Method) DropsLastHit() bool { return m == Eagle || m == MTP }

// Async: vLLM keeps scheduling ahead with this drafter by default. It gives it up
// for the others, whose drafts it learns too late.
func (m Method) Async() bool { return m == Eagle || m == MTP }
