package trace

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// shareGPT reads the JSON array of ShareGPT conversations. Each pair of a human
// text and an answer is a row whose prompt keeps everything before it. Lengths are
// estimated from the text.
type shareGPT struct {
	d       *documents
	pairs   []pair // of the current conversation, still to be given out
	name    string
	context int // tokens of the last prompt and answer
	useless int
	answer  int // length of all answers; 0: their own
}

type pair struct{ human, gpt string }

func newShareGPT(r io.Reader, path string, o Options) (source, error) {
	d, err := newDocuments(r, path)
	if err != nil {
		return nil, err
	}
	return &shareGPT{d: d, answer: o.AnswerLen}, nil
}

func (*shareGPT) traits() Traits { return Traits{Identified: true, Estimated: true} }

func (s *shareGPT) dropped() (int, string) {
	return s.useless, "conversations that do not begin with a human text and its answer"
}

// conversation is an element of the array.
type conversation struct {
	ID            json.RawMessage `json:"id"`
	Conversations *[]struct {
		From  string `json:"from"`
		Value string `json:"value"`
	} `json:"conversations"`
}

func (s *shareGPT) next(r *Row) error {
	for len(s.pairs) == 0 {
		if err := s.open(); err != nil {
			return err
		}
	}
	p := s.pairs[0]
	s.pairs = s.pairs[1:]
	r.alone()
	human := textSpan("human", []byte(p.human))
	r.Line, r.Session, r.Keep, r.Append = s.d.line, s.name, s.context, append(r.Append, human)
	r.In, r.Out = s.context+human.Tokens, textTokens(len(p.gpt))
	if s.answer > 0 {
		r.Out = s.answer
	}
	s.context = r.In + r.Out
	return nil
}

// open reads the next conversation.
func (s *shareGPT) open() error {
	raw, err := s.d.next()
	if err != nil {
		return err
	}
	var c conversation
	if err := s.d.object(raw, &c); err != nil {
		return err
	}
	if c.Conversations == nil {
		return s.d.errorf("conversations", "found none, expected it in every conversation")
	}
	turns := *c.Conversations
	s.context = 0
	// Ids repeat in public copies, so the number is part of the name.
	s.name = fmt.Sprintf("%d:%s", s.d.n, strings.Trim(string(c.ID), `"`))
	for i := 0; i+1 < len(turns) && isHuman(turns[i].From) && !isHuman(turns[i+1].From); i += 2 {
		s.pairs = append(s.pairs, pair{turns[i].Value, turns[i+1].Value})
	}
	if len(s.pairs) == 0 {
		s.useless++
	}
	return nil
}

func isHuman(from string) bool { return from == "human" || from == "user" }
