package datasets

import "strconv"

// Shape says what the tokens of an answer are: the first Reasoning, the last Calls times
// Tool calls of tools, and those between them text. The zero value is text only.
type Shape struct{ Reasoning, Tool, Calls int }

// mostShapeCalls bounds the calls of one answer.
const mostShapeCalls = 128

// String is the shape as reasoning=32,tool=16,calls=2, without the parts that it lacks.
func (s Shape) String() string {
	out := ""
	if s.Reasoning > 0 {
		out = "reasoning=" + strconv.Itoa(s.Reasoning)
	}
	if s.Calls > 0 {
		if out != "" {
			out += ","
		}
		out += "tool=" + strconv.Itoa(s.Tool) + ",calls=" + strconv.Itoa(s.Calls)
	}
	return out
}

// Shape is that of the answer of step i: it calls as many tools as the next step has the
// results of, each with an equal part of what is not reasoning.
func (t *Thread) Shape(i int) Shape {
	st := &t.Steps[i]
	s := Shape{Reasoning: min(st.Reasoning, st.Out)}
	if i+1 == len(t.Steps) || t.Steps[i+1].Keep != st.In+st.Out {
		return s
	}
	said := st.Out - s.Reasoning
	if s.Calls = min(callsFor(t.Steps[i+1].Append), said, mostShapeCalls); s.Calls > 0 {
		s.Tool = said / s.Calls
	}
	return s
}

// callsFor is the number of results that spans begin with.
func callsFor(spans []Span) int {
	n := 0
	for i, s := range spans {
		if s.Role != Tool {
			break
		}
		n += int(s.Calls)
		if i == 0 && n == 0 {
			n = 1
		}
	}
	return n
}
