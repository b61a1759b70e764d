package html

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"goodput/report/render"
)

// browser is a headless Chromium with one page, driven over a pair of pipes. It may be used
// from one goroutine.
type browser struct {
	t       *testing.T
	to      *os.File
	from    *bufio.Reader
	session string
	last    int
	log     []string // what was on the console
}

// message is one of the DevTools protocol, either way.
type message struct {
	ID      int                       `json:"id,omitempty"`
	Session string                    `json:"sessionId,omitempty"`
	Method  string                    `json:"method,omitempty"`
	Params  any                       `json:"params,omitempty"`
	Result  json.RawMessage           `json:"result,omitempty"`
	Error   *struct{ Message string } `json:"error,omitempty"`
}

// openBrowser starts it, and skips the test where there is none.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not installed")
	}
	if testing.Short() {
		t.Skip("starts a browser")
	}
	theirs, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, theirsOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	c := exec.CommandContext(ctx, program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
		"--user-data-dir="+filepath.Join(t.TempDir(), "profile"), "about:blank")
	c.ExtraFiles = []*os.File{theirs, theirsOut} // 3 and 4, as the flag means
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	theirsOut.Close()
	b := &browser{t: t, to: to, from: bufio.NewReader(from)}
	t.Cleanup(func() {
		defer cancel()
		b.session = ""
		b.call("Browser.close", nil, nil)
		to.Close()
		_ = c.Wait()
		from.Close()
	})
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var session struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	b.session = session.SessionID
	for _, domain := range []string{"Page", "Log", "Runtime"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// read is the next message.
func (b *browser) read() message {
	b.t.Helper()
	text, err := b.from.ReadBytes(0)
	if err != nil {
		b.t.Fatalf("the browser is gone: %v", err)
	}
	var m message
	if err := json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &m); err != nil {
		b.t.Fatalf("the browser says %.200q: %v", text, err)
	}
	return m
}

// call asks for something and waits for the answer.
func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	b.last++
	text, err := json.Marshal(message{ID: b.last, Session: b.session, Method: method, Params: params})
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	m := b.read()
	for ; m.ID != b.last; m = b.read() {
		if m.Method == "Log.entryAdded" || m.Method == "Runtime.consoleAPICalled" {
			b.log = append(b.log, fmt.Sprint(m.Params))
		}
	}
	if m.Error != nil {
		b.t.Fatalf("%s: %s", method, m.Error.Message)
	}
	if result != nil {
		if err := json.Unmarshal(m.Result, result); err != nil {
			b.t.Fatalf("%s: %v in %.200s", method, err, m.Result)
		}
	}
}

// open shows a page of so many pixels' width.
func (b *browser) open(page string, width int) {
	b.t.Helper()
	file := filepath.Join(b.t.TempDir(), "page.html")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.size(width)
	b.call("Page.navigate", map[string]any{"url": "file://" + file}, nil)
	// The address changes at once, and the rest follows.
	for ready := ""; ready != "complete "+file; {
		b.eval(`document.readyState + " " + decodeURI(location.pathname)`, &ready)
	}
}

func (b *browser) size(width int) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false}, nil)
}

// looks sets what the page is shown on, "screen" or "print", and whether dark is preferred.
func (b *browser) looks(media, scheme string) {
	b.t.Helper()
	b.call("Emulation.setEmulatedMedia", map[string]any{"media": media, "features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// eval is the value of an expression on the page, whose own policy does not apply to it.
func (b *browser) eval(expression string, to any) {
	b.t.Helper()
	var got struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Exception struct{ Description string }
		}
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true}, &got)
	if got.ExceptionDetails != nil {
		b.t.Fatalf("%s", got.ExceptionDetails.Exception.Description)
	}
	if to != nil {
		if err := json.Unmarshal(got.Result.Value, to); err != nil {
			b.t.Fatalf("%v in %.200s", err, got.Result.Value)
		}
	}
}

// press presses and releases a key.
func (b *browser) press(key, text string, code int) {
	b.t.Helper()
	for _, kind := range []string{"keyDown", "keyUp"} {
		p := map[string]any{"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}
		if kind == "keyDown" && text != "" {
			p["text"] = text
		}
		b.call("Input.dispatchKeyEvent", p, nil)
	}
}

// pages are one of each kind.
func pages(t *testing.T) map[string]string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteSweeps(&b, []*render.Sweep{swept()}); err != nil {
		t.Fatal(err)
	}
	return map[string]string{"runs": written(t, recorded(t, 400), recorded(t, 40)), "sweep": b.String(), "comparison": writtenSet(t, armsOf(t))}
}

