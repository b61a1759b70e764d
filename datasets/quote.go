package datasets

// Quote is an answer as a server gave it, for prompts that quote it in place of the
// planned text. Its bytes are parts of JSON as they came, and are not changed any more.
type Quote struct {
	// Key and Tokens are those of the planned answer's Span. A span of fewer tokens is
	// not quoted: nobody but the server can cut its text by tokens.
	Key    uint64
	Tokens int
	// Text is what goes between the quotes of a JSON string, or between the brackets of
	// an array of token numbers.
	Text []byte
	// Reasoning went before it, under the name Field; it goes between quotes too.
	Reasoning []byte
	Field     string
	// Calls are the tools that the answer called.
	Calls []Call
}

// Call is one call of a tool. Each part goes between the quotes of a JSON string.
type Call struct{ ID, Name, Arguments []byte }

// Of reports whether the span is the whole of the quoted answer.
func (q *Quote) Of(s Span) bool { return q.Key == s.Key && q.Tokens == s.Tokens && s.Role == Assistant }

// KeepQuotes drops the quotes that none of the spans is of, in place. Both are in the
// order of the conversation.
func KeepQuotes(quotes []Quote, spans []Span) []Quote {
	out := quotes[:0]
	for _, s := range spans {
		i := Quoted(quotes, s)
		if i < 0 {
			continue
		}
		out = append(out, quotes[i])
		quotes = quotes[i+1:]
	}
	return out
}

// Quoted is the index of the first quote that the span is of; -1: there is none.
func Quoted(quotes []Quote, s Span) int {
	if s.Role != Assistant {
		return -1
	}
	for i := range quotes {
		if quotes[i].Of(s) {
			return i
		}
	}
	return -1
}
