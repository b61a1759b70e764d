package html

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"goodput/loadgen/clock"
	"goodput/report/plot"
	"goodput/report/query"
	"goodput/report/render"
)

const msNS = 1e6

// curveMetrics are those whose distributions are drawn.
var curveMetrics = []string{"ttft", "tpot", "e2e"}

// tailGrid are quantiles at equal distances on a tail axis, up to what n values tell.
func tailGrid(n int64) []float64 {
	var out []float64
	for u := 0.02; u <= math.Log10(float64(n))+1e-9; u += 0.05 {
		out = append(out, 1-math.Pow(10, -u))
	}
	return out
}

// curve is the distribution of a metric as a line; ok is false without values.
func curve(f *query.Figures, metric, name string, mark int) (plot.Line, bool) {
	m, ok := f.Metric(metric)
	if !ok || m.N < 2 {
		return plot.Line{}, false
	}
	l := plot.Line{Name: name, Mark: mark}
	for _, q := range tailGrid(m.N) {
		if v, ok := f.Quantile(metric, q); ok && v > 0 {
			l.X, l.Y = append(l.X, v/msNS), append(l.Y, q)
		}
	}
	return l, len(l.X) > 1
}

const curveCaption = "Share of the successes at or below a time, on an axis in which each further nine takes the same room; nearest-rank quantiles at equal distances. The last part of a line rests on single requests: the table of figures says up to where a quantile has an interval."

// distributions draws the latencies of one run.
func distributions(r *render.Report) ([]Figure, error) {
	c := plot.Lines{Title: "Latency", X: "ms", Y: "share of requests", XScale: plot.Log, YScale: plot.Tail, Height: 260}
	for i, metric := range curveMetrics {
		if l, ok := curve(r.Figures, metric, metric, i); ok {
			c.Lines = append(c.Lines, l)
		}
	}
	if len(c.Lines) == 0 {
		return nil, nil
	}
	f, err := lines("latency", curveCaption, &c)
	return []Figure{f}, err
}