// prelude are functions for the expressions of the tests: what can be reached, by name, and
// the contrast of text by the formula of WCAG 2.
const prelude = `
const name = e => e.tagName + " " + (e.getAttribute("aria-label") || e.textContent).trim();
const reachable = () => [...document.querySelectorAll("a[href], summary, .scroll")].filter(e => e.checkVisibility({contentVisibilityAuto: true}) && !e.closest("details:not([open]) > :not(summary)"));
const rgb = s => s.match(/[\d.]+/g).map(Number);
const light = c => { const [r, g, b] = c.slice(0, 3).map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + .05) / (y + .05); };
`

// TestPageInABrowser holds each kind of page against a browser, one for all.
func TestPageInABrowser(t *testing.T) {
	b := openBrowser(t)
	for kind, page := range pages(t) {
		for name, check := range map[string]func(*browser, string){"fits": fits, "keyboard": byKeyboard, "readers": forReaders, "paper": onPaper} {
			t.Run(kind+", "+name, func(t *testing.T) {
				defer func(outer *testing.T) { b.t = outer }(b.t)
				b.t = t
				check(b, page)
			})
		}
	}
	t.Run("charts, dots", func(t *testing.T) {
		defer func(outer *testing.T) { b.t = outer }(b.t)
		b.t = t
		asDots(b)
	})
}

// fits: narrow and wide, light and dark, nothing is beyond the page's width, and nothing is on
// the console, where the page's own policy would report whatever it asked of a network.
func fits(b *browser, page string) {
	t := b.t
	b.log = nil
	for _, width := range []int{390, 1200} {
		for _, scheme := range []string{"light", "dark"} {
			b.looks("screen", scheme)
			b.open(page, width)
			var wide int
			b.eval(`document.documentElement.scrollWidth`, &wide)
			if wide > width {
				t.Errorf("%s: the page is %d wide, and has %d", scheme, wide, width)
			}
			var paper string
			b.eval(`getComputedStyle(document.body).backgroundColor`, &paper)
			if (paper == "rgb(255, 255, 255)") != (scheme == "light") {
				t.Errorf("%s: the page is %s", scheme, paper)
			}
		}
	}
	for _, line := range b.log {
		t.Errorf("on the console: %s", line)
	}
}

