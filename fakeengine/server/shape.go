package server

import (
	"strconv"
	"strings"
)

// headerShape asks for an answer of several parts; see the package documentation.
const headerShape = "X-Goodput-Shape"

// shape is how an answer to a chat is divided: reasoning, then text, then tool
// calls. The zero shape is text only.
type shape struct {
	reasoning int // tokens
	tool      int // tokens of one call; 0: no calls
	calls     int // 0 without tool
}

// maxCalls bounds the tool calls of one answer.
const maxCalls = 128

// parseShape reads the header's value, such as "reasoning=32,tool=16,calls=2".
func parseShape(s string) (shape, *apiError) {
	var out shape
	bad := func(what string) (shape, *apiError) {
		return shape{}, badRequest("", "the header %s is %q: %s; write it like reasoning=32,tool=16,calls=2, where every part may be left out", headerShape, s, what)
	}
	if s == "" {
		return out, nil
	}
	calls := 0
	for part := range strings.SplitSeq(s, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		to, ok := map[string]*int{"reasoning": &out.reasoning, "tool": &out.tool, "calls": &calls}[key]
		if !ok {
			return bad("there is no part " + strconv.Quote(key))
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > 1<<30 || *to != 0 {
			return bad(key + " must be given once, as a whole number from 1")
		}
		*to = n
	}
	switch {
	case calls > maxCalls:
		return bad("there can be at most " + strconv.Itoa(maxCalls) + " calls")
	case out.tool == 0 && calls > 0:
		return bad("calls need the tokens of one call in tool")
	case out.tool > 0:
		out.calls = max(1, calls)
	}
	return out, nil
}

// least is the number of tokens that the parts besides text take.
func (s shape) least() int { return s.reasoning + s.tool*s.calls }

// kind is what a token of an answer is part of.
type kind uint8

const (
	kindText kind = iota
	kindReasoning
	kindTool
)

// part is the one that token i of n is in, and the token at which it ends. Each
// tool call is a part.
func (s shape) part(i, n int) (k kind, end int) {
	tools := n - s.tool*s.calls
	switch {
	case i < s.reasoning:
		return kindReasoning, s.reasoning
	case i < tools:
		return kindText, tools
	}
	return kindTool, tools + ((i-tools)/s.tool+1)*s.tool
}
