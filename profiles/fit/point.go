package fit

import (
	"crypto/sha256"
	"encoding/binary"
	"math"

	"goodput/profiles"
)

// Kind is what a Point measures.
type Kind uint8

// The kinds.
const (
	DecodeStep  Kind = iota // one step of Batch answers
	PrefillStep             // one prefill of Batch prompts
	ClosedLoop              // mean time per token of Batch requests at any time, each replaced when it ends
	StaticBatch             // Batch requests that start together, until all are done
	Burst                   // the same, of which Running fit at a time
	OpenLoop                // mean time per token of Batch answers on average, as many arriving as leave
	FirstToken              // mean time from arrival to first token under that load
)

func (k Kind) String() string {
	return [...]string{
		"decode step", "prefill step", "closed-loop TPOT", "static batch", "burst", "open-loop TPOT", "TTFT",
	}[k]
}

// Point is one measurement, ready to be compared with a prediction.
type Point struct {
	Kind Kind
	// Source is who measured, Family of which kind of engine, Version which of it.
	Source, Family, Version string
	// Overlap: the engine prepares a step while the last one runs. Pipelined: an
	// arrival waits for the step behind the running one, too.
	Overlap, Pipelined bool
	Model              profiles.Model
	TP                 int
	// Batch is the number of sequences, Running how many of them run at a time where
	// that differs, Input and Output the tokens of each: means where they vary. Of a
	// prompt, Cached tokens are found in the prefix cache. A DecodeStep attends to
	// Input tokens.
	Batch, Running, Input, Output, Cached float64
	// Others is how many prompts join while an answer lasts; 0: as many as there are
	// answers.
	Others float64
	// Budget bounds the tokens of a step.
	Budget int
	// Seconds is what was measured.
	Seconds float64
	// Config names what was measured, whoever did it and with whichever version, so
	// that a configuration is on one side of a split.
	Config string
}

// fold is the part, of so many, in which a configuration is held out, chosen by its
// hash.
func fold(config string, folds int) int {
	sum := sha256.Sum256([]byte(config))
	return int(binary.BigEndian.Uint64(sum[:8]) % uint64(folds))
}

// Predict is what s says of the quantity that p measures, in seconds. frontEnd is
// what a request takes before its engine sees it.
func (p *Point) Predict(s Steps, frontEnd float64) float64 {
	switch p.Kind {
	case DecodeStep:
		return seconds(s, p.answers(p.Batch, p.Input))
	case PrefillStep:
		return p.prefill(s)
	case StaticBatch:
		// Contexts grow evenly, and a step is linear in them.
		return p.prefill(s) + max(p.Output-1, 1)*seconds(s, p.answers(p.Batch, p.Input+p.Output/2))
	case ClosedLoop:
		return p.steady(s, p.Batch, p.Batch-p.wave())
	case Burst:
		return p.Batch * p.Output / p.Running * p.steady(s, p.Running, p.Running)
	case OpenLoop:
		if p.Others > 0 {
			return p.steady(s, p.Batch, p.Others)
		}
		return p.steady(s, p.Batch, p.Batch)
	case FirstToken:
		return frontEnd + p.firstToken(s)
	}
	return math.NaN()
}

// answers is a step of batch answers that attend to context tokens each.
func (p *Point) answers(batch, context float64) Batch {
	n := max(1, round(batch))
	var b Batch
	b.add(n, max(0, round(context)-1), 1)
	b.Emit = n
	return b
}

// prefill is all prompts, in steps of as many whole ones as the budget takes. A
// prompt beyond the budget is one step.
func (p *Point) prefill(s Steps) float64 {
	batch, length := max(1, round(p.Batch)), max(1, round(p.Input))
	each := max(1, p.Budget/length)
	var sum float64
	for left := batch; left > 0; {
		n := min(left, each)
		steps := left / n // as many are equal
		var b Batch
		b.add(n, 0, length)
		b.Emit = n
		sum += float64(steps) * seconds(s, b)
		left -= steps * n
	}
	return sum
}

// steady is the mean step of batch answers of which others finish, and are
// replaced by new prompts, while one of them lasts.
func (p *Point) steady(s Steps, batch, others float64) float64 {
	b := p.answers(batch, p.Input+p.Output/2)
	plain := seconds(s, b)
	rate := others / p.Output // prompts per step
	if rate <= 0 {
		return plain
	}
	// Every step that carries prompts carries the same number.
	together := max(1, round(rate))
	return plain + rate/float64(together)*p.longer(s, b, plain, together)
}

// wave is how many prompts of a closed loop share a step: requests of equal length that
// started together end together, so that none of them sees the prompts of the others.
func (p *Point) wave() float64 {
	return max(1, min(p.Batch, math.Floor(float64(p.Budget)/max(1, p.Input))))
}

// longer is by how much prompts make the steps longer that they share with the
// answers b. One prompt beyond the budget takes several steps.
func (p *Point) longer(s Steps, b Batch, plain float64, prompts int) float64 {
	length, room := max(1, round(p.Input-p.Cached)), max(1, p.Budget-b.Seqs)
	if length <= room {
		b.add(prompts, round(p.Cached), length)
		b.Emit += prompts
		return seconds(s, b) - plain
	}
	var sum float64
	for done := 0; done < length; {
		n, m := min(room, length-done), b
		m.add(1, round(p.Cached)+done, n)
		if done += n; done == length {
			m.Emit++
		}
		sum += seconds(s, m) - plain
	}
	return float64(prompts) * sum
}

// firstToken is the wait of an arrival for the step that runs, if pipelined for the
// one behind it too, and the steps that compute its prompt.
func (p *Point) firstToken(s Steps) float64 {
	b := p.answers(p.Batch, p.Input+p.Output/2)
	plain := seconds(s, b)
	if p.Batch < 0.5 {
		// Nobody else is there: the prompt alone.
		b, plain = Batch{}, 0
	}
	wait := plain / 2
	if p.Pipelined {
		wait += plain
	}
	length, room := max(1, round(p.Input-p.Cached)), max(1, p.Budget-b.Seqs)
	steps := (length + room - 1) / room
	return wait + float64(steps)*plain + p.longer(s, b, plain, 1)
}

func round(x float64) int { return int(math.Round(x)) }
