package fit

import (
	"fmt"
	"math"
	"slices"

	"goodput/profiles"
)

// Endpoint is the server whose requests or metrics are fitted to.
type Endpoint struct {
	Source, Family, Version string
	Overlap, Pipelined      bool
	Model                   profiles.Model
	TP, Budget              int
}

func (e *Endpoint) point(kind Kind, config string) Point {
	return Point{
		Kind: kind, Source: e.Source, Family: e.Family, Version: e.Version, Overlap: e.Overlap, Pipelined: e.Pipelined,
		Model: e.Model, TP: e.TP, Budget: e.Budget, Config: config,
	}
}

// Served is one request that a client saw answered. Times are in seconds on one
// clock.
type Served struct {
	Sent, First, Last      float64
	Prompt, Cached, Output int
}

// bin is requests of about the same load and length.
type bin struct {
	load, length int
	of           []Served
	batch        []float64 // answers beside each, itself included, on average
	joined       []float64 // prompts that joined while it lasted
}

// leastInBin is how many requests a point stands for at least.
const leastInBin = 5

// waiting is the share of an answer's time beyond which TTFT is a queue's.
const waiting = 0.35

// Requests turns the requests of a run into points: of those that met about the same
// number of others and have about the same length, the median time per token and the
// median time to first token.
func Requests(e *Endpoint, served []Served) ([]Point, []Drop) {
	var left drops
	var ok []Served
	for _, s := range served {
		switch {
		case s.Prompt < 1 || s.Output < 2:
			left.add("no prompt length, or fewer than two tokens")
		case !(s.First > s.Sent && s.Last > s.First) || math.IsInf(s.Last-s.Sent, 0):
			left.add("times that are not in order")
		default:
			ok = append(ok, s)
		}
	}
	var out []Point
	for _, b := range bins(ok) {
		if len(b.of) < leastInBin {
			for range b.of {
				left.add("fewer than five requests at this load and length")
			}
			continue
		}
		points := b.points(e)
		if token, first := points[0], points[1]; first.Seconds > waiting*token.Output*token.Seconds {
			points = points[:1]
			left.add("times to first token in which waiting dominates")
		}
		out = append(out, points...)
	}
	return out, left
}

func bins(ok []Served) []bin {
	var out []bin
	for i, s := range ok {
		batch, joined := beside(ok, i)
		load, length := int(math.Round(2*math.Log2(batch))), int(math.Round(2*math.Log2(float64(s.Prompt))))
		at := slices.IndexFunc(out, func(b bin) bool { return b.load == load && b.length == length })
		if at < 0 {
			out = append(out, bin{load: load, length: length})
			at = len(out) - 1
		}
		b := &out[at]
		b.of, b.batch, b.joined = append(b.of, s), append(b.batch, batch), append(b.joined, joined)
	}
	slices.SortFunc(out, func(a, b bin) int {
		if a.load != b.load {
			return a.load - b.load
		}
		return a.length - b.length
	})
	return out
}

// beside is the mean number of answers under way while that of request i is, itself
// included, and the number of others that began meanwhile.
func beside(all []Served, i int) (batch, joined float64) {
	s := &all[i]
	batch = 1
	for k := range all {
		if k == i {
			continue
		}
		o := &all[k]
		batch += max(0, min(s.Last, o.Last)-max(s.First, o.First)) / (s.Last - s.First)
		if o.First > s.First && o.First <= s.Last {
			joined++
		}
	}
	return batch, joined
}

func (b *bin) points(e *Endpoint) []Point {
	var tpot, ttft []float64
	var prompt, cached, output float64
	n := float64(len(b.of))
	for _, s := range b.of {
		tpot = append(tpot, (s.Last-s.First)/float64(s.Output-1))
		ttft = append(ttft, s.First-s.Sent)
		prompt += float64(s.Prompt) / n
		cached += float64(s.Cached) / n
		output += float64(s.Output) / n
	}
	config := fmt.Sprintf("%s %s %d load %d length %d", e.Source, e.Model.Name, e.TP, b.load, b.length)
	token := e.point(OpenLoop, config)
	token.Batch, token.Others = mean(b.batch), max(mean(b.joined), 1e-9)
	token.Input, token.Output, token.Cached = prompt, output, min(cached, prompt-1)
	token.Seconds = quantile(tpot, 0.5)
	first := token
	first.Kind, first.Seconds = FirstToken, quantile(ttft, 0.5)
	return []Point{token, first}
}

func mean(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}