// compared draws a metric of several runs on one chart each.
func compared(runs []*render.Report) ([]Figure, error) {
	var out []Figure
	for _, metric := range curveMetrics {
		c := plot.Lines{Title: strings.ToUpper(metric), X: "ms", Y: "share of requests", XScale: plot.Log, YScale: plot.Tail, Height: 260}
		for i, r := range runs {
			if l, ok := curve(r.Figures, metric, r.Dir, i); ok {
				c.Lines = append(c.Lines, l)
			}
		}
		if len(c.Lines) == 0 {
			continue
		}
		f, err := lines("compared-"+metric, curveCaption, &c)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// series is a chart over the run's time.
type series struct {
	name, title, y, caption string
	lines                   []plot.Line
}

// timelines draws what happened when, all on the same axis of time, and says what is
// not known.
func timelines(r *render.Report) (figures []Figure, unknown []string, err error) {
	t := &r.Timeline
	if len(t.Bins) < 2 {
		return nil, []string{"the course of the run: too short"}, nil
	}
	end := float64(len(t.Bins)) * t.Width.Seconds()
	var rules []plot.Rule
	if r.Start > 0 {
		rules = append(rules, plot.Rule{At: clock.Time(r.Start).Sub(0).Seconds(), Name: "window"})
	}
	if r.Window > 0 {
		rules = append(rules, plot.Rule{At: r.Start.Sub(0).Seconds() + r.Window.Seconds(), Name: "last arrival"})
	}
	all, unknown := courses(t)
	kv, without := kvCourse(r)
	all, unknown = append(append(all, kv...), replicaCourse(r)...), append(unknown, without...)
	for _, s := range all {
		c := plot.Lines{Title: s.title, X: "s since the start", Y: s.y, To: end, Height: 150, Lines: s.lines, Rules: rules}
		f, err := lines(s.name, s.caption, &c)
		if err != nil {
			return nil, nil, err
		}
		figures = append(figures, f)
	}
	return figures, unknown, nil
}

// courses are the charts of a timeline, and what it does not know.
func courses(t *query.Timeline) (out []series, unknown []string) {
	n, width := len(t.Bins), t.Width.Seconds()
	x, middle := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i], middle[i] = float64(i+1)*width, (float64(i)+0.5)*width
	}
	of := func(name string, mark int, x []float64, value func(b *query.Bin) float64) plot.Line {
		l := plot.Line{Name: name, Mark: mark, X: x}
		for i := range t.Bins {
			l.Y = append(l.Y, value(&t.Bins[i]))
		}
		return l
	}
	out = append(out, rates(t), series{"in-flight", "In flight", "requests", "Sampled at the end of each bin of " + fmt.Sprintf("%.4g s", width) + "; what lies between is not drawn.", []plot.Line{
		of("in flight", 0, x, func(b *query.Bin) float64 { return float64(b.InFlight) }),
	}})
	ttft := of("P50", 0, middle, func(b *query.Bin) float64 { return some(b.TTFT.N > 0, b.TTFT.P50/msNS) })
	ttft.Low = of("", 0, nil, func(b *query.Bin) float64 { return some(b.TTFT.N > 0, b.TTFT.Min/msNS) }).Y
	ttft.High = of("", 0, nil, func(b *query.Bin) float64 { return some(b.TTFT.N > 0, b.TTFT.Max/msNS) }).Y
	p95 := of("P95 (20 or more)", 1, middle, func(b *query.Bin) float64 { return some(b.TTFT.N >= 20, b.TTFT.P95/msNS) })
	out = append(out, series{"ttft", "Time to first token", "ms", "Of the successes due in each bin: the band is from the smallest to the largest (nothing is left out), the lines are quantiles, at most 6 % too high.", []plot.Line{ttft, p95}})
	hit := of("hit rate", 2, middle, func(b *query.Bin) float64 { return some(b.Hit.Known(), 100*b.Hit.Value()) })
	preempted := of("preemptions", 1, middle, func(b *query.Bin) float64 { return some(b.Accounts > 0, float64(b.Preemptions)) })
	if known(hit.Y) {
		out = append(out, series{"hit-rate", "Prefix-cache hits", "% of tokens", "By the servers' account, of the prompt tokens of the successes due in each bin.", []plot.Line{hit}})
	} else {
		unknown = append(unknown, "cache hit rate: the server told none")
	}
	if known(preempted.Y) {
		out = append(out, series{"preemptions", "Preemptions", "per bin", "Of the requests due in each bin, by the engines' account.", []plot.Line{preempted}})
	} else {
		unknown = append(unknown, "preemptions: no account of the engines")
	}
	return out, unknown
}

// rates draws counts of requests over bins that hold some of them each: those of one or
// two would show chance.
func rates(t *query.Timeline) series {
	const enough = 10 // a bin, on average
	due := int64(0)
	for i := range t.Bins {
		due += t.Bins[i].Due
	}
	n, group := len(t.Bins), 1
	if due > 0 {
		group = min(max(int(enough*int64(n)/due), 1), max(n/8, 1))
	}
	width := t.Width.Seconds()
	lines := []plot.Line{{Name: "due", Mark: 0}, {Name: "ok", Mark: 2}, {Name: "failed", Mark: 1}}
	for from, to := 0, 0; from < n; from = to {
		if to = from + group; n-to < group { // a short last one would be one of chance
			to = n
		}
		var sums [3]int64
		for i := from; i < to; i++ {
			sums[0], sums[1], sums[2] = sums[0]+t.Bins[i].Due, sums[1]+t.Bins[i].OK, sums[2]+t.Bins[i].Failed
		}
		for k := range lines {
			lines[k].X = append(lines[k].X, float64(from+to)/2*width)
			lines[k].Y = append(lines[k].Y, float64(sums[k])/(float64(to-from)*width))
		}
	}
	caption := fmt.Sprintf("Requests in bins of %.4g s, the mean of each: due by the schedule, ended well, failed.", float64(group)*width)
	return series{"rate", "Rate", "1/s", caption, lines}
}

