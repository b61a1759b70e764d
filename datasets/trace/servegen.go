package trace

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"goodput/datasets"
	"goodput/loadgen/rng"
)

// serveGenWindow is the length of a window in seconds.
const serveGenWindow = 600

// serveGen generates the requests of one ServeGen client from what was measured of
// it: windows with a rate and a distribution of gaps (NAME-trace.csv), and the
// distributions of lengths (NAME-dataset.json beside it). The gaps of a window are
// scaled such that they fill it; lengths are drawn independently of each other.
type serveGen struct {
	l       *lines
	seed    uint64
	lengths []lengthWindow
	times   []int64 // of the current window, in reverse
	in, out rng.Stream
	current *lengthWindow
}

// lengthWindow holds the distributions of lengths from an instant on.
type lengthWindow struct {
	start   float64
	in, out pmf
}

func newServeGen(r io.Reader, path string, o Options) (source, error) {
	lengths, err := serveGenLengths(path)
	if err != nil {
		return nil, err
	}
	return &serveGen{l: newLines(r, path), seed: o.Seed, lengths: lengths}, nil
}

func (*serveGen) traits() Traits { return Traits{Timed: true, Recorded: true, Ordered: true} }

func (s *serveGen) next(r *Row) error {
	for len(s.times) == 0 {
		line, err := s.l.next()
		if err != nil {
			return err
		}
		if err := s.window(string(line)); err != nil {
			return err
		}
	}
	r.alone()
	last := len(s.times) - 1
	r.Line, r.At, s.times = s.l.n, s.times[last], s.times[:last]
	r.In, r.Out = s.current.in.draw(&s.in), s.current.out.draw(&s.out)
	return nil
}

// window draws the arrivals of a window.
func (s *serveGen) window(line string) error {
	fields := strings.Split(line, ",")
	if len(fields) != 6 {
		return s.l.errorf("row", "found %d fields in %s, expected 6: window start, rate, CV, pattern, shape, scale", len(fields), quote([]byte(line)))
	}
	var v [6]float64
	for i, name := range []string{"window start", "rate", "CV", "pattern", "shape", "scale"} {
		if i == 3 {
			continue
		}
		var err error
		if v[i], err = strconv.ParseFloat(fields[i], 64); err != nil || !(v[i] >= 0 && v[i] < 1e9) {
			return s.l.errorf(name, "found %s, expected a number that is not negative", quote([]byte(fields[i])))
		}
	}
	n := int(math.Round(v[1] * serveGenWindow))
	if n == 0 {
		return nil
	}
	if n > 1<<24 {
		return s.l.errorf("rate", "found %v, which is more than %d requests in a window", v[1], 1<<24)
	}
	pattern := fields[3]
	if (pattern != "Gamma" && pattern != "Weibull") || !(v[4] > 1e-6) {
		return s.l.errorf("pattern", "found %s with shape %v, expected Gamma or Weibull with a shape above 0", quote([]byte(pattern)), v[4])
	}
	number := uint64(s.l.n)
	gaps := rng.New(s.seed, "servegen arrivals", number)
	s.in, s.out = rng.New(s.seed, "servegen inputs", number), rng.New(s.seed, "servegen outputs", number)
	for i := range s.lengths {
		if i == 0 || s.lengths[i].start <= v[0] {
			s.current = &s.lengths[i]
		}
	}
	sums := make([]float64, n)
	sum := 0.0
	for i := range sums {
		if pattern == "Gamma" {
			sum += gaps.Gamma(v[4])
		} else {
			sum += math.Pow(gaps.Exp(), 1/v[4])
		}
		sums[i] = sum
	}
	for i := range slices.Backward(sums) {
		s.times = append(s.times, int64((v[0]+serveGenWindow*min(1, sums[i]/sum))*1e9))
	}
	return nil
}

// serveGenLengths reads the file of lengths beside a file of windows.
func serveGenLengths(path string) ([]lengthWindow, error) {
	base := filepath.Base(path)
	at := strings.Index(base, "-trace")
	if at < 0 {
		return nil, fmt.Errorf("%s: a ServeGen client is two files, NAME-trace.csv and NAME-dataset.json: give the first", path)
	}
	beside := filepath.Join(filepath.Dir(path), base[:at]+"-dataset*.json")
	found, err := filepath.Glob(beside)
	if err != nil || len(found) != 1 {
		return nil, fmt.Errorf("%s: found %d files %s with the lengths of its requests, expected one", path, len(found), beside)
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		return nil, err
	}
	lengths, err := parseLengths(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", found[0], err)
	}
	return lengths, nil
}

func parseLengths(text []byte) ([]lengthWindow, error) {
	var windows map[string]struct {
		In  string `json:"input_tokens"`
		Out string `json:"output_tokens"`
	}
	if err := decode(text, &windows); err != nil {
		return nil, fmt.Errorf("%s: %s", err.field, err.text)
	}
	var all []lengthWindow
	for start, w := range windows {
		at, err := strconv.ParseFloat(start, 64)
		if err != nil {
			return nil, fmt.Errorf("window %q: its start is no number of seconds", start)
		}
		lw := lengthWindow{start: at}
		if lw.in, err = parsePMF(w.In); err == nil {
			lw.out, err = parsePMF(w.Out)
		}
		if err != nil {
			return nil, fmt.Errorf("window %q: %w", start, err)
		}
		all = append(all, lw)
	}
	if len(all) == 0 {
		return nil, errors.New("found no windows, expected at least one")
	}
	slices.SortFunc(all, func(a, b lengthWindow) int { return int(math.Copysign(1, a.start-b.start)) })
	return all, nil
}

// pmf is a distribution of lengths: values with the sum of shares up to each.
type pmf struct {
	values []int
	upTo   []float64
}

// parsePMF reads a Python dictionary of lengths and their shares, such as
// "{224: 0.25, 225: 0.75}".
func parsePMF(text string) (pmf, error) {
	var p pmf
	inner, opened := strings.CutPrefix(strings.TrimSpace(text), "{")
	inner, closed := strings.CutSuffix(inner, "}")
	if !opened || !closed {
		return p, fmt.Errorf("found %s, expected lengths and shares in braces", quote([]byte(text)))
	}
	sum := 0.0
	for item := range strings.SplitSeq(inner, ",") {
		k, v, _ := strings.Cut(item, ":")
		n, err := strconv.Atoi(strings.TrimSpace(k))
		share, err2 := strconv.ParseFloat(strings.TrimSpace(v), 64)
		if err != nil || err2 != nil || n < 0 || n > datasets.MaxTokens || !(share >= 0 && share <= 1.000001) {
			return p, fmt.Errorf("found %s, expected a length and its share", quote([]byte(item)))
		}
		sum += share
		p.values, p.upTo = append(p.values, max(1, n)), append(p.upTo, sum)
	}
	if !(sum > 0) {
		return p, errors.New("all shares are 0")
	}
	return p, nil
}

// draw takes a value.
func (p *pmf) draw(s *rng.Stream) int {
	u := s.Float64() * p.upTo[len(p.upTo)-1]
	i, _ := slices.BinarySearch(p.upTo, math.Nextafter(u, 2))
	return p.values[min(i, len(p.values)-1)]
}
