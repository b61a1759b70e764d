package wire

// Content says what the deltas of a chunk carry. The order is the order of
// precedence: a chunk with several kinds counts as the greatest, so that it
// stays one output.
type Content uint8

// The kinds of content.
const (
	None      Content = iota // no choices at all, as in a chunk that only carries usage
	Role                     // choices whose deltas are empty or only name the role
	Reasoning                // reasoning_content or reasoning
	Tool                     // tool_calls or function_call
	Text                     // content, refusal, or the text of a completion
)

// Kind says what a payload is.
type Kind uint8

// The kinds.
const (
	Delta     Kind = iota // a JSON object without error
	Done                  // the terminal marker [DONE]
	Failed                // an error object; Message says more
	Malformed             // not a JSON object; Message says why
)

// Unknown marks a count that the server did not report.
const Unknown = -1

// Usage holds the server's token counts; a field left out is Unknown.
type Usage struct {
	Prompt, Completion, Cached, Reasoning int
}

// Chunk is what a measurement needs of one payload. With several choices
// (n > 1) the content of any of them counts, and Finish is the first one given.
type Chunk struct {
	Kind    Kind
	Content Content
	// Finish is the finish_reason; "" is none yet.
	Finish string
	// Last says that the payload is the terminal marker beside what else it is, as in the
	// responses API.
	Last bool
	// Counted says that Usage holds at least one of the two totals.
	Counted bool
	Usage   Usage
	// Message is for people: the server's error text, or why it is Malformed, with
	// the payload. It may be long; Clip it before it is shown.
	Message string
}

var blank = Chunk{Usage: Usage{Unknown, Unknown, Unknown, Unknown}}
