package tui_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"github.com/muesli/termenv"

	"goodput/loadgen/monitor"
	"goodput/report/tui"
)

// told is what a process writes of l.
func told(t testing.TB, l laboratory) []byte {
	t.Helper()
	b, err := json.Marshal(tui.Told{Picture: l.pic, Doing: l.doing})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// asWritten are pictures and what is done as goodput writes them.
func asWritten(t testing.TB) (pictures, labs [][]byte) {
	t.Helper()
	for _, p := range []monitor.Picture{seeded(), monitor.Blank("a run")} {
		b, err := json.Marshal(&p)
		if err != nil {
			t.Fatal(err)
		}
		pictures = append(pictures, b)
	}
	return pictures, [][]byte{told(t, searching()), told(t, comparing())}
}

// TestTold: what is written is read as it was.
func TestTold(t *testing.T) {
	pictures, labs := asWritten(t)
	for _, b := range pictures {
		p, err := monitor.ParsePicture(b)
		if err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(&p)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(b), string(again)); diff != "" {
			t.Error(diff)
		}
	}
	for _, b := range labs {
		x, err := tui.ParseTold(b)
		if err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(&x)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(b), string(again)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestToldRefused: what can't be shown is refused with one line that says why.
func TestToldRefused(t *testing.T) {
	arms := func(change func(*tui.Comparison)) string {
		l := comparing()
		change(l.doing.Comparison)
		return string(told(t, l))
	}
	for _, c := range []struct{ name, text, want string }{
		{"nothing", ``, "unexpected end"},
		{"no JSON", `<html>`, "invalid character"},
		{"an empty object", `{}`, "no experiment"},
		{"no picture", `{"picture":null,"doing":{}}`, "no picture of a run"},
		{"a list", `[1]`, "cannot unmarshal"},
		{"cut", string(told(t, searching()))[:700], "unexpected end"},
		{"another schema", `{"picture":{"schema":2,"state":"running"},"doing":{}}`, "schema 2"},
		{"not a number", `{"picture":{"schema":1,"state":"running","elapsed_ns":NaN},"doing":{}}`, "invalid character 'N'"},
		{"a huge number", `{"picture":{"schema":1,"state":"running","elapsed_ns":1e999},"doing":{}}`, "1e999"},
		{"missing arms", arms(func(c *tui.Comparison) { c.Arms = nil }), "2 differences of 0 arms"},
		{"missing differences", arms(func(c *tui.Comparison) { c.Figures[1].Cells = nil }), `"hit rate" has 0 differences of 3 arms`},
		{"no outcome", `{"picture":{"schema":1,"state":"running","failed":[{"outcome":"eaten"}]},"doing":{}}`, `outcome "eaten" is unknown`},
		{"a few bytes that stand for many", `{"picture":{"schema":1,"slowest":[` + strings.Repeat("{},", 2<<20) + `{}]},"doing":{}}`, "more than"},
		{"a wide map", `{"picture":{"schema":1,"heat":{"bounds_ns":[` + strings.Repeat("1,", 5000) + `1]}},"doing":{}}`, "heat map has 5001 rows"},
		{"a long series", `{"picture":{"schema":1,"series":[` + strings.Repeat("{},", 300) + `{}]},"doing":{}}`, "301 seconds"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := tui.ParseTold([]byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 200 {
				t.Errorf("%v, want %q", err, c.want)
			}
			oneLine(t, err)
		})
	}
}

// TestToldUnknown: what a picture does not tell is unknown.
func TestToldUnknown(t *testing.T) {
	p, err := monitor.ParsePicture([]byte(`{"schema":1,"state":"running"}`))
	if err != nil {
		t.Fatal(err)
	}
	if p.Elapsed.Known() || p.Lag.P99.Known() || p.Attainment.Known() || p.InFlight.Known() || p.SLO.TTFT.Known() {
		t.Errorf("%+v", p)
	}
	v := shown(120, 40, tui.Options{Colors: termenv.Ascii}, p).View()
	if !strings.Contains(v, "lag p99 –") || !strings.Contains(v, "in flight –") {
		t.Error(v)
	}
}

func oneLine(t *testing.T, err error) {
	t.Helper()
	if err != nil && (err.Error() == "" || strings.ContainsFunc(err.Error(), unicode.IsControl)) {
		t.Errorf("the error is no line: %q", err)
	}
}

// edges are contents that a screen has no room for, or no meaning.
func edges() []string {
	return []string{
		`{"schema":1,"state":"running"}`, `{"schema":1,"state":"a\nb\u001b[2J","title":"\u202e日本語","outcomes":[{"name":"x\u0007\r\n","n":-9}]}`,
		`{"schema":1,"state":"running","elapsed_ns":9223372036854775807,"window_ns":-9223372036854775807,"duration_ns":1,"offered_rps":1e308,"attainment":-1e308,"total":-1,"in_flight":9223372036854775807}`,
		`{"schema":1,"state":"over","window_ns":1,"elapsed_ns":0,"skew":1e308,"series":[{"at_ns":-9223372036854775807,"skew":1.7e308},{"at_ns":9223372036854775807,"skew":1e-308,"ttft":{"n":1,"p50_ns":9223372036854775807,"p95_ns":-1}}],"slo":{"ttft_ns":9223372036854775807,"tpot_ns":0}}`,
		`{"schema":1,"heat":{"bounds_ns":[3,2,null],"ttft":[null,[4294967295,4294967295,1,1,1,1,1]],"e2e":[[1],[0,0,0,4294967295],[1]]},"series":[{"at_ns":0},{"at_ns":-5000000000}]}`,
		`{"schema":1,"replicas":[{"name":"日本語日本語日本語","levels":true,"kv_used":-1e308},{"levels":true,"kv_used":1e308,"spans":{"parts":null}}],"spans":{"n":1,"covered":1,"e2e_ns":-1,"parts":[{"name":"\u001b[31m","mean_ns":9223372036854775807},{"name":"b","mean_ns":-5}]}}`,
		`{"schema":1,"sessions":{"known":true,"levels":true,"counts":{"live":-1},"live":[{"id":"\u0000"}],"ended":[{"outcome":"\t","slowdown":1e308}]},"slowest":[{"e2e_ns":-1},{"error":"a\u0301\u200d👩‍👩‍👧","seq":-1}]}`,
	}
}

// fillsAsTold looks at a frame, by the rule of TestFramesFill.
func fillsAsTold(t *testing.T, v string, w, h int) {
	t.Helper()
	lines := strings.Split(v, "\n")
	if w < 40 || h < 10 {
		if len(lines) != 1 {
			t.Fatalf("%d lines on %d by %d cells", len(lines), w, h)
		}
		return
	}
	if len(lines) != h {
		t.Fatalf("%d lines on %d by %d cells:\n%s", len(lines), w, h, v)
	}
	for _, l := range lines {
		if n := ansi.StringWidth(l); n != w {
			t.Fatalf("%d of %d cells in %q", n, w, l)
		}
		if strings.ContainsFunc(l, unicode.IsControl) {
			t.Fatalf("control characters in %q", l)
		}
	}
}

// FuzzPicture: what watch reads of an address is refused with one line, or each screen
// shows it at any size.
func FuzzPicture(f *testing.F) {
	small := seeded() // which a fuzzer can cut to pieces in no time
	small.Series, small.Slowest, small.Failed = small.Series[:2], small.Slowest[:1], small.Failed[:1]
	small.Heat.Bounds, small.Heat.TTFT, small.Heat.E2E = small.Heat.Bounds[:3], [][]uint32{{0, 1, 2, 3}}, [][]uint32{nil, {1}}
	small.Replicas, small.Sessions.Live = small.Replicas[:2], small.Sessions.Live[:1]
	for i, p := range []monitor.Picture{small, monitor.Blank("a run")} {
		b, err := json.Marshal(&p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, uint8(i), uint8(80), uint8(24), "f")
		f.Add(b[:len(b)/2], uint8(0), uint8(220), uint8(60), "\r")
	}
	for i, text := range edges() {
		f.Add([]byte(text), uint8(i), uint8(40+7*i), uint8(10+i), "ft")
		f.Add([]byte(text), uint8(i+1), uint8(120), uint8(40), "?")
	}
	f.Fuzz(func(t *testing.T, b []byte, screen, w, h uint8, keys string) {
		p, err := monitor.ParsePicture(b)
		if err != nil {
			oneLine(t, err)
			return
		}
		at := fmt.Sprint(int(screen)%len(tui.OfRun()) + 1)
		fillsAsTold(t, shown(int(w), int(h), tui.Options{Colors: termenv.Ascii}, p, at, "down", keys).View(), int(w), int(h))
	})
}

// FuzzTold: the same of what watch reads in the directory of an experiment.
func FuzzTold(f *testing.F) {
	search, comparison := searching(), comparing()
	for i := range search.doing.Search.Objectives { // small, for the same reason
		o := &search.doing.Search.Objectives[i]
		o.Trials = o.Trials[:1]
	}
	for i, b := range [][]byte{told(f, search), told(f, comparison)} {
		f.Add(b, uint8(i), uint8(80), uint8(24), "o")
		f.Add(bytes.ReplaceAll(b, []byte("arms"), []byte("legs")), uint8(i), uint8(80), uint8(24), "o")
		f.Add(bytes.ReplaceAll(b, []byte("9"), []byte("9e299")), uint8(i), uint8(200), uint8(60), "o")
	}
	wrap := func(doing string) []byte {
		return []byte(`{"picture":{"schema":1,"state":"running"},"doing":` + doing + `}`)
	}
	for i, doing := range []string{
		`{"search":null,"comparison":null}`, `{"Search":{"n":0,"objectives":[{}]},"Comparison":{"arms":[{}]}}`,
		`{"Search":{"method":"\n","objectives":[{"slo":"\u001b","rate_rps":1e308,"lo_rps":-1e308,"hi_rps":1e308,"trials":[{"Rate":1e308,"N":1,"Good":1},{"Rate":-1e308,"N":-1,"Good":2147483647,"Bad":2147483647,"Verdict":"\r"}],"seeds":[{"Lo":1e308,"Hi":1e-308}]}],"under_way":[{"rate_rps":1e308}]}}`,
		`{"Comparison":{"arms":[{"name":"a"},{"name":"日本語日本語日本語日本語"}],"seeds":-1,"paired":2,"invalid":["\n","","",""],"figures":[{"title":"","cells":[{"value":1e308,"lo":-1e308,"hi":1e308,"verdict":"\u001b"}]},{"cells":[{"value":0,"lo":null,"hi":1e-320}]}],"costs":[{"arm":"\n","cost_ms":1e308,"lo_ms":-1e308,"hi_ms":1e308}]}}`,
	} {
		f.Add(wrap(doing), uint8(i), uint8(120), uint8(40), "")
		f.Add(wrap(doing), uint8(i+1), uint8(40), uint8(10), "o")
	}
	f.Fuzz(func(t *testing.T, b []byte, screen, w, h uint8, keys string) {
		x, err := tui.ParseTold(b)
		if err != nil {
			oneLine(t, err)
			return
		}
		screens := []tui.Screen{tui.Knee, tui.Compare, tui.Spans}
		o := tui.Options{Colors: termenv.Ascii, Screens: screens}
		at := fmt.Sprint(int(screen)%len(screens) + 1)
		fillsAsTold(t, looked(int(w), int(h), laboratory{fixed{pic: x.Picture}, x.Doing}, o, at, "down", keys).View(), int(w), int(h))
	})
}
