package trace

import "encoding/json"

// wekaIDs are the hash ids of a request, up to thousands, which is most of a file.
type wekaIDs []int64

var _ json.Unmarshaler = (*wekaIDs)(nil)

// UnmarshalJSON reads them without reflection, which would take most of the time of
// reading a file. What it can't read it leaves to package json, for its error.
func (w *wekaIDs) UnmarshalJSON(b []byte) error {
	s := jsonScanner{rest: b}
	if !s.accept('[') {
		return json.Unmarshal(b, (*[]int64)(w))
	}
	ids := make([]int64, 0, 1+len(b)/8) // most have five digits or more, and a comma
	for more := !s.accept(']'); more; more = s.accept(',') {
		id, ok := s.int()
		if !ok {
			return json.Unmarshal(b, (*[]int64)(w))
		}
		ids = append(ids, id)
	}
	*w = ids // package json has seen that the array ends here
	return nil
}
