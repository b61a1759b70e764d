package trace

import (
	"encoding/json"
	"errors"
	"strings"

	"goodput/datasets"
)

// object decodes the current line, which must be one JSON object.
func (l *lines) object(line []byte, to any) error {
	if err := decode(line, to); err != nil {
		return l.errorf(err.field, "%s", err.text)
	}
	return nil
}

// fieldError is what is wrong with a JSON value.
type fieldError struct{ field, text string }

// decode reads one JSON value and says which field is wrong.
func decode(b []byte, to any) *fieldError {
	err := json.Unmarshal(b, to)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case len(strings.TrimSpace(string(b))) == 0:
		return &fieldError{"row", "found a blank line, expected a JSON object"}
	case errors.As(err, &wrong):
		field := wrong.Field
		if field == "" {
			field = "row"
		}
		return &fieldError{field, "found a JSON " + wrong.Value + ", expected " + kindName(wrong.Type.Kind().String())}
	default:
		return &fieldError{"row", "found " + quote(b) + ", expected a JSON object (" + strings.TrimPrefix(err.Error(), "json: ") + ")"}
	}
}

func kindName(kind string) string {
	switch kind {
	case "int", "int32", "int64", "uint64", "uint32", "uint16":
		return "a whole number"
	case "string":
		return "a string or a number"
	case "slice":
		return "an array"
	case "struct", "map", "ptr":
		return "an object"
	}
	return "a " + kind
}

// lengths checks the tokens of a prompt and an answer.
func (l *lines) lengths(in, out *int, inName, outName string) error {
	for _, f := range []struct {
		v    *int
		name string
	}{{in, inName}, {out, outName}} {
		if f.v == nil {
			return l.errorf(f.name, "found none, expected it in every row")
		}
		if *f.v < 1 || *f.v > datasets.MaxTokens {
			return l.errorf(f.name, "found %d, expected a whole number from 1 to %d", *f.v, datasets.MaxTokens)
		}
	}
	return nil
}
