package openai

import (
	"bytes"

	"goodput/datasets"
	"goodput/loadgen/target"
)

// quote puts what the answer has said into the result. An answer that was not completed
// is not quoted, so nothing is told of it.
func (a *attempt) quote() {
	s := a.said
	switch {
	case a.result.Cause != target.CauseEOF || a.result.Status/100 != 2:
		return
	case s.Lost || a.c.cfg.TokenIDs && len(s.Text) == 0:
		a.result.AnswerLost = true
		return
	}
	q := &target.Quote{Key: a.req.OutKey, Tokens: a.req.Out, Text: bytes.Clone(s.Text), Reasoning: bytes.Clone(s.Reasoning), Field: s.Field}
	for _, c := range s.Calls {
		q.Calls = append(q.Calls, datasets.Call(c))
	}
	a.result.Answer = q
}
