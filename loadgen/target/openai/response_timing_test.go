package openai

import (
	"net/http"
	"testing"

	"goodput/loadgen/target"
)

// TestAccount: what a server says in a header is its account, what others say is none.
func TestAccount(t *testing.T) {
	if a := account(http.Header{"Server-Timing": {"llm-ttft;dur=4, llm-e2e;dur=9"}}); a == nil || a.Source != target.SourceHeader || a.TTFT != 4e6 || a.E2E != 9e6 || a.Queue >= 0 || a.CachedTokens >= 0 {
		t.Errorf("%+v", a)
	}
	for _, h := range []http.Header{nil, {"Server-Timing": {"cdn;dur=4"}}} {
		if a := account(h); a != nil {
			t.Errorf("%v: %+v", h, a)
		}
	}
}
