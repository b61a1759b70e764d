package gate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// SyntaxError tells what is wrong with a rule, and where.
type SyntaxError struct {
	Src string
	At  int // byte offset
	Msg string
}

// Error shows the rule with a caret below the place.
func (e *SyntaxError) Error() string {
	column := len([]rune(e.Src[:min(e.At, len(e.Src))]))
	return fmt.Sprintf("%s\n  %s\n  %s^", e.Msg, e.Src, strings.Repeat(" ", column))
}

// MaxRule is the longest rule, in bytes.
const MaxRule = 1000

// Parse reads one rule:
//
//	[{label=value,…}] metric [aggregate] op value [for duration]
//	[{label=value,…}] metric [aggregate] vs baseline op ±percent [@ confidence]
//
// The aggregate is p(95) or p95, mean, min, max, rate or count; metrics of one value
// a run have none. A dot may stand before it: ttft.p95. An error is a *SyntaxError.
func Parse(src string) (Rule, error) { return ParseWith(src, math.NaN()) }

// ParseWith is Parse, but a rule may end behind "vs baseline": it then bounds the
// worsening by margin, a fraction. NaN: it may not.
func ParseWith(src string, margin float64) (Rule, error) {
	if len(src) > MaxRule {
		return Rule{}, &SyntaxError{src[:40] + "…", 40, fmt.Sprintf("a rule of %d bytes: the limit is %d", len(src), MaxRule)}
	}
	if strings.ContainsFunc(src, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f || c == '�' }) {
		return Rule{}, &SyntaxError{strconv.Quote(src), 0, "a rule is one line of text without control characters"}
	}
	p := parser{src: src, margin: margin}
	r, err := p.rule()
	if err != nil {
		return Rule{}, err
	}
	r.src = strings.TrimSpace(src)
	if p.bounded {
		r.src = r.Canonical()
	}
	return r, nil
}

// parser reads a rule from the left.
type parser struct {
	src string
	at  int
	// margin bounds a rule that has no bound, and bounded tells that it did.
	margin  float64
	bounded bool
}

func (p *parser) fail(at int, format string, args ...any) error {
	return &SyntaxError{p.src, at, fmt.Sprintf(format, args...)}
}

func (p *parser) space() {
	for p.at < len(p.src) && (p.src[p.at] == ' ' || p.src[p.at] == '\t') {
		p.at++
	}
}

// take consumes a piece of text if it is next.
func (p *parser) take(text string) bool {
	p.space()
	if !strings.HasPrefix(p.src[p.at:], text) {
		return false
	}
	p.at += len(text)
	return true
}

func word(c byte) bool {
	return c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// word consumes letters, digits, _ and -; and says where they start.
func (p *parser) word() (text string, at int) {
	p.space()
	at = p.at
	for p.at < len(p.src) && word(p.src[p.at]) {
		p.at++
	}
	return p.src[at:p.at], at
}

// until consumes all up to a space.
func (p *parser) until() (text string, at int) {
	p.space()
	at = p.at
	for p.at < len(p.src) && p.src[p.at] != ' ' && p.src[p.at] != '\t' {
		p.at++
	}
	return p.src[at:p.at], at
}

func (p *parser) rule() (Rule, error) {
	r := Rule{Confidence: DefaultConfidence}
	if err := p.scope(&r); err != nil {
		return r, err
	}
	name, at := p.word()
	if name == "" {
		return r, p.fail(at, "a metric is missing here, as in: ttft p(95) <= 2s")
	}
	var err error
	if r.Metric, err = metricOf(name); err != nil {
		return r, p.fail(at, "%v", err)
	}
	if r.Metric.Name == "knee" {
		for _, l := range r.Scope {
			if l.Name != "arm" && l.Name != "policy" {
				return r, p.fail(at, "a knee is of the whole load: scope the clauses of the objective that is swept, not the gate")
			}
		}
	}
	if err := p.aggregate(&r); err != nil {
		return r, err
	}
	if err := p.baseline(&r); err != nil {
		return r, err
	}
	if p.space(); r.Baseline && p.at == len(p.src) && !math.IsNaN(p.margin) {
		p.bounded, r.Op, r.Value = true, LE, p.margin
		if r.Metric.HigherIsBetter {
			r.Op, r.Value = GE, -p.margin
		}
		return r, nil
	}
	if err := p.op(&r); err != nil {
		return r, err
	}
	if r.Baseline {
		err = p.change(&r)
	} else {
		err = p.limit(&r)
	}
	if err != nil {
		return r, err
	}
	if p.space(); p.at < len(p.src) {
		return r, p.fail(p.at, "unexpected text after the rule")
	}
	return r, nil
}

func (p *parser) scope(r *Rule) error {
	if !p.take("{") {
		return nil
	}
	for {
		name, at := p.word()
		if !slices.Contains(labels[:], name) {
			return p.fail(at, "unknown label %q: use one of %s", name, strings.Join(labels[:], ", "))
		}
		if slices.ContainsFunc(r.Scope, func(l Label) bool { return l.Name == name }) {
			return p.fail(at, "label %s is given twice", name)
		}
		if !p.take("=") {
			return p.fail(p.at, "= is missing after label %s", name)
		}
		value, err := p.labelValue()
		if err != nil {
			return err
		}
		r.Scope = append(r.Scope, Label{name, value})
		switch {
		case p.take("}"):
			return nil
		case !p.take(","):
			return p.fail(p.at, "} or , is missing here")
		}
	}
}

// labelValue reads a word or a quoted string.
func (p *parser) labelValue() (string, error) {
	p.space()
	if p.at < len(p.src) && p.src[p.at] == '"' {
		quoted, err := strconv.QuotedPrefix(p.src[p.at:])
		if err != nil {
			return "", p.fail(p.at, "the closing quote is missing")
		}
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return "", p.fail(p.at, "%s is not a quoted string", quoted)
		}
		p.at += len(quoted)
		return value, nil
	}
	value, at := p.word()
	if value == "" {
		return "", p.fail(at, "a value is missing here; put one with other characters into \"quotes\"")
	}
	return value, nil
}