// kvCourse is how full the KV caches were.
func kvCourse(r *render.Report) (out []series, unknown []string) {
	width := r.Timeline.Width.Seconds()
	mean := plot.Line{Name: "mean of all engines", Mark: 2}
	for i := range r.Timeline.Bins {
		var l query.Level
		if i < len(r.Engines.KVCourse) {
			l = r.Engines.KVCourse[i]
		}
		mean.X, mean.Y = append(mean.X, (float64(i)+0.5)*width), append(mean.Y, some(l.N > 0, 100*l.Mean))
		mean.Low, mean.High = append(mean.Low, some(l.N > 0, 100*l.Min)), append(mean.High, some(l.N > 0, 100*l.Max))
	}
	if !known(mean.Y) {
		return nil, []string{"KV usage: the run recorded no series of the engines' own metrics"}
	}
	return []series{{"kv-usage", "KV cache in use", "% of the blocks", "By the engines' own account, of the samples in each bin: the band is from the emptiest engine to the fullest. A gap is where more than one sample in a row is missing.", []plot.Line{sampled(mean)}}}, nil
}

// sampled leaves out the unknown points between values that are about as far from each
// other as most are: samples are rarer than bins, and nothing is missing there.
func sampled(l plot.Line) plot.Line {
	var at, apart []int
	for i := range l.Y {
		if math.IsNaN(l.Y[i]) {
			continue
		}
		if n := len(at); n > 0 {
			apart = append(apart, i-at[n-1])
		}
		at = append(at, i)
	}
	slices.Sort(apart)
	out := plot.Line{Name: l.Name, Mark: l.Mark}
	add := func(i int) {
		out.X, out.Y, out.Low, out.High = append(out.X, l.X[i]), append(out.Y, l.Y[i]), append(out.Low, l.Low[i]), append(out.High, l.High[i])
	}
	for k, i := range at {
		if k > 0 && i-at[k-1] > 2*apart[len(apart)/2] {
			add(i - 1)
		}
		add(i)
	}
	return out
}

// replicaCourse is the number in flight of each replica.
func replicaCourse(r *render.Report) []series {
	const most = 8
	if len(r.Replicas) < 2 {
		return nil
	}
	s := series{"in-flight-replica", "In flight by replica", "requests", "Sampled at the ends of the bins; a replica is who answered.", nil}
	if n := len(r.Replicas); n > most {
		s.caption += fmt.Sprintf(" The first %d of %d.", most, n)
	}
	for i, p := range r.Replicas[:min(most, len(r.Replicas))] {
		l := plot.Line{Name: p.Name, Mark: i}
		for k, n := range p.InFlight {
			l.X, l.Y = append(l.X, float64(k+1)*r.Timeline.Width.Seconds()), append(l.Y, float64(n))
		}
		s.lines = append(s.lines, l)
	}
	return []series{s}
}

// some is NaN for what is not known.
func some(ok bool, v float64) float64 {
	if !ok {
		return math.NaN()
	}
	return v
}

func known(y []float64) bool {
	for _, v := range y {
		if v == v {
			return true
		}
	}
	return false
}

