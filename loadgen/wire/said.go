package wire

// Said gathers what the payloads of one answer say, as it stands in them: parts of JSON
// strings with their escapes, so that a later body can hold them byte for byte. Of
// several choices it is the first.
//
// It walks the JSON as Probe does, and has no slow path: an answer with a payload that
// it does not expect, or above Limit bytes, is Lost. A Said is for one goroutine.
type Said struct {
	// API is the one whose payloads are read. TokenIDs gathers the numbers of the tokens
	// of a completion (return_token_ids, an extension of vLLM) and not their text.
	API      API
	TokenIDs bool
	// Limit bounds what is kept, in bytes; 0: nothing is.
	Limit int

	// Text goes between the quotes of a JSON string, or between the brackets of an
	// array of numbers.
	Text  []byte
	Calls []Call
	// Reasoning is what stood in the fields Field of a chat's deltas: reasoning, or
	// reasoning_content. It goes between the quotes of a JSON string.
	Reasoning []byte
	Field     string
	// Lost: something of the answer is missing in Text and Calls.
	Lost bool
}

// Call is one call of a tool. Each part goes between the quotes of a JSON string.
type Call struct{ ID, Name, Arguments []byte }

// Read adds what a payload says.
func (s *Said) Read(payload []byte) {
	if s.Lost {
		return
	}
	cur := cursor{b: payload}
	before := s.size()
	ok := false
	if s.API == Responses {
		ok = s.event(&cur)
	} else {
		ok = s.chunk(&cur)
	}
	if now := s.size(); !ok || now > s.Limit && now > before {
		s.Text, s.Calls, s.Reasoning, s.Lost = nil, nil, nil, true
	}
}

func (s *Said) size() int {
	n := len(s.Text) + len(s.Reasoning)
	for i := range s.Calls {
		c := &s.Calls[i]
		n += len(c.ID) + len(c.Name) + len(c.Arguments)
	}
	return n
}

// fields walks an object, and has take read the value of each key.
func (cur *cursor) fields(take func(key string) bool) bool {
	if cur.null() {
		return true
	}
	if !cur.open('{') {
		return false
	}
	for more := cur.first('}'); more; more = cur.more('}') {
		key := cur.key()
		if cur.bad || !take(string(key)) {
			return cur.fail()
		}
	}
	return !cur.bad
}

// chunk reads a chunk of a completion or a chat.
func (s *Said) chunk(cur *cursor) bool {
	return cur.fields(func(key string) bool {
		if key != "choices" {
			return cur.skip(0)
		}
		if cur.null() {
			return true
		}
		if !cur.open('[') {
			return false
		}
		n := 0
		for more := cur.first(']'); more; more = cur.more(']') {
			if n++; n > 1 && !cur.skip(0) || n == 1 && !s.choice(cur) {
				return false
			}
		}
		return !cur.bad
	})
}

func (s *Said) choice(cur *cursor) bool {
	return cur.fields(func(key string) bool {
		switch {
		case key == "token_ids" && s.TokenIDs:
			return s.numbers(cur)
		case key == "text" && !s.TokenIDs:
			return cur.piece(&s.Text)
		case key == "delta":
			return cur.fields(func(key string) bool {
				switch key {
				case "content":
					return cur.piece(&s.Text)
				case "reasoning":
					return s.thought(cur, "reasoning")
				case "reasoning_content":
					return s.thought(cur, "reasoning_content")
				case "tool_calls":
					return s.calls(cur)
				case "function_call":
					return cur.null() // there is no id by which a result could answer it
				}
				return cur.skip(0)
			})
		}
		return cur.skip(0)
	})
}

// thought reads reasoning. Some servers send it under both names; the first one counts.
func (s *Said) thought(cur *cursor, field string) bool {
	if cur.null() {
		return true
	}
	if s.Field == "" {
		s.Field = field
	}
	if s.Field != field {
		return cur.skip(0)
	}
	return cur.piece(&s.Reasoning)
}

// piece appends what a string holds; null is nothing.
func (cur *cursor) piece(dst *[]byte) bool {
	if cur.null() {
		return true
	}
	text, ok := cur.str()
	*dst = append(*dst, text...)
	return ok
}

// numbers appends the elements of an array of counts.
func (s *Said) numbers(cur *cursor) bool {
	if cur.null() {
		return true
	}
	if !cur.open('[') {
		return false
	}
	for more := cur.first(']'); more; more = cur.more(']') {
		cur.peek()
		from, n := cur.i, Unknown
		if !cur.count(&n) || n == Unknown {
			return false
		}
		if len(s.Text) > 0 {
			s.Text = append(s.Text, ',')
		}
		s.Text = append(s.Text, cur.b[from:cur.i]...)
	}
	return !cur.bad
}

// mostCalls bounds the number of a call within an answer.
const mostCalls = 128

// calls reads the deltas of calls, each of which names its call by its index.
func (s *Said) calls(cur *cursor) bool {
	if cur.null() {
		return true
	}
	if !cur.open('[') {
		return false
	}
	for more := cur.first(']'); more; more = cur.more(']') {
		var part Call
		index := 0
		ok := cur.fields(func(key string) bool {
			switch key {
			case "index":
				return cur.count(&index)
			case "id":
				return cur.piece(&part.ID)
			case "function":
				return cur.fields(func(key string) bool {
					switch key {
					case "name":
						return cur.piece(&part.Name)
					case "arguments":
						return cur.piece(&part.Arguments)
					}
					return cur.skip(0)
				})
			}
			return cur.skip(0)
		})
		if !ok || index > len(s.Calls) || index >= mostCalls {
			return false
		}
		if index == len(s.Calls) {
			s.Calls = append(s.Calls, Call{})
		}
		c := &s.Calls[index]
		c.ID, c.Name = append(c.ID, part.ID...), append(c.Name, part.Name...)
		c.Arguments = append(c.Arguments, part.Arguments...)
	}
	return !cur.bad
}

// event reads an event of the responses API.
func (s *Said) event(cur *cursor) bool {
	text, said := []byte(nil), false
	ok := cur.fields(func(key string) bool {
		switch key {
		case "type":
			name, ok := cur.str()
			said = string(name) == "response.output_text.delta"
			return ok
		case "delta":
			if cur.peek() == '"' {
				return cur.piece(&text)
			}
		}
		return cur.skip(0)
	})
	if said {
		s.Text = append(s.Text, text...)
	}
	return ok
}
