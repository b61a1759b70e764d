package target

// Part is what token i of an answer of out tokens is, by its shape, and the token at
// which that part ends. Each call of a tool is a part.
func Part(s Shape, i, out int) (c Content, end int) {
	tools := out - s.Tool*s.Calls
	switch {
	case i < s.Reasoning:
		return Reasoning, s.Reasoning
	case i < tools || s.Tool == 0:
		return Text, max(tools, i+1)
	}
	return Tool, tools + ((i-tools)/s.Tool+1)*s.Tool
}
