package openai

import (
	"bytes"
	"io"

	"goodput/loadgen/clock"
	"goodput/loadgen/target"
	"goodput/loadgen/wire"
)

// stream reads an event stream to its end.
func (a *attempt) stream(body io.Reader) {
	s := a.scanner
	s.Reset(body)
	for {
		n, err := s.Fill()
		at := a.c.stamp()
		a.result.BytesIn += int64(n)
		a.late(at)
		a.batch = 0
		for s.Next() {
			a.payload(at, s.Data())
		}
		switch {
		case s.Err() != nil:
			a.blame(target.CauseStreamError, s.Err().Error())
			return
		case err == io.EOF:
			a.closed(at)
			return
		case err != nil:
			a.failed(err)
			return
		}
	}
}

// closed judges what is left at an orderly end of the body. Some servers leave
// out the blank line after the terminal marker; a shorter one than that is a cut.
func (a *attempt) closed(at clock.Time) {
	rest, ok := a.scanner.Rest()
	rest = bytes.TrimSpace(rest)
	switch {
	case !ok || len(rest) == 0:
	case string(rest) == "[DONE]":
		a.payload(at, rest)
	default:
		a.blame(target.CauseTruncated, "the body ended within an event")
	}
}

// payload reports one event of the stream. An empty one is a keep-alive.
func (a *attempt) payload(at clock.Time, data []byte) {
	if len(data) == 0 {
		return
	}
	c := &a.chunk
	a.probe.Read(data, c)
	if a.said != nil && c.Kind == wire.Delta {
		a.said.Read(data)
	}
	switch c.Kind {
	case wire.Done:
		a.emit(target.Event{At: at, Kind: target.Done})
		return
	case wire.Failed:
		a.blame(target.CauseStreamError, "error in the stream: "+c.Message)
		return
	case wire.Malformed:
		a.blame(target.CauseStreamError, "malformed chunk: "+c.Message)
		return
	}
	if content, ok := a.content(c); ok {
		a.emit(target.Event{At: at, Kind: target.Token, Content: content, N: a.held(c)})
	}
	if c.Finish != "" {
		a.emit(target.Event{At: at, Kind: target.Finished, Reason: c.Finish})
	}
	if c.Counted {
		a.usage = target.Usage(c.Usage)
		a.emit(target.Event{At: at, Kind: target.UsageSeen, Usage: &a.usage})
	}
	if c.Last {
		a.emit(target.Event{At: at, Kind: target.Done})
	}
}

// held is how many tokens a chunk holds, by the difference between its usage and that of
// the chunk with tokens before it; 0: unknown. The length of the text never says it.
func (a *attempt) held(c *wire.Chunk) int {
	if c.Content <= wire.Role || c.Usage.Completion == wire.Unknown {
		return 0
	}
	n := c.Usage.Completion - a.told
	a.told = c.Usage.Completion
	return max(0, n)
}

// whole reads an answer that is no stream. It is there when its last byte is; when its
// tokens were made is not known, so there is no Token event.
func (a *attempt) whole(body io.Reader) {
	text, err := io.ReadAll(io.LimitReader(body, maxWholeBytes+1))
	at := a.c.stamp()
	a.result.BytesIn = int64(len(text))
	a.late(at)
	switch {
	case err != nil:
		a.failed(err)
		return
	case len(text) > maxWholeBytes:
		a.blame(target.CauseStreamError, "the answer is longer than 64 MiB")
		return
	}
	c := &a.chunk
	switch wire.Whole(a.c.cfg.API, text, c); {
	case c.Kind == wire.Failed:
		a.blame(target.CauseStreamError, "error in the answer: "+c.Message)
		return
	case c.Kind == wire.Malformed:
		a.blame(target.CauseStreamError, "malformed answer: "+c.Message)
		return
	case !c.Last && a.c.cfg.API == wire.Embeddings:
		a.blame(target.CauseTruncated, "the answer holds no vector")
		return
	case !c.Last:
		a.blame(target.CauseTruncated, "the answer does not say why it ends")
		return
	}
	a.usage = target.Usage(c.Usage)
	a.emit(target.Event{At: at, Kind: target.Finished, Reason: c.Finish})
	a.emit(target.Event{At: at, Kind: target.UsageSeen, Usage: &a.usage})
	a.emit(target.Event{At: at, Kind: target.Done})
}

// content is that of a chunk's Token event; false: it has none.
func (a *attempt) content(c *wire.Chunk) (target.Content, bool) {
	content := target.Role
	switch c.Content {
	case wire.None:
		return 0, false
	case wire.Role:
		return target.Role, c.Finish == ""
	case wire.Text:
		content = target.Text
	case wire.Reasoning:
		content = target.Reasoning
	case wire.Tool:
		content = target.Tool
	}
	if !a.answering.Load() {
		a.answering.Store(true)
	}
	return content, true
}

// emit reports an event that a read completed.
func (a *attempt) emit(e target.Event) {
	e.Coalesced = a.batch > 0
	a.batch++
	a.sink.Event(e)
}