// skew draws how the load was spread over replicas.
func skew(r *render.Report) ([]Figure, error) {
	if len(r.Replicas) == 0 {
		return nil, nil
	}
	c := plot.Bars{Title: "Requests by replica", X: "requests"}
	t := table{Head: []string{"replica", "requests", "ok", "failed", "TTFT P50 ms", "TTFT P95 ms", "hit rate", "output tokens", "preemptions"}}
	var sum int64
	for i := range r.Replicas {
		sum += r.Replicas[i].N
	}
	for i := range r.Replicas {
		p := &r.Replicas[i]
		c.Rows = append(c.Rows, plot.Bar{
			Name: p.Name, Parts: []float64{float64(p.OK), float64(p.Failed), float64(p.N - p.OK - p.Failed)},
			Names: []string{"ok", "failed", "unfinished"}, Text: fmt.Sprintf("%.1f %%", 100*float64(p.N)/float64(sum)),
		})
		t.add(p.Name, fmt.Sprint(p.N), fmt.Sprint(p.OK), fmt.Sprint(p.Failed), number(some(p.TTFT.N >= 6, p.TTFT.P50/msNS)), number(some(p.TTFT.N >= 72, p.TTFT.P95/msNS)),
			number(some(p.Hit.Known(), 100*p.Hit.Value()))+" %", fmt.Sprint(p.OutputTokens), fmt.Sprint(p.Preemptions))
	}
	caption := "Who answered the requests of the window, by its own account or the router's; the share of those that name one."
	if r.OtherReplicas > 0 {
		caption += fmt.Sprintf(" %d more replicas are left out.", r.OtherReplicas)
	}
	t.Of = c.Title
	f, err := draw("replicas", c.Title, caption, c.WriteSVG)
	f.Table, f.Legend = t, marks("ok", "failed", "unfinished")
	return []Figure{f}, err
}

func marks(names ...string) []legend {
	var out []legend
	for i, name := range names {
		out = append(out, legend{template.HTML(plot.Block(i)), name, i})
	}
	return out
}

// waterfall draws where the time of requests went: by the engines' account, and by what
// the client and the server saw, if something is between them.
func waterfall(r *render.Report) ([]Figure, error) {
	var out []Figure
	caption := fmt.Sprintf("Means over the %d successes with an account of the engine, and over the slowest 1 %% of them. Outside is the client's time minus the engine's.", r.Spent.N)
	if d := r.Signs.DTTFT; d.N > 0 {
		caption += fmt.Sprintf(" To the first token the client saw %s ms more than the engine (P10 %s, P90 %s).", number(d.P50/msNS), number(d.P10/msNS), number(d.P90/msNS))
	}
	way := fmt.Sprintf("Means over the %d successes whose server says when its first token was, and over the slowest 1 %% of them, from the intended start to the end of the stream. "+
		"Between client and server are d_ttft, up to the first token, and d_tail, from then on; what is none or negative has no bar.", r.Way.N)
	for _, c := range []struct {
		name, title, caption string
		spent                *query.Spent
		there                bool
	}{
		{"waterfall", "Where the time went", caption, &r.Spent, true},
		{"way", "From client to server and back", way, &r.Way, r.Outside()},
	} {
		if c.spent.N == 0 || !c.there {
			continue
		}
		f, err := parts(c.name, c.title, c.caption, c.spent)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// parts draws a bar of all requests, and one of the slowest if they are not too few.
func parts(name, title, caption string, s *query.Spent) (Figure, error) {
	all, slow := plot.Bar{Name: "all", Text: number(s.E2E/msNS) + " ms"}, plot.Bar{Name: "slowest 1 %", Text: number(s.SlowE2E/msNS) + " ms"}
	var names []string
	t := table{Of: title, Head: []string{"part", "mean ms", "slowest 1 %, ms"}}
	for _, p := range s.Parts {
		t.add(p.Name, number(p.Mean/msNS), number(p.Slow/msNS))
		if p.Mean <= 0 && p.Slow <= 0 {
			continue // it would take a colour, and show nothing
		}
		names = append(names, p.Name)
		all.Parts, slow.Parts = append(all.Parts, max(0, p.Mean/msNS)), append(slow.Parts, max(0, p.Slow/msNS))
	}
	all.Names, slow.Names = names, names
	c := plot.Bars{Title: title, X: "ms a request", Rows: []plot.Bar{all, slow}}
	if s.SlowN < 4 {
		c.Rows = c.Rows[:1]
		caption = strings.Replace(caption, ", and over the slowest 1 % of them", "; too few to speak of the slowest 1 %", 1)
	}
	f, err := draw(name, title, caption, c.WriteSVG)
	f.Table, f.Legend = t, marks(names...)
	return f, err
}
