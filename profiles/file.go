package profiles

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// FileError is what is wrong with a profile, and where.
type FileError struct {
	File  string
	Line  int    // 1 where a field is missing from the top level
	Field string // its path, such as fp8.peak_flops; empty: the file as a whole
	Why   string
}

// Error says file:line: field: reason.
func (e *FileError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Why)
	}
	return fmt.Sprintf("%s:%d: %s: %s", e.File, e.Line, e.Field, e.Why)
}

// ReadGPU reads a GPU profile that is not among the embedded ones, such as a fitted
// one. file is for messages; the first thing that is wrong is returned, as a
// *FileError.
func ReadGPU(file string, data []byte) (GPU, error) {
	var g GPU
	if err := decode(data, &g); err != nil {
		return GPU{}, undecoded(file, err)
	}
	if g.Name == "" {
		return GPU{}, &FileError{file, 1, "name", "is missing: need that of the GPU that the profile is for"}
	}
	if err := g.validate(); err != nil {
		return GPU{}, locate(file, data, firstOf(err))
	}
	return g, nil
}

// undecoded keeps message and line of a YAML error.
func undecoded(file string, err error) error {
	e := &FileError{File: file, Line: 1, Why: err.Error()}
	if y, ok := errors.AsType[yaml.Error](err); ok {
		e.Why = y.GetMessage()
		if t := y.GetToken(); t != nil && t.Position != nil {
			e.Line = t.Position.Line
		}
	}
	return e
}

// firstOf is the first of joined errors.
func firstOf(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()[0]
	}
	return err
}

// locate finds the line of a validation error, whose text begins with the path of its
// field.
func locate(file string, data []byte, err error) error {
	field, why, _ := strings.Cut(err.Error(), " ")
	e := &FileError{file, 1, field, why}
	tree, parseErr := parser.ParseBytes(data, 0)
	if parseErr != nil {
		return e // it was decoded, so this cannot happen
	}
	for _, path := range places(field, why) {
		if line := lineOf(tree, path); line > 0 {
			e.Line = line
			break
		}
	}
	return e
}

// places are the paths under which a field may be found, the most exact first: the
// part of a coefficient that is wrong, the coefficient, and what holds it.
func places(field, why string) []string {
	var out []string
	for _, part := range []struct{ begins, key string }{
		{"is ", "value"}, {"has unit", "unit"}, {"has status", "status"}, {"has an error_p90", "error_p90"}, {"has an error", "error"},
	} {
		if strings.HasPrefix(why, part.begins) {
			out = append(out, field+"."+part.key)
		}
	}
	for out = append(out, field); ; out = append(out, field) {
		dot := strings.LastIndexByte(field, '.')
		if dot < 0 {
			return out
		}
		field = field[:dot]
	}
}

// lineOf is the line of a path; 0: there is none.
func lineOf(tree *ast.File, path string) int {
	p, err := yaml.PathString("$." + path)
	if err != nil {
		return 0
	}
	node, err := p.FilterFile(tree)
	if err != nil || node == nil {
		return 0
	}
	// The token of a map is its first colon; its first key begins it.
	if m, ok := node.(*ast.MappingNode); ok && len(m.Values) > 0 {
		node = m.Values[0].Key
	}
	t := node.GetToken()
	if t == nil || t.Position == nil {
		return 0
	}
	return t.Position.Line
}
