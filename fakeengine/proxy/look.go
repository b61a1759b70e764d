package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/cespare/xxhash/v2"

	"goodput/fakeengine/router"
)

const (
	// maxLook is how much of a body is looked into; a longer one has no prefix for the
	// rules, and its rest goes through unseen.
	maxLook = 8 << 20
	// block is the number of tokens of which a prompt's hashes are, and blockBytes the
	// bytes of text that are taken for so many: four a token.
	block      = 16
	blockBytes = 4 * block
	// maxBlocks bounds the hashes of one prompt.
	maxBlocks = 1 << 16
	// headerSession names a conversation.
	headerSession = "X-Session-Id"
)

// asked is what rules want to know of a request's body.
type asked struct {
	Model       string          `json:"model"`
	Prompt      json.RawMessage `json:"prompt"`
	Input       json.RawMessage `json:"input"`
	Messages    json.RawMessage `json:"messages"`
	MaxTokens   int             `json:"max_tokens"`
	MaxComplete int             `json:"max_completion_tokens"`
	MaxOutput   int             `json:"max_output_tokens"`
	CacheSalt   string          `json:"cache_salt"`
	User        string          `json:"user"`
}

// look reads what the rules want to know, and returns the body as it came.
func (p *Proxy) look(in *http.Request) (*router.Request, content, error) {
	r := &router.Request{Block: block, InTokens: 1, MaxOut: 1}
	if s := in.Header.Get(headerSession); s != "" {
		r.Session = max(1, xxhash.Sum64String(s))
	}
	if in.Method != http.MethodPost || in.ContentLength == 0 {
		return r, content{rest: in.Body, none: in.ContentLength == 0}, nil
	}
	head, err := io.ReadAll(io.LimitReader(in.Body, maxLook))
	if err != nil {
		return nil, content{}, fmt.Errorf("reading the request: %w", err)
	}
	r.InTokens = max(1, len(head)/4)
	if len(head) == maxLook {
		return r, content{head: head, rest: in.Body}, nil
	}
	// A body that is not JSON goes through: the backend has the right words for it.
	var a asked
	if json.Unmarshal(head, &a) == nil {
		p.fill(r, &a)
	}
	return r, content{head: head}, nil
}

// content is the body of a request: what was looked into, and the rest; rest nil: there
// is none, and the body can be read again.
type content struct {
	head []byte
	rest io.Reader
	none bool // there is no body
}

func (c content) reader() io.Reader {
	if c.rest == nil {
		return bytes.NewReader(c.head)
	}
	return io.MultiReader(bytes.NewReader(c.head), c.rest)
}

// fill sets what a body says.
func (p *Proxy) fill(r *router.Request, a *asked) {
	r.MaxOut = max(1, a.MaxTokens, a.MaxComplete, a.MaxOutput)
	for _, tenant := range []string{a.CacheSalt, a.User} {
		if r.Tenant == 0 && tenant != "" {
			r.Tenant = max(1, xxhash.Sum64String(tenant))
		}
	}
	p.mu.Lock()
	r.Adapter = p.names.number(a.Model)
	wanted := p.fleet.Reads(router.PrefixHashes)
	p.mu.Unlock()
	text := a.Prompt
	for _, other := range []json.RawMessage{a.Messages, a.Input} {
		if len(text) == 0 {
			text = other
		}
	}
	r.InTokens = max(1, len(text)/4)
	if wanted {
		r.Prefix = hashes(text, xxhash.Sum64String(a.Model+"\x00"+a.CacheSalt))
	}
}

// hashes chains the blocks of a prompt, as JSON has it. The last, partial block has
// none. seed keeps prompts apart that share no cache.
func hashes(text []byte, seed uint64) []uint64 {
	n := min(len(text)/blockBytes, maxBlocks)
	out := make([]uint64, 0, n)
	var d xxhash.Digest
	h := seed
	for i := range n {
		d.ResetWithSeed(h)
		_, _ = d.Write(text[i*blockBytes : (i+1)*blockBytes]) // never fails
		h = d.Sum64()
		out = append(out, h)
	}
	return out
}

// adapters numbers the model names of requests in the order in which they come.
type adapters struct{ of map[string]uint16 }

// maxAdapters bounds the names that are told apart; all further ones are alike.
const maxAdapters = 4096

func (a *adapters) number(model string) uint16 {
	if model == "" {
		return 0
	}
	if n, ok := a.of[model]; ok {
		return n
	}
	if len(a.of) >= maxAdapters {
		return maxAdapters + 1
	}
	if a.of == nil {
		a.of = make(map[string]uint16)
	}
	n := uint16(len(a.of) + 1)
	a.of[model] = n
	return n
}
