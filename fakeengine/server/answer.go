package server

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
)

// answer is what one choice says. The engine decides when a token is there, but
// its text follows from the answer's key and its position. So all of it is known
// beforehand, and so is where a stop string or a stop token will come up.
type answer struct {
	key    uint64
	tokens int // it has so many, the one that stops it included
	shape  shape
	calls  []string // names of the functions, as JSON strings; used in turn

	reason []byte // of a stop, as JSON; nil: it did not stop
	text   int    // bytes that are shown of all its words
	hold   int    // bytes that are held back until it is known that no stop string ends in them
}

// stopRule is what may end an answer before max_tokens.
type stopRule struct {
	words   []string
	ids     []uint32
	min     int // tokens before which nothing stops
	include bool
}

func (r *stopRule) empty() bool { return len(r.words) == 0 && len(r.ids) == 0 }

// newAnswer lays out an answer of up to limit tokens.
func newAnswer(key uint64, limit int, s shape, r *stopRule) answer {
	a := answer{key: key, tokens: limit, shape: s, text: limit * wordLen}
	if !r.empty() {
		a.stop(r)
	}
	return a
}

// stop finds where the answer ends as vLLM does: after each token it looks for a
// stop token, and then for a stop string that ends within the token's text.
func (a *answer) stop(r *stopRule) {
	longest := 0
	for _, s := range r.words {
		longest = max(longest, len(s))
	}
	if longest > 0 && !r.include {
		a.hold = longest - 1
	}
	var window []byte // the last bytes, in which a stop string could end
	for i := range a.tokens {
		var word [wordLen]byte
		putWord(word[:], a.key, i)
		window = append(window, word[:]...)
		window = window[max(0, len(window)-longest-wordLen):]
		if i < r.min {
			continue
		}
		if id := wordID(&word); slices.Contains(r.ids, id) {
			a.end(i, i*wordLen, wordLen, strconv.AppendUint(nil, uint64(id), 10), r.include)
			return
		}
		for _, s := range r.words {
			// From where a match would end in this token.
			from := max(0, len(window)-wordLen-len(s)+1)
			if at := bytes.Index(window[from:], []byte(s)); at >= 0 {
				start := (i+1)*wordLen - len(window) + from + at
				a.end(i, start, len(s), appendString(nil, s), r.include)
				return
			}
		}
	}
}

// end makes token i the last one; what stopped the answer are n bytes from start.
func (a *answer) end(i, start, n int, reason []byte, include bool) {
	a.tokens, a.reason, a.text = i+1, reason, start
	if include {
		a.text += n
	}
}

// stopAt is the token that the engine has to end with; 0: none before the limit.
func (a *answer) stopAt() int {
	if a.reason == nil {
		return 0
	}
	return a.tokens
}

// finish is the finish_reason.
func (a *answer) finish() string {
	switch {
	case a.reason != nil:
		return "stop"
	case a.shape.calls > 0:
		return "tool_calls"
	}
	return "length"
}

// appendStopReason appends the stop_reason.
func (a *answer) appendStopReason(dst []byte) []byte {
	if a.reason == nil {
		return append(dst, "null"...)
	}
	return append(dst, a.reason...)
}

// shown is how many bytes of text a client has seen after n tokens.
func (a *answer) shown(n int) int {
	if n == a.tokens {
		return a.text
	}
	return max(0, min(n*wordLen-a.hold, a.text))
}

// appendText appends bytes from to to of the words. They need no escapes.
func (a *answer) appendText(dst []byte, from, to int) []byte {
	for from < to {
		var word [wordLen]byte
		putWord(word[:], a.key, from/wordLen)
		at := from % wordLen
		n := min(wordLen-at, to-from)
		dst = append(dst, word[at:at+n]...)
		from += n
	}
	return dst
}

// appendWords appends the whole words of tokens from to to.
func (a *answer) appendWords(dst []byte, from, to int) []byte {
	return a.appendText(dst, from*wordLen, to*wordLen)
}

// appendTokenIDs appends the field of the numbers of tokens from to to.
func (a *answer) appendTokenIDs(dst []byte, from, to int) []byte {
	dst = append(dst, `,"token_ids":[`...)
	for i := from; i < to; i++ {
		if i > from {
			dst = append(dst, ',')
		}
		var word [wordLen]byte
		putWord(word[:], a.key, i)
		dst = strconv.AppendUint(dst, uint64(wordID(&word)), 10)
	}
	return append(dst, ']')
}

// call is the number of the tool call that token i is in, and the first of its
// tokens.
func (a *answer) call(i int) (number, first int) {
	tools := a.tokens - a.shape.tool*a.shape.calls
	number = (i - tools) / a.shape.tool
	return number, tools + number*a.shape.tool
}

// appendArguments appends what tokens from to to of one tool call add to its
// arguments, as the inside of a JSON string. The first token of a call is its
// name. The others are an object with one text, whatever the function's schema
// says.
func (a *answer) appendArguments(dst []byte, from, to int) []byte {
	_, first := a.call(from)
	if a.shape.tool == 1 {
		return append(dst, "{}"...)
	}
	for i := from; i < to; i++ {
		if i == first {
			continue
		}
		if i == first+1 {
			dst = append(dst, `{\"text\":\"`...)
		}
		dst = a.appendWords(dst, i, i+1)
		if i == first+a.shape.tool-1 {
			dst = append(dst, `\"}`...)
		}
	}
	return dst
}

// appendCall appends the fields that begin tool call number k: its id, kind and
// the name of the function, up to the arguments' opening quote.
func (a *answer) appendCall(dst []byte, k int) []byte {
	dst = append(dst, `"id":"call_`...)
	dst = strconv.AppendUint(dst, mix(a.key^uint64(k+1)), 16)
	dst = append(dst, `","type":"function","function":{"name":`...)
	dst = append(dst, a.calls[k%len(a.calls)]...)
	return append(dst, `,"arguments":"`...)
}

// names appends to dst, emptied, the names of the full blocks of the prompt and of the
// answer behind it: those that a later prompt has which quotes the answer.
func (a *answer) names(dst []uint64, prompt *tokenizer, by api) []uint64 {
	t := *prompt
	t.names = append(dst[:0], prompt.names...)
	t.keep = false
	if by == chat {
		t.role("assistant")
	}
	for i := range a.tokens {
		if k, _ := a.shape.part(i, a.tokens); k == kindTool {
			if n, first := a.call(i); i == first {
				t.text(a.function(n))
				continue
			}
		}
		var word [wordLen]byte
		putWord(word[:], a.key, i)
		t.piece(string(word[1:]))
	}
	return t.names
}

// function is the name of tool call k.
func (a *answer) function(k int) string {
	var name string
	if json.Unmarshal([]byte(a.calls[k%len(a.calls)]), &name) != nil {
		return ""
	}
	return name
}