// aggregates of one value a run, and of the values of requests.
var aggregates = [...]string{"mean", "min", "max", "rate", "count"}

func (p *parser) aggregate(r *Rule) error {
	p.take(".")
	start := p.at
	name, at := p.word()
	switch {
	case name == "vs" || name == "":
		p.at = start
		if r.Metric.Kind == Latency {
			return p.fail(at, "%s needs an aggregate, as in: %s p(95) <= 2s", r.Metric.Name, r.Metric.Name)
		}
		return nil
	case name == "p" && p.take("("):
		number, where := p.src[p.at:], p.at
		end := strings.IndexByte(number, ')')
		if end < 0 {
			return p.fail(where, ") is missing")
		}
		p.at += end + 1
		if err := p.quantile(r, number[:end], where); err != nil {
			return err
		}
	case name[0] == 'p' && len(name) > 1 && '0' <= name[1] && name[1] <= '9':
		text := name[1:]
		if p.at < len(p.src) && p.src[p.at] == '.' { // p99.9
			p.at++
			more, _ := p.word()
			text += "." + more
		}
		if err := p.quantile(r, text, at+1); err != nil {
			return err
		}
	case slices.Contains(aggregates[:], name):
		r.Agg = Agg{Name: name}
	default:
		return p.fail(at, "unknown aggregate %q: use p(95), %s", name, strings.Join(aggregates[:], ", "))
	}
	return p.suits(r, at)
}

// suits checks that the metric has the aggregate.
func (p *parser) suits(r *Rule, at int) error {
	ok := false
	switch r.Metric.Kind {
	case Latency:
		ok = slices.Contains([]string{"p", "mean", "min", "max", "count"}, r.Agg.Name)
	case Count:
		ok = r.Agg.Name == "count"
	default:
		ok = r.Agg.Name == "rate" || r.Agg.Name == "mean"
	}
	if !ok {
		return p.fail(at, "%s has no %s", r.Metric.Name, r.Agg)
	}
	switch {
	case r.Metric.Kind != Latency:
		r.Agg = Agg{} // it has but one value a run
	case r.Agg.Name == "count": // of requests that have one
		r.Metric.Kind, r.Metric.HigherIsBetter = Count, true
	}
	return nil
}

func (p *parser) quantile(r *Rule, text string, at int) error {
	percent, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		return p.fail(at, "%q is no percentile: write p(95) or p(99.9)", text)
	}
	if !(percent > 0 && percent < 100) {
		return p.fail(at, "a percentile is above 0 and below 100; for the largest value write max")
	}
	r.Agg = Agg{Name: "p", Q: percent / 100}
	return nil
}

func (p *parser) baseline(r *Rule) error {
	start := p.at
	name, _ := p.word()
	if name != "vs" {
		p.at = start
		return nil
	}
	if what, at := p.word(); what != "baseline" {
		return p.fail(at, "vs %q: only vs baseline is known", what)
	}
	r.Baseline = true
	return nil
}

func (p *parser) op(r *Rule) error {
	p.space()
	at := p.at
	for _, op := range []Op{LE, GE, EQ, LT, GT} {
		if p.take(string(op)) {
			r.Op = op
			return nil
		}
	}
	return p.fail(at, "a comparison is missing here: one of < <= > >= ==")
}

// change reads a signed percentage and the confidence behind it.
func (p *parser) change(r *Rule) error {
	text, at := p.until()
	if whole, confidence, ok := strings.Cut(text, "@"); ok { // +10%@95
		p.at = at + len(whole)
		text, _ = whole, confidence
	}
	number, ok := strings.CutSuffix(text, "%")
	if !ok {
		return p.fail(at, "a change against the baseline is a percentage, such as +10%%")
	}
	if r.Op != EQ && !strings.HasPrefix(number, "+") && !strings.HasPrefix(number, "-") && number != "0" {
		return p.fail(at, "give the change a sign: +%s%% or -%s%%", number, number)
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v > -100 && v < 100_000) {
		return p.fail(at, "%q is no percentage above -100", text)
	}
	r.Value = v / 100
	if r.Op == EQ && v != 0 {
		return p.fail(at, "== allows no change but 0%%")
	}
	if !p.take("@") {
		return nil
	}
	text, at = p.until()
	v, err = strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || !(v >= 50 && v < 100) {
		return p.fail(at, "a confidence is a percentage from 50 to below 100, such as 95%%")
	}
	r.Confidence = v / 100
	return nil
}

// limit reads a value and the stretch of time that it is about.
func (p *parser) limit(r *Rule) error {
	text, at := p.until()
	if text == "" {
		return p.fail(at, "a value is missing here: %s", r.Metric.example())
	}
	v, err := r.Metric.parse(text)
	if err != nil {
		return p.fail(at, "%v", err)
	}
	r.Value = v
	p.space()
	start := p.at
	if name, _ := p.word(); name != "for" {
		p.at = start
		return nil
	}
	if r.Metric.ofRun() {
		return p.fail(start, "%s is of a whole run: leave 'for' out", r.Metric.Name)
	}
	text, at = p.until()
	if r.For, err = time.ParseDuration(text); err != nil || r.For <= 0 {
		return p.fail(at, "%q is no duration: write it as 30s", text)
	}
	return nil
}
