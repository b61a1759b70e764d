package extproc

import (
	"errors"
	"sync"
)

// maxHeld is how much of a body is kept for a picker that answers each piece with
// "unchanged". One that has not answered anything by then has to send it back itself.
const maxHeld = 16 << 20

var (
	errNotSent = errors.New("the picker answers a piece of a body that was not sent")
	errNotHeld = errors.New("the picker leaves a body as it is that it has held back for too long to be kept: it has to send it back")
	errAfter   = errors.New("the picker sends more of a body after its end")
)

// phase is the request or the answer of an exchange: its headers, then its body.
type phase struct {
	head   chan *answer // the answer to the headers
	pieces chan []byte  // of the body as it is to be; closed at its end
	left   chan struct{}
	leave  sync.Once // closes left: nobody wants pieces any more

	mu     sync.Mutex
	held   []sent // not yet answered
	bytes  int    // of held
	duplex bool   // the picker sends the body back; held is of no use
	ended  bool   // the last piece was answered
	owed   bool   // the last piece was sent
	free   bool   // the picker wants to see no more: the body goes on as it is
}

// sent is a piece that the picker was sent.
type sent struct {
	data []byte
	end  bool
}

// newPhase makes room for so many pieces that nobody has taken yet; then the picker waits.
func newPhase(room int) *phase {
	return &phase{head: make(chan *answer, 1), pieces: make(chan []byte, room), left: make(chan struct{})}
}

// abandon says that nobody wants the rest of the body.
func (p *phase) abandon() { p.leave.Do(func() { close(p.left) }) }

// note keeps a piece that is about to be sent. data must not change afterwards. free
// reports that there is nobody to send it to.
func (p *phase) note(data []byte, end bool) (free bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.owed = end
	switch p.bytes += len(data); {
	case p.free:
		return true
	case p.duplex:
	case p.bytes > maxHeld:
		p.held, p.duplex = nil, true
	default:
		p.held = append(p.held, sent{data, end})
	}
	return false
}

// push hands on a piece, unless nobody wants it; an end closes the body.
func (p *phase) push(data []byte, end bool) {
	if len(data) > 0 {
		select {
		case p.pieces <- data:
		case <-p.left:
		}
	}
	if end {
		close(p.pieces)
	}
}

// owes reports whether the picker has all of the body, and has not answered all.
func (p *phase) owes() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.owed && !p.ended
}

// answered is what the picker wants a piece of the body to be.
func (p *phase) answered(a *bodyAnswer) (data []byte, end bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		if a.change == unchanged || len(a.data) == 0 {
			return nil, false, nil // an answer too many does no harm
		}
		return nil, false, errAfter
	}
	if a.change == streamed {
		p.held, p.duplex, p.ended = nil, true, a.end
		return a.data, a.end, nil
	}
	if p.duplex {
		return nil, false, errNotHeld
	}
	if len(p.held) == 0 {
		return nil, false, errNotSent
	}
	was := p.held[0]
	p.held = p.held[1:]
	p.bytes -= len(was.data)
	p.ended = was.end
	switch a.change {
	case replaced:
		return a.data, was.end, nil
	case cleared:
		return nil, was.end, nil
	}
	return was.data, was.end, nil
}

// release is called when the picker has ended the stream in good order: what it was sent
// and has not answered goes on as it is, and so does the rest. ok is false if it had begun
// to send the body back, and not all of it.
func (p *phase) release() (held []sent, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	held, p.held, p.free = p.held, nil, true
	return held, !p.duplex || p.ended
}

// none says that there is no body.
func (p *phase) none() {
	p.mu.Lock()
	p.owed, p.ended = true, true
	p.mu.Unlock()
	close(p.pieces)
}

// sentAll reports whether the picker has all of the body.
func (p *phase) sentAll() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.owed
}

// headed takes the answer to headers.
func (p *phase) headed(a *answer) error {
	select {
	case p.head <- a:
	default:
		return errTwice
	}
	if a.replaces {
		return p.replace(a.body.data)
	}
	return nil
}

// take takes the answer to a piece of the body.
func (p *phase) take(a *bodyAnswer) error {
	data, end, err := p.answered(a)
	if err == nil {
		p.push(data, end)
	}
	return err
}

// replace ends the body with other content.
func (p *phase) replace(data []byte) error {
	p.mu.Lock()
	was := p.ended
	p.held, p.duplex, p.ended = nil, true, true
	p.mu.Unlock()
	if was {
		return errAfter
	}
	p.push(data, true)
	return nil
}