// byKeyboard: the Tab key alone reaches whatever can be followed, opened or scrolled,
// in order, once, with a frame that can be seen; Enter opens, and the next stop is inside.
func byKeyboard(b *browser, page string) {
	t := b.t
	b.open(page, 390)
	b.looks("screen", "dark")
	b.eval(prelude, nil)
	var want []string
	b.eval(`reachable().map(name)`, &want)
	if len(want) < 5 {
		t.Fatalf("only %d stops", len(want))
	}
	var got []string
	for range len(want) {
		b.press("Tab", "", 9)
		var stop struct {
			Name, Outline string
			Contrast      float64
		}
		b.eval(`(() => { const e = document.activeElement, s = getComputedStyle(e); return {Name: name(e), Outline: s.outlineStyle + " " + s.outlineWidth, Contrast: contrast(rgb(s.outlineColor), behind(document.body))}; })()`, &stop)
		got = append(got, stop.Name)
		if stop.Outline != "solid 2px" || stop.Contrast < 3 {
			t.Errorf("%s has the focus, and its frame is %s with a contrast of %.2f", stop.Name, stop.Outline, stop.Contrast)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("stops of the Tab key (-want +got):\n%s", d)
	}
	b.eval(`document.querySelector("summary").focus()`, nil)
	b.press("Enter", "\r", 13)
	b.press("Tab", "", 9)
	inside := false
	b.eval(`document.activeElement.closest("details[open]") !== null && document.activeElement.matches(".scroll")`, &inside)
	if !inside {
		t.Error("Enter opened no numbers to go on to")
	}
}

// forReaders: charts, tables and what opens them have names that tell them apart, and
// all text stands out against what is behind it, light and dark.
func forReaders(b *browser, page string) {
	t := b.t
	b.open(page, 1280)
	b.eval(prelude, nil)
	var bad []string
	b.eval(`[...document.querySelectorAll("figure")].flatMap(f => {
		const chart = f.querySelector("svg[role=img]"), title = chart.querySelector(".title").textContent, region = f.querySelector("[role=region]"), out = [];
		if (!chart.getAttribute("aria-label")?.startsWith(title + ": ")) out.push(title + ": the chart's label is " + chart.getAttribute("aria-label"));
		if (f.querySelector("summary").textContent != "Numbers of " + title) out.push(title + ": the summary is " + f.querySelector("summary").textContent);
		if (region.getAttribute("aria-label") != "numbers of " + title) out.push(title + ": the table is " + region.getAttribute("aria-label"));
		if ([...f.querySelectorAll("svg.legend")].some(s => s.getAttribute("aria-hidden") != "true")) out.push(title + ": a legend's mark is read");
		return out;
	})`, &bad)
	for _, what := range bad {
		t.Errorf("%s", what)
	}
	for _, scheme := range []string{"light", "dark"} {
		b.looks("screen", scheme)
		var faint []string
		b.eval(`document.querySelectorAll("details").forEach(d => d.open = true);
		[...document.querySelectorAll("body *")].filter(e => [...e.childNodes].some(n => n.nodeType == 3 && n.data.trim()) && !e.closest("title, style")).map(e => {
			const s = getComputedStyle(e), c = contrast(rgb(e instanceof SVGElement ? s.fill : s.color), behind(e));
			return c < 4.5 ? e.tagName + " " + e.textContent.slice(0, 40) + ": " + c.toFixed(2) : "";
		}).filter(s => s).slice(0, 10)`, &faint)
		for _, what := range faint {
			t.Errorf("%s, too little contrast: %s", scheme, what)
		}
	}
}

// onPaper: at the width of a sheet nothing is cut, whatever was preferred on the
// screen it is dark on light, short tables of charts are there unopened, and long ones once
// they were opened.
func onPaper(b *browser, page string) {
	t := b.t
	const sheet = 717 // A4 less the margins, at 96 dots an inch
	b.open(page, sheet)
	b.looks("print", "dark")
	b.eval(prelude, nil)
	check := func(when string) {
		var cut []string
		b.eval(`[document.documentElement, ...document.querySelectorAll(".scroll, svg, figcaption, h1, h2, h3")].filter(e => e.checkVisibility() && (e.scrollWidth > e.clientWidth + 1 && e.clientWidth || e.getBoundingClientRect().right > innerWidth + 1)).map(name)`, &cut)
		for _, what := range cut {
			t.Errorf("%s, cut on paper: %.80s", when, what)
		}
	}
	check("as it opens")
	var n struct{ Short, ShortShown, Long, LongShown int }
	count := `(() => { const all = [...document.querySelectorAll("details")], long = all.filter(d => d.querySelectorAll("tbody tr").length > ` + fmt.Sprint(paperRows) + `), short = all.filter(d => !long.includes(d));
		const shown = d => d.querySelector("td").checkVisibility({contentVisibilityAuto: true}) && d.querySelector("td").getBoundingClientRect().height > 0;
		return {Short: short.length, ShortShown: short.filter(shown).length, Long: long.length, LongShown: long.filter(shown).length}; })()`
	b.eval(count, &n)
	if n.Short == 0 || n.ShortShown != n.Short || n.LongShown != 0 {
		t.Errorf("unopened, on paper are %d of %d short tables and %d of %d long ones", n.ShortShown, n.Short, n.LongShown, n.Long)
	}
	var pdf struct{ Data string }
	b.call("Page.printToPDF", map[string]any{"printBackground": true}, &pdf)
	text, err := base64.StdEncoding.DecodeString(pdf.Data)
	if err != nil || !bytes.HasPrefix(text, []byte("%PDF-")) {
		t.Errorf("printed %.10q, %v", fmt.Sprint(pdf.Data), err)
	}
	b.eval(`document.querySelectorAll("details").forEach(d => d.open = true)`, nil)
	check("all opened")
	b.eval(count, &n)
	if n.LongShown != n.Long {
		t.Errorf("opened, on paper are %d of %d long tables", n.LongShown, n.Long)
	}
	var ratio []float64
	b.eval(`(() => { const s = getComputedStyle(document.body); return [light(rgb(s.backgroundColor)), light(rgb(s.color)), contrast(rgb(getComputedStyle(document.querySelector("svg text")).fill), [255, 255, 255])]; })()`, &ratio)
	if ratio[0] != 1 || ratio[1] > 0.1 || ratio[2] < 7 {
		t.Errorf("the paper's light is %.2f, that of text on it %.2f, and the contrast of charts' text %.2f", ratio[0], ratio[1], ratio[2])
	}
}
