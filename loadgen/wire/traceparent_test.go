package wire

import (
	"encoding/hex"
	"strings"
	"testing"
)

func TestTraceparent(t *testing.T) {
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for _, c := range []struct {
		name, header string
		ok, sampled  bool
	}{
		{"sampled", "00-" + trace + "-" + parent + "-01", true, true},
		{"not sampled", "00-" + trace + "-" + parent + "-00", true, false},
		{"other flags", "00-" + trace + "-" + parent + "-03", true, true},
		{"a later version with more fields", "01-" + trace + "-" + parent + "-01-x", true, true},
		{"more fields than the version has", "00-" + trace + "-" + parent + "-01-x", false, false},
		{"a later version that runs on", "01-" + trace + "-" + parent + "-01x", false, false},
		{"upper case", "00-" + strings.ToUpper(trace) + "-" + parent + "-01", false, false},
		{"no version", "ff-" + trace + "-" + parent + "-01", false, false},
		{"a parent of zeros", "00-" + trace + "-0000000000000000-01", false, false},
		{"a trace of zeros", "00-" + strings.Repeat("0", 32) + "-" + parent + "-01", false, false},
		{"no digits", "00-" + trace + "-b7ad6b716920333g-01", false, false},
		{"short", "00-0af7-b7ad-01", false, false},
		{"none", "", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := ParseTraceparent(c.header)
			if ok != c.ok || got.Sampled != c.sampled && ok {
				t.Fatalf("%+v %v", got, ok)
			}
			if ok && (hex.EncodeToString(got.Trace[:]) != trace || hex.EncodeToString(got.Parent[:]) != parent) {
				t.Errorf("%+v", got)
			}
			if ok && strings.HasPrefix(c.header, "00-") && !strings.HasSuffix(c.header, "-03") && got.String() != c.header {
				t.Errorf("written as %s", got)
			}
		})
	}
}

func FuzzTraceparent(f *testing.F) {
	f.Add("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	f.Add("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more")
	f.Add("")
	f.Fuzz(func(t *testing.T, h string) {
		c, ok := ParseTraceparent(h)
		if !ok {
			return
		}
		if again, ok := ParseTraceparent(c.String()); !ok || again != c || !strings.Contains(h, hex.EncodeToString(c.Trace[:])) {
			t.Errorf("%q read as %+v, written as %s", h, c, c)
		}
	})
}
