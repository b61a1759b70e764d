package trace

import (
	"fmt"
	"math"

	"goodput/datasets"
)

// nativeSpan is a span in a line of our own format: its key and tokens and, in a
// planned row, its role (0 user, 1 system, 2 assistant, 3 tool), its Calls, and 1 if
// it is Private; zeros at the end are left out.
func nativeSpan(s datasets.Span, planned bool) []uint64 {
	out := []uint64{s.Key, uint64(s.Tokens)}
	if !planned {
		return out
	}
	switch {
	case s.Private:
		return append(out, uint64(s.Role), uint64(s.Calls), 1)
	case s.Calls > 0:
		return append(out, uint64(s.Role), uint64(s.Calls))
	case s.Role > 0:
		return append(out, uint64(s.Role))
	}
	return out
}

// readSpan is the inverse of nativeSpan; why says what is wrong.
func readSpan(numbers []uint64, planned bool) (s datasets.Span, why string) {
	n := len(numbers)
	switch {
	case n < 2:
		return s, fmt.Sprintf("found a span of %d numbers, expected its key and tokens", n)
	case n > 2 && !planned:
		return s, fmt.Sprintf("found a span of %d numbers, expected 2: only planned files, which the first line tells, have more", n)
	case n > 5:
		return s, fmt.Sprintf("found a span of %d numbers, expected key, tokens, role, calls and whether it is private", n)
	case numbers[1] < 1 || numbers[1] > datasets.MaxTokens:
		return s, fmt.Sprintf("found a span of %d tokens, expected 1 to %d", numbers[1], datasets.MaxTokens)
	}
	var all [5]uint64
	copy(all[:], numbers)
	switch {
	case all[2] > uint64(datasets.Tool):
		return s, fmt.Sprintf("found role %d, expected 0 (user) to %d (tool)", all[2], datasets.Tool)
	case all[3] > math.MaxUint8:
		return s, fmt.Sprintf("found %d calls, expected at most %d", all[3], math.MaxUint8)
	case all[4] > 1:
		return s, fmt.Sprintf("found %d for whether a span is private, expected 0 or 1", all[4])
	}
	return datasets.Span{Key: all[0], Tokens: int(all[1]), Role: datasets.Role(all[2]), Calls: uint8(all[3]), Private: all[4] == 1}, ""
}

// planned reads the fields of planned rows, which others must not have.
func (n *native) planned(r *Row, row *nativeRow) error {
	named := row.Prefix != 0 || row.Conversation != 0 || row.Turn != 0
	switch {
	case !n.header.Planned && (row.OutKey != nil || row.Reasoning != 0 || row.Name != "" || named):
		return n.l.errorf("row", "found out_key, reasoning, name, prefix, conversation or turn, expected none: only planned files, which the first line tells, have them")
	case !n.header.Planned:
		return nil
	case row.OutKey == nil:
		return n.l.errorf("out_key", "found none, expected it in every planned row")
	case row.Reasoning < 0 || row.Reasoning > r.Out:
		return n.l.errorf("reasoning", "found %d, expected 0 to the %d tokens of out", row.Reasoning, r.Out)
	case r.Session == "" && (r.Keep > 0 || row.Name != ""):
		return n.l.errorf("session", "found none in a row with keep or name, expected one")
	case r.Session != "" && named:
		return n.l.errorf("session", "found one in a row with prefix, conversation or turn, expected none")
	case row.Turn > 0 && row.Conversation == 0:
		return n.l.errorf("turn", "found %d without a conversation, expected one", row.Turn)
	}
	n.sessions = n.sessions || r.Session != ""
	n.conversations = n.conversations || row.Conversation != 0
	if n.sessions && n.conversations {
		return n.l.errorf("row", "found both sessions and conversations in a file, expected one of them")
	}
	r.OutKey, r.Reasoning, r.Name = *row.OutKey, row.Reasoning, row.Name
	r.Prefix, r.Conversation, r.Turn = row.Prefix, row.Conversation, row.Turn
	return nil
}
