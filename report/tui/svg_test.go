package tui_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/muesli/termenv"

	"goodput/report/tui"
)

// texts are those of a drawing, which must be well formed.
func texts(t *testing.T, svg []byte) []string {
	t.Helper()
	var out []string
	d := xml.NewDecoder(strings.NewReader(string(svg)))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "style" {
			if err := d.Skip(); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if c, ok := token.(xml.CharData); ok && strings.TrimSpace(string(c)) != "" {
			out = append(out, string(c))
		}
	}
}

// TestSVGShowsTheFrame: all that is on a screen is in its drawing, in each of the colours.
func TestSVGShowsTheFrame(t *testing.T) {
	for _, colors := range []termenv.Profile{termenv.Ascii, termenv.ANSI, termenv.ANSI256, termenv.TrueColor} {
		for i := range tui.OfRun() {
			key := fmt.Sprint(i + 1)
			want := shown(120, 40, tui.Options{Colors: termenv.Ascii}, seeded(), key).View()
			drawn := strings.Join(texts(t, tui.SVG(shown(120, 40, tui.Options{Colors: colors}, seeded(), key).View(), 120, 40)), "")
			squeeze := func(s string) string { return strings.NewReplacer(" ", "", "\n", "", "[", "", "]", "").Replace(s) }
			if squeeze(drawn) != squeeze(want) {
				t.Errorf("%v: screen %s is drawn as\n%s", colors.Name(), key, drawn)
			}
		}
	}
}

func TestSVGEscapes(t *testing.T) {
	svg := tui.SVG("a<b & \x1b[1;7;38;5;196mc\x1b[0m \x1b[38;2;1;2;3md\x1b[0m\x1b[38;5;244me\x1b[91mf\x1b[", 20, 1)
	if got := strings.Join(texts(t, svg), "|"); got != "a<b &|c|d|e|f" {
		t.Errorf("%q", got)
	}
	// Browsers fold spaces without the style, whatever xml:space says.
	for _, want := range []string{`fill="#ff0000"`, `fill="#010203"`, `fill="#808080"`, "white-space:pre"} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("no %s in %s", want, svg)
		}
	}
}

// TestRecording: a line that stays is drawn once, and each other as often as it changes.
func TestRecording(t *testing.T) {
	svg := tui.Recording([]tui.Shown{{Frame: "same\none", For: time.Second}, {Frame: "same\ntwo", For: time.Second}, {Frame: "same\none", For: 2 * time.Second}}, 10, 2)
	if got := strings.Join(texts(t, svg), " "); got != "same one two one" {
		t.Error(got)
	}
	for _, want := range []string{`values="visible;hidden" keyTimes="0;0.2500"`, `values="hidden;visible;hidden" keyTimes="0;0.2500;0.5000"`, `values="hidden;visible" keyTimes="0;0.5000"`, `dur="4.0s"`} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("no %s in\n%s", want, svg)
		}
	}
}

func FuzzSVG(f *testing.F) {
	f.Add("a\x1b[31mb\x1b[0m\n⣀▒█")
	f.Add("\x1b[38;2;1m\x1b[38;5m\x1b[999999999999999999999m\x1b[")
	f.Fuzz(func(t *testing.T, frame string) {
		texts(t, tui.SVG(frame, 80, 24))
	})
}
